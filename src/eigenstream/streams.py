"""Seeded streams of coloured Gaussian samples, batch by batch: a stream never has to fit in memory.

One generator serves all: a spectrum for each stretch of time, over one set of random orthonormal
eigenvectors. Every function returns an iterator of batches (rows are samples); the last may be shorter.
The samples depend on the seed alone, not on how they are cut into batches (up to rounding).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .orthonormal import random_orthonormal as random_orthonormal

Batches = Iterator[NDArray[np.float64]]
Seed = int | np.random.Generator | None


def colored_gaussian(
    eigenvalues: ArrayLike,
    n_samples: int | None = None,
    *,
    batch_size: int = 100,
    random_state: Seed = None,
) -> Batches:
    """Zero-mean Gaussian samples with this covariance spectrum and random orthonormal eigenvectors.

    Parameters
    ----------
    eigenvalues
        The n eigenvalues of the covariance.
    n_samples
        Length of the stream; endless if None.
    batch_size
        Rows per batch.
    random_state
        Seed or generator.

    Examples
    --------
    >>> batches = colored_gaussian([4.0, 1.0, 0.1], n_samples=250, random_state=0)
    >>> [batch.shape for batch in batches]
    [(100, 3), (100, 3), (50, 3)]
    """
    return _piecewise({0: eigenvalues}, n_samples, batch_size, np.random.default_rng(random_state))


def paper_stream(
    n_samples: int | None = 10_000,
    *,
    signal: Sequence[float] = (6.0, 5.0, 4.0, 2.0),
    n_noise: int = 60,
    noise: float = 0.2,
    batch_size: int = 100,
    random_state: Seed = None,
) -> Batches:
    """The paper's stationary input: eigenvalues 6, 5, 4, 2 and 60 drawn uniformly from [0, 0.2].

    The text says n = 64 but numbers the noise eigenvalues 5 to 60; n = 64 is taken at its word.

    Examples
    --------
    >>> X = np.vstack(list(paper_stream(1000, random_state=0)))
    >>> X.shape
    (1000, 64)
    """
    return switching_stream(
        n_samples,
        factors={0: 1.0},
        signal=signal,
        n_noise=n_noise,
        noise=noise,
        batch_size=batch_size,
        random_state=random_state,
    )


def switching_stream(
    n_samples: int | None = 10_000,
    *,
    factors: Mapping[int, float] | None = None,
    signal: Sequence[float] = (6.0, 5.0, 4.0, 2.0),
    n_noise: int = 60,
    noise: float = 0.2,
    batch_size: int = 100,
    random_state: Seed = None,
) -> Batches:
    """The paper's non-stationary input: the whole spectrum is multiplied at given samples.

    Parameters
    ----------
    n_samples, batch_size, random_state
        As in `colored_gaussian`.
    factors
        Factors on the original spectrum, by the sample from which on they hold; 1 before. By default,
        as in the paper, doubled at sample 1000 and back to the original at 6000.
    signal, n_noise, noise
        Signal eigenvalues, and the number of noise eigenvalues, drawn uniformly from [0, noise].

    Examples
    --------
    >>> X = np.vstack(list(switching_stream(4000, factors={2000: 9.0}, random_state=0)))
    >>> ratio = X[2000:].var() / X[:2000].var()
    >>> bool(8 < ratio < 10)
    True
    """
    rng = np.random.default_rng(random_state)
    # Noise eigenvalues first, then the axes, then samples: the order is part of what a seed means.
    spectrum = np.concatenate((np.asarray(signal, dtype=np.float64), rng.uniform(0, noise, n_noise)))
    schedule = {0: 1.0, **({1000: 2.0, 6000: 1.0} if factors is None else factors)}
    return _piecewise({t: spectrum * f for t, f in schedule.items()}, n_samples, batch_size, rng)


def changing_rank(
    n_samples: int | None = 6000,
    *,
    ranks: Mapping[int, int] | None = None,
    n_features: int = 64,
    signal: float = 5.0,
    noise: float = 0.1,
    batch_size: int = 100,
    random_state: Seed = None,
) -> Batches:
    """A stream whose number of components changes.

    Parameters
    ----------
    n_samples, batch_size, random_state
        As in `colored_gaussian`.
    ranks
        Numbers of components, by the sample from which on they hold; default: 3, 5 from 2000, 2 from 4000.
    n_features
        The width of the stream.
    signal
        Variance of the weakest possible component; the first has up to twice that. A component keeps its
        variance and direction when others come and go.
    noise
        Variance of the white noise underneath.

    Examples
    --------
    >>> X = np.vstack(list(changing_rank(random_state=0)))
    >>> [int((np.linalg.eigvalsh(part.T @ part / 2000) > 1).sum()) for part in np.split(X, 3)]
    [3, 5, 2]
    """
    schedule = {0: 3, 2000: 5, 4000: 2} if ranks is None else {0: 0, **ranks}
    largest = max(schedule.values())
    if min(schedule.values()) < 0 or largest > n_features:
        raise ValueError(f"ranks must lie between 0 and n_features={n_features}, got {dict(schedule)}")
    strength = signal * (2 - np.arange(n_features) / max(largest, 1))
    spectra = {t: np.where(np.arange(n_features) < p, strength, noise) for t, p in schedule.items()}
    return _piecewise(spectra, n_samples, batch_size, np.random.default_rng(random_state))


class Fault(NamedTuple):
    """A fault of one sensor of `plant`: its kind, size and duration."""

    sensor: int
    start: int
    stop: int
    kind: str = "biased"
    """``"biased"``, ``"stuck"`` at its last value, ``"noisy"`` or ``"drifting"``."""
    size: float = 6.0
    """Size in standard deviations of the sensor; of a drift, at its end."""


def plant(
    n_samples: int | None = 10_000,
    *,
    faults: Sequence[Fault] = (),
    n_sensors: int = 8,
    n_causes: int = 2,
    memory: float = 0.9,
    noise: float = 0.3,
    batch_size: int = 100,
    random_state: Seed = None,
) -> Batches:
    """Sensors of a plant: in different units, driven by a few causes that change slowly, some with faults.

    Parameters
    ----------
    n_samples, batch_size, random_state
        As in `colored_gaussian`.
    faults
        Faults of sensors.
    n_sensors, n_causes
        Numbers of sensors, and of causes that drive them.
    memory
        Correlation of a cause with itself one row later.
    noise
        Standard deviation of each sensor's own noise, where its causes give 1.

    Examples
    --------
    >>> X = np.vstack(list(plant(1000, faults=[Fault(3, 500, 600, "stuck")], random_state=0)))
    >>> X.shape, len(set(X[500:600, 3]))
    ((1000, 8), 1)
    """
    rng = np.random.default_rng(random_state)
    for fault in faults:
        if not 0 <= fault.sensor < n_sensors or fault.kind not in ("biased", "stuck", "noisy", "drifting"):
            raise ValueError(f"{fault} is no fault of {n_sensors} sensors: biased, stuck, noisy or drifting")
    mixing = rng.standard_normal((n_causes, n_sensors))
    # The causes give each sensor a variance of 1, in units from hundredths to ten thousands and far from
    # zero: a model of the raw numbers would see the largest unit alone.
    mixing /= np.linalg.norm(mixing, axis=0)
    units, offsets = 10.0 ** rng.uniform(-2, 4, n_sensors), rng.uniform(2, 20, n_sensors)

    def batches() -> Batches:
        cause, held = rng.standard_normal(n_causes), dict[Fault, float]()
        rows = list[NDArray[np.float64]]()
        for t in count(0) if n_samples is None else range(n_samples):
            # A cause keeps the variance 1, whatever its memory.
            cause = memory * cause + np.sqrt(1 - memory**2) * rng.standard_normal(n_causes)
            row = cause @ mixing + noise * rng.standard_normal(n_sensors)
            for fault in faults:
                if fault.start <= t < fault.stop:
                    row[fault.sensor] = _with_fault(fault, t, row[fault.sensor], held, rng)
            rows.append(units * (offsets + row))
            if len(rows) == batch_size or t + 1 == n_samples:
                yield np.array(rows)
                rows = []

    return batches()


def _with_fault(
    fault: Fault, t: int, value: float, held: dict[Fault, float], rng: np.random.Generator
) -> float:
    """Reading that a faulty sensor shows instead of this value."""
    if fault.kind == "stuck":
        return held.setdefault(fault, value)
    if fault.kind == "noisy":
        return value + fault.size * rng.standard_normal()
    grown = (t + 1 - fault.start) / (fault.stop - fault.start) if fault.kind == "drifting" else 1.0
    return value + fault.size * grown


def _piecewise(
    spectra: Mapping[int, ArrayLike], n_samples: int | None, batch_size: int, rng: np.random.Generator
) -> Batches:
    """Check now, generate later: an error should not wait for the first batch."""
    starts = np.array(sorted(spectra))
    deviations = np.sqrt(np.array([_checked(spectra[int(t)]) for t in starts]))
    if starts[0] != 0:
        raise ValueError(f"sample indices must not be negative, got {starts[0]}")
    if batch_size < 1 or (n_samples is not None and n_samples < 0):
        raise ValueError(
            f"batch_size must be at least 1 and n_samples not negative, "
            f"got batch_size={batch_size}, n_samples={n_samples}"
        )
    n = deviations.shape[1]

    def batches() -> Batches:
        U = random_orthonormal(n, n, rng)
        t = 0
        while n_samples is None or t < n_samples:
            rows = batch_size if n_samples is None else min(batch_size, n_samples - t)
            # Numbers are drawn row by row: the samples do not depend on how they are cut into batches.
            stretch = np.searchsorted(starts, np.arange(t, t + rows), side="right") - 1
            yield (rng.standard_normal((rows, n)) * deviations[stretch]) @ U
            t += rows

    return batches()


def _checked(eigenvalues: ArrayLike) -> NDArray[np.float64]:
    lam = np.asarray(eigenvalues, dtype=np.float64)
    if lam.ndim != 1 or lam.size == 0 or not np.all((lam >= 0) & np.isfinite(lam)):
        raise ValueError(f"eigenvalues must be a non-empty vector of finite numbers >= 0, got {lam}")
    return lam
