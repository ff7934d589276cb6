"""What the commands that carry out a job share: preparing it, running it, and letting others look on."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..jobs import Job, Outcome, Request, Watcher
    from ..live import Page

WIDE = 4096
"""From so many columns on, linear algebra gains from more than one thread."""


def prepared(request: Request, given: dict[str, Any], stated: set[str]) -> Job:
    """The job that these options ask for."""
    from ..io.files import refuse_shared
    from ..jobs import prepare

    named = {"source": given["source"], "output": given["output"], "picture": given["picture"]}
    for model in (given["save"], given["model"]):
        refuse_shared(named | {"model": model})
    return prepare(
        request,
        save=given["save"],
        resume=given["resume"],
        overwrite=given["overwrite"],
        start=given["model"],
        anyway=given["anyway"],
        threads=given["threads"],
        stated=stated,
        follow=given["follow"],
        idle=given["idle"],
        every_rows=given["checkpoint_rows"],
        every_seconds=given["checkpoint_seconds"],
        rate=given["rate"],
    )


@contextmanager
def looked_on(given: dict[str, Any], job: Job) -> Iterator[tuple[Page | None, list[Watcher]]]:
    """The live page and the metrics, as far as asked for, up for as long as the block lasts."""
    with ExitStack() as stack:
        page, watchers = None, list[Any]()
        if given["live"]:
            from .display import OnPage

            page = _page(given, job, stack)
            watchers.append(OnPage(page, job))
        if given["metrics"] is not None:
            watchers.append(_metrics(given, job, stack))
        yield page, watchers


def carry_out(job: Job, watchers: list[Watcher], display: Watcher | None) -> tuple[Outcome, list[str]]:
    """Run the job with whoever wants to know; returns how it went and what is worth a note."""
    from .display import Display

    source = job.source
    source.on_skip = job.skipped
    with ExitStack() as stack:
        if isinstance(display, Display):
            stack.enter_context(display)
        job.watchers = (*watchers, *([display] if display is not None else []))
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always", UserWarning)
        stack.enter_context(_threads(source.width))
        outcome = job.run()
    return outcome, [str(warning.message) for warning in caught] + source.notes


def _threads(width: int) -> AbstractContextManager[object]:
    """One thread for linear algebra unless rows are wide: more only get in each other's way."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(None if width >= WIDE else 1, "blas")
    return limits


def _page(given: dict[str, Any], job: Job, stack: ExitStack) -> Page:
    """The live page, up for as long as the stack lasts."""
    from ..live import Page
    from ..model.delays import input_names

    source, lags = job.source, int(job.request.parameters.get("lags") or 0)
    names = None if source.names is None else input_names(source.names, lags)
    where, timed = (given["live_address"], given["live_port"]), source.clock is not None
    unit, watching = source.reader.unit, job.request.watches
    page = Page(source.name, names, *where, lag_unit=unit, timed=timed, watching=watching)
    try:
        url = page.start()
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    stack.callback(page.stop)
    click.echo(f"live page: {url}", err=True)
    return page


def _metrics(given: dict[str, Any], job: Job, stack: ExitStack) -> Watcher:
    """Numbers for Prometheus, served for as long as the stack lasts."""
    from ..jobs.prometheus import Metrics

    try:
        metrics = Metrics(job.source, given["metrics_host"], given["metrics"])
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    stack.callback(metrics.close)
    click.echo(f"metrics: {metrics.url}", err=True)
    return metrics


def linger(page: Page, seconds: float | None) -> None:
    """Leave the page up for a while: by default until Ctrl-C, if there is somebody to press it."""
    page.finish("the stream has ended")
    if seconds is None:
        seconds = float("inf") if sys.stderr.isatty() else 0.0
    if seconds > 0:
        until = "" if seconds == float("inf") else f" for {seconds:g} seconds"
        click.echo(f"the page stays at {page.url}{until}; Ctrl-C ends it", err=True)
    ends = time.monotonic() + seconds
    with suppress(KeyboardInterrupt):
        while time.monotonic() < ends:
            time.sleep(0.1)
