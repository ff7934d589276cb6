"""A progress bar in seconds: what is being measured, and how long it will take yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Meter:
    """Fills with the seconds that every step is expected to take, whatever it does take.

    Parameters
    ----------
    total
        The sum of what all steps are expected to take.
    """

    def __init__(self, total: float) -> None:
        what = TextColumn("{task.description}")
        columns = (BarColumn(30), what, TimeElapsedColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, speed_estimate_period=120)
        self._task = self._progress.add_task("", total=total)
        self._done = self._expected = 0.0
        self._what, self._started = "", monotonic()

    def __enter__(self) -> Meter:
        self._progress.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._progress.stop()

    @contextmanager
    def measuring(self, what: str, seconds: float) -> Iterator[None]:
        """A step and the seconds it should take."""
        self._what, self._expected, self._started = what, seconds, monotonic()
        self.note()
        yield
        self._done += seconds
        self._progress.update(self._task, completed=self._done)

    def note(self, detail: str = "") -> None:
        """Say what within the step is going on."""
        passed = min(monotonic() - self._started, self._expected)
        description = f"{self._what}: {detail}" if detail else self._what
        self._progress.update(self._task, description=description, completed=self._done + passed)
