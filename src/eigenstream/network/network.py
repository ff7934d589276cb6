"""Base class of the networks: size, regularizer, forgetting, the loop over samples, and how activity settles.

    jacobi        all neurons at once, each a step of weight eta:  y <- (1 - eta) y + eta (drive - W y)
    gauss-seidel  one neuron after the other, each all the way:    y_i <- drive_i - sum_j W_ij y_j
    fixed-point   where both end, by solving:                      (I + W) y = drive

The second is the asynchronous dynamics of Pehlevan, Hu and Chklovskii (2015): it settles for any number of
neurons once the weights are sums over the past, because the linear system is then positive definite.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Literal, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..regularizers import Regularizer

Array = NDArray[np.float64]
Settling = Literal["jacobi", "gauss-seidel", "fixed-point"]

# The paper states none. It is the gain, sqrt((lam - theta) / lam), that a mode of twice the threshold has at
# the optimum. A gain of 0.1 keeps errors large for 10,000 samples (`eigenstream reproduce open-choices`).
INITIAL_GAIN = np.sqrt(0.5)
"""Length of each neuron's initial feed-forward weights."""


class ConvergenceError(ArithmeticError):
    """The network's activity did not settle; nothing was learnt from the sample."""


class Options(TypedDict, total=False):
    """The keyword arguments of `LocalNetwork`, which its kinds pass on."""

    beta: float
    eta: float
    tol: float
    max_iter: int
    settling: Settling
    initial_activity: float


class LocalNetwork(ABC):
    """A network with local learning rules, one sample at a time; use one of the family.

    Parameters
    ----------
    n_inputs, n_outputs
        n and k. The network transmits at most k modes; the regularizer decides their number.
    regularizer
        Measure of the threshold, with its alpha.
    beta
        Discount of past activities per sample; second moments forget with ``beta^2``. 1 never forgets.
    eta, tol, max_iter
        Weight of the Jacobi iteration, the relative change at which it counts as settled, and the number
        of iterations after which it is given up.
    settling
        ``"jacobi"``, as printed: all neurons at once; ``"gauss-seidel"``: one after the other, without eta
        and its bound; ``"fixed-point"``: no dynamics, but what they settle on, for speed.
    initial_activity
        Initial cumulative activity, in units of the input variance: 10 suits the paper's stream and should be
        of the order of a few samples' variance on another.
    """

    W_yx: Array

    def __init__(
        self,
        n_inputs: int,
        n_outputs: int,
        regularizer: Regularizer,
        *,
        beta: float = 1.0,
        eta: float = 0.1,
        tol: float = 1e-5,
        max_iter: int = 10_000,
        settling: Settling = "jacobi",
        initial_activity: float = 10.0,
    ) -> None:
        if not 1 <= n_outputs <= n_inputs:
            raise ValueError(f"n_outputs must be between 1 and n_inputs={n_inputs}, got {n_outputs}")
        if not (0 <= beta <= 1 and 0 < eta <= 1 and 0 < tol < 1 and max_iter >= 1 and initial_activity > 0):
            raise ValueError(
                "expected 0 <= beta <= 1, 0 < eta <= 1, 0 < tol < 1, max_iter >= 1 and initial_activity > 0, "
                f"got beta={beta!r}, eta={eta!r}, tol={tol!r}, max_iter={max_iter!r}, "
                f"initial_activity={initial_activity!r}"
            )
        if settling not in get_args(Settling):
            words = ", ".join(map(repr, get_args(Settling)))
            raise ValueError(f"settling must be one of {words}, got {settling!r}")
        self.regularizer = regularizer
        self.beta, self.eta, self.tol, self.max_iter, self.settling = beta, eta, tol, max_iter, settling
        self.initial_activity = float(initial_activity)

    @property
    @abstractmethod
    def filter(self) -> Array:
        """Filter F from input to settled output: y = F x."""

    @abstractmethod
    def respond(self, x: ArrayLike) -> Array:
        """Let the activity settle on one input and return the output; the weights stay as they are."""

    @abstractmethod
    def step(self, x: ArrayLike) -> Array:
        """Respond to one input, learn from it, and return the response."""

    def run(self, X: ArrayLike) -> Array:
        """Take a `step` for each row of X, and return the responses as rows."""
        return np.array([self.step(x) for x in np.asarray(X)]).reshape(-1, len(self.W_yx))

    def _measured(self, x: Array, y: Array, by: Regularizer | None = None) -> float:
        """Increment of a regularizer's measure, the network's own if None: what all synapses share."""
        r0, r1, r2 = (by or self.regularizer).increment
        return float(r0 + r1 * (x @ x) + r2 * (y @ y))

    def _checked(self, x: ArrayLike) -> Array:
        vector = np.asarray(x, dtype=np.float64)
        if vector.shape != (self.W_yx.shape[1],) or not np.isfinite(vector).all():
            raise ValueError(
                f"expected one finite input vector of length {self.W_yx.shape[1]}, got shape {vector.shape}"
                f"{'' if np.isfinite(vector).all() else ' with NaN or infinity'}"
            )
        return vector


def settled(updates: Iterator[Array], tol: float, max_iter: int) -> Array | None:
    """The first activity whose relative change is at most tol; None if ``max_iter`` updates have none."""
    with np.errstate(over="ignore", invalid="ignore"):
        before = next(updates)
        for _ in range(max_iter):
            y = next(updates)
            size = np.linalg.norm(y)
            if not np.isfinite(size):  # before the comparison: infinity would count as settled
                return None
            if np.linalg.norm(y - before) <= tol * size:
                return y
            before = y
    return None


def jacobi(step: Callable[[Array], Array], start: Array, eta: float) -> Iterator[Array]:
    """The start, then all neurons moved by a share eta towards ``step`` of the current activity."""
    y = start
    while True:
        yield y
        y = (1 - eta) * y + eta * step(y)


def gauss_seidel(drive: Array, A: Array, least: float = -np.inf) -> Iterator[Array]:
    """Zero, then ``A y = drive`` sweep by sweep, each neuron seeing the newest of the others.

    With ``least``, no activity is lower than that.
    """
    y = np.zeros_like(drive)
    off_diagonal, diagonal = A - np.diag(np.diag(A)), np.diag(A)
    while True:
        yield y.copy()  # `settled` holds it against the next sweep, which writes into y
        for i in range(len(y)):
            y[i] = max((drive[i] - off_diagonal[i] @ y) / diagonal[i], least)
