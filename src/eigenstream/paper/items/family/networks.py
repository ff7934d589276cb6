"""The networks of the family on one stream, and their offline answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .... import offline
from ....network import EqualizingNetwork, HardThresholdNetwork, HebbianNetwork, LocalNetwork
from ....regularizers import Regularizer
from ..experiment import KINDS, SPECTRUM, Array
from ..switching import LINES

if TYPE_CHECKING:
    from . import Case

START = 200
"""Rows from which the networks start in closed form."""


def regularizer_of(case: Case) -> Regularizer:
    """Regularizer with the alpha that puts the threshold there on the paper's spectrum."""
    kind = KINDS[case.regularizer]
    if case.form == "soft" or case.regularizer != "squared-output":
        return kind.for_threshold(SPECTRUM, case.threshold)
    return kind(case.threshold / float(SPECTRUM[SPECTRUM > case.threshold].sum()))


def gamma_of(case: Case) -> float:
    """Gamma per unit of the quantity that the regularizer measures, so that the output variance is gamma."""
    return case.gamma / (float(SPECTRUM.sum()) if case.regularizer == "input-output" else 1.0)


def network_of(case: Case, regularizer: Regularizer, X: Array) -> LocalNetwork:
    """Network after its first rows: the soft one has learnt from them, the others start in closed form."""
    options: dict[str, Any] = {"beta": case.beta, "settling": "gauss-seidel", "random_state": case.seed}
    n = X.shape[1]
    if case.form == "soft":
        network = HebbianNetwork(n, case.k, regularizer, **options)
        network.run(X[:START])
        return network
    if case.form == "hard":
        return HardThresholdNetwork(n, case.k, regularizer, **options).start_from(X[:START], case.seed)
    return EqualizingNetwork(n, case.k, regularizer, gamma_of(case), **options).start_from(
        X[:START], case.seed
    )


def offline_eigenvalues(
    case: Case, regularizer: Regularizer, X: Array, weights: Array | None = None
) -> list[float]:
    """The leading output eigenvalues of the closed form on these rows."""
    if case.form == "soft":
        solution: Any = offline.solve(X, regularizer, case.k, sample_weight=weights)
    elif case.form == "hard":
        solution = offline.solve_hard(X, regularizer, case.k, sample_weight=weights)
    else:
        solution = offline.solve_equalizing(X, regularizer, gamma_of(case), case.k, sample_weight=weights)
    return [float(d) for d in solution.output_eigenvalues[:LINES]]


def scale_gap(case: Case, regularizer: Regularizer, X: Array) -> float | None:
    """Change of the output, in units of the input, with those units; None where it may change."""
    if case.regularizer == "scale-dependent" or case.form == "soft" or case.stream == "switching":
        return None
    outputs = [
        network_of(case, regularizer, unit * X).run(unit * X[START:]) / unit for unit in (1.0, 1e-3, 1e3)
    ]
    largest = max(float(np.max(np.abs(other - outputs[0]))) for other in outputs[1:])
    return largest / float(np.max(np.abs(outputs[0])))
