"""Streaming PCA as a part of river: dictionaries or data frames in, features that come and go.

>>> from river import datasets, linear_model, metrics, preprocessing
>>> pca = StreamingPCA(alpha="parallel")
>>> model = preprocessing.StandardScaler() | pca | linear_model.LogisticRegression()
>>> accuracy = metrics.Accuracy()
>>> for x, y in datasets.Phishing():
...     accuracy.update(y, model.predict_one(x))
...     model.learn_one(x, y)
>>> pca.model.n_features_in_, pca.model.n_components_, round(accuracy.get(), 2)
(9, 2, 0.81)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..tracking import StreamModel, plan_for, widened
from ..tracking.model import DEFAULTS
from ..tracking.parameters import refuse_huge

try:
    from river import base
except ImportError as error:
    raise ImportError("to use eigenstream in river, pip install 'eigenstream[river]'") from error

if TYPE_CHECKING:
    import pandas

Features = Mapping[Hashable, Any]
Rows = NDArray[np.floating[Any]]


class StreamingPCA(base.MiniBatchTransformer):
    """Streaming PCA that finds its own number of components, for river.

    Scores are those of the model as it stood at its last look at the stream, at most 64 samples ago without
    forgetting: transforming costs next to nothing, and does not change anything. Before the first look, after
    32 samples, all scores are zero. How samples are cut into mini-batches does not matter.

    Features may come and go. A feature that is seen for the first time joins the model as an input that had
    been constant so far. A feature that is not there, or is None or NaN, is filled in from what is known of
    the others. While transforming, features that have never been learnt are ignored.

    Parameters
    ----------
    max_components
        The capacity: how many components at most; 32 if None. Never more than there are features.
    alpha
        The regularization coefficient, or how to find it: ``"auto"``, ``"edge"``, ``"parallel"`` or
        ``"share:0.95"`` (see `eigenstream.rules`).
    half_life
        After how many samples a sample counts half; None never forgets.
    regularizer, solver, center, outliers, scores
        As of `eigenstream.OnlineAdaptivePCA`.
    seed
        Seed of the random directions; only the network has any.

    Examples
    --------
    >>> from river import datasets
    >>> pca = StreamingPCA(max_components=3)
    >>> for x, _ in datasets.Phishing().take(200):
    ...     pca.learn_one(x)
    >>> list(pca.transform_one(x))
    ['component_0', 'component_1', 'component_2']
    >>> pca.model.n_samples_seen_
    200
    """

    def __init__(
        self,
        max_components: int | None = None,
        alpha: float | str = "auto",
        half_life: float | None = None,
        regularizer: str = "input-output",
        solver: str = "auto",
        center: bool = True,
        outliers: str = "keep",
        scores: str = "shrunk",
        seed: int | None = None,
    ) -> None:
        self.max_components = max_components
        self.alpha = alpha
        self.half_life = half_life
        self.regularizer = regularizer
        self.solver = solver
        self.center = center
        self.outliers = outliers
        self.scores = scores
        self.seed = seed
        self.model: StreamModel | None = None
        """What has been learnt, with the attributes of `OnlineAdaptivePCA`; None before the first sample."""
        self.features: dict[Hashable, int] = {}
        """The features learnt so far, and which input of the model each of them is."""

    def learn_one(self, x: Features) -> None:
        """Learn from one sample."""
        self._learn(list(x), _numbers(x)[None])

    def transform_one(self, x: Features) -> dict[Hashable, Any]:
        """Scores of one sample; none before the first sample has been learnt."""
        scores = self._scores(list(x), _numbers(x)[None])
        return dict(zip(_names(scores), scores[0].tolist(), strict=True))

    def learn_many(self, X: pandas.DataFrame) -> None:
        """Learn from a mini-batch, row by row; the result is that of `learn_one`."""
        self._learn(list(X.columns), _table(X))

    def transform_many(self, X: pandas.DataFrame) -> pandas.DataFrame:
        """Scores of a mini-batch, one row per sample."""
        import pandas

        scores = self._scores(list(X.columns), _table(X))
        return pandas.DataFrame(scores, index=X.index, columns=_names(scores))

    def _learn(self, names: Sequence[Hashable], rows: Rows) -> None:
        refuse_huge(rows)  # now, since a refused call leaves the model as it was
        for part, unseen in self._parts(names, rows):
            self._join(unseen)
            if self.model is not None:
                self.model.partial_fit(self._inputs(names, part))

    def _parts(self, names: Sequence[Hashable], rows: Rows) -> Iterator[tuple[Rows, dict[Hashable, float]]]:
        """Rows in parts that begin where features have their first value, and these values.

        Features that appear together are sorted: the order of a dictionary says nothing.
        """
        new = [i for i, name in enumerate(names) if name not in self.features]
        observed = ~np.isnan(rows[:, new])
        begins = np.where(observed.any(axis=0), observed.argmax(axis=0), len(rows))
        cuts = sorted({0, *begins.tolist(), len(rows)})
        for start, stop in pairwise(cuts):
            here = [i for i, begin in zip(new, begins, strict=True) if begin == start]
            here.sort(key=lambda i: (str(names[i]), i))
            yield rows[start:stop], {names[i]: float(rows[start, i]) for i in here}

    def _join(self, unseen: Mapping[Hashable, float]) -> None:
        """Let features into the model that had been constant so far."""
        if not unseen:
            return
        self.features |= {name: i for i, name in enumerate(unseen, len(self.features))}
        width = len(self.features)
        if self.model is None or self.model.tracker is None:
            self.model = StreamModel(**self._parameters(width))
            return
        self.model.parameters = self._parameters(width)
        plan = plan_for(self.model.parameters, width, np.float64)
        self.model.tracker = widened(self.model.tracker, plan, np.array(list(unseen.values())))

    def _parameters(self, width: int) -> dict[str, Any]:
        own = ("regularizer", "alpha", "solver", "half_life", "center", "outliers", "scores")
        most = None if self.max_components is None else min(self.max_components, width)
        return {
            **DEFAULTS,
            **{name: getattr(self, name) for name in own},
            "max_components": most,
            "missing": "impute",
            "random_state": self.seed,
        }

    def _scores(self, names: Sequence[Hashable], rows: Rows) -> Rows:
        if self.model is None or self.model.tracker is None:
            return np.zeros((len(rows), 0))
        return self.model.tracker.scores(self._inputs(names, rows), self.scores)

    def _inputs(self, names: Sequence[Hashable], rows: Rows) -> Rows:
        """The rows as the model knows them: NaN for a feature that is not there."""
        inputs = np.full((len(rows), len(self.features)), np.nan)
        known = [(i, self.features[name]) for i, name in enumerate(names) if name in self.features]
        inputs[:, [there for _, there in known]] = rows[:, [here for here, _ in known]]
        return inputs


def _names(scores: Rows) -> list[str]:
    return [f"component_{i}" for i in range(scores.shape[1])]


def _numbers(x: Features) -> Rows:
    """The values of one sample; NaN for None."""
    try:
        return np.array([np.nan if value is None else value for value in x.values()], dtype=np.float64)
    except (TypeError, ValueError):
        name, value = next((name, value) for name, value in x.items() if not _is_number(value))
        raise ValueError(
            f"feature {name!r} is {value!r}, expected a number: choose numeric features, for instance with "
            "river.compose.SelectType"
        ) from None


def _table(X: pandas.DataFrame) -> Rows:
    """A mini-batch as an array; NaN for missing values."""
    try:
        table: Rows = X.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"a column of the mini-batch holds no numbers ({error}): choose numeric columns, for instance "
            "with river.compose.SelectType"
        ) from None
    return table


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True
