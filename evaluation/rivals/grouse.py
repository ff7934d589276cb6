"""GROUSE: a subspace of fixed rank that turns a little with each row, of which some entries are enough.

w = argmin |U_o w - x_o|,   p = U w,   r = x_o - p_o (0 where not observed),   angle = step |r| |p| / power
    U <- U + ((cos(angle) - 1) p / |p| + sin(angle) r / |r|) w' / |w|

Balzano, Nowak and Recht 2010 (Allerton, doi:10.1109/ALLERTON.2010.5706976). The paper's step is a constant
for rows of unit power; here it is divided by the mean power of the rows so far, so that units do not
matter."""

from __future__ import annotations

import numpy as np
from benchmarks.peers.peer import Array


class GROUSE:
    """Rank k over n inputs, from a random subspace."""

    name = "GROUSE"

    def __init__(self, n: int, k: int, step: float = 0.1, seed: int = 0) -> None:
        self.U = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, k)))[0]
        self.step, self.power, self.seen = step, 0.0, 0

    def fill_one(self, x: Array) -> Array:
        """The row with its gaps filled by the subspace, which then turns towards the row."""
        observed = ~np.isnan(x)
        if not observed.any():
            return np.zeros_like(x)
        w = np.linalg.lstsq(self.U[observed], x[observed])[0]
        p = self.U @ w
        r = np.where(observed, x - p, 0.0)
        self.seen += 1
        self.power += (float(np.sum(x[observed] ** 2)) / observed.mean() - self.power) / self.seen
        lengths = np.sqrt(w @ w), np.sqrt(r @ r)
        if min(lengths) > 1e-12 * np.sqrt(self.power):
            angle = self.step * lengths[0] * lengths[1] / self.power
            towards = (np.cos(angle) - 1) * p / lengths[0] + np.sin(angle) * r / lengths[1]
            self.U += np.outer(towards, w / lengths[0])
        return np.where(observed, x, p)

    def components(self) -> Array:
        return self.U.T
