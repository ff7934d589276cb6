"""Models by key in one SQLite file; a crash loses only what was written since the last commit.

A model is the bytes that `eigenstream.io.checkpoint.packed` makes of it: nothing in the file is executed.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..io import files

Key = str | int

APPLICATION = 0x65696762
"""SQLite's application id of a bank ("eigb"): tells it from other SQLite files."""
VERSION = 1
"""SQLite's user version of a bank; raised when the tables change."""

TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE models (
    key PRIMARY KEY,
    samples INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    used INTEGER NOT NULL,
    state BLOB NOT NULL
);
"""


class Entry(NamedTuple):
    """One model of a bank: the facts that are known without reading it."""

    key: str | int
    samples: int
    rank: int


class Store:
    """The file of a bank, locked against other writers from the first write on.

    Parameters
    ----------
    path
        The file; ``:memory:`` is none. A new one appears with its first commit.
    fresh
        True begins anew: the first commit replaces an existing file.

    Raises
    ------
    ValueError
        If the file is something else, or of a newer version.
    """

    def __init__(self, path: str | os.PathLike[str], *, fresh: bool = False) -> None:
        self.path = os.fspath(path)
        exists = self.path != ":memory:" and Path(self.path).exists() and Path(self.path).stat().st_size > 0
        if exists and not is_bank(self.path):
            raise ValueError(f"{self.path!r} is not a bank of models: name another file")
        self._aside: str | None = None
        """The path of a new file until its first commit puts it in its place."""
        if self.path != ":memory:" and (fresh or not exists):
            target = Path(os.path.realpath(self.path))
            self._aside = str(target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp"))
        self._file = self._opened(self._aside or self.path)
        if self._aside or self.path == ":memory:":
            self._create()
        elif (version := self._file.execute("PRAGMA user_version").fetchone()[0]) != VERSION:
            self.close()
            raise ValueError(
                f"{self.path!r} has format version {version}, this eigenstream reads {VERSION}: use the "
                "version that wrote it"
            )

    def _opened(self, path: str) -> sqlite3.Connection:
        file = None
        try:
            # Threads take turns: only the one that calls the bank reads and writes.
            file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            file.execute("PRAGMA synchronous = EXTRA")  # a commit also syncs the folder
            file.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.DatabaseError as error:
            if file is not None:
                file.close()
            raise ValueError(f"{self.path!r} cannot be used as a bank of models: {error}") from None
        return file

    def _create(self) -> None:
        self._file.execute("PRAGMA journal_mode = OFF")  # after a crash nobody looks at this file
        self._begin()
        for statement in TABLES.split(";"):
            self._file.execute(statement)
        self._file.execute(f"PRAGMA application_id = {APPLICATION}")
        self._file.execute(f"PRAGMA user_version = {VERSION}")

    def _put_in_place(self) -> None:
        """Let the new file appear, whole, under its name."""
        assert self._aside is not None
        self._file.close()
        files.sync_file(self._aside)
        target = os.path.realpath(self.path)
        os.replace(self._aside, target)
        files.sync_folder(Path(target).parent)
        self._aside = None
        self._file = self._opened(self.path)

    def fact(self, name: str) -> Any:
        """The fact that `commit` wrote under this name; None if there is none."""
        found = self._file.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else json.loads(found[0])

    def state(self, key: Key) -> bytes | None:
        """The stored model of this key."""
        found = self._file.execute("SELECT state FROM models WHERE key = ?", (key,)).fetchone()
        return None if found is None else bytes(found[0])

    def entries(self) -> Iterator[Entry]:
        """All stored models, the last used first."""
        for row in self._file.execute("SELECT key, samples, rank FROM models ORDER BY used DESC, rowid"):
            yield Entry(*row)

    def put(self, models: Iterable[tuple[Entry, bytes]], used: int) -> None:
        """Write models; durable with the next `commit`."""
        self._begin()
        self._file.executemany(
            "INSERT INTO models VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET samples = "
            "excluded.samples, rank = excluded.rank, used = excluded.used, state = excluded.state",
            ((*entry, used, state) for entry, state in models),
        )

    def drop(self, keys: Iterable[Key]) -> None:
        """Forget models, for good only with the next `commit`."""
        self._begin()
        self._file.executemany("DELETE FROM models WHERE key = ?", [(key,) for key in keys])

    def commit(self, facts: dict[str, Any]) -> None:
        """Make everything written so far durable, and these facts with it: all or nothing."""
        self._begin()
        self._file.executemany(
            "INSERT OR REPLACE INTO facts VALUES (?, ?)",
            [(name, json.dumps(value)) for name, value in facts.items()],
        )
        self._file.execute("COMMIT")
        if self._aside is not None:
            self._put_in_place()

    def close(self) -> None:
        """Close the file; what was not committed is lost."""
        self._file.close()
        if self._aside is not None:
            Path(self._aside).unlink(missing_ok=True)
            self._aside = None

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self.close()

    def _begin(self) -> None:
        if self._file.in_transaction:
            return
        try:
            self._file.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise RuntimeError(f"another process is working on {self.path}, wait for it: {error}") from None


def is_bank(path: str | os.PathLike[str]) -> bool:
    """True if this file is a bank of models, by its first bytes."""
    with open(path, "rb") as file:
        head = file.read(72)
    return head.startswith(b"SQLite format 3\0") and head[68:72] == APPLICATION.to_bytes(4, "big")
