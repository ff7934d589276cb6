"""How a criterion becomes a verdict."""

from __future__ import annotations

from .item import Verdict


def verdict(printed: bool, corrected: bool = False) -> Verdict:
    """Whether a sentence holds as printed, only with its correction, or not at all.

    Examples
    --------
    >>> verdict(False, corrected=True)
    <Verdict.CORRECTED: 'holds with a correction'>
    """
    if printed:
        return Verdict.HOLDS
    return Verdict.CORRECTED if corrected else Verdict.FAILS
