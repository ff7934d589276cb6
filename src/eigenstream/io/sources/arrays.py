"""Readers of matrices, whose rows have numbers."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Generator
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import CELLS, Chunk, Floats, Place, Reader, SourceError, Texts, texts_of
from .options import ReadOptions

PRINT = 16
"""Rows at the beginning, and before the place reached, that are hashed to recognise a matrix on resuming."""

Pieces = Generator[NDArray[Any], None, None]


class RowReader(Reader):
    """Abstract: rows by their numbers. A subclass defines `fetch`."""

    total: int

    def __init__(self, name: str, shape: tuple[int, int], dtype: Any, options: ReadOptions) -> None:
        self.name, self.row = name, 0
        self.total, self.full = shape
        self.dtype = float_type(name, dtype)
        self.names = self.names or options.named(self.full, name)
        self.chosen, self._kept = options.choose(self.names, self.full, name)
        self.unknown = options.unknown(self.names, self.full, name)
        self.kept = [str(number) if self.names is None else self.names[number] for number in self._kept]
        self.column_numbers, self.width = self.chosen, len(self.chosen)
        self.names = None if self.names is None else [self.names[i] for i in self.chosen]

    @abstractmethod
    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        """Return these rows, all columns."""

    def take(self, count: int) -> Chunk | None:
        start, stop = self.row, min(self.row + count, self.total)
        if start >= stop:
            return None
        self.row = stop
        fetched = self.fetch(start, stop)
        texts = self.texts(fetched, start, stop) if self.kept else None
        return Chunk(self._chosen(fetched), np.arange(start, stop), [], texts)

    def pass_over(self, count: int) -> None:
        self.row = min(self.row + count, self.total)

    def rows(self, start: int, stop: int) -> Floats:
        """Return these rows, the chosen columns, as floats."""
        return self._chosen(self.fetch(start, stop))

    def texts(self, fetched: NDArray[Any], start: int, stop: int) -> Texts:
        """Return the columns kept as text of rows that have just been fetched."""
        return texts_of([list(map(str, row)) for row in fetched[:, self._kept].tolist()], len(self._kept))

    def _chosen(self, fetched: NDArray[Any]) -> Floats:
        if not isinstance(self.chosen, range):
            fetched = fetched[:, self.chosen]
        rows: Floats = np.ascontiguousarray(fetched, dtype=self.dtype)
        return rows

    def place(self) -> Callable[[], Place]:
        row = self.row
        return lambda: {"row": row, "fingerprint": self.fingerprint(row)}

    def fingerprint(self, row: int) -> str:
        """Return a hash of the first and the last of the rows before ``row``."""
        digest = hashlib.sha256(f"{self.width} {np.dtype(self.dtype)}".encode())
        if row:
            some = max(1, min(PRINT, CELLS // self.full))
            digest.update(self.rows(0, min(some, row)).tobytes())
            digest.update(self.rows(max(row - some, 0), row).tobytes())
        return digest.hexdigest()

    def go_to(self, place: Place) -> None:
        row = index(place["row"])
        if row > self.total:
            raise SourceError(
                f"{self.name} has become shorter: {row:,} rows had been read, it has {self.total:,}"
            )
        if self.fingerprint(row) != place["fingerprint"]:
            raise SourceError(
                f"{self.name} does not begin as it did: something in its first {row:,} rows has changed; "
                "give the same source, or start afresh without resuming"
            )
        self.row = row

    def progress(self) -> float | None:
        return self.row / max(self.total, 1)

    def behind(self) -> int | None:
        return self.total - self.row


class ForwardReader(RowReader):
    """Abstract: rows that are costly to go back to; the last ones are remembered, to recognise their place.

    A subclass defines a `fingerprint` of its file.
    """

    def __init__(self, name: str, shape: tuple[int, int], dtype: Any, options: ReadOptions) -> None:
        super().__init__(name, shape, dtype, options)
        self._last: Floats = np.zeros((0, self.width), dtype=self.dtype)

    def take(self, count: int) -> Chunk | None:
        chunk = super().take(count)
        if chunk is not None:
            some = max(1, min(PRINT, CELLS // self.full))
            kept = np.concatenate((self._last, chunk.rows[-some:]))
            self._last = kept[-some:]
        return chunk

    def pass_over(self, count: int) -> None:
        super().pass_over(count)
        self._last = self._last[:0]

    def place(self) -> Callable[[], Place]:
        place, last = super().place(), self._last
        return lambda: {**place(), "last": [len(last), hashlib.sha256(last.tobytes()).hexdigest()]}

    def go_to(self, place: Place) -> None:
        super().go_to(place)
        count, seen = index(place["last"][0]), place["last"][1]
        if not 0 <= count <= min(self.row, PRINT):
            raise ValueError(f"{count} rows before row {self.row}")
        last = self.rows(self.row - count, self.row) if count else self._last[:0]
        if hashlib.sha256(last.tobytes()).hexdigest() != seen:
            raise SourceError(
                f"{self.name} does not begin as it did: the rows before row {self.row:,} have changed; "
                "give the same source, or start afresh without resuming"
            )
        self._last = last


class Forward:
    """Rows that come in pieces, as an array of which any rows can be asked for.

    Parameters
    ----------
    begin
        Yields the pieces from a row on; called again to go back.
    name
        For messages.
    """

    def __init__(self, begin: Callable[[int], Pieces], name: str) -> None:
        self._begin, self._name = begin, name
        self._at = -1
        self._pieces: Pieces | None = None
        self._rest: list[NDArray[Any]] = []

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        """Return these rows."""
        if start != self._at or self._pieces is None:
            self.close()
            self._pieces, self._rest = self._begin(start), []
        parts, wanted = self._rest, stop - start
        while sum(map(len, parts)) < wanted:
            try:
                parts.append(next(self._pieces))
            except StopIteration:
                raise SourceError(f"{self._name} is damaged: it has fewer rows than it says") from None
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        self._at, self._rest = stop, [rows[wanted:]]
        return rows[:wanted]

    def close(self) -> None:
        """Close the pieces, and the file that they hold open."""
        if self._pieces is not None:
            self._pieces.close()
        self._pieces = None


def float_type(name: str, dtype: Any) -> Any:
    """Return float32 for float16 and float32, else float64; `SourceError` if these are not real numbers."""
    kind = np.dtype(dtype)
    if kind.kind not in "fiub" or kind.itemsize > 8 or kind.hasobject:
        raise SourceError(f"{name}: expected real numbers, got type {kind}")
    return np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64
