"""The three Hebbian/anti-Hebbian networks of the paper as printed, in plain NumPy.

    W_yx (k, n)  feed-forward weights        mu (k)  cumulative activity, the inverse learning rates
    W_yy (k, k)  lateral weights, no self    y  (k)  output activity

    respond:  y    <- (1 - eta) y + eta (W_yx x - W_yy y)            until it settles
    adapt:    mu   <- beta^2 mu + c + y^2
              W_yx <- W_yx + (y x' - (c + y^2) W_yx) / mu
              W_yy <- W_yy + (y y' - (c + y^2) W_yy) / mu            off the diagonal

A synapse sees its two neurons, its own weight and one scalar c that all share: ``alpha`` (R_TY),
``alpha |x|^2`` (R_XY) or ``alpha |y|^2`` (R_YY). ``beta = 1`` is Section IV of the paper, ``beta < 1`` the
forgetting of Section V. This is also the oracle for `eigenstream.learners`, which computes the same fast.

Chen, Pehlevan and Chklovskii (2016), Sections IV and V, doi:10.48550/arXiv.1612.03480.
"""

from __future__ import annotations

from typing import Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..orthonormal import random_orthonormal
from ..regularizers import Regularizer
from .network import INITIAL_GAIN, ConvergenceError, LocalNetwork, Options, gauss_seidel, jacobi, settled


class HebbianNetwork(LocalNetwork):
    """One network of the paper, one sample at a time.

    Parameters
    ----------
    n_inputs, n_outputs
        n and k. The network transmits at most k modes; the regularizer decides their number.
    regularizer
        One of the three, with its alpha.
    initial_gain
        Length of each row of the initial feed-forward weights, which are orthogonal to one another.
    initial_lateral
        Spread s of random initial lateral weights, whose standard deviation is ``s / sqrt(n_outputs)``. They
        start at zero by default. Up to 0.75 the Jacobi iteration settles for all practical purposes; at 1 it
        does not for one draw in five.
    random_state
        Seed of the initial weights.
    **options
        Forgetting (``beta``), settling (``settling``, ``eta``, ``tol``, ``max_iter``) and
        ``initial_activity``, the initial cumulative activity ``mu``: see `LocalNetwork`. The Jacobi iteration
        converges for ``eta < 2 / n_outputs``.

    Examples
    --------
    >>> from eigenstream import HebbianNetwork, InputOutput, streams
    >>> network = HebbianNetwork(64, 10, InputOutput(2 / 23), random_state=0)
    >>> for batch in streams.paper_stream(500, random_state=0):
    ...     Y = network.run(batch)
    >>> gains = np.linalg.svd(network.filter, compute_uv=False)
    >>> int(np.sum(gains > 0.5))
    3
    """

    W_yx: NDArray[np.float64]
    W_yy: NDArray[np.float64]
    mu: NDArray[np.float64]

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        regularizer: Regularizer,
        *,
        initial_gain: float = float(INITIAL_GAIN),
        initial_lateral: float = 0.0,
        random_state: int | np.random.Generator | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_inputs, n_outputs, regularizer, **options)
        if not (initial_gain > 0 and initial_lateral >= 0):
            raise ValueError(
                "expected initial_gain > 0, because weights of zero never learn, and initial_lateral >= 0, "
                f"got initial_gain={initial_gain!r}, initial_lateral={initial_lateral!r}"
            )
        rng = np.random.default_rng(random_state)
        self.W_yx = initial_gain * random_orthonormal(n_inputs, n_outputs, rng)
        self.W_yy = np.zeros((n_outputs, n_outputs))
        if initial_lateral:
            self.W_yy = initial_lateral / np.sqrt(n_outputs) * rng.standard_normal((n_outputs, n_outputs))
            np.fill_diagonal(self.W_yy, 0)
        self.mu = np.full(n_outputs, self.initial_activity)

    @classmethod
    def with_weights(
        cls,
        W_yx: ArrayLike,
        W_yy: ArrayLike,
        mu: ArrayLike,
        regularizer: Regularizer,
        **options: Unpack[Options],
    ) -> Self:
        """A network with these weights and cumulative activities, such as those that an estimator has learnt.

        Examples
        --------
        >>> from eigenstream import InputOutput
        >>> network = HebbianNetwork.with_weights([[1.0, 0.0]], [[0.0]], [4.0], InputOutput(0.1))
        >>> network.respond([3.0, 5.0]).round(3)
        array([3.])
        """
        forward = np.array(W_yx, dtype=np.float64)
        k, n = forward.shape
        network = cls(n, k, regularizer, **options)
        lateral, activity = np.array(W_yy, dtype=np.float64), np.array(mu, dtype=np.float64)
        if lateral.shape != (k, k) or activity.shape != (k,) or np.diag(lateral).any():
            raise ValueError(
                f"expected {k} x {k} lateral weights without self-connections and {k} cumulative activities, "
                f"got shapes {lateral.shape} and {activity.shape}"
                f"{' with self-connections' if lateral.ndim == 2 and np.diag(lateral).any() else ''}"
            )
        network.W_yx, network.W_yy, network.mu = forward, lateral, activity
        return network

    @property
    def filter(self) -> NDArray[np.float64]:
        """Filter from input to settled output, ``F = (I + W_yy)^-1 W_yx``."""
        return np.asarray(np.linalg.solve(np.eye(len(self.mu)) + self.W_yy, self.W_yx), dtype=np.float64)

    def respond(self, x: ArrayLike) -> NDArray[np.float64]:
        """Let the activity settle on one input; the weights stay as they are.

        Raises
        ------
        ConvergenceError
            If it does not settle: use a smaller ``eta``.
        """
        drive = self.W_yx @ self._checked(x)
        if self.settling == "fixed-point":
            return np.asarray(np.linalg.solve(np.eye(len(drive)) + self.W_yy, drive), dtype=np.float64)
        # From rest for each sample: the answer depends on the weights, not on the sample before.
        if self.settling == "jacobi":
            updates = jacobi(lambda y: drive - self.W_yy @ y, np.zeros_like(drive), self.eta)
        else:
            updates = gauss_seidel(drive, np.eye(len(drive)) + self.W_yy)
        if (y := settled(updates, self.tol, self.max_iter)) is None:
            raise ConvergenceError(self._advice())
        return y

    def _advice(self) -> str:
        k = len(self.mu)
        if self.settling == "jacobi":
            return (
                f"the activity did not settle within {self.max_iter} iterations at eta={self.eta}: "
                f"it converges for eta < 2/k = {2 / k:g} (k = {k} outputs). "
                "Use a smaller eta; the network is unchanged."
            )
        return (
            f"the activity did not settle within {self.max_iter} sweeps: the lateral weights are not those "
            "of a network that has learnt, or max_iter is too small. The network is unchanged."
        )

    def adapt(self, x: ArrayLike, y: ArrayLike) -> None:
        """Learn from one input and the activity it evoked."""
        x, y = self._checked(x), np.asarray(y, dtype=np.float64)
        c = self.regularizer.alpha * self._measured(x, y)
        activity = c + y**2
        # mu first: the newest sample is part of the sum that its step is divided by, as printed.
        self.mu = self.beta**2 * self.mu + activity
        self.W_yx = self.W_yx + (np.outer(y, x) - activity[:, None] * self.W_yx) / self.mu[:, None]
        self.W_yy = self.W_yy + (np.outer(y, y) - activity[:, None] * self.W_yy) / self.mu[:, None]
        # No neuron inhibits itself: its own power is in mu.
        np.fill_diagonal(self.W_yy, 0)

    def step(self, x: ArrayLike) -> NDArray[np.float64]:
        y = self.respond(x)
        self.adapt(x, y)
        return y
