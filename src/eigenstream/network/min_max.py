"""The min-max form of similarity matching, whose two kinds of synapses learn at rates of their own.

    W (k, n)  mean of y x', feed-forward           theta  mean of c, the threshold
    M (k, k)  mean of y y', lateral                w      effective number of samples, w <- beta^2 w + 1

    respond:  (M + theta I) y = W x
    adapt:    W     <- W     + (y x' - W) / w
              M     <- M     + (y y' - M) / (2 tau w)
              theta <- theta + (c - theta) / (2 tau w)

W descends and M ascends one cost. With ``tau = 1/2`` both rates are the same and this is the paper's network,
its sums divided by w; smaller tau lets lateral inhibition keep up with the feed-forward weights.

Pehlevan, Sengupta and Chklovskii, "Why do similarity matching objectives lead to Hebbian/anti-Hebbian
networks?", Neural Computation 2018, doi:10.1162/neco_a_01018; the threshold is that of Chen, Pehlevan and
Chklovskii (2016). The stationary point, and so the offline answer, is that of `eigenstream.offline.solve`.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..orthonormal import random_orthonormal
from ..regularizers import Regularizer
from .network import (
    INITIAL_GAIN,
    Array,
    ConvergenceError,
    LocalNetwork,
    Options,
    gauss_seidel,
    jacobi,
    settled,
)


class MinMaxNetwork(LocalNetwork):
    """The paper's network with two learning rates.

    Parameters
    ----------
    n_inputs, n_outputs, regularizer
        As in `HebbianNetwork`.
    tau
        Learning rate of the feed-forward over twice that of the lateral weights; 1/2 makes them equal.
    random_state, **options
        As in `HebbianNetwork`.
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        regularizer: Regularizer,
        tau: float = 0.5,
        *,
        random_state: int | np.random.Generator | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_inputs, n_outputs, regularizer, **options)
        if not 0 < tau < np.inf:
            raise ValueError(f"tau must be a finite number > 0, got {tau!r}")
        self.tau, self.count = tau, 1.0
        # Half of the initial activity is threshold, half output, as in a network at its optimum.
        start = self.initial_activity * INITIAL_GAIN
        self.W_yx = start * random_orthonormal(n_inputs, n_outputs, np.random.default_rng(random_state))
        self.M = self.initial_activity / 2 * np.eye(n_outputs)
        self.theta = self.initial_activity / 2

    def _system(self) -> tuple[Array, Array]:
        """``M + theta I`` with each row divided by its diagonal, and the diagonal."""
        A = self.M + self.theta * np.eye(len(self.M))
        diagonal = np.diag(A)
        return A / diagonal[:, None], diagonal

    @property
    def filter(self) -> Array:
        A, diagonal = self._system()
        return np.asarray(np.linalg.solve(A, self.W_yx / diagonal[:, None]), dtype=np.float64)

    def respond(self, x: ArrayLike) -> Array:
        A, diagonal = self._system()
        drive = self.W_yx @ self._checked(x) / diagonal
        if self.settling == "fixed-point":
            return np.asarray(np.linalg.solve(A, drive), dtype=np.float64)
        if self.settling == "jacobi":
            updates = jacobi(lambda y: drive - A @ y + y, np.zeros_like(drive), self.eta)
        else:
            updates = gauss_seidel(drive, A)
        if (y := settled(updates, self.tol, self.max_iter)) is None:
            raise ConvergenceError(
                f"the activity did not settle within {self.max_iter} iterations ({self.settling}, "
                f"eta={self.eta}): use a smaller eta or tau. The network is unchanged."
            )
        return y

    def step(self, x: ArrayLike) -> Array:
        y = self.respond(x)
        vector = self._checked(x)
        self.count = self.beta**2 * self.count + 1
        fast, slow = 1 / self.count, min(1 / (2 * self.tau * self.count), 1.0)
        self.W_yx = self.W_yx + fast * (np.outer(y, vector) - self.W_yx)
        self.M = self.M + slow * (np.outer(y, y) - self.M)
        self.theta += slow * (self.regularizer.alpha * self._measured(vector, y) - self.theta)
        return y
