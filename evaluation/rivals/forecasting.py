"""SPIRIT on rows with gaps: missing entries are forecast from the rows before.

One autoregressive model per hidden variable, fitted by recursive least squares, says what y will be; ``w_1
y_1 + ... + w_k y_k`` is the row (Papadimitriou, Sun and Faloutsos 2005, see `evaluation.rivals.spirit`).
Two additions in its favour, without which forecasts that feed on forecasts diverge: the regressions do not
forget, and a forecast stays within what the sensor has shown so far.
"""

from __future__ import annotations

import numpy as np
from benchmarks.peers.peer import Array

from evaluation.rivals.spirit import SPIRIT

LAGS = 6
"""How many rows back a forecast looks."""


class ForecastingSPIRIT(SPIRIT):
    """SPIRIT that fills gaps with its forecast of the row, and learns from the filled row."""

    def __init__(self, n: int, **settings: float) -> None:
        super().__init__(n, **settings)  # type: ignore[arg-type]
        most = len(self.W)
        self.past = np.zeros((most, LAGS))
        self.weights = np.tile(np.eye(LAGS)[0], (most, 1))  # first guess: as in the row before
        self.P = np.tile(np.eye(LAGS), (most, 1, 1))
        self.least, self.largest = np.zeros(n), np.zeros(n)
        """That each sensor has shown so far."""

    def fill_one(self, x: Array) -> Array:
        """The row with its gaps filled by the forecast, which is then learnt."""
        k, gaps = self.rank, np.isnan(x)
        forecast = np.einsum("ij,ij->i", self.weights[:k], self.past[:k]) @ self.W[:k]
        filled = np.where(gaps, np.clip(forecast, self.least, self.largest), x)
        self.learn(filled[None])
        k = self.rank
        self._regress(k)
        self.past[:k, 1:] = self.past[:k, :-1]
        self.past[:k, 0] = self.y[:k]
        self.least, self.largest = np.fmin(self.least, x), np.fmax(self.largest, x)
        return filled

    def _regress(self, k: int) -> None:
        """Recursive least squares of every y_i on its own past."""
        a, P = self.past[:k], self.P[:k]
        Pa = np.einsum("iab,ib->ia", P, a)
        gain = Pa / (1 + np.einsum("ia,ia->i", a, Pa))[:, None]
        miss = self.y[:k] - np.einsum("ij,ij->i", self.weights[:k], a)
        self.weights[:k] += gain * miss[:, None]
        self.P[:k] -= gain[:, :, None] * Pa[:, None, :]
