"""The networks with interneurons of Pehlevan and Chklovskii (2015), and their self-calibrating forms.

    W_yx (k, n)  feed-forward weights          y (k)  principal cells, the output
    W_yz (k, l)  from interneurons             z (l)  inhibitory interneurons
    W_zy (l, k)  to interneurons               D      cumulative activity of the principal cells
    W_zz (l, l)  between interneurons, no self E (l)  cumulative activity of the interneurons

    respond:  y    <- (1 - eta) y + eta (W_yx x - W_yz z)
              z    <- (1 - eta) z + eta (W_zy y - W_zz z)            until both stand still
    adapt:    D    <- beta^2 D + c          E <- beta^2 E + e
              W_yx <- W_yx + (y x' - c W_yx) / D
              W_yz <- W_yz + (y z' - c W_yz) / D
              W_zy <- W_zy + (z y' - e W_zy) / E
              W_zz <- W_zz + (z z' - e W_zz) / E                     off the diagonal; hard threshold only

with ``c = alpha (r0 + r1 |x|^2 + r2 |y|^2)`` and ``e = c + z^2`` (hard threshold) or
``e = gamma (r0 + r1 |x|^2)`` (equalizing, where r0 and r1 may be others than in c). ``(1, 0, 0)`` are the
published networks; the self-calibrating forms take the other regularizers of Chen, Pehlevan and Chklovskii
(2016).

Pehlevan and Chklovskii, "A Normative Theory of Adaptive Dimensionality Reduction in Neural Networks",
NIPS 2015, doi:10.48550/arXiv.1511.09426. The rules follow from the costs in `eigenstream.offline`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from .. import offline
from ..orthonormal import orthogonal_complement, random_orthonormal
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

# Weights of zero never learn: a mode could not come back. At 0.1 it passes with 1 % of its variance.
SEED_GAIN = 0.1
"""Gain that the closed-form start leaves to modes below the threshold."""


class InterneuronNetwork(LocalNetwork):
    """Base class of the two networks with interneurons; use one of them.

    Parameters
    ----------
    n_inputs, n_outputs
        n and k; there are as many interneurons as outputs.
    regularizer
        Measure of the threshold, with its alpha > 0: any regularizer.
    random_state
        Seed of the initial weights.
    **options
        Forgetting (``beta > 0``), settling and ``initial_activity``, that of D and E: see `LocalNetwork`. The
        Jacobi iteration converges for eta below twice the threshold over the largest eigenvalue of the input;
        ``"gauss-seidel"`` takes one principal cell after the other, the interneurons following at once.
    """

    W_yz: Array
    W_zy: Array
    W_zz: Array
    D: float
    E: Array

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        regularizer: Regularizer,
        *,
        random_state: int | np.random.Generator | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(n_inputs, n_outputs, regularizer, **options)
        if not regularizer.alpha > 0:
            raise ValueError("alpha must be positive: without a threshold the weights W_yx have no scale")
        if not self.beta > 0:
            raise ValueError("beta must be positive, got 0: a network with interneurons needs some memory")
        rng = np.random.default_rng(random_state)
        self.W_yx = INITIAL_GAIN * random_orthonormal(n_inputs, n_outputs, rng)
        # Sums of y z' and z y' are each other's transpose; with D = E, so are the weights.
        self.W_zy = INITIAL_GAIN * random_orthonormal(n_outputs, n_outputs, rng)
        self.W_yz = np.ascontiguousarray(self.W_zy.T)
        self.W_zz = np.zeros((n_outputs, n_outputs))
        self.D, self.E = self.initial_activity, np.full(n_outputs, self.initial_activity)

    def start_from(self, X: ArrayLike, random_state: int | np.random.Generator | None = None) -> Self:
        """Set the weights to the optimum of these rows, as if they had been learnt: the closed-form start.

        From random weights the network takes long to find its saddle point and overshoots on the way.
        Modes below the threshold get a gain of 0.1, so that they can come back.

        Parameters
        ----------
        X
            The first rows of the stream, at least one; not to be shown to the network again.
        random_state
            Seed of the directions that X says nothing of.
        """
        # The rows count as if they had been learnt one by one, the last with weight 1.
        data = np.atleast_2d(np.asarray(X, dtype=np.float64))
        weights = np.asarray(self.beta ** (2.0 * np.arange(len(data) - 1, -1, -1)), dtype=np.float64)
        k, n = self.W_yx.shape
        solution = self._optimum(data, min(k, len(data)), weights)
        if not solution.threshold > 0:
            raise ValueError("cannot start from rows that are all zero: show the network others")
        U = np.asarray(solution.components, dtype=np.float64)
        lam = np.asarray(solution.eigenvalues, dtype=np.float64)[: len(U)]
        if len(U) < k:
            extra = random_orthonormal(n, k - len(U), np.random.default_rng(random_state))
            U = np.vstack((U, orthogonal_complement(U, extra)))
            lam = np.concatenate((lam, np.full(k - len(lam), SEED_GAIN**2 * solution.threshold)))
        d, z = (np.zeros(k) for _ in range(2))
        d[: len(solution.output_eigenvalues)] = solution.output_eigenvalues
        z[: len(solution.interneuron_eigenvalues)] = solution.interneuron_eigenvalues
        d, z = np.maximum(d, SEED_GAIN**2 * self._unit(solution) * lam), np.maximum(z, SEED_GAIN**4 * lam)
        total = float(weights.sum())
        self.D = total * solution.threshold
        self.E = total * self._interneuron_activity(data, weights, solution.threshold, z)
        self.W_yx = total * np.sqrt(d * lam)[:, None] * U / self.D
        shared = np.diag(total * np.sqrt(d * z))
        self.W_yz, self.W_zy = shared / self.D, shared / self.E[:, None]
        self.W_zz = np.zeros((k, k))
        return self

    @property
    def filter(self) -> Array:
        return np.asarray(np.linalg.solve(self._loop()[0], self.W_yx), dtype=np.float64)

    def respond(self, x: ArrayLike) -> Array:
        return self.activity(x)[0]

    def activity(self, x: ArrayLike) -> tuple[Array, Array]:
        """The settled activity (y, z) on one input; the weights stay as they are.

        Raises
        ------
        ConvergenceError
            If it does not settle: use a smaller ``eta``, or Gauss-Seidel.
        """
        drive = self.W_yx @ self._checked(x)
        k = len(drive)
        if self.settling != "jacobi":
            # The interneurons follow at once, which leaves a linear system in y alone.
            A, interneurons = self._loop()
            y: Array | None
            if self.settling == "fixed-point":
                y = np.asarray(np.linalg.solve(A, drive), dtype=np.float64)
            else:
                y = settled(gauss_seidel(drive, A), self.tol, self.max_iter)
            both = None if y is None else np.concatenate((y, interneurons @ y))
        else:
            updates = jacobi(
                lambda v: np.concatenate((drive - self.W_yz @ v[k:], self.W_zy @ v[:k] - self.W_zz @ v[k:])),
                np.zeros(2 * k),
                self.eta,
            )
            both = settled(updates, self.tol, self.max_iter)
        if both is None:
            raise ConvergenceError(
                f"the activity did not settle within {self.max_iter} iterations ({self.settling}, "
                f"eta={self.eta}). Make a new network with a smaller eta or settling='gauss-seidel'; "
                "this one is unchanged."
            )
        return both[:k], both[k:]

    def adapt(self, x: ArrayLike, y: ArrayLike, z: ArrayLike) -> None:
        """Learn from one input and the activity it evoked."""
        x, y, z = self._checked(x), np.asarray(y, dtype=np.float64), np.asarray(z, dtype=np.float64)
        c = self._measured(x, y) * self.regularizer.alpha
        e = self._leak(x, y, z, c)
        self.D = self.beta**2 * self.D + c
        self.E = self.beta**2 * self.E + e
        self.W_yx = self.W_yx + (np.outer(y, x) - c * self.W_yx) / self.D
        self.W_yz = self.W_yz + (np.outer(y, z) - c * self.W_yz) / self.D
        self.W_zy = self.W_zy + (np.outer(z, y) - e[:, None] * self.W_zy) / self.E[:, None]
        self._adapt_lateral(z, e)

    def step(self, x: ArrayLike) -> Array:
        y, z = self.activity(x)
        self.adapt(x, y, z)
        return y

    def _loop(self) -> tuple[Array, Array]:
        """``A`` of ``A y = W_yx x`` with the interneurons settled, and the filter from y to them."""
        one = np.eye(len(self.W_yx))
        interneurons = np.linalg.solve(one + self.W_zz, self.W_zy)
        return one + self.W_yz @ interneurons, np.asarray(interneurons, dtype=np.float64)

    @abstractmethod
    def _optimum(self, X: Array, k: int, weights: Array) -> offline.SaddleSolution:
        """The offline answer for these rows."""

    def _unit(self, solution: offline.SaddleSolution) -> float:
        """Unit of the output's variance over that of the input's: the same unless gamma has its own."""
        return 1.0

    @abstractmethod
    def _interneuron_activity(self, X: Array, weights: Array, threshold: float, z: Array) -> Array:
        """E per sample at the optimum."""

    @abstractmethod
    def _leak(self, x: Array, y: Array, z: Array, c: float) -> Array:
        """e, by which the interneurons' weights decay."""

    def _adapt_lateral(self, z: Array, e: Array) -> None:
        """Learn W_zz, if the network has it."""


class HardThresholdNetwork(InterneuronNetwork):
    """Network that transmits modes above the threshold unshrunk, and no others: output eigenvalues lam or 0.

    Parameters are those of `InterneuronNetwork`.

    Examples
    --------
    >>> from eigenstream import InputOutput, streams
    >>> X = np.vstack(list(streams.paper_stream(600, random_state=0)))
    >>> network = HardThresholdNetwork(64, 6, InputOutput(3 / 23), beta=0.995).start_from(X[:100])
    >>> Y = network.run(X[100:])
    >>> gains = np.linalg.svd(network.filter, compute_uv=False)
    >>> int(np.sum(gains > 0.5)), bool(gains[0] > 0.9)
    (3, True)
    """

    def _optimum(self, X: Array, k: int, weights: Array) -> offline.SaddleSolution:
        return offline.solve_hard(X, self.regularizer, k, sample_weight=weights)

    def _interneuron_activity(self, X: Array, weights: Array, threshold: float, z: Array) -> Array:
        return np.asarray(threshold + z)

    def _leak(self, x: Array, y: Array, z: Array, c: float) -> Array:
        return np.asarray(c + z**2)

    def _adapt_lateral(self, z: Array, e: Array) -> None:
        self.W_zz = self.W_zz + (np.outer(z, z) - e[:, None] * self.W_zz) / self.E[:, None]
        np.fill_diagonal(self.W_zz, 0)


class EqualizingNetwork(InterneuronNetwork):
    """Network that transmits modes above the threshold with one and the same variance: adaptive whitening.

    Parameters
    ----------
    n_inputs, n_outputs, regularizer
        As in `InterneuronNetwork`. The regularizer must not measure by the output: gamma sets its power.
    gamma
        The output eigenvalue per unit of the regularizer's measure: the eigenvalue itself for
        `ScaleDependent`, its share of the input's power for `InputOutput`. Or a regularizer that measures it
        in another way than the threshold: `InputOutput` for the threshold and ``gamma=ScaleDependent(1.0)``
        are gain control, with as many modes and as large an output whatever the input's scale.
    random_state, **options
        As in `InterneuronNetwork`.
    """

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        regularizer: Regularizer,
        gamma: float | Regularizer = 1.0,
        *,
        random_state: int | np.random.Generator | None = None,
        **options: Unpack[Options],
    ) -> None:
        self.goal = offline.goal_of(regularizer, gamma)
        super().__init__(n_inputs, n_outputs, regularizer, random_state=random_state, **options)
        self.gamma = self.goal.alpha

    def _optimum(self, X: Array, k: int, weights: Array) -> offline.SaddleSolution:
        return offline.solve_equalizing(X, self.regularizer, self.goal, k, sample_weight=weights)

    def _unit(self, solution: offline.SaddleSolution) -> float:
        if type(self.goal) is type(self.regularizer):
            return 1.0
        r0, r1, _ = self.goal.increment
        return self.gamma * (r0 + r1 * float(np.sum(solution.eigenvalues))) / solution.threshold

    def _interneuron_activity(self, X: Array, weights: Array, threshold: float, z: Array) -> Array:
        r0, r1, _ = self.goal.increment
        trace = float(weights @ np.einsum("ij,ij->i", X, X) / weights.sum())
        return np.full(len(z), self.gamma * (r0 + r1 * trace))

    def _leak(self, x: Array, y: Array, z: Array, c: float) -> Array:
        return np.full(len(z), self.gamma * self._measured(x, y, self.goal))
