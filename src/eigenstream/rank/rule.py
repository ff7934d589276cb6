"""What all rules share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .evidence import Evidence, Vector

TINY = float(np.finfo(np.float64).tiny)


class Judgement(NamedTuple):
    """What a rule says of each known eigenvalue, largest first."""

    ratios: Vector
    """By what factor it stands above its line. Components are kept up to the first one that does not."""
    lines: Vector
    """Where the threshold stands if this is the first one that is dropped; one more for dropping none."""

    def rank(self, slack: float = 1.0) -> int:
        """How many stand above their lines by more than this factor before one does not."""
        below = self.ratios <= slack
        return int(below.argmax()) if below.any() else len(below)

    def ranks(self, slack: float = 1.0) -> NDArray[np.int64]:
        """The same for each of many streams."""
        below = self.ratios <= slack
        return np.asarray(np.where(below.any(axis=-1), below.argmax(axis=-1), below.shape[-1]))


@dataclass(frozen=True)
class Rule:
    """What all rules share; use one of them."""

    name: ClassVar[str]

    def judge(self, evidence: Evidence) -> Judgement:
        """How far each known eigenvalue stands above its line."""
        raise NotImplementedError

    def judge_together(self, evidence: Evidence) -> Judgement:
        """The same for evidence about many streams."""
        inputs = evidence.input_variances
        assert inputs is not None
        found = [
            self.judge(evidence._replace(variances=lam, total=float(total), input_variances=v))
            for lam, total, v in zip(evidence.variances, np.asarray(evidence.total), inputs, strict=True)
        ]
        return Judgement(np.array([one.ratios for one in found]), np.array([one.lines for one in found]))

    def __str__(self) -> str:
        """As the command line and a model file spell it; `rule_of` reads it."""
        return ":".join([self.name, *(repr(float(getattr(self, field.name))) for field in fields(self))])
