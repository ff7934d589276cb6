"""Commands for a model in a file: transform, inspect, export, merge."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .hints import in_flags
from .job_command import stated_options
from .options import (
    KEEP_OPTIONS,
    keep_options,
    overwrite_option,
    reading,
    require_enough,
    require_input,
    require_picture,
    residuals_option,
    source_options,
    threads_option,
)
from .sections import Section, SectionedCommand
from .summary import SHOWN, described, numbers, print_model, print_watching, say, table, watched

if TYPE_CHECKING:
    from ..io.sources import Source
    from ..jobs.record import Record
    from ..jobs.starting_point import StartingPoint

model_argument = click.argument("model", type=click.Path(exists=True, dir_okay=False))


@click.command(
    cls=SectionedCommand,
    epilog="Example: eigenstream transform sensors.model sensors.csv --output scores.csv",
)
@click.argument("files", metavar="MODEL SOURCE...", nargs=-1, type=click.Path(allow_dash=True))
@Section.READ.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False),
    help="MODEL by this name, as run and watch take it: then all arguments are sources.",
)
@Section.WRITE.option(
    "--output",
    default="-",
    help="Write scores to NAME.csv, NAME.jsonl, NAME.npy or NAME.parquet.  [default: CSV on the terminal]",
)
@residuals_option
@Section.WRITE.option(
    "--scores",
    type=click.Choice(["shrunk", "projected", "whitened"]),
    help="Scores as the paper's networks transmit them, plain projections, or projections of variance 1.  "
    "[default: as the model was made]",
)
@Section.WRITE.option(
    "--respond",
    type=click.Choice(["fixed-point", "jacobi", "gauss-seidel"]),
    help="Write the network's own outputs instead of scores, a column per neuron: solved for, or settled by "
    "the paper's dynamics.",
)
@Section.WRITE.option(
    "--tol",
    type=click.FloatRange(min=0, min_open=True),
    help="Of --respond jacobi and gauss-seidel: relative change at which neurons have settled.  "
    "[default: 1e-5]",
)
@source_options
@keep_options
@Section.READ.option(
    "--missing",
    type=click.Choice(["raise", "skip", "impute"]),
    help="Refuse rows that lack values, skip them, or fill the gaps in.  [default: as the model was made]",
)
@Section.KEYS.option(
    "--key", help="Of a bank: the column with the key of a row.  [default: as of the bank's own source]"
)
@Section.WRITE.option("--overwrite", is_flag=True, help="Replace an output that exists.")
@threads_option
@click.pass_context
def transform(
    ctx: click.Context, /, files: tuple[str, ...], model: str | None, output: str, **options: Any
) -> None:
    """Write the scores of a source by a model that does not learn.

    The source is read as the model's own was, unless other options are given; columns are found by name, and
    those that the model does not know are named.

    Of a bank of models: each row by the model of its key. Rows of a key without a model have no scores; they
    are counted.
    """
    from ..io.files import refuse_shared
    from ..io.sinks import check_output
    from ..jobs.model_file import output_opener, refuse_existing
    from ..jobs.scoring import KeyedScorer, score
    from ..jobs.starting_point import StartingPoint
    from ..network import ConvergenceError

    model, source = _model_and_source(ctx, model, files)
    refuse_shared({"source": source, "model": model, "output": output})
    check_output(output, keep=options["keep"] is not None)
    refuse_existing(output, options["overwrite"])
    point = StartingPoint.load(model)
    scorer: Any = point.model
    how = {"residuals": options["residuals"], "respond": _response(options)}
    changed = {name: options[name] for name in ("missing", "scores") if options[name] is not None}
    if point.is_bank:
        scorer = KeyedScorer(point.model, changed, **how)
    elif options["key"] is not None:
        raise click.UsageError(f"--key is for banks of models, and {model} is one model")
    else:
        point.model.parameters.update(changed)
    # Options of reading alone.
    stated = stated_options(ctx, options) - {"missing", "scores", "respond", "tol"}
    with _opened(source, point, options, stated) as opened:
        try:
            score(scorer, opened, output_opener(output, options["overwrite"]), **how)
        except ConvergenceError:
            raise click.ClickException(
                f"the neurons do not settle by --respond {options['respond']} to the precision asked for: "
                "take --respond fixed-point, which solves for where they would, or a larger --tol"
            ) from None
        if opened.skipped:
            click.echo(f"rows left out: {opened.skipped:,}", err=True)
        for note in opened.notes:
            click.echo(f"note: {in_flags(note)}", err=True)
        if not point.is_bank and options["respond"] is None and not point.model.n_components_:
            click.echo(
                f"note: all scores are 0: {model} keeps no component (rank 0); eigenstream inspect {model} "
                "says what other rules keep, and --components with a number keeps that many",
                err=True,
            )
        if unknown := getattr(scorer, "unknown", {}):
            _say_unknown(unknown)
        require_enough(ctx, opened, options["skip_at_most"])


def _model_and_source(
    ctx: click.Context, model: str | None, files: tuple[str, ...]
) -> tuple[str, str | list[str]]:
    """The file of the model, which is the first argument unless it is given by name, and the source."""
    if model is None:
        first = click.Path(exists=True, dir_okay=False)
        model, files = (str(first.convert(files[0], None, ctx)), files[1:]) if files else (None, ())
    if model is None or not files:
        lacking = "MODEL and SOURCE" if model is None else "SOURCE"
        raise click.UsageError(f"missing {lacking}: eigenstream transform MODEL SOURCE", ctx)
    return model, list(files) if len(files) > 1 else files[0]


def _response(options: dict[str, Any]) -> dict[str, Any] | None:
    """Way in which outputs of neurons settle; None to write scores."""
    settling, tol = options["respond"], options["tol"]
    if settling is not None and options["scores"] is not None:
        raise click.UsageError("--respond writes outputs of neurons instead of scores: leave out --scores")
    if tol is not None and settling not in ("jacobi", "gauss-seidel"):
        raise click.UsageError(
            "--tol says when dynamics have settled: it needs --respond jacobi or gauss-seidel"
        )
    if settling is None:
        return None
    return {"settling": settling} | ({} if tol is None else {"tol": tol})


def _say_unknown(unknown: dict[str, int]) -> None:
    """Say how many rows have no scores, since the bank has no model of their key."""
    from ..io.files import shown

    rows, first = sum(unknown.values()), shown(str(next(iter(unknown))))
    of = (
        f"the unknown key {first}" if len(unknown) == 1 else f"{len(unknown):,} unknown keys, such as {first}"
    )
    click.echo(f"rows without scores: {rows:,}, of {of}", err=True)


def _opened(
    source: str | list[str], point: StartingPoint, options: dict[str, Any], stated: set[str]
) -> Source:
    """The source, read as the model's own was unless told otherwise; columns by name if they have names."""
    from ..io import sources
    from ..jobs import Request

    require_input(source)
    request = point.inherited(Request(source, reading=reading(options)), stated)
    missing = options["missing"] or point.model.parameters["missing"]
    allow_nan, names = missing != "raise", None if "columns" in stated else point.names
    chosen = replace(request.reading, allow_nan=allow_nan, names=names, threads=options["threads"])
    inherited = {name for name in KEEP_OPTIONS if request.value(name) is not None} - stated
    try:
        return sources.open(source, chosen)
    except sources.SourceError:
        if not inherited or source == "-":
            raise
    # What the model's own source had besides its inputs, this one need not have.
    return sources.open(source, chosen, **dict.fromkeys(inherited))


@click.command(epilog="Example: eigenstream inspect sensors.model --picture loadings=loadings.png")
@model_argument
@click.option(
    "--picture",
    metavar="[KIND=]FILE",
    help="Draw a PNG or SVG; KIND is time (spectrum and rank over time, or control charts; the default), "
    "spectrum, loadings or scores. KIND alone writes KIND.png. Of a bank without --key: all keys.",
)
@click.option(
    "--source",
    type=click.Path(),
    help="Rows for --picture scores.  [default: the source that the model learnt last]",
)
@click.option(
    "--loadings",
    type=click.Path(dir_okay=False),
    help="Write all loadings to NAME.csv or NAME.parquet, a line per input; of a bank, of all keys.",
)
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--key", help="Show the model with this key in a file of keyed models.  [default: list them]")
def inspect(
    model: str,
    picture: str | None,
    source: str | None,
    loadings: str | None,
    overwrite: bool,
    as_json: bool,
    key: str | None,
) -> None:
    """Show a model, its history and its settings.

    Of a bank: the models it holds.
    """
    from ..io.files import refuse_shared
    from ..keyed import is_bank
    from .banks import each_model, inspect_bank, point_of
    from .closing import save_picture
    from .pictures import bank_picture, picture_asked, require_table, write_loadings
    from .pictures import picture as pictured

    kind, file = (None, None) if picture is None else picture_asked(picture)
    if file is not None:
        require_picture(file, overwrite)
    if loadings is not None:
        require_table(loadings, overwrite)
    refuse_shared({"model": model, "picture": file, "loadings": loadings})
    bank = key is None and is_bank(model)
    if bank and kind not in (None, "time"):
        raise click.UsageError(f"--picture {kind} draws one model: name it with --key KEY")
    point = None if bank else point_of(model, key)
    if point is None:
        inspect_bank(model, as_json)
    elif as_json:
        print(json.dumps(_facts(point)))
    else:
        _show(model, point)
    if loadings is not None:
        points = each_model(model) if point is None else iter([(key, point)])
        write_loadings(points, loadings, keyed=point is None)
    if file is not None and kind is not None:
        figure = bank_picture(model) if point is None else pictured(kind, point, model, source, key)
        save_picture(figure, file, overwrite)


def _facts(point: StartingPoint) -> dict[str, Any]:
    """A model as plain values."""
    from ..jobs.record import plain
    from ..monitoring import MonitoredModel

    return {
        **described(point.model, point.names),
        "parameters": plain(point.model.parameters),
        "made_by": _made_by(point.record),
        "sources": _sources(point.record),
        **({"watching": watched(point.model)} if isinstance(point.model, MonitoredModel) else {}),
    }


def _show(name: str, point: StartingPoint) -> None:
    """Print a model."""
    from rich.console import Console
    from rich.text import Text

    from ..io.files import shown
    from ..jobs.record import plain
    from ..monitoring import MonitoredModel

    console, model = Console(), point.model
    what = "monitor" if isinstance(model, MonitoredModel) else "model"
    say(console, f"{name}: a {what} of {model.n_samples_seen_:,} samples of {numbers(model.n_features_in_)}")
    if isinstance(model, MonitoredModel):
        print_watching(console, watched(model))
    print_model(console, model, point.names, model.advice_)
    ranks = ", ".join(f"{rule} {rank}" for rule, rank in model.other_ranks_.items())
    say(console, f"rank by each rule (--components): {ranks}")
    by_edge = model.other_ranks_.get("edge", model.n_components_)
    if str(model.parameters["n_components"]) in ("auto", "edge") and by_edge != model.n_components_:
        kept = f"{model.n_components_} are kept, though the rule edge finds {by_edge} at this moment"
        say(console, f"{kept}: the rank follows a change once it is clear or has lasted")
    made = table("made with", "value")
    for option, value in _options({**plain(model.parameters), **_made_by(point.record)}).items():
        made.add_row(Text(shown(option)), Text(shown(value)))
    console.print(made)
    if learnt := _sources(point.record):
        listed = ", ".join(learnt[-SHOWN:])
        more = f", and {len(learnt) - SHOWN} before" if len(learnt) > SHOWN else ""
        say(console, f"sources learnt completely: {listed}{more}")


def _options(parameters: dict[str, Any]) -> dict[str, str]:
    """Parameters as a person would give them to `run` or `watch`; without those that have no value."""
    from .run import run, watch

    called = {option.name: option.opts[0] for command in (watch, run) for option in command.params}
    called["source"] = "SOURCE"
    given = {name: value for name, value in parameters.items() if value not in (None, [0, None])}
    return {called.get(name, name): _as_given(value) for name, value in given.items()}


def _as_given(value: Any) -> str:
    """A value as it is written on the command line; yes or no for an option without a value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        ends = len(value) == 2 and not any(isinstance(end, str) for end in value)
        return (":" if ends else ",").join("" if end is None else str(end) for end in value)
    return str(value)


def _made_by(record: Record | None) -> dict[str, Any]:
    """The request of the job that made the model, if it was a job."""
    document = {"reading": {}} if record is None else record.request.document()
    return {**document.pop("reading"), **document}


def _sources(record: Record | None) -> list[str]:
    """Names of the sources that were learnt completely."""
    return [] if record is None else [one["name"] for one in record.sources]


@click.command(epilog="Example: eigenstream export sensors.model sensors.json")
@model_argument
@click.argument("output", type=click.Path(dir_okay=False))
@click.option(
    "--key",
    help="Of a bank of models, export the one with this key.  [default: all, one per line]",
)
@overwrite_option
def export(model: str, output: str, key: str | None, overwrite: bool) -> None:
    """Write a model as plain JSON, to score rows in any language.

    The file has mean, axes and gains. It is frozen: it cannot learn on. docs/export.md shows how to read it.
    """
    from ..io.files import refuse_shared, shown
    from ..jobs.model_file import refuse_existing
    from ..keyed import is_bank
    from ..model.portable import export_json
    from .banks import export_bank, point_of

    refuse_shared({"model": model, "output": output})
    refuse_existing(output, overwrite)
    if key is None and is_bank(model):
        export_bank(model, output)
        return
    point = point_of(model, key)
    loaded = point.model
    export_json(loaded, output, point.names)
    click.echo(f"{shown(output)}: {loaded.n_components_} components of {loaded.n_features_in_} inputs")


@click.command(epilog="Example: eigenstream merge monday.model tuesday.model --save week.model")
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--save", required=True, type=click.Path(dir_okay=False), help="The file of the merged model.")
@overwrite_option
def merge(models: tuple[str, ...], save: str, overwrite: bool) -> None:
    """Merge models made from different rows of a source.

    Banks of models are merged key by key: a key that is in one of them is taken over as it is.
    """
    from .. import load
    from .. import merge as merged_from
    from ..io.files import refuse_shared, shown
    from ..jobs import ModelFile
    from ..jobs.learnt import merged_record
    from ..jobs.model_file import refuse_existing
    from ..keyed import is_bank
    from .banks import merge_into

    refuse_existing(save, overwrite)
    banks = [path for path in models if is_bank(path)]
    if banks and len(banks) < len(models):
        other = next(path for path in models if path not in banks)
        raise click.UsageError(
            f"{banks[0]} is a bank of models and {other} is one model: merge like with like"
        )
    if banks:
        for path in banks:
            refuse_shared({"model": path, "merged model": save})
        merge_into(models, save)
        return
    loaded = [load(path) for path in models]
    _refuse_monitors(dict(zip(models, loaded, strict=True)))
    record, notes = merged_record([model.position_ for model in loaded], models)
    merged = merged_from(loaded)
    file = ModelFile(save)
    try:
        merged.save(file.target, position=record and record.document())
        file.forget()  # what a note says of an earlier job is no longer true
    finally:
        file.close()
    click.echo(f"{shown(save)}: {merged.n_samples_seen_:,} samples, rank {merged.n_components_}")
    for note in notes:
        click.echo(f"note: {shown(note)}", err=True)


def _refuse_monitors(loaded: dict[str, Any]) -> None:
    """Raise if one of these is a monitor: its limits hold for the rows that it has learnt them from."""
    from .. import StreamMonitor

    found = next((path for path, one in loaded.items() if isinstance(one, StreamMonitor)), None)
    if found is not None:
        raise click.UsageError(
            f"{found} is a monitor, and monitors are not merged: limits hold for the rows they were learnt "
            "from; watch all sources by one monitor: eigenstream watch SOURCE --model MONITOR --save MONITOR"
        )
