"""Sections II and III: inputs that one alpha can suit, and the number of inputs."""

from __future__ import annotations

import math

import numpy as np

from .... import theory
from ....regularizers import Regularizer
from ...reproduction.item import Claim, Table
from .. import experiment
from ..experiment import KINDS, SELF_CALIBRATING, Array
from ..texts import texts_of

*_, claim = texts_of("derivations")

N1, N2 = 6, 10
N_PAIRS = 300
# Apart by 10^8 in variance: what depends on the scale cannot be overlooked.
SCALES = (1e-4, 1.0, 1e4)
"""Factors on the input's variances."""


def measure(n_samples: int, seed: int) -> Table:
    """Pairs of inputs, with ratios b/a up to 0.6 and scales apart by up to a hundred."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(N_PAIRS):
        signals = 10 ** rng.uniform(-1, 1, 2)
        noises = signals * rng.uniform(0.05, 0.6, 2)
        pairs.append([theory.two_level_spectrum(a, b, N1, N2) for a, b in zip(signals, noises, strict=True)])
    overlap = [bool(max(one[-1], two[-1]) >= min(one[0], two[0])) for one, two in pairs]
    return {
        "overlap": overlap,
        "common": {name: [_common(kind, pair) for pair in pairs] for name, kind in KINDS.items()},
        "scaling": {name: _range_spread(kind) for name, kind in KINDS.items()},
        "n_inputs": experiment.stationary(1, seed).shape[1],
        "n_listed": len(range(1, 61)),
    }


def _common(kind: type[Regularizer], spectra: list[Array]) -> bool:
    """True if one alpha keeps exactly the signal of all of them."""
    ranges = [kind.alpha_range(lam, N1) for lam in spectra]
    return max(low for low, _ in ranges) < min(high for _, high in ranges)


def _range_spread(kind: type[Regularizer]) -> float:
    """Variation of the lower end of alpha's range when the input is scaled, in decades."""
    lam = theory.two_level_spectrum(1.0, 0.3, N1, N2)
    ends = [kind.alpha_range(scale * lam, N1)[0] for scale in SCALES]
    return float(math.log10(max(ends) / min(ends)))


def claims(table: Table) -> list[Claim]:
    overlap = np.array(table["overlap"])
    common = {name: np.array(values) for name, values in table["common"].items()}
    return [
        claim(
            "no-common-alpha",
            f"a common alpha for {int(common['scale-dependent'][overlap].sum())} of those, and for "
            f"{int(common['scale-dependent'][~overlap].sum())} of the other {int((~overlap).sum())}",
            bool(np.all(common["scale-dependent"] != overlap)) and bool(overlap.any()),
            n_pairs=N_PAIRS,
            overlapping=int(overlap.sum()),
        ),
        *(
            claim(
                "common-alpha",
                f"a common alpha for {int(common[name][overlap].sum())}",
                bool(common[name][overlap].all()),
                name=name,
                overlapping=int(overlap.sum()),
            )
            for name in SELF_CALIBRATING
        ),
        claim(
            "absolute-scale",
            "varies by "
            + ", ".join(
                f"10^{0.0 + round(decades, 9):.3g} ({name})" for name, decades in table["scaling"].items()
            ),
            table["scaling"]["scale-dependent"] > 7.9
            and max(table["scaling"][name] for name in SELF_CALIBRATING) < 1e-9,
        ),
        claim(
            "dimensions",
            f"{table['n_listed']} eigenvalues listed; our stream has {table['n_inputs']} inputs",
            table["n_listed"] == 64,
            table["n_inputs"] == 64,
        ),
    ]
