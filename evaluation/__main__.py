"""``python -m evaluation``: eigenstream and its rivals on the same streams; pages, pictures and a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import click
from joblib import cpu_count
from rich.console import Console

from eigenstream.cli.reproduce import progress
from eigenstream.jobs.waiting import StopRequest
from eigenstream.paper.reproduction.runner import JudgedItem, Reproduction
from eigenstream.paper.reproduction.workers import Failed, Lost, Stopped
from evaluation import page, sensors
from evaluation.questions import QUESTIONS

ROOT = Path(__file__).resolve().parents[1]
SOURCES = (ROOT / "evaluation", ROOT / "benchmarks")
"""Folders on whose code the cases depend, besides eigenstream's own: rivals and streams of the benchmarks."""
NAMES = {question.NAME: question for question in QUESTIONS}


@click.command()
@click.option("--quick", is_flag=True, help="Small settings: does it run? About a minute.")
@click.option("--only", multiple=True, type=click.Choice(list(NAMES)), help="These questions instead of all.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where pages go; needed with --quick and --only.  [docs/evaluation]",
)
@click.option(
    "--renew",
    is_flag=True,
    help="With --only: all cases once more, into the folder of a full run, whose other questions stay.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Processes at a time.  [default: as many as cores]")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of all streams.")
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    default=ROOT / "build" / "evaluation" / "cache",
    help="Folder that keeps cases from run to run.  [build/evaluation/cache]",
)
@click.option("--fetch", is_flag=True, help="First download the sensor sets of imputegap (38 MB).")
def main(
    quick: bool,
    only: tuple[str, ...],
    out: Path | None,
    renew: bool,
    jobs: int | None,
    seed: int,
    cache: Path,
    fetch: bool,
) -> None:
    """Measure eigenstream against its rivals, question by question.

    Cases are kept: an interrupted run goes on where it was, and a second run only writes pages, but with
    --renew.
    """
    if renew and (quick or not only):
        raise click.UsageError("--renew needs --only and full settings: some questions in the pages of all")
    if (quick or only) and out is None and not renew:
        raise click.UsageError("--quick and --only need --out: their pages must not replace the full ones")
    if fetch and sensors.wheel() is None and not sensors.fetch():
        click.echo(f"{sensors.PACKAGE} could not be downloaded: the question about gaps is skipped", err=True)
    chosen = [question for name, question in NAMES.items() if name in only or not only]
    with StopRequest() as stop:
        try:
            outcomes = _measured(chosen, quick, seed, cache, jobs or cpu_count(), stop, renew=renew)
        except Stopped:
            click.echo("Interrupted: the same command goes on from there.", err=True)
            raise SystemExit(stop.exit_code) from None
        except (Failed, Lost) as error:
            raise click.ClickException(str(error)) from error
    out = out or ROOT / "docs" / "evaluation"
    if renew and (out / page.TABLE).exists():
        page.renew(outcomes, out)
    else:
        page.write(outcomes, out, quick=quick)
    click.echo(f"The page is {out / page.OVERVIEW}")


def _measured(
    chosen: Sequence[ModuleType],
    quick: bool,
    seed: int,
    cache: Path,
    jobs: int,
    stop: StopRequest,
    *,
    renew: bool,
) -> list[JudgedItem]:
    """Questions whose cases may run side by side first, then those that want the machine for themselves."""
    console, found = Console(stderr=True), {}
    for alone in (False, True):
        items = [question for question in chosen if question.ALONE == alone]
        run = Reproduction(items, quick=quick, seed=seed, folder=cache, sources=SOURCES)  # type: ignore[arg-type]
        if renew:
            run.forget()
        what = "cases, one at a time" if alone else "cases"
        if items:
            with progress(what, len(run.tasks), run.n_done, console) as update:
                run.carry_out(1 if alone else jobs, update, stop.asked)
        found |= {item.NAME: run.outcome(item) for item in items}  # type: ignore[arg-type]
    return [found[question.NAME] for question in chosen]


if __name__ == "__main__":
    main()
