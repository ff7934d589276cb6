"""Output files of `inspect`: pictures of a model of several kinds, and its loadings as a table."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ..jobs.starting_point import StartingPoint

KINDS = ("time", "spectrum", "loadings", "scores")
"""Pictures of a model, the usual one first."""
MOST_POINTS = 5000
"""Rows in a picture of scores: more would hide each other. Of more, every second, fourth, ... is drawn."""


def picture_asked(value: str) -> tuple[str, str]:
    """The kind of a picture and its file, from ``[KIND=]FILE`` or ``KIND``.

    Examples
    --------
    >>> [picture_asked(value) for value in ("a.png", "loadings=b.svg", "scores")]
    [('time', 'a.png'), ('loadings', 'b.svg'), ('scores', 'scores.png')]
    """
    kind, equals, file = value.partition("=")
    if equals and kind in KINDS:
        return kind, file
    if equals and kind.isalpha():
        raise ValueError(
            f"there is no picture {kind!r}, expected {', '.join(KINDS)} before the '=' of --picture {value} "
            f"(a file of this name is ./{value})"
        )
    return (value, f"{value}.png") if value in KINDS else (KINDS[0], value)


def picture(kind: str, point: StartingPoint, name: str, source: Any, key: str | None) -> Figure:
    """The picture of one model."""
    from ..io.files import shown
    from ..plotting import panels, plot_loadings, plot_scores, plot_spectrum
    from .closing import drawn

    model = point.model
    if kind == "time":
        return drawn(model, shown(name), point.times.at_all)
    if point.names and not model.features:
        model.features = list(point.names)
    if kind == "scores":
        scores = _scores(point, source, key)
        figure, (axis,) = panels(1, 1, 8, 6.5)
        plot_scores(model, scores, axis, limit=_limit(model))
    else:
        figure, (axis,) = panels(1, 1, 8, 6.5 if kind == "loadings" else 4.5)
        (plot_loadings if kind == "loadings" else plot_spectrum)(model, axis)
    axis.set_title(shown(name), parse_math=False)
    return figure


def bank_picture(path: str) -> Figure:
    """The picture of all keys of a bank, from what each of its models remembers."""
    from ..io.files import shown
    from ..jobs.fleet import remembered
    from ..keyed import open_bank
    from ..plotting import draw_fleet, require_matplotlib

    require_matplotlib()
    with open_bank(path) as bank:
        return draw_fleet(remembered(bank).glance(), shown(path))


def _limit(model: Any) -> float | None:
    """The limit of T² now, of a monitor that has one."""
    history = getattr(model, "control_history_", None)
    if history is None or not len(history.row):
        return None
    return float(history.chart("t2")[1][-1])


def _scores(point: StartingPoint, source: Any, key: str | None) -> NDArray[Any]:
    """Projections of the rows of a source, by default the one that was learnt last, thinned."""
    import numpy as np

    from ..io import files, sources
    from ..jobs import Request
    from ..jobs.scoring import Scorer

    learnt = point.record.request.source if point.record else None
    # A model file does not choose which server is asked.
    source = source or (None if files.is_address(learnt) else learnt)
    if source is None or source == "-":
        raise click.UsageError("scores are those of rows: name them with --source FILE")
    point.model.parameters["scores"] = "projected"
    request = point.inherited(Request(source), ())
    allow_nan = point.model.parameters["missing"] != "raise"
    reading = dataclasses.replace(request.reading, names=point.names, allow_nan=allow_nan)
    scorer, kept, step, came = Scorer(point.model), list[Any](), 1, 0
    try:
        rows = sources.open(source, reading)
    except sources.SourceError:
        # What the model's own source had besides its inputs, this one need not have.
        rows = sources.open(source, reading, time_column=None, time_format=None, keep=None)
    with rows as opened:
        for batch in opened:
            if key is not None and batch.keys is not None:
                own = np.array([one == key for one in batch.keys])
                batch = dataclasses.replace(batch, rows=batch.rows[own])
            if not len(batch.rows):
                continue
            scores = scorer.scores(batch)
            kept += [scores[i] for i in range(len(scores)) if (came + i) % step == 0]
            came += len(scores)
            while len(kept) > MOST_POINTS:
                kept, step = kept[::2], 2 * step
    if not kept:
        raise click.ClickException("there is no row to draw: name others with --source FILE")
    return np.array(kept)


def write_loadings(points: Iterator[tuple[Any, StartingPoint]], path: str, keyed: bool) -> int:
    """Write the loadings of models, a line per input; returns the number of lines.

    Columns: the key (of a bank), the input, its mean, what it is divided by, its loading on each component.
    """
    import numpy as np

    from ..io.files import replace
    from ..learners.arrays import host

    lines: list[list[Any]] = []
    width = 0
    for key, point in points:
        model = point.model
        if point.names and not model.features:
            model.features = list(point.names)
        weights = np.asarray(host(model.components_), dtype=np.float64)
        mean = np.asarray(host(model.mean_), dtype=np.float64)
        scale = np.ones(len(mean)) if model.scale_ is None else np.asarray(host(model.scale_), np.float64)
        width = max(width, len(weights))
        for i, name in enumerate(model.input_names_):
            own = [name, float(mean[i]), float(scale[i]), *weights[:, i].tolist()]
            lines.append([key, *own] if keyed else own)
    head = [*(["key"] if keyed else []), "input", "mean", "scale", *(f"component_{i}" for i in range(width))]
    lines = [line + [None] * (len(head) - len(line)) for line in lines]
    if Path(path).suffix.lower() == ".parquet":
        replace(path, _parquet(head, lines))
    else:
        text = StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([head, *lines])
        replace(path, text.getvalue().encode("utf-8", "surrogateescape"))
    return len(lines)


def _parquet(head: list[str], lines: list[list[Any]]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise click.ClickException("Parquet needs pyarrow: pip install 'eigenstream[parquet]'") from None
    columns = [list(column) for column in zip(*lines, strict=True)] or [[] for _ in head]
    table = pyarrow.table(dict(zip(head, columns, strict=True)))
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, buffer)
    content: bytes = buffer.getvalue().to_pybytes()
    return content


def require_table(path: str, overwrite: bool) -> None:
    """Raise an error if no table can be written there."""
    from ..jobs.model_file import refuse_existing

    if Path(path).suffix.lower() not in (".csv", ".parquet"):
        raise click.BadParameter(f"{path!r} must end in .csv or .parquet", param_hint="loadings")
    refuse_existing(path, overwrite)
