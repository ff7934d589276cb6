"""Which reader a source needs: told by what is in it, not by its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ..streams import switching_stream
from .arrays import Generated, Npy, Zarr
from .batch import Reader, SourceError
from .columns import Columns
from .line_reader import open_lines
from .parquet import Parquet
from .source import Source


def open(
    source: str | os.PathLike[str] | None,
    *,
    columns: Columns = None,
    rows: tuple[int, int | None] = (0, None),
    batch_rows: int | None = None,
    position: dict[str, Any] | None = None,
    follow: bool = False,
    idle: float | None = None,
    on_bad_row: Literal["fail", "skip"] = "fail",
    allow_nan: bool = False,
    on_skip: Callable[[str], object] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Source:
    """Open a stream of batches.

    Parameters
    ----------
    source
        A CSV or JSON-lines file (gzip too), an NPY file, a Parquet file or folder, a Zarr array; ``"-"`` for
        lines on standard input; None for a built-in stream whose scale doubles and halves.
    columns
        Names, numbers from 0 or ranges (``"a,b"``, ``"0:8"``); all columns if None.
    rows
        The first row of data to read, and the row to stop before (None: the end).
    batch_rows
        Rows a batch: batches end at its multiples. If None, 1,024, or fewer where rows are very wide; 32 on
        standard input and where a file is followed. A row waits until its batch is full or the source ends:
        1 hands out each row at once.
    position
        The `Batch.position` to continue from.
    follow, idle
        Whether to wait for more at the end of a plain file of lines, and after how many seconds without
        anything new it counts as the end (None: never).
    on_bad_row
        What to do with rows that cannot be understood or are not finite: ``"fail"`` or ``"skip"``.
    allow_nan
        Whether missing values are handed out as NaN; otherwise they make a row bad.
    on_skip
        Called with the reason for each row left out.
    delimiter, header
        Of CSV; found out if None.

    Raises
    ------
    SourceError
        If it cannot be read, or is not what ``position`` was made from. It names file, line and column.
    """
    if batch_rows is not None and batch_rows < 1:
        raise SourceError(f"batch_rows must be at least 1, got {batch_rows}")
    start, stop = rows
    if start < 0 or (stop is not None and stop <= start):
        raise SourceError(f"expected a range of rows such as (0, 1000), got {rows}")
    if on_bad_row not in ("fail", "skip"):
        raise SourceError(f"on_bad_row must be 'fail' or 'skip', got {on_bad_row!r}")
    lines = {"columns": columns, "delimiter": delimiter, "header": header}
    try:
        reader = _reader(source, columns, follow, idle, lines)
    except OSError as error:
        raise SourceError(f"{source} cannot be read: {error.strerror or error}") from None
    opened = Source(
        reader, batch_rows=batch_rows, stop=stop, on_bad_row=on_bad_row, allow_nan=allow_nan, on_skip=on_skip
    )
    try:
        if position is not None:
            opened.continue_from(position)
        elif start:
            opened.pass_over(start)
    except BaseException:
        opened.close()
        raise
    return opened


def _reader(
    source: str | os.PathLike[str] | None,
    columns: Columns,
    follow: bool,
    idle: float | None,
    lines: dict[str, Any],
) -> Reader:
    if source is None:
        return built_in(columns)
    if os.fspath(source) == "-":
        return open_lines(None, follow=True, idle=None, **lines)
    path = Path(source)
    if not path.exists():
        raise SourceError(f"there is no file {str(path)!r}")
    kind = _matrix_kind(path)
    if kind is None:
        return open_lines(path, follow=follow, idle=idle, **lines)
    if follow:
        raise SourceError(f"{path} cannot be followed: only a plain file of lines can grow")
    return kind(path, columns)


def _matrix_kind(path: Path) -> Callable[[Path, Columns], Reader] | None:
    """The reader of a matrix, None for lines of text."""
    if path.is_dir():
        if any(path.glob("*.parquet")):
            return Parquet
        if any((path / name).exists() for name in ("zarr.json", ".zarray")):
            return Zarr
        raise SourceError(f"{path} is a folder, but neither a Zarr array nor one of Parquet files")
    if not path.is_file():  # a named pipe would be waited for
        raise SourceError(f"{path} is not a regular file; pass pipes through standard input (-)")
    with path.open("rb") as file:
        start = file.read(6)
    return Npy if start == b"\x93NUMPY" else Parquet if start[:4] == b"PAR1" else None


BUILT_IN_ROWS = 10_000


def built_in(columns: Columns) -> Reader:
    """The paper's non-stationary input: 64 inputs whose scale doubles at sample 1,000, and back at 6,000."""

    def make(start: int) -> Any:
        batches = switching_stream(BUILT_IN_ROWS, batch_size=100, random_state=0)
        for _ in range(start // 100):
            next(batches)
        yield next(batches)[start % 100 :]
        yield from batches

    name = "built-in stream (its variance doubles at 1,000 and halves at 6,000)"
    return Generated(name, (BUILT_IN_ROWS, 64), make, columns)
