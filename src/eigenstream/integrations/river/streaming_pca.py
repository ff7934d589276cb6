"""Streaming PCA as a transformer of river."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from ...model import StreamModel
from ...model.network import Network
from ...model.parameters import refuse_huge
from .features import Features, KnownFeatures, Rows, for_width, let_in, row_of, rows_of

if TYPE_CHECKING:
    import pandas

OWN = (
    *("n_components", "max_components", "alpha", "half_life", "regularizer", "solver"),
    *("center", "standardize", "outliers", "scores"),
)
"""Parameters that river's transformer shares with `OnlineAdaptivePCA`."""


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
    n_components
        As of `eigenstream.OnlineAdaptivePCA`, or a text: ``"auto"``, ``"parallel"``, ``"95%"``. Never more
        than there are features.
    max_components
        The capacity: components at most. Never more than there are features.
    alpha
        The paper's regularization coefficient, from which the number of components follows; None: it follows
        from ``n_components``.
    half_life
        After how many samples a sample counts half; None never forgets.
    regularizer, solver, center, standardize, outliers, scores
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
        n_components: int | float | str = "auto",
        max_components: int | None = None,
        alpha: float | None = None,
        half_life: float | None = None,
        regularizer: str = "input-output",
        solver: str | Network = "auto",
        center: bool = True,
        standardize: bool = False,
        outliers: str = "keep",
        scores: str = "shrunk",
        seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.alpha = alpha
        self.half_life = half_life
        self.regularizer = regularizer
        self.solver = solver
        self.center = center
        self.standardize = standardize
        self.outliers = outliers
        self.scores = scores
        self.seed = seed
        self.model: StreamModel | None = None
        """The model, with the attributes of `OnlineAdaptivePCA`; None before the first sample."""
        self.inputs = KnownFeatures()

    def learn_one(self, x: Features) -> None:
        """Learn from one sample."""
        self._learn(list(x), row_of(x))

    def transform_one(self, x: Features) -> dict[Hashable, Any]:
        """Scores of one sample; none before the first sample has been learnt."""
        scores = self._scores(list(x), row_of(x))
        return dict(zip(_names(scores), scores[0].tolist(), strict=True))

    def learn_many(self, X: pandas.DataFrame) -> None:
        """Learn from a mini-batch, row by row; the result is that of `learn_one`."""
        self._learn(list(X.columns), rows_of(X))

    def transform_many(self, X: pandas.DataFrame) -> pandas.DataFrame:
        """Scores of a mini-batch, one row per sample."""
        import pandas

        scores = self._scores(list(X.columns), rows_of(X))
        return pandas.DataFrame(scores, index=X.index, columns=_names(scores))

    def _learn(self, names: Sequence[Hashable], rows: Rows) -> None:
        refuse_huge(rows)  # now, since a refused call leaves the model as it was
        for part, new in self.inputs.parts(names, rows):
            if new:
                self._join(np.array(list(new.values())))
            if self.model is not None:
                self.model.partial_fit(part)

    def _join(self, first: Rows) -> None:
        """Let features into the model that had been constant so far."""
        parameters = {name: getattr(self, name) for name in OWN} | {"random_state": self.seed}
        if self.model is None or self.model.tracker is None:
            self.model = StreamModel(**for_width(parameters, len(self.inputs)))
        else:
            let_in(self.model, parameters, len(self.inputs), first)

    def _scores(self, names: Sequence[Hashable], rows: Rows) -> Rows:
        if self.model is None or self.model.tracker is None:
            return np.zeros((len(rows), 0))
        return self.model.tracker.scores(self.inputs.of(names, rows), self.scores)


def _names(scores: Rows) -> list[str]:
    return [f"component_{i}" for i in range(scores.shape[1])]
