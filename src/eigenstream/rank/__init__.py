"""Rules that find the number of components, as values for ``n_components``.

A rule looks at the spectrum from the largest eigenvalue down. It draws a line for each eigenvalue and keeps
components as long as they stand above their lines. Offline and online models hand it the same `Evidence`. It
uses the leading eigenvalues, their sum, the variances of the inputs and what the leading directions hold of
them: all that a stream can afford.

- `NoiseEdge`: what stands out of the noise, even if the noise is uneven? The default: for factors, regimes
  and changes.
- `ParallelAnalysis`: what exceeds independent inputs with the same variances? To model all correlation
  between inputs, as the monitoring of plants does.
- `VarianceShare`: what makes up this share of the variance? To compress; ``n_components=0.95``.
- `FixedRank`: exactly this number; ``n_components=5``.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from .edges import effective_samples as effective_samples
from .edges import independence_edge as independence_edge
from .edges import noise_edge as noise_edge
from .evidence import Evidence as Evidence
from .noise import NoiseEdge as NoiseEdge
from .others import FixedRank as FixedRank
from .others import ParallelAnalysis as ParallelAnalysis
from .others import VarianceShare as VarianceShare
from .rule import Judgement as Judgement
from .rule import Rule as Rule

RULES: dict[str, type[Rule]] = {rule.name: rule for rule in (NoiseEdge, ParallelAnalysis)}
"""Rules by name; one of your own needs an entry, so that a model file can name it."""

EXPECTED = (
    "'auto', 'edge' or 'parallel', a whole number from 1 on (exactly that number of components), a share of "
    "the variance above 0 and below 1 (such as 0.95 or '95%'), or a rule of eigenstream.rules"
)


def rule_of(value: object) -> Rule:
    """The rule that a value of ``n_components``, or its text, stands for.

    Parameters
    ----------
    value
        ``auto`` (which is ``edge``), ``edge``, ``parallel``, a number such as 5, a share such as 0.95 or
        ``95%``, or a rule. Numbers may be texts.

    Examples
    --------
    >>> rule_of("90%"), rule_of(5), str(rule_of(0.955))
    (VarianceShare(share=0.9), FixedRank(number=5), '95.5%')
    """
    if isinstance(value, Rule):
        return value
    try:
        if isinstance(value, str):
            name, *numbers = ("edge" if value == "auto" else value).split(":")
            return RULES[name](*map(float, numbers)) if name in RULES else rule_of(_number_in(value))
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return FixedRank(int(value))
        if isinstance(value, float | np.floating):
            return VarianceShare(float(value))
    except (TypeError, ValueError, ArithmeticError):
        pass
    raise ValueError(f"expected {EXPECTED}, got {value!r}")


def _number_in(text: str) -> int | float:
    """The number that a text such as ``5``, ``95%`` or ``0.95`` holds."""
    if text.endswith("%"):
        return float(Decimal(text[:-1]) / 100)
    try:
        return int(text)
    except ValueError:
        return float(text)


def other_ranks(evidence: Evidence) -> dict[str, int]:
    """Rank that each rule would find by itself, without a memory, by the rule's text.

    Examples
    --------
    >>> import numpy as np
    >>> lam = np.r_[6.0, 5.0, np.linspace(0.15, 0.05, 61)]
    >>> other_ranks(Evidence(lam, lam.sum(), capacity=8, n_inputs=63, n_samples=900))
    {'edge': 2, 'parallel': 2, '95%': 49}
    """
    return {
        str(rule): rule.judge(evidence).rank() for rule in (NoiseEdge(), ParallelAnalysis(), VarianceShare())
    }
