"""Several files as one stream, one after the other; and sources that are recognised as learnt before."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from operator import index
from pathlib import Path
from typing import Any

from .batch import Chunk, Place, Reader, SourceError
from .contents import hash_of_ends

Open = Callable[[Path, tuple[str, ...] | None], Reader]
Identity = dict[str, Any]
"""A name and, for a file, its length and a hash of both its ends; otherwise the place where reading ended."""


class Several(Reader):
    """Files with the same columns, read in the order given; empty files are skipped.

    Parameters
    ----------
    paths
        The files.
    open_one
        Opens one of them; of all but the first, columns of the same names are read, where there are names.
    """

    kind = "list of files"

    def __init__(self, paths: Sequence[Path], open_one: Open) -> None:
        for path in paths:
            if not path.is_file():
                raise SourceError(f"{path} is not a file: only files can be read one after the other")
        places = Counter(path.resolve() for path in paths)
        twice = next((path for path in paths if places[path.resolve()] > 1), None)
        if twice is not None:
            raise SourceError(f"{twice} is given twice: its rows would be counted twice; give it once")
        self.paths = self.files = list(paths)
        self.name = f"{len(paths)} files from {paths[0]} to {paths[-1]}"
        self.sizes = [path.stat().st_size for path in paths]
        self._open_one = open_one
        first = next((i for i, size in enumerate(self.sizes) if size), None)
        if first is None:
            raise SourceError(f"{self.name} are all empty: there is nothing to learn from")
        self._number, self._before = first, 0
        """Number of the file that is read, and the rows of those before it."""
        self._begins = [(0, paths[first])]
        """First rows of the files that have been read since this was opened or went to a place."""
        self._stamps = hashlib.sha256()
        """Hash of the files that have been read."""
        for i in range(first):
            self._stamps.update(_stamp(self.paths[i]))
        self._reader = open_one(self.paths[first], None)
        self.width, self.full = self._reader.width, self._reader.full
        self.names, self.kept = self._reader.names, self._reader.kept
        self._taken: Chunk | None = None
        self._rowless: list[int] = []
        """Numbers of the files read that had no rows."""

    @property
    def part(self) -> int:  # type: ignore[override]
        return self._number

    def take(self, count: int) -> Chunk | None:
        while (chunk := self._reader.take(count)) is None:
            if not self._next_file():
                return None
        self._taken = chunk
        self.row = self._before + self._reader.row
        return chunk._replace(numbers=chunk.numbers + self._before)

    def pass_over(self, count: int) -> None:
        while count:
            before = self._reader.row
            self._reader.pass_over(count)
            count -= self._reader.row - before
            self.row = self._before + self._reader.row
            if count and not self._next_file():
                return

    def place(self) -> Callable[[], Place]:
        at = {"row": self.row, "file": self._number, "stamps": self._stamps.hexdigest()}
        at["rowless"] = list(self._rowless)
        within = self._reader.place()()  # now: the file may be closed when the function is called
        return lambda: {**at, "within": within}

    def go_to(self, place: Place) -> None:
        if "file" not in place:  # of a folder that had one file then, which was read as such
            alone = {"file": self._number, "stamps": self._stamps.hexdigest(), "within": place}
            place = {"row": place["row"], **alone}
        row, number, within = index(place["row"]), index(place["file"]), place["within"]
        if not 0 <= number < len(self.paths):
            raise SourceError(
                f"{self.name}: {number + 1} files had been read or begun; there are {len(self.paths)} now"
            )
        stamps = hashlib.sha256()
        for path in self.paths[:number]:
            stamps.update(_stamp(path))
        if stamps.hexdigest() != place["stamps"]:
            raise SourceError(
                f"{self.name}: the first {number} are not the files they were; give the same files in the "
                "same order (more may follow), or start afresh without resuming"
            )
        before = row - index(within["row"])
        if before < 0:
            raise ValueError(f"row {row} within row {within['row']} of a file")
        if number != self._number:
            self._open(number)
        self._reader.go_to(within)
        self._before, self._stamps, self.row = before, stamps, row
        self._begins = [(before, self.paths[number])]
        self._rowless = [index(one) for one in place.get("rowless", ())]

    def file_row(self, row: int) -> tuple[Path, int] | None:
        found = [(path, row - first) for first, path in self._begins if first <= row]
        return found[-1] if found else None

    def where(self, chunk: Chunk, row: int, column: int) -> str:
        return self._reader.where(self._taken or chunk, row, column)

    def where_row(self, chunk: Chunk, row: int) -> str:
        return self._reader.where_row(self._taken or chunk, row)

    def notes(self) -> list[str]:
        return self._reader.notes()

    def progress(self) -> float | None:
        share = self._reader.progress()
        done = sum(self.sizes[: self._number]) + (share or 0.0) * self.sizes[self._number]
        return done / max(sum(self.sizes), 1)

    def files_read(self) -> list[tuple[Path, int, bool]]:
        before = [(self.paths[i], self.sizes[i], i not in self._rowless) for i in range(self._number)]
        return before + self._reader.files_read()

    def close(self) -> None:
        self._reader.close()

    def _next_file(self) -> bool:
        """Open the next file that is not empty; return False if there is none."""
        following = next((i for i in range(self._number + 1, len(self.paths)) if self.sizes[i]), None)
        if following is None:
            return False
        for path in self.paths[self._number : following]:
            self._stamps.update(_stamp(path))
        self._before += self._reader.row
        self._rowless += [] if self._reader.row else [self._number]
        self._open(following)
        self._begins.append((self._before, self.paths[following]))
        return True

    def _open(self, number: int) -> None:
        self._reader.close()
        path = self.paths[number]
        named = self.names is not None and len(set(self.names)) == len(self.names)
        self._reader = self._open_one(path, tuple(self.names or ()) if named else None)
        self._number = number
        if (self._reader.width, self._reader.names) != (self.width, self.names):
            raise SourceError(f"{path} has other columns than {self.paths[0]}")


def _stamp(path: Path) -> bytes:
    """Return a file's name, size, and a hash of its ends."""
    size = path.stat().st_size
    return f"{path.name}\0{size}\0{hash_of_ends(path, size)}".encode(errors="surrogateescape")


def identities(reader: Reader) -> list[Identity]:
    """Return the identity of each file read, or of the source, after its last row."""
    found = [
        {"name": str(path), "bytes": size, "sha256": hash_of_ends(path, size), "has_rows": has_rows}
        for path, size, has_rows in reader.files_read()
    ]
    if found or reader.row == 0 or not reader.lasts:
        return found
    return [{"name": reader.name, "place": reader.place()()}]


def learnt_files(reader: Reader, learnt: list[Identity]) -> dict[Path, Identity]:
    """Return the files of this source that begin with one learnt before, and its identity."""
    known = [one for one in learnt if "bytes" in one]
    pairs = ((path, next((one for one in known if _begins_as(path, one)), None)) for path in reader.files)
    return {path: one for path, one in pairs if one is not None}


def learnt_place(reader: Reader, learnt: list[Identity]) -> Identity | None:
    """Return the identity of a source without files, if it was learnt before; it stays at its beginning."""
    for one in learnt:
        if "place" in one and one["name"] == reader.name and reader.lasts:
            beginning = reader.place()()
            try:
                reader.go_to(one["place"])
            except Exception:  # whatever it is, it is not the place that was learnt
                continue
            reader.go_to(beginning)
            return one
    return None


def _begins_as(path: Path, one: Identity) -> bool:
    """Return True if the file is the one learnt; it may have grown, unless it had no rows then."""
    size, now = one["bytes"], path.stat().st_size
    fits = now >= size if one.get("has_rows", True) else now == size
    return bool(fits and hash_of_ends(path, size) == one["sha256"])
