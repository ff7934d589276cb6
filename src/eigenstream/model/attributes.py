"""Attributes of a fitted model, by the names of scikit-learn but without importing it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import unwrap
from ..rank import other_ranks
from .events import RankChange, Tally
from .history import SpectrumHistory
from .reading import Floats, Reading
from .tracker import Tracker
from .whole_calls import Callers


class ReadingAttributes:
    """Abstract: attributes of a model that provides ``_reading``."""

    _reading: Reading

    def reading(self) -> Reading:
        """Everything the model says at this moment, as one value."""
        return self._reading

    @property
    def spectrum_(self) -> NDArray[np.float64]:
        """Input variance along the first ``max_components_`` directions, kept or not."""
        size: int = self.max_components_  # type: ignore[attr-defined]  # learnt by some models, read off others
        return self._reading.spectrum(size)

    @property
    def n_components_(self) -> int:
        """The rank: how many components are kept."""
        return self._reading.rank

    @property
    def components_(self) -> Floats:
        """Orthonormal principal axes of the kept components (``n_components_`` x ``n_features``)."""
        return unwrap(self._reading.kept_axes)

    @property
    def explained_variance_(self) -> Floats:
        """Input variance along each component, divided by the (effective) number of samples."""
        return self._reading.kept_variances

    @property
    def explained_variance_ratio_(self) -> Floats:
        """Each of them as a share of the input's whole variance."""
        return self._reading.shares

    @property
    def singular_values_(self) -> Floats:
        """Singular values of the (discounted, centered) input that belong to the components."""
        return self._reading.singular_values

    @property
    def output_variance_(self) -> Floats:
        """Variance of the shrunk scores, ``explained_variance_ - threshold_``."""
        return self._reading.output_variances

    @property
    def noise_variance_(self) -> float:
        """Mean variance of the directions that are not kept."""
        return self._reading.rest_variance

    @property
    def threshold_(self) -> float:
        """Line between kept and dropped variances, by which each kept one is shrunk."""
        return self._reading.threshold

    @property
    def mean_(self) -> Floats:
        """Mean that is subtracted from the input."""
        return unwrap(self._reading.mean)

    @property
    def scale_(self) -> Floats | None:
        """Divisor of each centered input (1 if it does not vary); None unless ``standardize``."""
        return unwrap(self._reading.scale)


class HistoryAttributes(ReadingAttributes):
    """Abstract: attributes of a model that provides ``_tracked``, which returns its tracker or raises."""

    _callers: Callers
    """Whoever learns with the model at this moment."""

    def _tracked(self) -> Tracker:
        """The tracker of what has been learnt; AttributeError if there is none."""
        raise NotImplementedError

    @property
    def _reading(self) -> Reading:  # type: ignore[override]
        tracker = self._tracked()
        return self._callers.read(partial(tracker.reading, leading=True)).astype(tracker.plan.dtype)

    def reading(self) -> Reading:
        tracker = self._tracked()
        return self._callers.read(tracker.reading).astype(tracker.plan.dtype)

    @property
    def rank_history_(self) -> list[RankChange]:
        return list(self._tracked().changes)

    @property
    def spectrum_history_(self) -> SpectrumHistory:
        return self._tracked().history.history()

    @property
    def n_samples_seen_(self) -> int:
        return self._tracked().time

    @property
    def n_samples_effective_(self) -> float:
        """Number of independent samples that the samples are worth, by what the components leave of them."""
        return self._tracked().n_independent()

    @property
    def tally_(self) -> Tally:
        return replace(self._tracked().tally)

    @property
    def alpha_(self) -> float:
        return self._reading.alpha

    @property
    def beta_(self) -> float:
        tracker = self._tracked()
        return tracker.plan.beta if tracker.plan.seconds is None else math.sqrt(tracker.beta2)

    @property
    def max_components_(self) -> int:
        return self._tracked().plan.k


class TrackedAttributes(HistoryAttributes):
    """Abstract: the same with what other rules say, for which every input has to be known here."""

    @property
    def advice_(self) -> str:
        return self._callers.read(self._tracked().advice)

    @property
    def other_ranks_(self) -> dict[str, int]:
        """Rank that each rule of `eigenstream.rules` would find, by its text."""
        tracker = self._tracked()
        return other_ranks(self._callers.read(tracker.evidence)) if self._reading.count > 0 else {}
