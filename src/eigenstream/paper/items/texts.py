"""Texts of the report, from ``texts.toml``: titles, captions, and the sentences of the paper that are judged.

A text that differs from regularizer to regularizer is a table of texts by their names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from typing import Any

from ..reproduction.item import Claim, ClaimVerdict, verdict


def texts_of(item: str) -> tuple[str, str, str, Callable[..., Claim]]:
    """An item's title, caption and figure in words, and the function that judges its sentences."""
    found = _texts()[item]
    return found["title"], found["caption"], found["alt"], partial(_judged, found)


def _judged(
    texts: dict[str, Any], sentence: str, value: str, printed: bool, corrected: bool = False, /, **words: Any
) -> Claim:
    """Judge a sentence by whether it holds as printed, or else with its correction.

    ``words`` fill the fields of its texts, and ``name`` chooses among texts by name. A sentence with a reason
    for a correction is expected to need it.
    """
    own = {field: _filled(text, words) for field, text in texts[sentence].items()}
    expected = ClaimVerdict.CORRECTED if own.get("reason") else ClaimVerdict.HOLDS
    judged = verdict(bool(printed), bool(corrected))
    return Claim(value=value, verdict=judged, expected=expected, name=sentence, **own)


def _filled(text: Any, words: dict[str, Any]) -> str:
    chosen = text.get(words["name"], "") if isinstance(text, dict) else text
    return str(chosen).format(**words)


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("texts.toml").read_text(encoding="utf-8"))
