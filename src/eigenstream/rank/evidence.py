"""Evidence for a decision about threshold and rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from ..array_types import Vector as Vector
from ..learners.arrays import host
from ..learners.knowledge import Knowledge, Profile
from ..learners.moves import Moves
from .edges import effective_samples, independent_samples, samples_in_window


class Evidence(NamedTuple):
    """Evidence for a decision about threshold and rank. Variances are per (effective) sample.

    Evidence about m streams with as many inputs that vary and as many samples has variances (m, r), totals
    (m) and variances of inputs (m, n), and so has its profile.
    """

    variances: Vector
    """The leading eigenvalues of the input second moment, largest first."""
    total: float
    """The sum of all of them."""
    capacity: int
    """Most components that may be kept."""
    n_inputs: int
    """Number of inputs that vary."""
    n_samples: float
    """Number of samples, less one if they were centered."""
    beta2: float = 1.0
    """The discount per sample; of samples at uneven times, that of an even pace which remembers as much."""
    input_variances: Vector | None = None
    """Variance of each input."""
    accumulated: tuple[float, float] | None = None
    """A network's own ``(tau, theta0)``, per sample: its threshold is ``alpha tau + theta0``."""
    floor: float = 0.0
    """An automatic threshold does not go below this level."""
    rounding: float = float(np.finfo(np.float64).eps)
    """Relative rounding error of the data."""
    tells_below_threshold: bool = True
    """True if eigenvalues that are not kept are the input's own; a network has only lower bounds of them."""
    remembered: float | None = None
    """Number of samples at that pace that count as much as all: few after a long pause. None: all."""
    profile: Profile | None = None
    """Share of the leading directions in each input, in any unit; None if that is not known."""
    persistence: Vector | None = None
    """Number of rows that say as much as one independent row, by what 0, 1, ... components leave of them;
    the last stands for more. None: rows are independent."""
    spent: int = 0
    """Samples that the mean has taken from ``n_samples``; words count them, too."""
    moves: Moves | None = None
    """Differences from row to row, along the first directions; None: not known."""
    standardized: bool = False
    """True if each input is divided by its standard deviation."""

    @classmethod
    def of(
        cls, known: Knowledge, capacity: int, n_inputs: int, n_samples: float, beta2: float, **more: Any
    ) -> Self:
        """The evidence in what a learner knows, which must have learnt something."""
        count = known.effective
        own = None if known.accumulated is None else tuple(part / count for part in known.accumulated)
        return cls(
            -np.sort(-known.lam) / count,
            known.trace / count,
            capacity,
            n_inputs,
            n_samples,
            beta2,
            host(known.inputs) / count if known.inputs is not None else None,
            own,  # type: ignore[arg-type]
            profile=known.profile,
            standardized=known.scale is not None,
            moves=None if known.lags is None else known.lags.moves,
            persistence=None
            if known.lags is None
            else known.lags.persistence(None if known.profile is None else known.profile.held),
            **more,
        )

    def each(self) -> Iterator[Self]:
        """The evidence about each of m streams."""
        inputs, profile, tau, alike = self.input_variances, self.profile, self.persistence, self.alike
        for i, (variances, total) in enumerate(zip(self.variances, np.asarray(self.total), strict=True)):
            yield self._replace(
                variances=variances,
                total=float(total),
                input_variances=None if inputs is None else inputs[i],
                profile=profile and profile._replace(inputs=profile.inputs[i], held=profile.held[i]),
                persistence=tau[i] if tau is not None and alike[i] else None,
                moves=self.moves and self.moves.each(i),
            )

    @property
    def effective(self) -> float:
        """The effective number of samples."""
        return effective_samples(self.span, self.beta2)

    @property
    def span(self) -> float:
        """Number of samples at the pace of ``beta2`` that the evidence amounts to."""
        return self.n_samples if self.remembered is None else self.remembered

    @property
    def n_rows(self) -> float:
        """Number of rows that have the edge of these, were nothing forgotten and no row like another."""
        return samples_in_window(self.n_inputs, self.span, self.beta2)

    def independent(self, number: int) -> Vector:
        """Number of independent samples that judge what 0, 1, ..., ``number`` - 1 components leave.

        Each has the edge of the samples that there are, see `independent_samples`.
        """
        samples = self.n_rows
        if self.persistence is None:
            return np.broadcast_to(samples, (*self.variances.shape[:-1], number))
        known = self.persistence.shape[-1]
        found = independent_samples(self.n_inputs, samples, self.persistence[..., :number])
        last = np.repeat(found[..., -1:], max(number - known, 0), axis=-1)
        return np.concatenate((found, last), axis=-1)

    def worth(self, number: int) -> Vector:
        """Share of the samples that are worth an independent one, for what 0, 1, ... components leave."""
        return self.independent(number) / self.n_rows

    @property
    def alike(self) -> Any:
        """True if rows are like those before; for m streams an array of them."""
        return False if self.persistence is None else (self.persistence > 1).any(axis=-1)

    def n_independent(self, rank: int) -> float:
        """Number of independent samples that judge what this many components leave; at least 1."""
        return max(self.effective * float(self.worth(rank + 1)[..., -1]), 1.0)

    def noise_left(self, lam: Vector) -> Vector:
        """Mean variance of the directions that are left after 0, 1, ... of these."""
        r = lam.shape[-1]
        left = np.empty((*lam.shape[:-1], r + 1))
        left[..., 0] = self.total
        np.subtract(left[..., :1], np.cumsum(lam, axis=-1), out=left[..., 1:])
        np.maximum(left, 0.0, out=left)
        # Fewer samples than inputs have fewer eigenvalues, each of which holds more of the noise.
        share = self.n_inputs / min(self.n_inputs, max(self.effective, 2.0))
        return np.asarray(left / np.maximum(self.n_inputs - share * np.arange(r + 1), share))

    @property
    def ground(self) -> float:
        """Variances up to this level are rounding errors, or what a network's start has put there."""
        largest = float(self.variances[0]) if self.variances.size else 0.0
        return max(self.n_inputs * self.rounding * largest, self.floor)

    @property
    def grounds(self) -> Vector:
        """The same for each stream, as a column."""
        return np.maximum(self.n_inputs * self.rounding * self.variances[..., :1], self.floor)
