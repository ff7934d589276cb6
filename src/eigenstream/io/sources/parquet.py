"""Reader of Parquet: one file, or a folder of parts in the order of their names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Forward, ForwardReader, Pieces, float_type
from .batch import CELLS, NO_TEXT, SourceError, Texts, texts_of
from .options import ReadOptions

Convert = Callable[[list[Any]], NDArray[Any]]

ROWS = 4096
"""Most rows decoded at a time, however large the row groups are."""
BEGINNING = 4096
"""Bytes of a file that are hashed, besides its footer, to recognise it on resuming."""


class ParquetReader(ForwardReader):
    """Numeric columns of a Parquet file or folder; a null is missing."""

    kind = "parquet"

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        self.parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        self.footers, schemas = [], []
        for part in self.parts:
            with _opened(part) as file:
                self.footers.append(file.metadata)
                schemas.append(file.metadata.schema.to_arrow_schema())
        names = schemas[0].names
        for part, schema in zip(self.parts, schemas, strict=True):
            if schema.names != names:
                raise SourceError(f"{part} has other columns than {self.parts[0]}")
        if len(set(names)) < len(names):
            raise SourceError(f"{path}: two columns have the same name; give each its own")
        texts = [i for i, field in enumerate(schemas[0]) if _number_type(field) is None]
        asked, kept = options.choose(names, len(names), str(path), lambda: texts)
        self.columns = self.names = [names[i] for i in asked]
        types = set()
        for part, schema in zip(self.parts, schemas, strict=True):
            for field in map(schema.field, self.columns):
                types.add(_number_type(field))
                if None in types:
                    what = f"{part}, column {field.name!r}: expected numbers, got {field.type}"
                    raise SourceError(what, NO_TEXT)
        total = sum(footer.num_rows for footer in self.footers)
        dtype = np.float32 if types == {np.float32} else np.float64
        super().__init__(str(path), (total, len(self.names)), dtype, ReadOptions())
        self.column_numbers, self.kept, self.files = asked, [names[i] for i in kept], self.parts
        self.unknown = options.unknown(names, len(names), str(path), lambda: texts)
        floats = partial(self._from, columns=self.columns, convert=self._as_floats)
        words = partial(self._from, columns=self.kept, convert=_as_texts)
        self._rows, self._texts = Forward(floats, self.name), Forward(words, self.name)

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        return self._rows.fetch(start, stop)

    def texts(self, fetched: NDArray[Any], start: int, stop: int) -> Texts:
        return self._texts.fetch(start, stop)

    def fingerprint(self, row: int) -> str:
        """Return a hash of the beginnings and footers of the files read up to ``row``."""
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

    def _as_floats(self, columns: list[Any]) -> NDArray[Any]:
        arrays = [column.to_numpy(zero_copy_only=False) for column in columns]
        return np.column_stack(arrays).astype(self.dtype, copy=False)

    def close(self) -> None:
        self._rows.close()
        self._texts.close()

    def _from(self, start: int, columns: Sequence[str], convert: Convert) -> Pieces:
        """Yield the rows from ``start`` on, at most `ROWS` at a time, with one file open at a time."""
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
                    for piece in self._pieces(file, group, columns, convert):
                        if start < len(piece):
                            yield piece[start:]
                        start = max(start - len(piece), 0)

    def _pieces(
        self, file: Any, group: int, names: Sequence[str], convert: Convert
    ) -> Iterator[NDArray[Any]]:
        """Yield a row group in pieces; Arrow checks that all columns have the same length."""
        rows = max(1, min(ROWS, CELLS // len(names)))
        try:
            for piece in file.iter_batches(rows, row_groups=[group], columns=names, use_threads=False):
                yield convert([piece.column(name) for name in names])
        except SourceError:
            raise
        except Exception as error:  # a damaged file raises whatever its decoders raise
            raise SourceError(f"{self.name} cannot be read: {error}") from None


def _as_texts(columns: list[Any]) -> Texts:
    return texts_of([list(row) for row in zip(*map(_words, columns), strict=True)], len(columns))


def _words(column: Any) -> list[str]:
    """Return a column as text, written by Arrow, or by Python where Arrow cannot; empty for a null."""
    import pyarrow as pa
    from pyarrow import compute

    try:
        written = compute.cast(column, pa.string()).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        written = [None if value is None else str(value) for value in column.to_pylist()]
    return ["" if word is None else word for word in written]


def _opened(path: Path) -> Any:
    try:
        from pyarrow import parquet
    except ImportError:
        raise SourceError(f"{path}: to read Parquet, pip install 'eigenstream[parquet]'") from None
    try:
        # Without the first two a row group would be read as a whole; the third only matters where a file has
        # checksums.
        file = parquet.ParquetFile(
            path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True
        )
        file.metadata.schema.to_arrow_schema()  # raises where Arrow has no such type
        return file
    except Exception as error:  # as above
        raise SourceError(f"{path} is not a readable Parquet file: {error}") from None


def _number_type(field: Any) -> Any:
    """Return the type of float for a column; None if it holds no numbers."""
    try:
        return float_type("", field.type.to_pandas_dtype())
    except (SourceError, NotImplementedError, TypeError):
        return None
