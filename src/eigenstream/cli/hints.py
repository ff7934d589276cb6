"""Errors of the library in terms of the command line."""

from __future__ import annotations

import shlex
from typing import Any

FLAGS = {"allow_nan": "--missing"}
"""Flags that are not called as the parameter is."""


def in_words(error: BaseException) -> str:
    """The message, with the flags to use instead of the parameters that the library would name."""
    hints = getattr(error, "hints", ())
    if not hints:
        return str(error)
    return f"{getattr(error, 'what', error)} ({'; '.join(map(_flag, hints))})"


def _flag(hint: Any) -> str:
    flag = FLAGS.get(hint.option, "--" + hint.option.replace("_", "-"))
    value = "" if hint.value is None else f" {shlex.quote(str(hint.value))}"
    return f"{flag}{value} {hint.effect}"
