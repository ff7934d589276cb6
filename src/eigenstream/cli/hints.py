"""Errors of the library in terms of the command line."""

from __future__ import annotations

import shlex
from typing import Any

FLAGS = {"allow_nan": "--missing"}
"""Flags that are not called as the parameter is."""


WORDS = {
    "alpha=rules.ParallelAnalysis()": "--rank-rule parallel",
    "alpha=rules.VarianceShare(0.95)": "--rank-rule share:0.95",
    "alpha='auto'": "--rank-rule edge",
    "max_components=": "--max-components ",
    "raise max_components": "raise --max-components",
}
"""What the library says, and what to type."""


def in_flags(text: str) -> str:
    """A text of the library with flags in place of Python."""
    for python, flag in WORDS.items():
        text = text.replace(python, flag)
    return text


def in_words(error: BaseException) -> str:
    """The message, with the flags to use instead of the parameters that the library would name."""
    hints = getattr(error, "hints", ())
    if not hints:
        return in_flags(str(error))
    return f"{getattr(error, 'what', error)} ({'; '.join(map(_flag, hints))})"


def _flag(hint: Any) -> str:
    flag = FLAGS.get(hint.option, "--" + hint.option.replace("_", "-"))
    value = "" if hint.value is None else f" {shlex.quote(str(hint.value))}"
    return f"{flag}{value} {hint.effect}"
