"""Everyone who says how unusual a row is, after normal rows; larger is more unusual.

PyOD and process-improve are compared where they are installed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from benchmarks.peers.peer import Array
from benchmarks.sections.monitor.plant import adaptive_peer

from eigenstream import StreamMonitor
from evaluation.question import OURS

ADAPTIVE = "eigenstream, adaptive with its anchor"
RATE = 0.01
Index = Callable[[Array], Array]


def methods(training: Array) -> dict[str, Index]:
    """Everyone, trained on normal rows."""
    scale = np.maximum(training.std(axis=0), 1e-12)
    rivals = {**_covariances(training / scale), "PCA, T² and Q": _pca(training / scale)}
    rivals["chart of each input"] = _charts(training / scale)
    rivals |= _outlier_detectors(training / scale) | {"river HalfSpaceTrees": _trees(training / scale)}
    found: dict[str, Index] = {
        OURS: lambda rows: (
            StreamMonitor(false_alarm_rate=RATE).fit(training).freeze().learn_many(rows).severity
        ),
        ADAPTIVE: lambda rows: _adaptive(training, rows),
    }
    found |= {name: lambda rows, index=index: index(rows / scale) for name, index in rivals.items()}
    if find_spec("process_improve") is not None:
        found["process-improve"] = adaptive_peer(training)
    return found


def _adaptive(training: Array, rows: Array) -> Array:
    verdicts = StreamMonitor(false_alarm_rate=RATE).fit(training).learn_many(rows)
    return np.asarray(np.maximum(verdicts.severity, verdicts.drift))


def _covariances(training: Array) -> dict[str, Index]:
    from sklearn.covariance import EmpiricalCovariance, LedoitWolf, MinCovDet

    kinds = {"empirical": EmpiricalCovariance(), "Ledoit-Wolf": LedoitWolf()}
    kinds["MinCovDet"] = MinCovDet(random_state=0)
    return {f"Mahalanobis, {name}": kind.fit(training).mahalanobis for name, kind in kinds.items()}


def _pca(training: Array) -> Index:
    """90 % of the variance; the larger of T² and Q in units of their 99 % quantiles."""
    from sklearn.decomposition import PCA

    pca = PCA(0.9).fit(training)

    def parts(rows: Array) -> tuple[Array, Array]:
        scores = pca.transform(rows)
        rest = rows - pca.inverse_transform(scores)
        return np.sum(scores**2 / pca.explained_variance_, axis=1), np.sum(rest**2, axis=1)

    limits = [np.quantile(part, 0.99) for part in parts(training)]
    return lambda rows: np.max([p / l for p, l in zip(parts(rows), limits, strict=True)], axis=0)


def _charts(training: Array) -> Index:
    """The input that is farthest off, in units of the way from its median to the quantile of 1 in 1,000."""
    low, middle, high = np.quantile(training, (0.001, 0.5, 0.999), axis=0)
    above, below = (np.where(way > 0, way, 1.0) for way in (high - middle, middle - low))
    return lambda rows: np.maximum((rows - middle) / above, (middle - rows) / below).max(axis=1)


def _outlier_detectors(training: Array) -> dict[str, Index]:
    """Those of PyOD, at their defaults."""
    if find_spec("pyod") is None:
        return {}
    from pyod.models.ecod import ECOD
    from pyod.models.iforest import IForest
    from pyod.models.knn import KNN
    from pyod.models.pca import PCA

    kinds = {"KNN": KNN(), "PCA": PCA(), "IForest": IForest(random_state=0), "ECOD": ECOD()}
    return {f"PyOD {name}": kind.fit(training).decision_function for name, kind in kinds.items()}


def _trees(training: Array) -> Index:
    """At their defaults, which ask for values between 0 and 1: training rows are put there."""
    from river.anomaly import HalfSpaceTrees

    low, high = training.min(axis=0), training.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    trees = HalfSpaceTrees(seed=0)

    def rows_of(rows: Array) -> list[dict[int, float]]:
        return [dict(enumerate(row)) for row in np.clip((rows - low) / width, 0, 1).tolist()]

    for row in rows_of(training):
        trees.learn_one(row)
    return lambda rows: np.array([trees.score_one(row) for row in rows_of(rows)])
