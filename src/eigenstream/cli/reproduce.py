"""The paper, item by item: computed, drawn, and checked sentence by sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..jobs.waiting import StopRequest
    from ..paper.reproduction.item import Claim, Item
    from ..paper.reproduction.runner import JudgedItem, Reproduction


COLOR = {"holds": "green", "holds with a correction": "yellow", "does not hold": "red"}
LINES = 10
"""Most lines of progress where there is no terminal."""


class CannotGoOnError(click.ClickException):
    exit_code = 2


def _completed(ctx: click.Context, param: click.Parameter, start: str) -> list[str]:
    from ..paper.items import ITEMS

    return [name for name in ITEMS if name.startswith(start)]


@click.command(epilog="Example: eigenstream reproduce --quick --out reproduction")
@click.argument("names", nargs=-1, metavar="[ITEM]...", shell_complete=_completed)
@click.option("--quick", is_flag=True, help="Smaller settings, for a first look.")
@click.option(
    "--set",
    "changed",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change a setting of every item that has it, or of one: --set k=6 --set sudden-change.beta=0.99.",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of all streams.")
@click.option(
    "--out",
    default="reproduction",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder to write to.",
)
@click.option("--open", "show", is_flag=True, help="Open the report in the browser when it is done.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes at a time.  [default: as many as cores]")
@click.option(
    "--cache", type=click.Path(path_type=Path), help="Folder that keeps results.  [default: the user's]"
)
@click.option("--no-cache", is_flag=True, help="Compute everything anew and keep no result.")
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    changed: tuple[str, ...],
    seed: int,
    out: Path,
    show: bool,
    jobs: int | None,
    cache: Path | None,
    no_cache: bool,
) -> None:
    """Reproduce the paper: every figure, table and claim.

    Where ITEMs are named, only those. Writes a report, index.html, and beside it the figures, numbers and
    claims as files of their own. Ends with exit code 1 if a claim comes out otherwise than expected.

    Results are kept: an interrupted run goes on where it was, and a second run only draws. The report names
    every setting; with --set, claims may come out otherwise than expected.
    """
    from ..jobs.waiting import StopRequest
    from ..plotting import require_matplotlib

    try:
        require_matplotlib()
    except ImportError as error:
        raise CannotGoOnError(str(error)) from None

    with StopRequest() as stop:
        from ..paper.reproduction.item import ChangeError
        from ..paper.reproduction.runner import Reproduction

        items = _chosen(names)
        _need_folder(out, "--out")
        _refuse_foreign_page(out / "index.html")
        with _results(cache, no_cache) as folder:
            try:
                reproduction = Reproduction(items, quick=quick, seed=seed, folder=folder, changed=changed)
            except ChangeError as error:
                raise click.BadParameter(str(error), param_hint="--set") from None
            outcomes = _carried_out(reproduction, out, jobs, stop, no_cache)
    _tell(outcomes, out / "index.html", show)


def _chosen(names: tuple[str, ...]) -> list[Item]:
    """The items named, or all, in the order of the paper."""
    from ..paper.items import ITEMS

    for name in names:
        if name not in ITEMS:
            known = ", ".join(ITEMS)
            raise click.BadParameter(f"there is no {name!r}; the items are {known}", param_hint="ITEM")
    return [item for name, item in ITEMS.items() if name in names or not names]


def _need_folder(path: Path, option: str) -> None:
    """Make the folder, and write to it, before anything is computed."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise click.BadParameter(f"cannot write to {path}: {error.strerror}", param_hint=option) from None


def _refuse_foreign_page(page: Path) -> None:
    """Raise if there is a page that is no report of ours: it would be lost."""
    if page.exists() and b"eigenstream: the paper reproduced" not in page.read_bytes():
        raise click.BadParameter(
            f"{page} exists and is not a report: choose another folder", param_hint="--out"
        )


@contextmanager
def _results(cache: Path | None, no_cache: bool) -> Iterator[Path]:
    """The folder that keeps results; a temporary one with ``--no-cache``."""
    from ..paper.reproduction.cache import default_folder

    if no_cache:
        with TemporaryDirectory() as temporary:
            yield Path(temporary)
    else:
        folder = cache or default_folder()
        _need_folder(folder, "--cache")
        yield folder


def _carried_out(
    reproduction: Reproduction, out: Path, jobs: int | None, stop: StopRequest, no_cache: bool
) -> list[JudgedItem]:
    """Compute, draw and write; turn exceptions into a message and an exit code."""
    from joblib import cpu_count
    from rich.console import Console

    from ..paper.reproduction.output import write
    from ..paper.reproduction.workers import Failed, Lost, Stopped

    console, workers, total = Console(stderr=True), jobs or cpu_count(), len(reproduction.tasks)
    try:
        with progress("cases", total, reproduction.n_done, console) as update:
            reproduction.carry_out(workers, update, stop.asked)
        with progress("figures", len(reproduction.settings), 0, console) as update:
            return write(reproduction, out, workers, update, stop.asked)
    except Stopped:
        kept = "with --no-cache none is kept" if no_cache else "the same command goes on from there"
        click.echo(f"Interrupted with {reproduction.n_done} of {total} cases done: {kept}.", err=True)
        raise SystemExit(stop.exit_code) from None
    except Lost:
        raise CannotGoOnError(
            "a worker process was ended from outside, perhaps for want of memory: try again with fewer --jobs"
        ) from None
    except (Failed, OSError) as error:
        raise CannotGoOnError(str(error)) from error


def _tell(outcomes: list[JudgedItem], page: Path, show: bool) -> None:
    """Print the claims and where the report is; end with 1 if a claim came out otherwise than expected."""
    from rich.console import Console

    console = Console()
    for outcome in outcomes:
        console.print(claims_table(outcome), "")
    console.print(f"The report is {page}", soft_wrap=True, highlight=False)
    if show:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    if lines := complaints(outcomes):
        click.echo("\n".join(["Claims that came out otherwise than expected:", *lines]), err=True)
        raise SystemExit(1)


def claims_table(outcome: JudgedItem) -> Table:
    """Table of an item's claims: the sentence, the measurement and the verdict."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from ..paper.reproduction.report import REASON

    shown = Table(
        title=f"{outcome.item.TITLE} ({outcome.item.NAME})",
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        expand=True,
    )
    for heading, ratio in (("where", 2), ("it says", 4), ("measured", 3), ("verdict", 2)):
        shown.add_column(heading, ratio=ratio, overflow="fold")
    for claim in outcome.claims:
        says = Text(claim.says)
        if claim.stated:
            says.append(f"\nStated: {claim.stated}")
        if claim.reason:
            says.append(f"\n{REASON[claim.verdict]}: {claim.reason}", style="italic")
        shown.add_row(Text(claim.where), says, Text(claim.value), _verdict(claim))
    return shown


def _verdict(claim: Claim) -> Text:
    from rich.text import Text

    from ..paper.reproduction.report import SIGN

    shown = Text(f"{SIGN[claim.verdict]} {claim.verdict}", style=COLOR[claim.verdict])
    return shown if claim.as_expected else shown.append(f"\n! expected: {claim.expected}", style="bold")


def complaints(outcomes: Sequence[JudgedItem]) -> list[str]:
    """A line for each claim whose verdict is not the expected one."""
    return [
        f"  {outcome.item.NAME}, {claim.where}: {claim.says}: {claim.verdict}, expected: {claim.expected}"
        for outcome in outcomes
        for claim in outcome.claims
        if not claim.as_expected
    ]


@contextmanager
def progress(what: str, total: int, done: int, console: Console) -> Iterator[Callable[[int], None]]:
    """Show progress within this block; yields a callback that takes the number done."""
    if console.is_terminal:
        with _bar(what, total, done, console) as update:
            yield update
    else:
        yield _lines(what, total, done, console)


@contextmanager
def _bar(what: str, total: int, done: int, console: Console) -> Iterator[Callable[[int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(bar_width=None), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    # A case may take minutes: the pace is that of the whole run, not of its last half minute.
    with Progress(what, *columns, "left", console=console, speed_estimate_period=1e9) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda now: bar.update(task, completed=now)


def _lines(what: str, total: int, done: int, console: Console) -> Callable[[int], None]:
    console.print(f"{what}: {done} of {total} done")
    started, said = time.monotonic(), done

    def update(now: int) -> None:
        nonlocal said
        if now - said >= total / LINES or now == total:
            passed = time.monotonic() - started
            left = timedelta(seconds=round(passed / (now - done) * (total - now)))
            console.print(f"{what}: {now} of {total} done" + (f", about {left} left" if left else ""))
            said = now

    return update
