"""What can be done with a model once it is in a file: transform, inspect, merge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from .options import require_picture, source_argument, source_options
from .reading import open_source
from .summary import described, print_model, say
from .tables import table

if TYPE_CHECKING:
    from ..sources import Source
    from ..tracking import StreamModel

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
    from ..files import refuse_shared
    from ..running.outlet import output_opener, refuse_existing
    from ..running.scoring import score
    from ..sinks import check_output
    from ..tracking import StreamModel

    refuse_shared({"source": source, "model": model, "output": output})
    check_output(output)
    refuse_existing(output, overwrite)
    loaded = StreamModel.load(model)
    if missing is not None:
        loaded.missing = missing
    with _opened(source, loaded, options) as opened:
        if opened.width != loaded.n_features_in_:
            raise click.ClickException(
                f"{opened.name} has {opened.width} columns, but {model} was made from "
                f"{loaded.n_features_in_}; choose columns with --columns"
            )
        score(loaded, opened, output_opener(output, overwrite))
        if opened.skipped:
            click.echo(f"rows left out: {opened.skipped:,}", err=True)


def _opened(source: str | list[str], model: StreamModel, options: dict[str, Any]) -> Source:
    """The source with the columns the model was made from, by name if they have names, unless told others."""
    from ..running.record import record_of

    allow = {"allow_nan": model.missing != "raise"}
    record = record_of(model.position_)
    if options["columns"] is not None or record is None:
        return open_source(source, options, **allow)
    opened = open_source(source, options, **allow, columns=record.request.columns)
    if source != "-" and record.names and opened.names and opened.names != record.names:
        opened.close()
        return open_source(source, options, **allow, columns=record.names)
    return opened


@click.command(epilog="Example: eigenstream inspect sensors.model --plot sensors.png")
@model_argument
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw spectrum and rank over time: PNG or SVG.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def inspect(model: str, plot: str | None, as_json: bool) -> None:
    """What a model is, what it has seen, and how it was made."""
    from ..files import refuse_shared, shown
    from ..tracking import StreamModel

    if plot is not None:
        require_picture(plot)
        refuse_shared({"model": model, "picture": plot})
    loaded = StreamModel.load(model)
    if as_json:
        facts = {**described(loaded), "parameters": _parameters(loaded), "made_by": _made_by(loaded)}
        print(json.dumps(facts))
    else:
        _show(model, loaded)
    if plot is not None:
        from ..plotting import draw_history

        draw_history(loaded.spectrum_history_, shown(model)).savefig(plot)


def _show(name: str, model: StreamModel) -> None:
    from rich.console import Console
    from rich.text import Text

    from ..files import shown

    console = Console()
    say(console, f"{name}: a model of {model.n_samples_seen_:,} samples of {model.n_features_in_} numbers")
    print_model(console, model)
    ranks = ", ".join(f"{rule} {rank}" for rule, rank in model.other_ranks_.items())
    say(console, f"rank by each rule (--rank-rule): {ranks}")
    made = table("made with", "value")
    for parameter, value in {**_parameters(model), **_made_by(model)}.items():
        if value is not None:
            made.add_row(Text(shown(parameter)), Text(shown(str(value))))
    console.print(made)


def _made_by(model: StreamModel) -> dict[str, Any]:
    """What the job that made the model was asked, if it was a job."""
    from ..running.record import record_of

    record = record_of(model.position_)
    return {} if record is None else record.request.document()


def _parameters(model: StreamModel) -> dict[str, Any]:
    return {
        name: value if isinstance(value, int | float | str | None) else str(value)
        for name, value in model.parameters.items()
    }


@click.command(epilog="Example: eigenstream merge monday.model tuesday.model --save week.model")
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--save", required=True, type=click.Path(dir_okay=False), help="Where the merged model goes.")
@click.option("--overwrite", is_flag=True, help="Replace a file that exists.")
def merge(models: tuple[str, ...], save: str, overwrite: bool) -> None:
    """One model that knows what several know, made from different rows of one source."""
    from .. import load
    from .. import merge as merged_from
    from ..files import shown
    from ..running import ModelFile
    from ..running.outlet import refuse_existing

    refuse_existing(save, overwrite)
    merged = merged_from([load(path) for path in models])
    file = ModelFile(save)
    try:
        merged.save(file.target)
        file.forget()  # what a note says of an earlier job is no longer true
    finally:
        file.close()
    click.echo(f"{shown(save)}: {merged.n_samples_seen_:,} samples, rank {merged.n_components_}")
