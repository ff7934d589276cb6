"""What can be done with a model once it is in a file: transform, inspect, merge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import SOURCE_OPTIONS, require_picture, source_argument, source_options
from .summary import described, rank_story, spectrum_table
from .tables import table

if TYPE_CHECKING:
    from ..estimators import OnlineAdaptivePCA
    from ..sources import Source

model_argument = click.argument("model", type=click.Path(exists=True, dir_okay=False))


@click.command(epilog="Example: eigenstream transform sensors.model sensors.csv --output scores.csv")
@model_argument
@source_argument(required=True)
@click.option(
    "--output", default="-", help="NAME.csv, NAME.npy, NAME.parquet.  [default: CSV on the terminal]"
)
@click.option("--overwrite", is_flag=True, help="Replace an output that exists.")
@click.option(
    "--missing",
    type=click.Choice(["raise", "skip", "impute"]),
    help="Of values.  [default: as the model was made]",
)
@source_options
def transform(
    model: str, source: str | list[str], output: str, overwrite: bool, missing: str | None, **options: Any
) -> None:
    """Scores of a source by a model that stays as it is."""
    from .. import load
    from ..sinks import open_sink

    if output != "-" and Path(output).exists() and not overwrite:
        raise click.ClickException(f"{output} exists: --overwrite it, or choose another name")
    known = load(model)
    if missing is not None:
        known.set_params(missing=missing)
    with _opened(source, known, options) as opened:
        if opened.width != known.n_features_in_:
            raise click.ClickException(
                f"{opened.name} has {opened.width} columns, but {model} was made from "
                f"{known.n_features_in_}; choose columns with --columns"
            )
        sink = None
        for batch in opened:
            scores = known.transform(batch.rows)
            sink = sink or open_sink(output, scores.shape[1], scores.dtype)
            sink.write(batch.numbers, scores)
        if sink is not None:
            sink.settle(final=True)
            sink.committed()
            sink.close()
        if opened.skipped:
            click.echo(f"rows left out: {opened.skipped:,}", err=True)


def _opened(source: str | list[str], model: OnlineAdaptivePCA, options: dict[str, Any]) -> Source:
    """The source with the columns the model was made from, by name if they have names, unless told others."""
    from .. import sources

    chosen = {name: options[name] for name in SOURCE_OPTIONS} | {"allow_nan": model.missing != "raise"}
    chosen["rows"] = chosen["rows"] or (0, None)
    if chosen["columns"] is not None:
        return sources.open(source, **chosen)
    opened = sources.open(source, **chosen | {"columns": _told(model, "recipe").get("columns")})
    names = _told(model, "names")
    if source != "-" and names and opened.names and opened.names != names:
        opened.close()
        return sources.open(source, **chosen | {"columns": names})
    return opened


def _told(model: OnlineAdaptivePCA, what: str) -> Any:
    """What was written down with the model by the job that made it."""
    position = model.position_ if isinstance(model.position_, dict) else {}
    return position.get(what) or {}


@click.command(epilog="Example: eigenstream inspect sensors.model --plot sensors.png")
@model_argument
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw spectrum and rank over time: PNG or SVG.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def inspect(model: str, plot: str | None, as_json: bool) -> None:
    """What a model is, what it has seen, and how it was made."""
    from .. import load

    if plot is not None:
        require_picture(plot)
    known = load(model)
    if as_json:
        print(
            json.dumps(
                {**described(known), "parameters": _parameters(known), "made_by": _told(known, "recipe")}
            )
        )
    else:
        _show(model, known)
    if plot is not None:
        from ..plotting import draw_history

        draw_history(known.spectrum_history_, model).savefig(plot)


def _show(name: str, model: OnlineAdaptivePCA) -> None:
    from rich.console import Console

    console = Console()
    seen = f"{model.n_samples_seen_:,} samples of {model.n_features_in_} numbers"
    console.print(f"{name}: a model of {seen}", highlight=False, soft_wrap=True)
    console.print(
        f"rank {model.n_components_}, threshold {model.threshold_:.4g}", style="bold", highlight=False
    )
    console.print(spectrum_table(model))
    console.print(f"rank over time: {rank_story(model)}", highlight=False, soft_wrap=True)
    made = table("made with", "value")
    for parameter, value in {**_parameters(model), **_told(model, "recipe")}.items():
        if value is not None:
            made.add_row(parameter, str(value))
    console.print(made)


def _parameters(model: OnlineAdaptivePCA) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    del parameters["on_rank_change"]
    return {name: value if isinstance(value, int | float | str | None) else str(value)
            for name, value in parameters.items()}  # fmt: skip


@click.command(epilog="Example: eigenstream merge monday.model tuesday.model --save week.model")
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--save", required=True, type=click.Path(dir_okay=False), help="Where the merged model goes.")
@click.option("--overwrite", is_flag=True, help="Replace a file that exists.")
def merge(models: tuple[str, ...], save: str, overwrite: bool) -> None:
    """One model that knows what several know, made from different rows of one source."""
    from .. import load
    from .. import merge as merged_from

    if Path(save).exists() and not overwrite:
        raise click.ClickException(f"{save} exists: --overwrite it, or choose another name")
    merged = merged_from([load(path) for path in models])
    merged.save(save)
    click.echo(f"{save}: {merged.n_samples_seen_:,} samples, rank {merged.n_components_}")
