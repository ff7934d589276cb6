"""Two ways in which activity settles, and the error if it does not.

    jacobi        all neurons at once, each a step of weight eta:  y <- (1 - eta) y + eta (drive - W y)
    gauss-seidel  one neuron after the other, each all the way:    y_i <- drive_i - sum_j W_ij y_j

The second is the asynchronous dynamics of Pehlevan, Hu and Chklovskii (2015): it settles for any number of
neurons once the weights are sums over the past, because the linear system is then positive definite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Settling = Literal["jacobi", "gauss-seidel"]


class ConvergenceError(ArithmeticError):
    """The network's activity did not settle; nothing was learnt from the sample."""


def checked_settling(settling: str) -> None:
    if settling not in get_args(Settling):
        raise ValueError(f"settling must be 'jacobi' or 'gauss-seidel', got {settling!r}")


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


def gauss_seidel(drive: Array, A: Array) -> Iterator[Array]:
    """Zero, then ``A y = drive`` sweep by sweep, each neuron seeing the newest of the others."""
    y = np.zeros_like(drive)
    off_diagonal, diagonal = A - np.diag(np.diag(A)), np.diag(A)
    while True:
        yield y.copy()  # `settled` holds it against the next sweep, which writes into y
        for i in range(len(y)):
            y[i] = (drive[i] - off_diagonal[i] @ y) / diagonal[i]
