"""Scores as a folder of Parquet parts."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import files
from .file import FINGERPRINT_BYTES, Appended, begins_as, require_same
from .sink import Floats, Layout, Place, Sink, SinkError, Texts

PART = 2**16
"""Rows per part. Parts are cut by rows alone, so that they do not depend on when the output was settled."""
PART_NAME = re.compile(r"part-(\d{6,})\.parquet")
HIDDEN_NAME = re.compile(r"\.part-(\d{6,})\.(rows|tmp)")


class ParquetSink(Sink):
    """A folder of parts, each of which appears whole or not at all.

    Rows of the part in the making wait in a hidden file beside the parts, an Arrow stream to which each call
    appends a batch, and which is cut back like any other. Only files with names of parts are ever removed
    from the folder.
    """

    def __init__(self, folder: Path, layout: Layout, place: Place | None) -> None:
        require_arrow(folder)
        self.folder, self.schema = folder, _schema(layout)
        self._rows = 0
        """Number of rows that wait."""
        self.part, self._length = (int(place["part"]), int(place["bytes"])) if place else (0, 0)
        self._final = False
        self._waiting_rows: Appended | None = None
        if place is None:
            folder.mkdir(exist_ok=True)
        elif not folder.is_dir():
            raise SinkError(f"{folder} had been written, but is gone; put it back, or start afresh")
        self._handle = os.open(folder, os.O_RDONLY)
        try:
            if not files.lock(self._handle):
                raise SinkError(
                    f"another process is writing to {folder}: wait until it has ended, or write elsewhere"
                )
            self.identity = files.identity(folder, self._handle)
            if place is not None:
                self._require_whole(place)
        except BaseException:
            os.close(self._handle)
            raise

    def write(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None = None) -> None:
        import pyarrow as pa

        waiting = self._begin()
        columns: list[Any] = [numbers]
        columns += [] if texts is None else [_words(column) for column in texts.T]
        columns += [np.ascontiguousarray(column) for column in scores.T]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        rows = pa.record_batch(arrays, schema=self.schema)
        while rows.num_rows:
            room = PART - self._rows
            if not waiting.length:
                waiting.append(self.schema.serialize())
            waiting.append(rows.slice(0, room).serialize())
            self._rows += min(room, rows.num_rows)
            rows = rows.slice(room)
            if self._rows == PART:
                waiting = self._complete(waiting)

    def excess(self) -> bool:
        waiting = self._waiting(self.part)
        return bool(self._superseded()) or (waiting.exists() and waiting.stat().st_size > self._length)

    def resembles(self) -> bool:
        import pyarrow as pa
        import pyarrow.parquet as pq

        beginning, waiting = self.schema.serialize().to_pybytes(), self._waiting(self.part)
        if waiting.exists():
            with waiting.open("rb") as file:
                if not begins_as(file.read(len(beginning)), beginning):
                    return False
        try:
            return all(pq.read_schema(path).equals(self.schema) for _, path in self._named(PART_NAME))
        except (pa.ArrowException, OSError):  # what cannot be read is not ours
            return False

    def settle(self, *, final: bool = False) -> Place:
        waiting = self._begin()
        if final and waiting.length:
            waiting = self._complete(waiting)
        self._final = final
        waiting.settle()
        return {"part": self.part, "bytes": waiting.length, "sha256": self._fingerprint(waiting)}

    def committed(self) -> None:
        for number, path in self._named(HIDDEN_NAME):
            if path.suffix == ".rows" and (self._final or number != self.part):
                path.unlink()

    def close(self) -> None:
        if self._waiting_rows is not None:
            self._waiting_rows.close()
        os.close(self._handle)

    def _require_whole(self, place: Place) -> None:
        """Raise if the folder lacks a part, or its last part or waiting rows are not those written."""
        missing = next((n for n in range(self.part) if not self._part(n).exists()), None)
        if missing is not None:
            raise SinkError(
                f"{self._part(missing)} had been written, but is gone; put it back, or start afresh without "
                "resuming"
            )
        if not self._length and not self._waiting(self.part).exists():
            require_same(self.folder, place, self._fingerprint(None))
            return
        waiting = Appended(self._waiting(self.part), self._length)
        try:
            require_same(self.folder, place, self._fingerprint(waiting))
        finally:
            waiting.close()

    def _begin(self) -> Appended:
        """Remove what was written after the place, and open the file of waiting rows."""
        if self._waiting_rows is None:
            for path in self._superseded():
                path.unlink()
            self._waiting_rows = Appended(self._waiting(self.part), self._length)
            self._waiting_rows.begin()
            self._rows = self._table().num_rows if self._length else 0
            files.sync_folder(self.folder.absolute().parent)
        return self._waiting_rows

    def _superseded(self) -> list[Path]:
        """Return the parts from the place on, and hidden files other than the rows that wait there."""
        parts = [path for number, path in self._named(PART_NAME) if number >= self.part]
        hidden = [path for _, path in self._named(HIDDEN_NAME) if path != self._waiting(self.part)]
        return parts + hidden

    def _named(self, pattern: re.Pattern[str]) -> list[tuple[int, Path]]:
        """Return the files with such a name, each with the number of its part."""
        matches = [pattern.fullmatch(name) for name in sorted(os.listdir(self.folder))]
        return [(int(match[1]), self.folder / match[0]) for match in matches if match]

    def _fingerprint(self, waiting: Appended | None) -> str:
        """Return a hash of the end of the last part and of the rows that wait."""
        digest = hashlib.sha256()
        if self.part:
            with self._part(self.part - 1).open("rb") as last:
                last.seek(-min(FINGERPRINT_BYTES, os.fstat(last.fileno()).st_size), os.SEEK_END)
                digest.update(last.read())
        if waiting is not None:
            digest.update(waiting.fingerprint(0))
        return digest.hexdigest()

    def _complete(self, waiting: Appended) -> Appended:
        """Turn the rows that wait into a part, and begin the next."""
        from pyarrow import parquet

        table = self._table().combine_chunks()  # pages must not depend on how rows came
        temporary = self._waiting(self.part).with_suffix(".tmp")
        parquet.write_table(table, temporary, write_page_checksum=True)
        files.sync_file(temporary)
        os.replace(temporary, self._part(self.part))
        waiting.close()
        self.part, self._rows = self.part + 1, 0
        self._waiting_rows = Appended(self._waiting(self.part), 0)
        self._waiting_rows.begin()  # which syncs the folder, so the name of the new part too
        return self._waiting_rows

    def _table(self) -> Any:
        """Return the rows that wait."""
        import pyarrow as pa

        with self._waiting(self.part).open("rb") as file:
            return pa.ipc.open_stream(file).read_all()

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{number:06d}.parquet"

    def _waiting(self, number: int) -> Path:
        return self.folder / f".part-{number:06d}.rows"


def _schema(layout: Layout) -> Any:
    import pyarrow as pa

    number = pa.from_numpy_dtype(np.dtype(layout.dtype))
    texts = [(name, pa.string()) for name in layout.texts]
    kinds = [pa.int64() if whole else number for whole in layout.are_whole]
    numbers = list(zip(layout.numbers, kinds, strict=True))
    return pa.schema([("row", pa.int64()), *texts, *numbers])


def _words(column: Texts) -> list[str]:
    """Return text that Arrow takes: a lone surrogate, as JSON can have it, is replaced."""
    return [str(word).encode(errors="replace").decode() for word in column]


def require_arrow(folder: Path) -> None:
    """Raise if pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise SinkError(f"{folder}: to write Parquet, pip install 'eigenstream[parquet]'") from None
