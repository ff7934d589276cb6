"""Limits of like streams, shared at first: a stream whose own rows are few is judged by those of the others.

Many engines have short lives: by its own rows alone, each would be watched when half of them are over. What
rows of the others have shown before is *evidence* for its limits. Streams can be compared on this scale:

- a statistic by its surprise in theory, ``-ln p`` of a chi-square with its degrees of freedom: whatever the
  units, the rank and the number of inputs, that is about an exponential variable with mean 1;
- at the same *age*: a model of twenty rows knows its stream less well than one of a thousand, and its next
  rows are farther off. Evidence is kept by age, and a stream asks for its own, or for younger ones if there
  are few: those have longer tails, so that limits are rather too wide.

As rows of its own come, they take over: evidence counts as `WEIGHT` independent rows of the stream. How many
independent rows it rests on itself is told as for one stream, by autocorrelations: where streams differ, rows
of one resemble each other, and it rests on few.

Rows that have been counted take part at fixed numbers of rows of all streams (`next_renewal`), and the sums
are exact, so that neither the cutting into calls nor the order of the streams in a call matters.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from ..learners.knowledge import Matrix, Vector
from .limits import BASIS, BINS, LAGS, LOWEST, Autocorrelation, Joined
from .limits import WIDTH as WIDTHS
from .reference import STATISTICS

# Rows of a stream, counted from its first. References are renewed every 16 rows at first, later at each
# eighth more: within one of these ages the model that judges changes by less than a half.
AGES = np.array([32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024])
"""Ends of the ages by which evidence is kept; the last is open."""

# Independent rows: a tail that begins at p = 0.04 is then known to a fifth.
ENOUGH = 500.0
"""Evidence of the same age that needs none of younger streams beside it."""

# Independent rows of one stream: twice as many as its own limits need (`limits.BASIS`), a quarter of those
# that are always enough (`limits.MANY`). On simulated fleets of 60 streams of 128 rows (5 and 14 inputs;
# white, with autocorrelation, with long tails, and mixed) 30 to 120 made no difference beyond chance.
WEIGHT = 60.0
"""Prior weight of evidence beside the rows of a stream itself."""

# Logarithms: up to a surprise of exp(10) = 22,000. At p = 0.001 a bin is 0.25 wide, a quarter of p.
TALL = 1 / 32
"""Width of the bins of ``ln(1 + surprise in theory)``."""

# Rows. More would keep what the fleet was like years ago.
MOST = 1 << 16
"""Rows of an age after which those before count half."""

# A share of one, a power of two. Sums of 65,536 products of logarithms, each up to 2,500, are then exact.
GRAIN = 2.0**-24
"""Rounding of sums for autocorrelations, so that their order does not matter."""

# Rows. Few enough for a fleet whose engines come one after the other.
FIRST_RENEWAL = 512
"""Rows of all streams between renewals of the evidence at first; later a quarter to an eighth of all."""

COLUMNS = len(STATISTICS) + 1
TALL_BORDERS = TALL * np.arange(BINS + 1)
SIZES = (COLUMNS * BINS, (2 + len(LAGS)) * COLUMNS, (1 + len(LAGS)) * COLUMNS)
"""Numbers of an age: histograms, sums and pairs."""


def next_renewal(rows: int) -> int:
    """The number of rows of all streams, above this one, at which evidence is renewed.

    Examples
    --------
    >>> next_renewal(0), next_renewal(512), next_renewal(5000), next_renewal(100_000)
    (512, 1024, 5120, 114688)
    """
    step = max(FIRST_RENEWAL, 1 << max(rows.bit_length() - 3, 0))
    return (rows // step + 1) * step


class Sums(NamedTuple):
    """Histograms and sums over rows of one age."""

    counts: Matrix
    """Histograms of surprises (6, bins): of the statistics in theory, of the whole as it was found."""
    sums: Matrix
    pairs: Matrix
    """As of `Autocorrelation`."""

    def plus(self, other: Sums) -> Sums:
        return Sums(*(one + two for one, two in zip(self, other, strict=True)))

    def halved(self) -> Sums:
        return Sums(*(one / 2 for one in self))

    @property
    def independent(self) -> Vector:
        """Independent rows of each histogram."""
        memory = Autocorrelation(COLUMNS)
        memory.sums, memory.pairs = self.sums, self.pairs
        return np.asarray(self.counts.sum(axis=1) / memory.persistence())


class FleetEvidence(NamedTuple):
    """Evidence of streams of one age."""

    counts: Matrix
    """Histograms of surprises, as of `Sums`."""
    independent: Vector
    """Independent rows that each of them rests on."""

    def joined(self, counts: Matrix, independent: Vector, theory: Vector) -> Joined:
        """See `limits.Prior`.

        Shares of rows are mixed, with `WEIGHT` for the evidence. The mixture is as sure as that many
        independent rows: squared weights of both, each by its own rows.
        """
        prior, enough = in_bins_of(self.counts, theory), self.independent >= BASIS
        weight = np.where(enough, WEIGHT, 0.0)
        shares = [one / np.maximum(one.sum(axis=1), 1e-300)[:, None] for one in (counts, prior)]
        mixed = independent[:, None] * shares[0] + weight[:, None] * shares[1]
        spread = weight**2 / np.maximum(self.independent, 1e-300) + independent
        sure = (weight + independent) ** 2 / np.where(spread > 0, spread, 1.0)
        return Joined(mixed, sure, enough)


class SharedLimits:
    """Evidence for the limits of like streams."""

    def __init__(self) -> None:
        self.known: dict[int, Sums] = {}
        """By age, as of the last renewal."""
        self.waiting: dict[int, Sums] = {}
        """The same of rows that have been counted since."""
        self._found: dict[int, FleetEvidence | None] = {}

    def mark(self) -> tuple[dict[int, Sums], ...]:
        """The present state, for `revert`; copies no array."""
        return dict(self.known), dict(self.waiting)

    def revert(self, mark: tuple[dict[int, Sums], ...]) -> None:
        """Go back to a mark."""
        self.known, self.waiting = mark
        self._found = {}

    def add(self, age: int, values: Matrix, degrees: Vector, sums: Matrix, pairs: Matrix) -> None:
        """Add rows of one stream, which take part from the next renewal on.

        Parameters
        ----------
        age
            Number of rows of their stream before them.
        values
            As of `Limits.count` (T, 6).
        degrees
            Degrees of freedom of the statistics.
        sums, pairs
            What they add to the autocorrelations of their stream.
        """
        counts = np.zeros((COLUMNS, BINS))
        for i, column in enumerate(values.T):
            known = column[~np.isnan(column)]
            at = known / WIDTHS[i] if i == COLUMNS - 1 else heights(known, float(degrees[i])) / TALL
            counts[i] = np.bincount(np.clip(at, 0, BINS - 1).astype(np.intp), minlength=BINS)
        new, stratum = Sums(counts, np.rint(sums / GRAIN) * GRAIN, pairs), _stratum(age + len(values) // 2)
        self.waiting[stratum] = new if stratum not in self.waiting else self.waiting[stratum].plus(new)

    def renew(self) -> None:
        """Let all rows take part that have been added so far."""
        for age, new in self.waiting.items():
            found = self.known[age].plus(new) if age in self.known else new
            self.known[age] = found.halved() if found.counts.sum(axis=1).max() > MOST else found
        self.waiting, self._found = {}, {}

    def at(self, age: int) -> FleetEvidence | None:
        """Evidence for a stream of this age, the same object until the next renewal; None: too little."""
        stratum = _stratum(age)
        if stratum not in self._found:
            self._found[stratum] = self._evidence(stratum)
        return self._found[stratum]

    def _evidence(self, stratum: int) -> FleetEvidence | None:
        counts, independent = np.zeros((COLUMNS, BINS)), np.zeros(COLUMNS)
        together: Sums | None = None
        for age in sorted((one for one in self.known if one <= stratum), reverse=True):
            together = self.known[age] if together is None else together.plus(self.known[age])
            lacking = independent < ENOUGH
            counts[lacking], independent[lacking] = together.counts[lacking], together.independent[lacking]
        return FleetEvidence(counts, independent) if (independent >= BASIS).any() else None

    def document(self) -> dict[str, Any]:
        """Everything as values that JSON can hold."""
        return {
            part: {str(age): _packed(one) for age, one in sorted(getattr(self, part).items())}
            for part in ("known", "waiting")
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The evidence that `document` wrote; a ValueError, KeyError or TypeError where it cannot be that."""
        found = cls()
        for part in ("known", "waiting"):
            ages = {int(age): _unpacked(one) for age, one in document[part].items()}
            if not set(ages) <= set(range(len(AGES) + 1)):
                raise ValueError(f"its shared limits are of unknown ages: {sorted(ages)}")
            setattr(found, part, ages)
        return found

    @classmethod
    def together(cls, some: list[SharedLimits]) -> Self:
        """All evidence of several."""
        found = cls()
        for one in some:
            for part in (one.known, one.waiting):
                found.waiting = dict(part)
                found.renew()
        return found


def heights(values: Vector, degrees: float) -> Vector:
    """Places of values on the scale of streams: ``ln(1 + u)``, where u is the surprise in theory.

    Examples
    --------
    >>> heights(np.log([1.0, 2.0, 200.0]), 1.0).round(2).tolist()
    [0.76, 1.05, 4.64]
    """
    from scipy.special import chdtrc, gammaln

    p = max(degrees, 1.0)
    squares = p * np.exp(np.minimum(values, 50.0))
    with np.errstate(divide="ignore"):
        surprise = -np.log(chdtrc(p, squares))
        # The leading terms of the same, where p is too small for a number.
        far = squares / 2 - (p / 2 - 1) * np.log(squares / 2) + gammaln(p / 2)
    return np.asarray(np.log1p(np.where(np.isfinite(surprise), surprise, far)))


@lru_cache(maxsize=256)
def _border_heights(degrees: float) -> Vector:
    """Heights of the borders of the bins of a statistic."""
    borders = LOWEST[0] + WIDTHS[0] * np.arange(BINS + 1)
    return heights(borders, degrees)


def in_bins_of(counts: Matrix, theory: Vector) -> Matrix:
    """Histograms of evidence in the bins of a stream with these degrees of freedom (6, bins)."""
    found = np.empty(counts.shape)
    for i in range(COLUMNS - 1):
        # Rounded, so that few tables are made; a hundredth of a degree changes nothing.
        places = _border_heights(round(float(theory[i]), 2))
        below = np.interp(places, TALL_BORDERS, np.concatenate(([0.0], np.cumsum(counts[i]))))
        found[i] = np.diff(below)
        found[i, -1] += counts[i].sum() - below[-1]
        found[i, 0] += below[0]
    found[-1] = counts[-1]
    return found


def _stratum(age: int) -> int:
    return int(np.searchsorted(AGES, age, side="right"))


def _packed(one: Sums) -> str:
    return base64.b64encode(zlib.compress(np.concatenate([part.ravel() for part in one]).tobytes())).decode()


def _unpacked(text: Any) -> Sums:
    size = 8 * sum(SIZES)
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(base64.b64decode(text, validate=True), size + 1)
    except zlib.error as error:
        raise ValueError(f"its shared limits are damaged: {error}") from None
    if len(content) != size:
        raise ValueError(f"its shared limits are damaged: {len(content)} bytes, expected {size}")
    numbers = np.frombuffer(content)
    parts = np.split(numbers, np.cumsum(SIZES)[:-1])
    found = Sums(
        *(part.reshape(-1, width) for part, width in zip(parts, (BINS, COLUMNS, COLUMNS), strict=True))
    )
    if not np.isfinite(numbers).all() or (found.counts < 0).any() or (found.pairs < 0).any():
        raise ValueError("its shared limits are damaged: counts must be finite and not negative")
    return found
