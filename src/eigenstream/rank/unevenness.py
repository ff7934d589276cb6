"""The edge of independent inputs that are as uneven as the components before an eigenvalue leave them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..array_types import Matrix
from ..learners.knowledge import Profile
from .edges import independence_edges
from .evidence import Vector
from .rule import TINY

# A share of the noise. What no other input explains of an input is its own; of few rows, or where the last
# directions of a stream are not known, that is uncertain. Of forty draws of three factors in 10 inputs whose
# variances are exponentially distributed, 500 rows, 72 % are right with this and at 0.1, and 57 % at 1 (68 %
# if only what lies outside of the components' axes counts; seeds from 770,000 on).
RIDGE = 0.25
"""Variance that is added to every direction before inputs are explained by each other, as a share of the
noise's."""

# A share. The loudest input and a component that is about as loud share two axes: of 40 draws of three
# components of 6, 3 and 1.7 times the edge, with an input 2.4 times as loud as all others, 33 are right if
# only what lies outside of the components' axes counts, and all are right so (seeds from 0 on). An input that
# has an axis of its own is noise no more. Other values were not tried.
MOSTLY = 0.5
"""Share of an input in the components from which on it counts ever less as noise."""

# Standard deviations of a variance of so many samples. The larger of two estimates is too large by chance: of
# 100 draws of slow factors of 1.5 times the edge in white noise, 1,000 rows of 30 inputs, 8 lose one without
# this, none at 2 and at 3; very uneven noise is as often right with each of these (seeds from 10,000 and from
# 735,000 on).
DEVIATIONS = 2.0
"""Deviations by which what no other input explains may be too large by chance."""

ROUNDING = 1e-12
"""Share of the largest eigenvalue below which one is nothing but rounding."""


def unevenness(
    profile: Profile, n: int, needed: NDArray[np.int64], number: int, samples: Vector | float
) -> Vector:
    """The edge of independent inputs, as uneven as the first 0, 1, ... directions leave them, of mean 1.

    Parameters
    ----------
    profile
        What is known of inputs.
    n
        Number of inputs that vary.
    needed
        How many edges matter; the last of these stands for all others, as it does for those of directions
        that the profile does not know.
    number
        How many edges to return.
    samples
        The number of independent samples for each edge, or one for all.
    """
    needed = np.minimum(needed, profile.held.shape[-2] + 1)
    most = int(needed.max())
    samples = samples if isinstance(samples, float) else samples[..., :most]
    left, mean = inputs_left(profile, n, most, samples)
    edges = independence_edges(left, profile.weights, samples) / np.maximum(mean, TINY)
    which = np.minimum(np.arange(number), needed[..., None] - 1)
    return np.asarray(np.take_along_axis(edges, which, axis=-1) if edges.ndim > 1 else edges[which])


def inputs_left(profile: Profile, n: int, number: int, samples: Vector | float) -> tuple[Matrix, Vector]:
    """Noise of each input by what 0, 1, ... components leave of it (number, w), and its mean (number).

    Two estimates, of which the larger counts. What lies outside of the p components' axes, times n / (n - p)
    for the noise along these. And what no other input explains of it, by ridge regression:
    ``1 / ((C + ridge)^-1)_ii - ridge``. The first is too low for a loud input that shares axes with
    components; the second counts as far as the input lies outside of the components, less what is by chance.
    """
    inputs, weights = profile.inputs[..., None, :], profile.weights
    held = np.ascontiguousarray(profile.held)  # products of other layouts have other bits
    outside = np.maximum(inputs - _running_sums(held, number), 0.0)
    mean = (weights * outside).sum(axis=-1) / np.maximum(n - np.arange(number), 1)
    if number == 1:
        return outside, mean
    lam = held @ weights
    unit = np.maximum(lam.max(axis=-1), TINY)[..., None]  # squares of sums of squares overflow or vanish
    lam, noise = np.maximum(lam / unit, ROUNDING), np.maximum(mean[..., 1:] / unit, ROUNDING)
    shares = held / (unit * lam)[..., None]
    within = _running_sums(shares, number)[..., 1:, :]
    rest = np.maximum(inputs - held.sum(axis=-2, keepdims=True), 0.0) / unit[..., None]
    certain = np.maximum(1 - DEVIATIONS * np.sqrt(2 / np.asarray(samples)), 0.0)
    certain = certain[..., 1:, None] if certain.ndim else certain
    own = np.minimum(unit[..., None] * certain * _unexplained(shares, rest, lam, noise), inputs)
    mean[..., 1:] = unit * noise
    even = n / np.maximum(n - np.arange(1, number), 1)
    left = outside[..., 1:, :] * even[:, None]
    share = np.clip((1 - within) / (1 - MOSTLY), 0.0, 1.0)
    outside[..., 1:, :] = left + share * np.maximum(own - left, 0.0)
    return outside, mean


def _running_sums(parts: Matrix, number: int) -> Matrix:
    """Sums of the first 0, 1, ... rows (number, w): NumPy's own function goes through them by columns."""
    sums = np.zeros((*parts.shape[:-2], number, parts.shape[-1]))
    for i in range(1, number):
        np.add(sums[..., i - 1, :], parts[..., i - 1, :], out=sums[..., i, :])
    return sums


def _unexplained(shares: Matrix, rest: Vector, lam: Vector, noise: Vector) -> Matrix:
    """Variance of each input that no other explains, for each of p levels of the noise (p, w).

    Parameters
    ----------
    shares
        Squares of each input's part in the known axes (r, w).
    rest
        Variance of each input that these axes leave, in one direction that stands for all others (1, w).
    lam
        Eigenvalues of these axes (r).
    noise
        Levels of the noise (p).
    """
    ridge = RIDGE * noise[..., None]
    # One vector after the other: products of more have other bits.
    known = ((1 / (lam[..., None, :] + ridge))[..., None, :] @ shares[..., None, :, :])[..., 0, :]
    unknown = np.maximum(1 - shares.sum(axis=-2, keepdims=True), 0.0)
    inverse = known + np.square(unknown) / np.maximum(rest + ridge * unknown, TINY)
    return np.asarray(1 / np.maximum(inverse, TINY) - ridge)
