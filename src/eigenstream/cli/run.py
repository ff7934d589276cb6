"""The main job: a stream in; scores, a model and a picture out."""

from __future__ import annotations

import json
import sys
import time
import warnings
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from .options import ESTIMATOR_OPTIONS, SOURCE_OPTIONS, estimator_options, source_options

if TYPE_CHECKING:
    from ..estimators import OnlineAdaptivePCA
    from ..live import Page
    from ..running import Job, ModelFile, Outcome, Watcher
    from ..sources import Source

BUILT_IN = {"half_life": 150.0, "batch_rows": 100}
"""What suits the built-in stream, which changes: unless asked otherwise."""
BUILT_IN_RATE = 2500.0
"""Rows a second, slow enough to be watched."""
WIDE = 4096


@click.command()
@click.argument("source", required=False, metavar="[SOURCE]")
@click.option("--output", help="Write scores to NAME.csv, NAME.npy or NAME.parquet (a folder).")
@click.option("--save", type=click.Path(dir_okay=False), help="Keep the model in this file.")
@click.option("--resume", is_flag=True, help="Continue after the last checkpoint in --save, if there is one.")
@click.option("--overwrite", is_flag=True, help="Replace a model and an output that exist.")
@click.option("--follow", is_flag=True, help="Wait for more lines at the end of a growing file.")
@click.option("--idle", type=float, help="With --follow: end after so many seconds without a new line.")
@click.option(
    "--checkpoint-rows", type=click.IntRange(min=1), default=100_000, show_default=True, help="Save every ..."
)
@click.option("--checkpoint-seconds", type=float, default=30.0, show_default=True, help="... and every ...")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Most rows a second.")
@click.option(
    "--picture", type=click.Path(dir_okay=False), help="Draw spectrum and rank over time: PNG or SVG."
)
@click.option("--live", is_flag=True, help="Show a live page in the browser.")
@click.option("--live-address", default="127.0.0.1", show_default=True, help="Where the page listens.")
@click.option("--live-port", default=0, help="Its port.  [default: any that is free]")
@click.option("--live-seconds", type=float, help="How long it stays after the end.  [default: until Ctrl-C]")
@click.option("--quiet", is_flag=True, help="Say nothing unless something is wrong.")
@click.option("--json", "as_json", is_flag=True, help="Say what happens as JSON, one object a line.")
@source_options
@estimator_options
@click.pass_context
def run(ctx: click.Context, /, **given: Any) -> None:
    """Learn from a stream, and watch its dimension.

    SOURCE is a file of CSV or JSON lines (gzip too), an NPY file, a Parquet file or folder, a Zarr array, or
    - for CSV or JSON lines on standard input. Without SOURCE: a built-in stream that changes its scale.

    With --save, a job that was killed continues with --resume as if nothing had happened: the final model and
    output are those of an uninterrupted run, bit for bit.

    \b
    Example: eigenstream run sensors.csv --half-life 5000 --output scores.csv --save sensors.model
    """
    stated = {name for name in given if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    if given["quiet"] and given["as_json"]:
        raise click.UsageError("--quiet and --json exclude each other")
    if given["resume"] and not given["save"]:
        raise click.UsageError("--resume needs --save MODEL: the model to continue")
    with ExitStack() as stack:
        begun = _begin(given, stated, stack)
        outcome = _carry_out(begun, given, stack)
    _report(begun, outcome, given)
    if outcome.signal is not None:
        ctx.exit(128 + outcome.signal)


@dataclass
class Begun:
    """A job ready to go."""

    job: Job
    notes: list[str]


def _begin(given: dict[str, Any], stated: set[str], stack: ExitStack) -> Begun:
    """Lock, load and open everything, in the order in which nothing can be lost."""
    from ..running import Job, ModelFile
    from ..sinks import open_sink

    file: ModelFile | None = None
    if given["save"]:
        file = ModelFile(given["save"])
        stack.callback(file.close)
    saved, model = _saved(file, given)
    recipe = _recipe(given, stated, saved)
    if model is None:
        _refuse_overwriting(file, given, recipe)
        model = _new_model(recipe)
    place = saved.get("output") if saved else None
    notes: list[str] = []
    job = Job(
        model,
        _open_source(recipe, given, saved, notes),
        None,
        file,
        saved["source"] if saved else None,
        recipe,
        given["checkpoint_rows"],
        given["checkpoint_seconds"],
        given["rate"] or (BUILT_IN_RATE if recipe["source"] is None else None),
    )
    output = recipe["output"]
    if output is not None:
        job.sink = lambda width, dtype: open_sink(output, width, dtype, place)
    if file is not None:
        file.note = {"output": output}
    return Begun(job, notes)


def _saved(file: ModelFile | None, given: dict[str, Any]) -> tuple[dict[str, Any], OnlineAdaptivePCA | None]:
    """What was written down at the last checkpoint, and the model, if there is one to continue."""
    from .. import load

    if file is None or not given["resume"] or not file.path.exists():
        return {}, None
    model = load(file.path)
    position = model.position_
    if not isinstance(position, dict) or not {"source", "output", "recipe"} <= set(position):
        raise click.ClickException(
            f"{file.path} was not saved by eigenstream run: it does not say where in its source it stands"
        )
    return position, model


def _recipe(given: dict[str, Any], stated: set[str], saved: dict[str, Any]) -> dict[str, Any]:
    """Everything that decides about the result; when resuming, as it was, and what is asked must agree."""
    names = (*SOURCE_OPTIONS, *ESTIMATOR_OPTIONS, "output")
    asked = {name: given[name] for name in names}
    asked["rows"] = list(asked["rows"] or (0, None))
    if not saved:
        if given["source"] is None:
            asked |= {name: value for name, value in BUILT_IN.items() if name not in stated}
        return {"source": given["source"], **asked}
    recipe: dict[str, Any] = saved["recipe"]
    for name in stated & set(names):
        if asked[name] != recipe.get(name):
            raise click.ClickException(
                f"{given['save']} was made with {_option(name)} {recipe.get(name)}, not {asked[name]}: "
                f"resume without {_option(name)}, or start afresh with --overwrite"
            )
    return recipe | ({"source": given["source"]} if "source" in stated and given["source"] else {})


def _option(name: str) -> str:
    return "--seed" if name == "random_state" else "--" + name.replace("_", "-")


def _refuse_overwriting(file: ModelFile | None, given: dict[str, Any], recipe: dict[str, Any]) -> None:
    """An error if something would be lost that nobody said may be."""
    if given["overwrite"]:
        return
    if file is not None and file.path.exists():
        raise click.ClickException(f"{file.path} exists: continue it with --resume, or --overwrite it")
    output = recipe["output"]
    # A job that was killed before its first checkpoint has left an output without a model.
    ours = given["resume"] and file is not None and file.note.get("output") == output
    if output not in (None, "-") and Path(output).exists() and not ours:
        raise click.ClickException(f"{output} exists: --overwrite it, or choose another name")


def _new_model(recipe: dict[str, Any]) -> OnlineAdaptivePCA:
    from .. import OnlineAdaptivePCA

    return OnlineAdaptivePCA(**{name: recipe[name] for name in ESTIMATOR_OPTIONS})


def _open_source(
    recipe: dict[str, Any], given: dict[str, Any], saved: dict[str, Any], notes: list[str]
) -> Source:
    from .. import sources

    options = {name: recipe[name] for name in SOURCE_OPTIONS}
    options["rows"] = tuple(recipe["rows"])
    return sources.open(
        recipe["source"],
        position=saved["source"] if saved else None,
        follow=given["follow"],
        idle=given["idle"],
        allow_nan=recipe["missing"] != "raise",
        on_skip=notes.append,
        **options,
    )


def _carry_out(begun: Begun, given: dict[str, Any], stack: ExitStack) -> Outcome:
    """Run the job with whoever wants to watch."""
    from rich.console import Console

    from .display import Display, JsonEvents, OnPage

    source = begun.job.source
    watchers: list[Watcher] = []
    if given["live"]:
        page = _page(given, source, stack)
        watchers.append(OnPage(page, source))
    if given["as_json"]:
        watchers.append(JsonEvents(source.count))
    elif not given["quiet"]:
        watchers.append(stack.enter_context(Display(source, Console(stderr=True))))
    begun.job.watchers = tuple(watchers)
    source.on_skip = begun.job.skipped
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        with _threads(source.width):
            outcome = begun.job.run()
    begun.notes += [str(warning.message) for warning in caught]
    return outcome


def _threads(width: int) -> AbstractContextManager[object]:
    """One thread for linear algebra unless rows are wide: more only get in each other's way."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(None if width >= WIDE else 1, "blas")
    return limits


def _page(given: dict[str, Any], source: Source, stack: ExitStack) -> Page:
    """The live page; on the way out it stays up for as long as was asked for."""
    from ..live import Page

    page = Page(
        source.name, source.names, given["live_address"], given["live_port"], lag_unit=source.reader.unit
    )
    click.echo(f"live page: {page.start()}", err=True)
    stack.callback(page.stop)
    stack.callback(_linger, page, given["live_seconds"])
    return page


def _linger(page: Page, seconds: float | None) -> None:
    page.finish("the stream has ended")
    if seconds is None:
        seconds = float("inf") if sys.stderr.isatty() else 0.0
    if seconds > 0:
        click.echo(f"the page stays at {page.url}; Ctrl-C ends it", err=True)
    ends = time.monotonic() + seconds
    with suppress(KeyboardInterrupt):
        while time.monotonic() < ends:
            time.sleep(0.1)


def _report(begun: Begun, outcome: Outcome, given: dict[str, Any]) -> None:
    """What came of it: for programs, for people, and as a picture."""
    from .summary import described, print_summary

    job = begun.job
    picture = given["picture"] or ("eigenstream.png" if job.recipe["source"] is None else None)
    if picture is not None and not _drawn(job, picture, begun.notes):
        picture = None
    if given["as_json"]:
        facts = {"rows": outcome.rows, "seconds": outcome.seconds, "signal": outcome.signal}
        print(json.dumps({"event": "end", **facts, **described(job.model), "notes": begun.notes}))
    elif not given["quiet"]:
        print_summary(job, outcome, begun.notes, picture)


def _drawn(job: Job, path: str, notes: list[str]) -> bool:
    try:
        from ..plotting import draw_history
    except ImportError:
        notes.append("there is no picture: it needs matplotlib, pip install 'eigenstream[plot]'")
        return False
    draw_history(job.model.spectrum_history_, job.source.name).savefig(path)
    return True
