"""Scores of a source by a model, or by a bank of models, that does not learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..io.sinks import Layout, Sink
from ..io.sources import Hint, Source, SourceError
from ..keyed import Bank, ModelLookup, MonitorBank
from ..model import StreamModel
from ..model.delays import last_rows

if TYPE_CHECKING:
    from ..io.sources import Batch, Floats
    from .stage import Model


class Scorer:
    """Scores batches in order by one model; with lags, a batch goes on where the one before it ended."""

    def __init__(
        self, model: Model, *, residuals: bool = False, respond: Mapping[str, Any] | None = None
    ) -> None:
        self.model, self.residuals, self.respond = model, residuals, respond
        self.width = model.n_features_in_
        self._before: dict[Any, Floats] = {}
        """The last rows (of each key), as many as there are lags."""

    def scores(self, batch: Batch) -> Floats:
        """The scores of each row, and beside them its squared residual, if asked for."""
        return self._of(self.model, batch.rows)

    def _of(self, model: Model, rows: Floats, key: Any = None) -> Floats:
        lags = model.parameters["lags"] if isinstance(model, StreamModel) else model.lags
        before = self._before.get(key)
        stretch = rows if before is None else np.vstack((before, rows))
        respond = self.respond
        scores: Floats = model.transform(stretch) if respond is None else model.respond(stretch, **respond)
        if self.residuals:
            scores = np.column_stack((scores, model.squared_residuals(stretch)))
        if lags:
            self._before[key] = last_rows(rows, lags, before)
        return scores[-len(rows) :]


class KeyedScorer(Scorer):
    """Scores each row by the model of its key; NaN where the bank has none, and such rows are counted."""

    def __init__(
        self, bank: Bank | MonitorBank, settings: Mapping[str, str] | None = None, **how: Any
    ) -> None:
        self.lookup, self._settings = ModelLookup(bank), settings or {}
        """Models, and parameters that they score with instead of their own."""
        first = self.lookup.get(next(iter(bank)))
        assert first is not None
        super().__init__(first, **how)
        self.unknown: dict[Any, int] = {}
        """Rows of each key that has no model."""

    def scores(self, batch: Batch) -> Floats:
        assert batch.keys is not None
        shape = (len(batch.rows), self.model.max_components_ + self.residuals)
        scores = np.full(shape, np.nan, dtype=self.model.components_.dtype)
        for key, model, own in self.lookup.each(batch.keys):
            if model is None:
                self.unknown[key] = self.unknown.get(key, 0) + len(own)
                continue
            model.parameters.update(self._settings)
            scores[own] = self._of(model, batch.rows[own], key)
        return scores


def score(
    model: Model | Scorer,
    source: Source,
    sink: Callable[[Layout], Sink],
    *,
    residuals: bool = False,
    respond: Mapping[str, Any] | None = None,
) -> int:
    """Write the scores of every row; returns the number of rows.

    Parameters
    ----------
    model
        A fitted model, which does not learn, or a `KeyedScorer` of many.
    source
        Rows as wide as the model's.
    sink
        Opens the output, given its columns; called when the first scores are there. The output is closed in
        any case.
    residuals
        True writes each row's squared residual beside its scores.
    respond
        Options of `StreamModel.respond`, whose outputs are written instead of scores, a column per neuron.

    Raises
    ------
    SourceError
        If the source cannot be read, or is not as wide as the model.
    """
    scorer: Scorer = (
        model if isinstance(model, Scorer) else Scorer(model, residuals=residuals, respond=respond)
    )
    if source.width != scorer.width:
        raise SourceError(
            f"{source.name} has {source.width} columns where the model has {scorer.width}",
            Hint("columns", None, "chooses some of them"),
        )
    output, rows = None, 0
    try:
        for batch in source:
            scores = scorer.scores(batch)
            unit: Literal["component", "neuron"] = "component" if scorer.respond is None else "neuron"
            layout = Layout(scores.shape[1], scores.dtype, source.kept, scorer.residuals, unit)
            output = output or sink(layout)
            output.write(batch.numbers, scores, batch.texts)
            rows += len(scores)
        if output is not None:
            output.settle(final=True)
            output.committed()
    finally:
        if output is not None:
            output.close()
    return rows
