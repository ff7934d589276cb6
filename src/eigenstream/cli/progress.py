"""Progress: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

LINES = 10
"""Most lines where there is no terminal."""


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
