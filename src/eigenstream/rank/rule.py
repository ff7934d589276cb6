"""The base of all rules."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .evidence import Evidence, Vector

TINY = float(np.finfo(np.float64).tiny)


class Judgement(NamedTuple):
    """A rule's opinion on each known eigenvalue, largest first."""

    ratios: Vector
    """Factor by which it stands above its line. Components are kept up to the first that is not above 1."""
    lines: Vector
    """Position of the threshold if this is the first one that is dropped; one more for dropping none."""

    def rank(self, slack: float = 1.0) -> int:
        """Number of leading eigenvalues that stand above their lines by more than this factor."""
        below = self.ratios <= slack
        return int(below.argmax()) if below.any() else len(below)

    def ranks(self, slack: float = 1.0) -> NDArray[np.int64]:
        """The same for each of many streams."""
        below = self.ratios <= slack
        return np.asarray(np.where(below.any(axis=-1), below.argmax(axis=-1), below.shape[-1]))


@dataclass(frozen=True)
class Rule:
    """Base of all rules: a frozen dataclass with a ``name`` and ``judge``."""

    name: ClassVar[str]
    patient: ClassVar[bool] = True
    """True if, on a stream that forgets, the rank changes only where the change is clear or lasts."""

    def judge(self, evidence: Evidence) -> Judgement:
        """Compare each known eigenvalue with its line."""
        raise NotImplementedError

    def judge_together(self, evidence: Evidence) -> Judgement:
        """`judge` for evidence about many streams."""
        found = [self.judge(one) for one in evidence.each()]
        return Judgement(*(np.array(parts) for parts in zip(*found, strict=True)))

    def units(self, evidence: Evidence, number: int) -> Vector | float | None:
        """Lines of even noise of variance 1, after 0, 1, ... components, to which lines are in proportion.

        One number for all where they do not differ; None where lines follow from something else.
        """
        return None

    def __str__(self) -> str:
        """As the command line and a model file spell it; `rule_of` reads it."""
        return ":".join([self.name, *(repr(float(getattr(self, field.name))) for field in fields(self))])
