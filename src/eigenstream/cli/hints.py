"""Errors of the library in terms of the command line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Any

import click

FLAGS = {"n_components": "--components", "random_state": "--seed", "titles": "--names"}
"""Flags with other names than their parameters."""


WORDS = {
    "n_components='parallel'": "--components parallel",
    "n_components=0.95": "--components 95%",
    "n_components='auto'": "--components auto",
    "max_components=": "--max-components ",
    "raise max_components": "raise --max-components",
    "standardize=True": "--standardize",
    "outliers='cap'": "--outliers cap",
    "header=False reads": "--no-header reads",
    "exclude=0 leaves": "--exclude 0 leaves",
}
"""Python in messages of the library, and the flags to type instead."""

GAPS = "--missing impute fills it in, --missing skip leaves such rows out"
"""Flags to type where a value is missing."""


NAMED = 8
"""Most columns that a note names: about a line of them."""


def listed(names: Sequence[str]) -> str:
    """The first of these names, and the number of the others."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def without_a_value(names: Sequence[str]) -> list[str]:
    """A note on columns that have no value in any row, and the flag that leaves them out."""
    if not names:
        return []
    have = "has" if len(names) == 1 else "have"
    flag = shlex.quote(",".join(names[:NAMED]) + (",..." if len(names) > NAMED else ""))
    them = "it" if len(names) == 1 else "them"
    return [f"{listed(names)} {have} no value at all: --exclude {flag} leaves {them} out"]


def of_stand_in(often: Any, name: str, effect: str, where: str = "") -> str:
    """A note on a number that may stand for a missing value, and the flag that says so."""
    value = f"{often.value:.15g}"
    return (
        f"{value} stands there {often.times:,} times{where}, in {name} for one, far from all other values: "
        f"if that means a gap, --na {value} {effect}"
    )


def say_when_compiling() -> None:
    """Say on a terminal that kernels are compiled, as soon as one has to be: there are seconds of silence."""
    from ..learners.compiling import call_once

    if sys.stderr.isatty():
        said = "compiling, this once after an installation: that takes some 15 seconds"
        call_once(lambda: click.echo(said, err=True))


def in_flags(text: str) -> str:
    """A text of the library with flags in place of Python."""
    for python, flag in WORDS.items():
        text = text.replace(python, flag)
    return text


def in_words(error: BaseException) -> str:
    """The message, with the flags to use instead of the parameters that the library would name."""
    hints = getattr(error, "hints", ())
    if any(hint.option == "allow_nan" for hint in hints):
        others = [_hint(hint) for hint in hints if hint.option not in ("allow_nan", "on_bad_row")]
        said = [GAPS, *others]
    else:
        said = [_hint(hint) for hint in hints]
    return _what(error) + (f" ({'; '.join(said)})" if said else "")


def _what(error: BaseException) -> str:
    from ..jobs.model_file import Contradiction

    if not isinstance(error, Contradiction):
        return in_flags(str(getattr(error, "what", error)))
    before, asked = (_typed(error.setting, value) for value in (error.before, error.asked))
    return f"{error.path} was made {before}, not {asked}: {error.then}"


def _typed(setting: str, value: Any) -> str:
    """A setting as it is given on the command line."""
    if value is None:
        return f"without {_flag(setting)}"
    if setting == "rows":
        value = ":".join("" if end is None else str(end) for end in value)
    return f"with {_flag(setting)} {value}"


def _hint(hint: Any) -> str:
    value = "" if hint.value is None else f" {shlex.quote(str(hint.value))}"
    return f"{_flag(hint.option)}{value} {hint.effect}"


def _flag(option: str) -> str:
    return FLAGS.get(option, "--" + option.replace("_", "-"))
