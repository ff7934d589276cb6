"""Rules that say how many components there are, as values for ``alpha``.

A rule looks at the spectrum from the largest eigenvalue down. It draws a line for each eigenvalue and keeps
components as long as they stand above their lines. Offline and online models hand it the same `Evidence`. It
uses the leading eigenvalues, their sum, the variances of the inputs and what the leading directions hold of
them: all that a stream can afford.

- `NoiseEdge`: what stands out of the noise, even if the noise is uneven? The default: for factors, regimes
  and changes.
- `ParallelAnalysis`: what exceeds independent inputs with the same variances? To model all correlation
  between inputs, as the monitoring of plants does.
- `VarianceShare`: what makes up this share of the variance? To compress.
"""

from __future__ import annotations

from .edges import effective_samples as effective_samples
from .edges import independence_edge as independence_edge
from .edges import noise_edge as noise_edge
from .evidence import Evidence as Evidence
from .noise import NoiseEdge as NoiseEdge
from .others import ParallelAnalysis as ParallelAnalysis
from .others import VarianceShare as VarianceShare
from .rule import Judgement as Judgement
from .rule import Rule as Rule

DEFAULT = NoiseEdge()
RULES: dict[str, type[Rule]] = {rule.name: rule for rule in (NoiseEdge, ParallelAnalysis, VarianceShare)}
"""All rules by name."""


def rule_of(text: str) -> Rule:
    """The rule that a text names: ``edge``, ``parallel`` or ``share:0.95``; ``auto`` is ``edge``.

    Examples
    --------
    >>> rule_of("share:0.9")
    VarianceShare(share=0.9)
    """
    name, *numbers = text.split(":")
    try:
        return RULES["edge" if name == "auto" else name](*map(float, numbers))
    except (KeyError, TypeError, ValueError) as error:
        why = f" ({error})" if isinstance(error, ValueError) else ""
        raise ValueError(f"{text!r} is no rule{why}: expected edge, parallel or share:0.95") from None


def other_ranks(evidence: Evidence) -> dict[str, int]:
    """How many components each rule would find by itself, without a memory, by its text.

    Examples
    --------
    >>> import numpy as np
    >>> lam = np.r_[6.0, 5.0, np.linspace(0.15, 0.05, 61)]
    >>> other_ranks(Evidence(lam, lam.sum(), capacity=8, n_inputs=63, n_samples=900))
    {'edge': 2, 'parallel': 2, 'share:0.95': 49}
    """
    return {
        str(rule): rule.judge(evidence).rank() for rule in (NoiseEdge(), ParallelAnalysis(), VarianceShare())
    }
