"""Scores of a whole source by a model that does not learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..io.sinks import Layout, Sink
from ..io.sources import Source, SourceError
from ..model.delays import last_rows

if TYPE_CHECKING:
    from .stage import Model


def score(model: Model, source: Source, sink: Callable[[Layout], Sink], *, residuals: bool = False) -> int:
    """Write the scores of every row; returns the number of rows.

    Parameters
    ----------
    model
        A fitted model; it does not learn.
    source
        Rows as wide as the model's.
    sink
        Opens the output, given its columns; called when the first scores are there. The output is closed in
        any case.
    residuals
        True writes each row's squared residual beside its scores.

    Raises
    ------
    SourceError
        If the source cannot be read, or is not as wide as the model.
    """
    if source.width != model.n_features_in_:
        raise SourceError(
            f"{source.name} has {source.width} columns where the model has {model.n_features_in_}: choose "
            "columns"
        )
    output, rows = None, 0
    lags, before = model.fitted().plan.lags, None
    try:
        for batch in source:
            # With lags, a batch goes on where the one before it ended.
            stretch = batch.rows if before is None else np.vstack((before, batch.rows))
            scores = model.transform(stretch)
            if residuals:
                scores = np.column_stack((scores, model.squared_residuals(stretch)))
            if lags:
                scores = scores[-len(batch.rows) :]
                before = last_rows(batch.rows, lags, before)
            layout = Layout(scores.shape[1], scores.dtype, source.reader.kept, residuals)
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
