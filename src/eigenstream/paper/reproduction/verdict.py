"""Verdicts, and how a criterion becomes one."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What became of a sentence of the paper."""

    HOLDS = "holds"
    CORRECTED = "holds with a correction"
    FAILS = "does not hold"


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
