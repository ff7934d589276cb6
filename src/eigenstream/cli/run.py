"""The main job: learn from a stream; scores, a model and a picture come out."""

from __future__ import annotations

from typing import Any

import click

from .job_command import carry_out
from .job_options import job_options
from .options import ESTIMATOR_OPTIONS, estimator_options, residuals_option
from .sections import SectionedCommand


@click.command(
    cls=SectionedCommand,
    epilog="Example: eigenstream run sensors.csv --half-life 5000 --output scores.csv --save sensors.model",
)
@job_options(
    estimator_options,
    residuals_option,
    output="Write scores to NAME.csv, NAME.jsonl, NAME.npy or NAME.parquet (a folder of parts; the last "
    "comes at the end).",
    picture="Draw spectrum and rank over time: PNG or SVG.",
    quiet="Print errors only.",
    as_json="Print events as JSON, one object per line.",
)
@click.pass_context
def run(ctx: click.Context, /, **given: Any) -> None:
    """Learn from a stream, and follow its dimension.

    SOURCE is a file of CSV or JSON lines (gzip too), an NPY or NPZ file, a Parquet file or folder, a Zarr
    array, a Redis stream (redis://HOST/0?stream=NAME), or - for CSV or JSON lines on standard input. Several
    files, or a folder of them, are read one after the other. Without SOURCE: a built-in stream whose
    number of components changes.

    With --save, a job that was killed continues with --resume as if nothing had happened: the final model and
    output are those of an uninterrupted run, bit for bit. Give the same command again, and --resume.

    With --key, each key has a model of its own, the same as if its rows came alone; scores carry the key.

    With --model, a model goes on with the next source: its settings and columns (by name) are its own. It
    remembers which sources it has learnt, and does not learn one twice.
    """
    if given["residuals"] and not given["output"] and not given["resume"]:
        raise click.UsageError("--residuals are written beside the scores: they need --output")
    carry_out(ctx, given, ESTIMATOR_OPTIONS)
