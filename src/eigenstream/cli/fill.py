"""The commands fill and forecast: gaps of a file filled, and the rows that come next."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .hints import in_flags, of_stand_in, say_when_compiling, without_a_value
from .options import keep_options, reading, require_enough, require_input, source_options
from .sections import SAMPLES_OR_DURATION, Section, SectionedCommand

if TYPE_CHECKING:
    from ..jobs.fill_outcome import FillOutcome


@click.command(cls=SectionedCommand, epilog="Example: eigenstream fill sensors.csv --output whole.csv --std")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@Section.WRITE.option(
    "--output",
    required=True,
    help="The copy of the file, gaps filled; - for the terminal; for several files or a folder, a folder.",
)
@Section.WRITE.option(
    "--flag",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Say which values were filled: in one more column, or in a CSV file of this name.",
)
@Section.WRITE.flag("--std", "Write the standard deviation of each filled value into more columns.")
@Section.LEARN.flag(
    "--ahead",
    "Fill gaps by what comes after them, too: the whole file is held in memory and read three times.",
)
@Section.LEARN.option(
    "--half-life",
    type=SAMPLES_OR_DURATION,
    metavar=SAMPLES_OR_DURATION.name,
    help="Samples after which a sample counts half, or a time such as 10min.  [default: never forgets]",
)
@Section.GO_ON.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False),
    help="Go on from this model, which has learnt with --missing impute.",
)
@Section.WRITE.option("--save", type=click.Path(dir_okay=False), help="Keep the model in this file.")
@Section.SHOW.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
@Section.KEYS.option(
    "--key", help="The column with the key of a row: gaps are filled by the rows of the same key."
)
@source_options
@keep_options
@Section.WRITE.option("--overwrite", is_flag=True, help="Replace files that exist.")
@click.pass_context
def fill(
    ctx: click.Context,
    /,
    sources: tuple[str, ...],
    output: str,
    flag: str | None,
    std: bool,
    ahead: bool,
    half_life: Any,
    model: str | None,
    save: str | None,
    as_json: bool,
    overwrite: bool,
    **options: Any,
) -> None:
    """Fill the gaps of a file; all else in it stays.

    Reads CSV and JSON lines, plain, gzip or in a ZIP file, XLSX, Parquet, NPY, NPZ and Zarr: the copy is of
    the same kind. Tables and queries of databases, Redis streams and lines on standard input (-) are read to
    their end, and the copy is text. Columns without numbers are copied. Each gap is filled by the other
    values of its row and by the past of its column; columns count the same whatever their units. The output
    appears as a whole at the end: a command that was killed is given once more, to the same bytes. Several
    files are one stream, in this order; their copies have their names.

    With --key, or a bank as --model, each key has a model of its own.
    """
    from ..io.files import refuse_shared, shown
    from ..jobs import filling
    from ..jobs.filling_files import readable
    from ..jobs.model_file import refuse_existing
    from ..jobs.next_times import FILLED, clock_of_filled
    from ..jobs.record import record_of
    from ..keyed import is_bank
    from ..model import StreamModel

    say_when_compiling()
    pairs = _copies(sources, output, one_by_one=ahead or bool(flag))
    sources = tuple(source for source, _ in pairs)
    for source, copy in pairs:
        require_input(source)
        refuse_shared({"source": source, "--output": copy, "--flag": flag or None, "--save": save})
    # Of a command that was killed, some of several files may be there: they are compared once filled.
    resumes = not overwrite and (len(pairs) > 1 or save is not None)
    written = [] if resumes else [*(copy for _, copy in pairs if copy != "-"), flag]
    for path in filter(None, (*written, None if save == model else save)):
        refuse_existing(path, overwrite)
    how = reading(options)
    if how.columns is None:
        how = replace(how, exclude="text" if how.exclude is None else f"text,{how.exclude}")
    filler: Any
    if how.key is not None or (model is not None and is_bank(model)):
        filler, how = _keyed_filler(model, half_life, save, how)
    elif model is None:
        filler = StreamModel(**_parameters(half_life))
    else:
        filler = StreamModel.load(model)
        if filler.missing != "impute":
            raise click.UsageError(f"{model} has learnt with --missing {filler.missing}: it fills no gaps")
        if (record := record_of(filler.position_)) is not None:
            filler.features = list(record.names or [])  # a job keeps them beside the model
    at_hand = [ctx.with_resource(readable(source, how)) for source in sources]
    position: dict[str, Any] = {} if save is None else {FILLED: [one.digest() for one in at_hand]}
    if model is not None and position and (filler.position_ or {}).get(FILLED) == position[FILLED]:
        _say_done(model, [copy for _, copy in pairs])
        return
    for one, (_, copy) in zip(at_hand, pairs, strict=True):
        found, opened = filling.fill(one, copy, filler, flag=flag, std=std, ahead=ahead, keep=resumes)
        name = f"{copy}: " if len(pairs) > 1 else ""
        if as_json:
            counts: dict[str, Any] = {"output": copy} if name else {}
            counts |= {
                count: getattr(found, count)
                for count in ("rows", "gaps", "filled", "left", "skipped", "empty")
            }
            click.echo(json.dumps(counts), err=output == "-")
        else:
            left = f", {found.left:,} left as they are" if found.left else ""
            left += f"; {found.empty:,} empty lines at the end left as they are" if found.empty else ""
            said = f"{name}{found.rows:,} rows, {found.gaps:,} gaps: {found.filled:,} filled{left}"
            click.echo(said, err=output == "-")
            for note in (*notes_on(found, ahead=ahead, several=len(pairs) > 1), *map(in_flags, opened.notes)):
                click.echo(shown(f"note: {note}"), err=True)
        require_enough(ctx, opened, options["skip_at_most"])
    if save is not None:
        # With --ahead, a model that forgets by the clock has gone through the times more than once.
        clock = {} if ahead and filler.needs_timestamps else clock_of_filled(opened)
        filler.save(save, position | clock)
    if not as_json and (unknown := getattr(filler, "unknown", 0)):
        click.echo(f"keys that the bank does not know: {unknown:,}", err=True)


def notes_on(found: FillOutcome, *, ahead: bool, several: bool) -> list[str]:
    """Sentences on gaps that were left, on columns without a value, and on numbers that may mean a gap."""
    notes = []
    if places := found.places_left:
        more = sum(n for i, n in found.left_of.items() if i in found.valued) - len(places)
        where = ", ".join(f"{name} in row {row:,}" for name, row in places)
        where += f", and {more:,} more" if more else ""
        then = f"; --ahead{', file by file,' if several else ''} fills them by what comes after"
        why = "no row has told of them" if ahead else "nothing was known of them yet"
        notes.append(f"left, as {why}: {where} (the first row is row 0){'' if ahead else then}")
    notes += without_a_value(found.valueless)
    if (often := found.stand_in) is not None:
        notes.append(of_stand_in(often, found.names[often.column], "fills it"))
    return notes


def _parameters(half_life: Any) -> dict[str, Any]:
    """Parameters of a model that fills gaps: whatever units columns have, they count the same."""
    return {"missing": "impute", "standardize": True, "half_life": half_life, "random_state": 0}


def _say_done(model: str, copies: list[str]) -> None:
    """Say that a command has come to its end before: the model would learn the same rows twice."""
    lacking = [copy for copy in copies if not Path(copy).exists()]
    if lacking:
        raise click.UsageError(
            f"{model} has learnt from this already, and {lacking[0]} is not there: --save another file to go "
            "on from it all the same, or go on from the model of before"
        )
    click.echo(f"{model} has learnt from this already, and the output is there: nothing to do", err=True)


def _files_in(source: str) -> list[str]:
    """Files that a folder or a pattern stands for; none if the source is one thing."""
    from ..io.files import is_address
    from ..io.sources.opening import files_of
    from ..jobs.filling_files import is_zarr

    if is_address(source) or is_zarr(source):
        return []
    tables = sorted(Path(source).glob("*.parquet")) if Path(source).is_dir() else []
    return list(map(str, tables or files_of(source)))


def _copies(sources: tuple[str, ...], output: str, *, one_by_one: bool) -> list[tuple[str, str]]:
    """Each source with the name of its copy; folders and patterns stand for their files."""
    from ..io.files import is_address

    found = [_files_in(source) or [source] for source in sources]
    if len(sources) == 1 and found[0] == list(sources):
        return [(sources[0], output)]
    sources = tuple(chain.from_iterable(found))
    names = [Path(source).name.removesuffix(".zip") for source in sources]
    if one_by_one or output == "-" or "-" in sources or any(map(is_address, sources)):
        raise click.UsageError(
            "several files need a folder as --output, and neither --ahead nor a file for --flag: fill them "
            "one by one"
        )
    if len(set(names)) < len(names):
        raise click.UsageError("two of the files have the same name: fill them one by one")
    if Path(output).exists() and not Path(output).is_dir():
        raise click.UsageError(f"--output {output} is no folder: several files are filled into one")
    Path(output).mkdir(parents=True, exist_ok=True)
    return [(source, str(Path(output) / name)) for source, name in zip(sources, names, strict=True)]


def _keyed_filler(model: str | None, half_life: Any, save: str | None, how: Any) -> tuple[Any, Any]:
    """A model per key, new or of a bank; and the options of reading with the column of keys."""
    from ..jobs.filling import KeyedFillers
    from ..jobs.record import record_of
    from ..keyed import Bank, is_bank
    from ..model import StreamModel

    if save is not None:
        raise click.UsageError("--save keeps one model: with one per key, learn them by run --key --save")
    if model is None:
        return KeyedFillers(lambda: StreamModel(**_parameters(half_life))), how
    if not is_bank(model):
        raise click.UsageError(f"--key is for banks of models, and {model} is one model")
    bank = Bank(model)
    if bank.parameters["missing"] != "impute":
        raise click.UsageError(
            f"{model} has learnt with --missing {bank.parameters['missing']}: it fills no gaps"
        )
    record = record_of(bank.position_)
    if how.key is None and record is not None:
        how = replace(how, key=record.request.key)
    if how.key is None:
        raise click.UsageError(f"{model} is a bank of models: name its column of keys with --key")
    if record is not None and how.columns is None:
        how = replace(how, names=record.names)
    return KeyedFillers(lambda: StreamModel(**bank.parameters), bank), how


@click.command(cls=SectionedCommand, epilog="Example: eigenstream forecast sensors.model --steps 12")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@Section.WRITE.option("--steps", type=click.IntRange(min=1), default=1, help="Number of rows to forecast.")
@Section.WRITE.option("--output", default="-", help="Write CSV to this file.  [default: the terminal]")
@Section.WRITE.option("--overwrite", is_flag=True, help="Replace a file that exists.")
@Section.KEYS.option("--key", help="Of a bank: the key whose next rows to forecast.")
def forecast(model: str, steps: int, output: str, overwrite: bool, key: str | None) -> None:
    """Forecast the next rows, with error bars.

    Error bars are standard deviations. MODEL has learnt with --missing impute: by run, or by fill --save.
    Where it was learnt with --time-column, each row has its time, written as in the source: the last row's,
    and on by the usual step.
    """
    from ..io.files import replace as replace_file
    from ..jobs.model_file import refuse_existing
    from ..jobs.next_times import next_times
    from .banks import point_of

    say_when_compiling()
    if output != "-":
        refuse_existing(output, overwrite)
    point = point_of(model, key)
    learnt = point.model
    if learnt.missing != "impute":
        raise click.UsageError(
            f"{model} has learnt with --missing {learnt.missing}, and knows nothing of time: learn once more "
            f"by eigenstream run SOURCE --missing impute --save MODEL, then forecast from that"
        )
    times = next_times(learnt.position_, key, steps)
    timed = times is not None and learnt.needs_timestamps
    ahead = learnt.forecast(timestamps=times.seconds) if times and timed else learnt.forecast(steps)
    names = learnt.features or point.names or [f"x{i}" for i in range(learnt.n_features_in_)]
    table = io.StringIO()
    lines = csv.writer(table, lineterminator="\n")
    lines.writerow(["step", *([times.column] if times else []), *names, *(f"{name}_std" for name in names)])
    for h, (row, std) in enumerate(zip(ahead.rows.tolist(), ahead.std.tolist(), strict=True)):
        lines.writerow([h + 1, *([times.texts[h]] if times else []), *map(repr, row), *map(repr, std)])
    text = table.getvalue()
    if output == "-":
        sys.stdout.write(text)
    else:
        replace_file(output, text.encode())
