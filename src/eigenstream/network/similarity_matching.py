"""Similarity matching without a threshold: plain, fast, and non-negative.

Without a regularizer the cost is Eq. 1 of the paper, and the offline answer the projection on the first k
principal axes, `eigenstream.offline.solve` with ``alpha = 0``.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..orthonormal import random_orthonormal
from ..regularizers import ScaleDependent
from .hebbian import HebbianNetwork
from .network import Array, ConvergenceError, LocalNetwork, Options, gauss_seidel, jacobi, settled


class SimilarityMatchingNetwork(HebbianNetwork):
    """The network that the paper's three extend: k outputs, no threshold.

    ``HebbianNetwork`` with ``alpha = 0``. Pehlevan, Hu and Chklovskii, "A Hebbian/anti-Hebbian neural network
    for linear subspace learning", Neural Computation 2015, doi:10.1162/NECO_a_00745.

    Parameters
    ----------
    n_inputs, n_outputs, random_state, **options
        As in `HebbianNetwork`.
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        *,
        random_state: int | np.random.Generator | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_inputs, n_outputs, ScaleDependent(0.0), random_state=random_state, **options)


class FastSimilarityMatching(LocalNetwork):
    """Similarity matching with the lateral weights kept inverted, so that nothing has to settle.

        y = M^-1 W x,    W <- (1 - s) W + s y x',    M <- (1 - s) M + s y y',    s = 2 / (t + 5)

    with ``M^-1`` changed by rank one (Sherman and Morrison); with ``beta < 1`` s does not fall below
    ``1 - beta^2``. Giovannucci, Minden, Pehlevan and Chklovskii, "Efficient principal subspace projection of
    streaming data through fast similarity matching", 2018, doi:10.48550/arXiv.1808.02083.

    Parameters
    ----------
    n_inputs, n_outputs, random_state
        As in `HebbianNetwork`.
    **options
        ``beta`` and ``initial_activity``; nothing settles, so the others have no effect.
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        *,
        random_state: int | np.random.Generator | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_inputs, n_outputs, ScaleDependent(0.0), **options)
        rng = np.random.default_rng(random_state)
        # The published start, c Q and c I; c is 1/100 there, for input of unit power.
        c = self.initial_activity / 100
        self.W_yx, self.M_inverse = c * random_orthonormal(n_inputs, n_outputs, rng), np.eye(n_outputs) / c
        self.time = 0

    @property
    def filter(self) -> Array:
        return np.asarray(self.M_inverse @ self.W_yx)

    def respond(self, x: ArrayLike) -> Array:
        return np.asarray(self.M_inverse @ (self.W_yx @ self._checked(x)))

    def step(self, x: ArrayLike) -> Array:
        y, vector = self.respond(x), self._checked(x)
        s = max(2 / (self.time + 5), 1 - self.beta**2)
        z = self.M_inverse @ y
        # One factor on both sides keeps M^-1 symmetric to the last bit: asymmetry would grow.
        z *= np.sqrt(s / (1 - s + s * (y @ z)))
        self.M_inverse = (self.M_inverse - np.outer(z, z)) / (1 - s)
        self.W_yx = (1 - s) * self.W_yx + s * np.outer(y, vector)
        self.time += 1
        return y


class NonnegativeNetwork(HebbianNetwork):
    """The paper's network with outputs that cannot be negative: it tells clusters or sources apart.

        y <- (1 - eta) y + eta max(W_yx x - W_yy y, 0)        one after the other: y_i <- max(..., 0)

    The learning rules are the same; they follow from the same costs over ``Y >= 0``, which have no closed
    form. Pehlevan and Chklovskii, "A Hebbian/anti-Hebbian network derived from online non-negative matrix
    factorization can cluster and discover sparse features", 2014, doi:10.48550/arXiv.1503.00680.
    """

    def _refuse_fixed_point(self) -> None:
        if self.settling == "fixed-point":
            raise ValueError(
                "rectified outputs have to settle: use settling='jacobi' or 'gauss-seidel', not 'fixed-point'"
            )

    @property
    def filter(self) -> Array:
        raise AttributeError("a network with rectified outputs has no linear filter: use respond")

    def respond(self, x: ArrayLike) -> Array:
        self._refuse_fixed_point()
        drive = self.W_yx @ self._checked(x)
        if self.settling == "jacobi":
            updates = jacobi(lambda y: np.maximum(drive - self.W_yy @ y, 0), np.zeros_like(drive), self.eta)
        else:
            updates = gauss_seidel(drive, np.eye(len(drive)) + self.W_yy, least=0.0)
        if (y := settled(updates, self.tol, self.max_iter)) is None:
            raise ConvergenceError(self._advice())
        return y
