"""Two answers to a gap, judged on entries that have come, as if they were missing.

Level says what the inputs of one row say of each other, time what the past of an input says. Each has a
variance that it expects of itself, and hidden entries tell the factor by which its errors exceed that. With
the variances A and B, as judged, and C of their product, time has the weight

    w = (A - C) / (A + B - 2 C)

and the error of the mixture has the variance ``w^2 B + (1 - w)^2 A + 2 w (1 - w) C``. All this depends on the
input and on the age of a gap: the number of rows since the input's last value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.stored import LARGEST

BINS = 8
"""Ages that are told apart: 1, 2, 3 and 4, 5 to 8, ..., 65 and more."""

OLDEST = 2 ** (BINS - 2)
"""Age up to which gaps are judged, the rows of a block: weights of older ones are those of this age."""

# Entries. Those of one long gap are all but the same error: for bins of longer gaps it takes more of them.
PRIOR = 16.0
"""Weight of what is expected: of theory against all inputs, and of all inputs against one."""

PRIORS = PRIOR * np.maximum(2.0 ** np.arange(-1, BINS - 1), 1.0)
"""The same for each bin: entries of one gap are all but one entry, that many say as much as one of a younger
gap."""

# A correlation. Beyond it, a weight would be a difference of two errors that are all but the same.
ALIKE = 0.95
"""Largest correlation of the errors of two answers."""

# Variances of a factor by chance: two standard deviations.
CHANCE = 4.0
"""Part of the squared loss of a forecast that is taken off it, since chance alone would give as much."""

SPARSE = 16
"""One input in 16 is hidden over a whole block, another one over `RUN` rows, and one in 16 of the other
entries by itself."""

WIDE = 64
"""Inputs from which on as much fewer of them are hidden as there are more: each has as many entries."""

RECENT = 15 / 16
"""Discount of the past over a block: models get better, and the streams they follow change."""

# A discount over a block of 64 rows. Inputs jump for a while, and then they do not. Of 0.8 and 15/16, with
# 1/2, 1 and 4 times `PRIOR`, this and once `PRIOR` filled eight sensor sets best, with other gaps than those
# of the evaluation: error .146 instead of .152 without the second mixture.
LATELY = 0.8
"""Discount over a block of what says how to mix once more."""

RUN = 16
"""Rows over which an input is hidden that is not hidden over a whole block."""


class HiddenErrors(NamedTuple):
    """Discounted sums over hidden entries."""

    sums: Floats
    """Over entries: their number; squares of the errors of level, of time, products of both; variances that
    level and time expect (bins, 6, n)."""

    @classmethod
    def none(cls, n: int) -> HiddenErrors:
        """Before the first row."""
        return cls(np.zeros((BINS, 6, n)))

    def discounted(self, decay: float) -> HiddenErrors:
        """The same after more time."""
        return self if decay == 1 else HiddenErrors(decay * self.sums)

    def after(self, bins: NDArray[np.intp], answers: Floats, weights: Vector) -> HiddenErrors:
        """After a block.

        Parameters
        ----------
        bins
            Bin of each entry that was hidden; -1 where none was (b, n).
        answers
            Errors of level and of time, and the variances that they expect (4, b, n).
        weights
            Weight of each row (b).
        """
        t, i = np.nonzero(bins >= 0)
        n, (level, time, *variances) = bins.shape[1], answers[:, t, i]
        at, counts = bins[t, i] * n + i, weights[t]
        terms = np.ones_like(level), level * level, time * time, level * time, *variances
        found = [np.bincount(at, counts * term, BINS * n).reshape(BINS, n) for term in terms]
        return HiddenErrors(RECENT * self.sums + np.stack(found, axis=1))

    def factors(self, spread: Vector) -> Floats:
        """Ratios of the variances as judged to those expected: of level, of time; correlation (3, bins, n).

        Parameters
        ----------
        spread
            Variance of each input (n). Ratios of one input lean on those of all, each in its own units.
        """
        units = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        with np.errstate(over="ignore"):  # an input that once was gross, and hardly varies any more
            sums = self.sums.swapaxes(0, 1) * np.where(np.arange(6)[:, None, None] > 0, units, 1.0)
        number, AA, BB, AB, A, B = np.clip(sums, -LARGEST[np.float64], LARGEST[np.float64])
        sizes = np.sqrt(AA * BB)
        pairs = ((AA, A, 1.0), (BB, B, 1.0), (AB, sizes, 0.5))
        level, time, alike = (_ratios(number, *pair) for pair in pairs)
        return np.stack((level, time, np.clip(alike, -ALIKE, ALIKE)))


class SecondMixture(NamedTuple):
    """Discounted sums over hidden entries of all inputs, by which the mixture is mixed once more.

    The variances that answers expect of themselves are those of a stream that goes on as it did. Where inputs
    jump, or their relation breaks, the past of the input alone is better than the mixture: time, or even the
    last value. Both are mixed in one after the other, by what all inputs together have shown lately. Error
    bars stay those of the first mixture: with smaller ones, 87 instead of 89 % of the truth were within those
    of 90 % (eight sensor sets, other gaps than those of the evaluation).
    """

    sums: Floats
    """Number of entries; squares of the errors of what is there so far, of the answer that is mixed in, and
    their products, in variances of each input: of time, then of the last value (2, 4, bins)."""

    @classmethod
    def none(cls) -> SecondMixture:
        """Before the first row."""
        return cls(np.zeros((2, 4, BINS)))

    def weights(self) -> Matrix:
        """Weight of time, and of the last value after that (2, bins); of the oldest gaps as before them."""
        number, so_far, other, both = self.sums.swapaxes(0, 1)
        under = so_far + other - 2 * both
        found = np.divide(so_far - both, under, out=np.zeros_like(under), where=under > 0)
        weights = np.clip(found, 0.0, 1.0) * number / (number + PRIORS)
        weights[:, -1] += weights[:, -2] * PRIORS[-1] / (number[:, -1] + PRIORS[-1])
        return np.asarray(weights)

    def mixed(self, bins: NDArray[np.integer[Any]], mixture: Floats, time: Floats, last: Floats) -> Floats:
        """Entries that are gaps by all three answers; NaN of the last value: there is none (..., n)."""
        first, second = self.weights()[:, np.maximum(bins, 0)]
        so_far = mixture + first * (time - mixture)
        return np.asarray(np.where(np.isnan(last), so_far, so_far + second * (last - so_far)))

    def after(self, bins: NDArray[np.intp], errors: Floats, units: Vector, weights: Vector) -> SecondMixture:
        """After a block with errors of the mixture, of time, and of the last value, where there is one.

        Parameters
        ----------
        bins, weights
            As of `HiddenErrors.after`.
        errors
            Of each hidden entry (3, b, n).
        units
            Factor of the errors of each input; those with 0 do not count (n).
        """
        t, i = np.nonzero((bins >= 0) & np.isfinite(errors).all(axis=0) & (units > 0))
        at, (mixture, time, last) = bins[t, i], errors[:, t, i] * units[i]
        so_far, counts = self.mixed(at, mixture, time, np.full_like(last, np.nan)), weights[t]
        found = [
            [
                np.bincount(at, counts * term, BINS)
                for term in (np.ones_like(one), one * one, other * other, one * other)
            ]
            for one, other in ((mixture, time), (so_far, last))
        ]
        return SecondMixture(LATELY * self.sums + np.array(found))


class ForecastErrors(NamedTuple):
    """Discounted sums over forecasts of whole blocks from the rows before them, which nobody corrects."""

    sums: Floats
    """By horizon: number of forecasts f, ``f^2``, ``f x``, ``x^2`` with x the truth, both as deviations from
    the mean; variances that forecasts expect (5, bins, n)."""

    @classmethod
    def none(cls, n: int) -> ForecastErrors:
        """Before the first row."""
        return cls(np.zeros((5, BINS, n)))

    def judged(self, spread: Vector) -> tuple[Matrix, Matrix]:
        """Factor of the deviation of a forecast from the mean, and of the variance it then has (bins, n).

        The former is that of all inputs together, and 1 where chance alone would give as much. ``spread`` is
        the variance of each input, as of `HiddenErrors.factors`.
        """
        units = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        number, ff, fx, xx, expected = self.sums * np.where(np.arange(5)[:, None, None] > 0, units, 1.0)
        N, FF, FX, XX = (each.sum(axis=1) for each in (number, ff, fx, xx))
        loss = 1 - np.clip(np.divide(FX, FF, out=np.ones_like(FF), where=FF > 0), 0.0, 1.0)
        squares = np.maximum(XX - 2 * FX + FF, 0.0) * PRIORS / PRIOR
        chance = np.divide(CHANCE * squares, N * FF * loss**2, out=np.ones(BINS), where=N * FF * loss > 0)
        kept = np.tile(1 - loss * np.maximum(1 - chance, 0.0), (len(spread), 1)).T
        errors = np.maximum(xx - 2 * kept * fx + kept**2 * ff, 0.0)
        factors = _ratios(number, errors, expected, 1.0)
        factors[0] = np.maximum(factors[0], 1.0)  # one row ahead, every row has shown what it expects
        return kept, factors


def _ratios(number: Matrix, over: Matrix, under: Matrix, theory: float) -> Matrix:
    """Ratios of sums (bins, n): of one input they lean on those of all, of all on those of younger gaps."""
    units, usual, found = np.ones(BINS), np.ones(BINS), theory
    sums = zip(
        number.sum(axis=1).tolist(), over.sum(axis=1).tolist(), under.sum(axis=1).tolist(), strict=True
    )
    for b, (entries, above, below) in enumerate(sums):
        # Errors within one gap go together: those of a gap of 2^(b - 1) rows say as much as one error.
        unit = PRIORS[b] * below / max(entries, 1.0)
        if unit > 0:
            units[b], found = unit, (above + unit * found) / (below + unit)
        usual[b] = found
    lean = units[:, None]
    ratios = np.asarray((over + lean * usual[:, None]) / (under + lean))
    # Hardly any gap older than `OLDEST` is judged: an input goes on as it was, not as others are.
    ratios[-1] = (over[-1] + lean[-1] * ratios[-2]) / (under[-1] + lean[-1])
    return ratios


def bins_of(ages: NDArray[Any]) -> NDArray[np.intp]:
    """Bin of each age above 0; ages below 1 have that of 1."""
    bins = np.ceil(np.log2(np.maximum(ages, 1))).astype(np.intp)
    return np.minimum(bins, BINS - 1)  # type: ignore[no-any-return]


def hidden(block: int, rows: int, n: int) -> NDArray[np.bool_]:
    """Entries to hide of the rows of a block, by its number: others in every block (rows, n)."""
    sparse, t, i = SPARSE * max(n // WIDE, 1), np.arange(rows)[:, None], np.arange(n)
    of, shift = max(min(sparse, n), 1), block + block // SPARSE  # later, blocks are judged at multiples of 16
    long = (i + shift) % of == 0
    short = (i + shift + of // 2) % of == -(t // RUN) % of  # remainders of vectors: matrices take long
    alone = (7 * i + shift) % sparse == -(5 * t) % sparse
    return np.asarray(long | short | alone)


def hide(rows: Floats, block: int) -> Floats:
    """Rows with hidden entries as gaps; a row keeps one entry at least, if it had any."""
    gone = hidden(block, *rows.shape)
    gappy = np.where(gone, np.nan, rows)
    empty = np.isnan(gappy).all(axis=1, keepdims=True)
    return np.where(empty, rows, gappy)
