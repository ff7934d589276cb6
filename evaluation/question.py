"""What every question is made of: cases to simulate, rows of results, targets, and a picture.

A question is a module, an item for `eigenstream.paper.reproduction.runner`, which computes cases in
parallel and keeps them. Beside what `reproduction.item.Item` asks for, it has

    LETTER                              its place on the page
    INTRO                               what was done, settings and fairness included
    rows(settings, tables)              results, each with ours and all rivals on one case
    ALONE                               True where processes side by side would spoil what is measured
    further(settings, tables)           optional: more Markdown below the table

`claims` are its targets: what should hold, and whether it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from benchmarks.markdown import number

from eigenstream.paper.reproduction.item import Claim, verdict

OURS = "eigenstream"
HINDSIGHT = "best in hindsight"
EXACT = {float("inf"): "ours is exact", 0.0: "the rival is exact"}
"""Ratios where only one of both is down at the floor, in words."""
MOST = 1000
"""The largest ratio that is written out, in times: how much larger one is says nothing more to a reader."""


@dataclass(frozen=True)
class Row:
    """Ours and the rivals on one case, by one measure."""

    anchor: str
    """Its name in the table of results, to point at: ``a/white/share``."""
    case: str
    measure: str
    values: Mapping[str, float]
    """By method; ours is under `OURS`."""
    smaller_is_better: bool = True
    floor: float = 0.0
    """Values down here are rounding errors and count as zero."""
    rivals: Sequence[str] | None = None
    """Who is compared with ours; everybody if None."""
    contest: bool = True
    """False where a value alone says nothing: a rank that is always wrong never changes without reason."""
    extra: Mapping[str, float] = field(default_factory=dict)
    """Shown, not compared: other variants of ours."""

    @property
    def best_rival(self) -> str:
        names = [name for name in (self.rivals or self.values) if name != OURS and name in self.values]
        return (min if self.smaller_is_better else max)(names, key=lambda name: self.values[name])

    @property
    def ratio(self) -> float:
        """How many times better ours is than the best rival; below 1, the rival is better.

        Infinite where only ours is down at the floor, 0 where only the rival is.
        """
        ours, theirs = (self.values[name] for name in (OURS, self.best_rival))
        if not self.smaller_is_better:
            ours, theirs = theirs, ours
        if max(ours, theirs) <= self.floor or ours == theirs:
            return 1.0
        if min(ours, theirs) <= self.floor:
            return float("inf") if ours < theirs else 0.0
        return theirs / ours

    def against(self, *rivals: str) -> Row:
        """The same with these rivals only."""
        return replace(self, rivals=rivals)

    def as_published(self) -> Row:
        """The same without settings that were chosen in hindsight."""
        return self.against(*(name for name in self.values if not name.endswith(HINDSIGHT)))

    @property
    def in_words(self) -> str:
        """How ours compares with the best rival, for reading."""
        if self.smaller_is_better or self.ratio not in EXACT:
            return in_words(self.ratio)
        return "only ours scores" if self.ratio else "only the rival scores"

    @property
    def loss_in_words(self) -> str:
        """How much worse than the best rival ours is, which it names."""
        if self.ratio:
            return f"{self.in_words} than {self.best_rival}"
        return f"{self.best_rival} is exact" if self.smaller_is_better else f"only {self.best_rival} scores"

    @property
    def lost(self) -> bool:
        return self.contest and self.ratio < 1

    def as_json(self) -> dict[str, Any]:
        ratio = self.ratio
        return {
            "anchor": self.anchor,
            "case": self.case,
            "measure": self.measure,
            "better": "smaller" if self.smaller_is_better else "larger",
            "values": {name: float(value) for name, value in (*self.values.items(), *self.extra.items())},
            "best rival": self.best_rival,
            "ratio": None if ratio == float("inf") else ratio,
            "winner": None
            if not self.contest
            else self.best_rival
            if self.lost
            else OURS
            if ratio > 1
            else "tie",
        }


def worst(rows: Sequence[Row]) -> Row | None:
    """Where ours loses most."""
    lost = [row for row in rows if row.lost]
    return min(lost, key=lambda row: row.ratio) if lost else None


def median_ratio(rows: Sequence[Row]) -> float:
    return median(row.ratio for row in rows)


def target(says: str, measured_by: str, value: str, met: bool) -> Claim:
    """A target of ours and whether it is met."""
    return Claim("ours: a target", says, measured_by, value, verdict(met))


def in_words(ratio: float, better: str = "better", worse: str = "worse") -> str:
    """A ratio for reading: 0.5 is "2 times worse"."""
    if ratio in EXACT:
        return EXACT[ratio]
    factor = max(ratio, 1 / ratio)
    times = f"over {MOST:,}" if factor > MOST else number(factor)
    return "as good" if times == "1" else f"{times} times {better if ratio > 1 else worse}"
