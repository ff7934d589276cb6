"""Rows of Parquet files: one file, or a folder of parts in the order of their names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import RowReader, _float_type
from .batch import SourceError
from .columns import Columns, chosen_columns

ROWS = 4096


class Parquet(RowReader):
    """Numeric columns of a Parquet file or folder; a null is missing."""

    kind = "parquet"

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path = path
        self.parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        self.files = [_opened(part) for part in self.parts]
        schema = self.files[0].schema_arrow
        for part, file in zip(self.parts, self.files, strict=True):
            if file.schema_arrow.names != schema.names:
                raise SourceError(f"{part} has other columns than {self.parts[0]}")
        asked = chosen_columns(columns, schema.names, len(schema.names), str(path))
        self.columns = self.names = [schema.names[i] for i in asked]
        if len(set(schema.names)) < len(schema.names):
            raise SourceError(f"{path}: two columns have the same name; give each its own")
        types = [_numpy_type(path, schema.field(name)) for name in self.names]
        dtype = np.float32 if all(t == np.float32 for t in types) else np.float64
        total = sum(file.metadata.num_rows for file in self.files)
        super().__init__(str(path), (total, len(self.names)), dtype, None)
        self._at = -1
        self._rows: Iterator[NDArray[Any]] = iter(())

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        if start != self._at:
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

    def fingerprint(self, row: int) -> str:
        """Of the footers: a Parquet file never changes after it has been written."""
        digest = hashlib.sha256()
        seen = 0
        for file in self.files:
            if seen >= row:
                break
            digest.update(repr(file.metadata.to_dict()).encode())
            seen += file.metadata.num_rows
        return digest.hexdigest()

    def close(self) -> None:
        for file in self.files:
            file.close()

    def _from(self, start: int) -> Iterator[NDArray[Any]]:
        """Pieces from this row on, never more than a few thousand rows at once."""
        for file in self.files:
            for group in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
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


def _opened(path: Path) -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise SourceError(f"{path}: to read Parquet, pip install 'eigenstream[parquet]'") from None
    try:
        # Without these two a row group would be read as a whole.
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20)
    except Exception as error:  # as above
        raise SourceError(f"{path} is not a readable Parquet file: {error}") from None


def _numpy_type(path: Path, field: Any) -> Any:
    try:
        return _float_type("", field.type.to_pandas_dtype())
    except (SourceError, NotImplementedError, TypeError):
        raise SourceError(
            f"{path}, column {field.name!r}: expected numbers, got {field.type}; "
            "choose columns that hold numbers"
        ) from None
