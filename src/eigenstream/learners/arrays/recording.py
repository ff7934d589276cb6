"""Subspace iteration on a CUDA device, recorded once and replayed as a whole.

It is some hundred small operations. To launch them one by one takes the host 2 ms, longer than the device
computes; a recording (a CUDA graph) is launched at once.
"""

from __future__ import annotations

from threading import Lock

import torch

# Recordings. Ranks change rarely: a few models in turn need no more. One of 328 rows holds some MB.
MOST = 16
"""Most recordings that are kept."""


def iteration(
    M: torch.Tensor, mixture: torch.Tensor, kept: int, steps: tuple[int, ...], dependent: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Steps of subspace iteration, as of `eigenstream.learners.warm.warm_pairs`: Q, ``Q M Q'``, and a flag.

    Directions are made orthonormal, each less those before it, by Cholesky's method. The flag is false where
    one was nearer to those before it than a given sine. Nothing here waits for the device.

    Parameters
    ----------
    M
        The matrix, directions of before first.
    mixture
        Weights of new rows in the directions that nothing stands out in.
    kept
        Number of directions that something stands out in.
    steps
        Number of directions, the first ones, that each step takes; the last step takes all.
    dependent
        The sine.
    """
    r, wanted = len(M) - mixture.shape[1], kept + len(mixture)
    Z = torch.zeros((wanted, len(M)), dtype=M.dtype, device=M.device)
    Z[:r] = M[:r]
    Z[kept:].addmm_(mixture, M[r:])
    Q, fine = Z, torch.ones((), dtype=torch.bool, device=M.device)
    for first in steps:
        part = Z[:first]
        products = part @ part.T
        factor, failed = torch.linalg.cholesky_ex(products)
        apart = factor.diagonal().square() > dependent**2 * products.diagonal()
        fine = fine & (failed == 0) & apart.all()
        Q = torch.linalg.solve_triangular(factor, part, upper=False)
        Z[:first] = Q @ M
    return Q, Z @ Q.T, fine


class Recorded:
    """`iteration` for matrices of one shape."""

    def __init__(
        self, M: torch.Tensor, mixture: torch.Tensor, kept: int, steps: tuple[int, ...], dependent: float
    ) -> None:
        self.M, self.mixture = M.clone(), mixture
        self.lock = Lock()
        here = torch.cuda.current_stream(M.device)
        aside = torch.cuda.Stream(M.device)
        aside.wait_stream(here)
        with torch.cuda.stream(aside):  # libraries set themselves up, which cannot be recorded
            iteration(self.M, mixture, kept, steps, dependent)
        here.wait_stream(aside)
        self.graph = torch.cuda.CUDAGraph()
        # Other threads may go on to use the device meanwhile.
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.found = iteration(self.M, mixture, kept, steps, dependent)

    def __call__(self, M: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """`iteration` of this matrix, fetched to the host: the next call overwrites what the device holds."""
        with self.lock:
            self.M.copy_(M)
            self.graph.replay()
            Q, small, fine = (each.cpu() for each in self.found)
        return Q, small, fine
