"""Rows of Parquet files: one file, or a folder of parts in the order of their names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import ForwardReader, _float_type
from .batch import NO_TEXT, Chunk, SourceError
from .columns import Columns, chosen_columns

ROWS = 4096
BEGINNING = 4096
"""Bytes of a file by which it is recognised, besides its footer."""


class Parquet(ForwardReader):
    """Numeric columns of a Parquet file or folder; a null is missing."""

    kind = "parquet"

    def __init__(self, path: Path, columns: Columns, exclude: Columns = None) -> None:
        self.path = path
        self.parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        self.footers = [_footer(part) for part in self.parts]
        schemas = [_schema(part, footer) for part, footer in zip(self.parts, self.footers, strict=True)]
        names = schemas[0].names
        for part, schema in zip(self.parts, schemas, strict=True):
            if schema.names != names:
                raise SourceError(f"{part} has other columns than {self.parts[0]}")
        if len(set(names)) < len(names):
            raise SourceError(f"{path}: two columns have the same name; give each its own")
        self.asked = chosen_columns(
            columns, names, len(names), str(path), exclude, lambda: _without_numbers(schemas[0])
        )
        self.columns = self.names = [names[i] for i in self.asked]
        types = {
            _numpy_type(part, schema.field(name))
            for part, schema in zip(self.parts, schemas, strict=True)
            for name in self.columns
        }
        total = sum(footer.num_rows for footer in self.footers)
        dtype = np.float32 if types == {np.float32} else np.float64
        super().__init__(str(path), (total, len(self.names)), dtype, None)
        self._at = -1
        self._rows = self._from(total)

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        if start != self._at:
            self._rows.close()
            self._rows, self._rest = self._from(start), np.zeros((0, self.width), dtype=self.dtype)
        parts, wanted = [self._rest], stop - start
        while sum(map(len, parts)) < wanted:
            try:
                parts.append(next(self._rows))
            except StopIteration:
                raise SourceError(f"{self.name} is damaged: it has fewer rows than it says") from None
        rows = np.concatenate(parts)
        self._at, self._rest = stop, rows[wanted:]
        return rows[:wanted]

    def where(self, chunk: Chunk, row: int, column: int) -> str:
        number, name = self.asked[column], self.columns[column]
        return f"{self.name}, row {int(chunk.numbers[row])}, column {number} ({name})"

    def fingerprint(self, row: int) -> str:
        """A hash of the beginnings and footers of the files that were read from."""
        digest = hashlib.sha256()
        seen = 0
        for part, footer in zip(self.parts, self.footers, strict=True):
            if seen >= row:
                break
            with part.open("rb") as file:
                digest.update(file.read(BEGINNING))
                file.seek(-min(footer.serialized_size + 8, part.stat().st_size), os.SEEK_END)
                digest.update(file.read())
            seen += footer.num_rows
        return digest.hexdigest()

    def close(self) -> None:
        self._rows.close()

    def _from(self, start: int) -> Generator[NDArray[Any], None, None]:
        """Pieces from this row on, never more than a few thousand rows at once, one file open at a time."""
        for part, footer in zip(self.parts, self.footers, strict=True):
            if start >= footer.num_rows:
                start -= footer.num_rows
                continue
            with _opened(part) as file:
                if not file.metadata.equals(footer):
                    raise SourceError(f"{part} was replaced while {self.name} was read")
                for group in range(footer.num_row_groups):
                    rows = footer.row_group(group).num_rows
                    if start >= rows:
                        start -= rows
                        continue
                    for piece in self._pieces(file, group):
                        if start < len(piece):
                            yield piece[start:]
                        start = max(start - len(piece), 0)

    def _pieces(self, file: Any, group: int) -> Iterator[NDArray[Any]]:
        """One row group in pieces; each is checked for having all columns at full length by Arrow."""
        rows = max(1, min(ROWS, 2**22 // self.width))
        try:
            for piece in file.iter_batches(rows, row_groups=[group], columns=self.columns, use_threads=False):
                columns = [piece.column(name).to_numpy(zero_copy_only=False) for name in self.columns]
                yield np.column_stack(columns).astype(self.dtype, copy=False)
        except SourceError:
            raise
        except Exception as error:  # a damaged file raises whatever its decoders raise
            raise SourceError(f"{self.name} cannot be read: {error}") from None


def _footer(path: Path) -> Any:
    with _opened(path) as file:
        return file.metadata


def _schema(path: Path, footer: Any) -> Any:
    try:
        return footer.schema.to_arrow_schema()
    except Exception as error:  # as above
        raise SourceError(f"{path} is not a readable Parquet file: {error}") from None


def _opened(path: Path) -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise SourceError(f"{path}: to read Parquet, pip install 'eigenstream[parquet]'") from None
    try:
        # Without the first two a row group would be read as a whole; the third only matters where a file has
        # checksums.
        return parquet.ParquetFile(
            path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True
        )
    except Exception as error:  # as above
        raise SourceError(f"{path} is not a readable Parquet file: {error}") from None


def _numpy_type(path: Path, field: Any) -> Any:
    try:
        return _float_type("", field.type.to_pandas_dtype())
    except (SourceError, NotImplementedError, TypeError):
        raise SourceError(
            f"{path}, column {field.name!r}: expected numbers, got {field.type}",
            NO_TEXT,
        ) from None


def _without_numbers(schema: Any) -> list[int]:
    found = []
    for i, field in enumerate(schema):
        try:
            _numpy_type(Path(), field)
        except SourceError:
            found.append(i)
    return found
