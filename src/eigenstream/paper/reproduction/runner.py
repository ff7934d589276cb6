"""The items' cases, computed in parallel or recalled, and the claims judged by them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import cache, workers
from .item import ChangeError, Claim, Item, Table, with_changes


@dataclass(frozen=True)
class Task:
    """One case of an item, and the file that holds its table once it is computed."""

    item: Item
    case: Any
    position: float
    """Position among the item's cases, from 0 to 1."""
    file: Path


@dataclass(frozen=True)
class JudgedItem:
    """An item with the tables of its cases and its claims, judged."""

    item: Item
    settings: Any
    seed: int
    cases: Sequence[Any]
    tables: Sequence[Table]
    claims: Sequence[Claim]
    changed: Sequence[str] = ()
    """Settings changed by the user, as ``name=value``."""


class Reproduction:
    """Some items, at their full or their quick settings.

    Parameters
    ----------
    folder
        Where tables and figures are kept from run to run.
    changed
        Settings to change, as ``name=value``.
    sources
        Folders of Python files, besides the package's own, on which the items' results depend.

    Raises
    ------
    ChangeError
        If a change names no setting or does not fit.
    """

    def __init__(
        self,
        items: Iterable[Item],
        *,
        quick: bool,
        seed: int,
        folder: Path,
        changed: Sequence[str] = (),
        sources: Sequence[Path] = (),
    ) -> None:
        self.quick, self.seed, self.folder, self.changed = quick, seed, folder, tuple(changed)
        self._basis = cache.basis((cache.PACKAGE, *sources))
        self.settings = with_changes({item: item.QUICK if quick else item.FULL for item in items}, changed)
        self.tasks = [task for item in self.settings for task in self._tasks(item)]
        self._tables: dict[Path, Table] = {}
        for task in self.tasks:
            self._recall(task.file)

    def _tasks(self, item: Item) -> list[Task]:
        try:
            cases = item.cases(self.settings[item], self.seed)
        except ValueError as error:
            raise ChangeError(str(error)) from error
        return [
            Task(item, case, number / len(cases), self.kept(item, "json", repr(case)))
            for number, case in enumerate(cases)
        ]

    def kept(self, item: Item, kind: str, *parts: Any) -> Path:
        """File that keeps a result of an item until its parts, the sources or the libraries change."""
        return self.folder / item.NAME / f"{cache.key(*parts, self._basis)}.{kind}"

    def _recall(self, file: Path) -> None:
        if (text := cache.recall(file)) is not None:
            self._tables[file] = json.loads(text)

    def forget(self) -> None:
        """Drop the tables that are kept: all cases are computed once more."""
        for task in self.tasks:
            task.file.unlink(missing_ok=True)
        self._tables.clear()

    @property
    def n_done(self) -> int:
        return sum(task.file in self._tables for task in self.tasks)

    def carry_out(self, jobs: int, progress: Callable[[int], None], stopping: Callable[[], bool]) -> None:
        """Compute what is missing, and say after each case how many are done.

        Raises
        ------
        workers.Stopped
            If ``stopping`` became true before the end. What was done is kept.
        workers.Lost
            If a worker was ended from outside.
        workers.Failed
            If a case could not be computed.
        """
        missing = [task for task in self.tasks if task.file not in self._tables]
        # All items advance side by side, so that the time per case so far tells of the time left.
        missing.sort(key=lambda task: task.position)

        def done(file: Path) -> None:
            self._recall(file)
            progress(self.n_done)

        calls = {task.file: (task.item.simulate, task.case, task.file) for task in missing}
        names = {task.file: f"{task.item.NAME}, {task.case}" for task in missing}
        workers.run(_compute, calls, names, jobs, done, stopping)

    def outcome(self, item: Item) -> JudgedItem:
        """Judge the item's claims by its tables, which must all be there."""
        own = [task for task in self.tasks if task.item is item]
        tables = [self._tables[task.file] for task in own]
        settings = self.settings[item]
        claims = item.claims(settings, tables)
        cases = [task.case for task in own]
        return JudgedItem(item, settings, self.seed, cases, tables, claims, self.changed)


def _compute(simulate: Callable[[Any], Table], case: Any, file: Path) -> None:
    """Simulate in a worker; a fresh table is read back from its file like one from an earlier run."""
    cache.keep(file, json.dumps(simulate(case), allow_nan=False))
