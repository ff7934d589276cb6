"""Open a source: everything that can be said about how it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

from .batch import Hint, SourceError
from .columns import Columns, listed
from .formats import Format
from .readers import Asked, open_reader
from .source import Source
from .times import Clock

TIME_COLUMN = Hint("time_column", None, "names the column that says when each row was taken")


def open(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
    *,
    columns: Columns = None,
    exclude: Columns = None,
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
    decimal: str = ".",
    comment: str | None = None,
    skip_lines: int = 0,
    encoding: str | None = None,
    na: str | Sequence[str | float] | None = None,
    array: str | None = None,
    keep: Columns = None,
    time_column: str | int | None = None,
    time_format: str | None = None,
    names: Sequence[str] | None = None,
    thousands: str | None = None,
    threads: int = 1,
) -> Source:
    """Open a stream of batches.

    Parameters
    ----------
    source
        A CSV or JSON-lines file (gzip too), an NPY or NPZ file, a sparse matrix (Matrix Market, or NPZ of
        ``scipy.sparse.save_npz``), a Parquet file or folder, a Zarr array;
        several files, as a list, a pattern (``"2024-*.csv"``) or a folder, which are read in the order of
        their names; ``"-"`` for lines on standard input; an address of `SCHEMES`; None for a built-in stream
        whose scale doubles and halves.
    columns
        Names, numbers from 0 or ranges (``"a,b"``, ``"0:8"``); all columns if None.
    exclude
        Columns to leave out: the same, patterns of names (``"*_id"``), or ``"text"`` for those that hold no
        number in the first row.
    rows
        The first row of data to read, and the row to stop before (None: the end).
    batch_rows
        Rows a batch: batches end at its multiples. If None, 1,024, or fewer where rows are very wide. On
        standard input, and where a file is followed, rows that have come are handed out after a moment
        even if their batch is not full.
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
        CSV: what stands between cells (a space: any run of spaces), and whether the first line holds names;
        found out if None.
    decimal
        CSV: the decimal mark, ``"."`` or ``","``.
    comment, skip_lines
        Text: lines that begin with ``comment``, and so many lines at the top, are passed over.
    encoding
        Of text. If None, UTF-8, or UTF-16 where a byte order mark says so.
    na
        Words and numbers that stand for a missing value (``"-999,?,Bad Input"``), besides the usual ones.
    array
        NPZ: the name of the array to read, where there are several.
    keep
        Columns to hand out as text (`Batch.texts`), such as a time or a name; they are not among the numbers.
    time_column, time_format
        The column that says when each row was taken (`Batch.times`, in seconds since 1970), which is kept,
        too, and how it is written: ``"iso"``, ``"s"``, ``"ms"``, ``"us"`` or ``"ns"`` since 1970, or a format
        of `datetime.strptime`; found out if None. No time may be before an earlier one.
    names
        Columns to read by name where there are names; ``columns`` and ``exclude`` count where there are none.
    thousands
        CSV: what stands between groups of three digits, ``"."``, ``","`` or a space.
    threads
        How many parse text at the same time.

    Raises
    ------
    SourceError
        If it cannot be read, or is not what ``position`` was made from. It names file, line and column.
    """
    start, stop = rows
    if start < 0 or (stop is not None and stop <= start):
        raise SourceError(f"expected a range of rows such as (0, 1000), got {rows}")
    format = Format(delimiter, header, decimal, comment, skip_lines, encoding, na, thousands)
    if threads < 1:
        raise SourceError(f"threads must be at least 1, got {threads}")
    clock = None if time_column is None else Clock(time_format)
    if time_format is not None and clock is None:
        raise SourceError("time_format says how times are written: it needs a time_column", TIME_COLUMN)
    kept = [*([] if time_column is None else [time_column]), *([] if keep is None else listed(keep))]
    asked = Asked(
        columns=columns,
        exclude=exclude,
        keep=kept or None,
        names=None if names is None else tuple(names),
        follow=follow,
        idle=idle,
        array=array,
        threads=threads,
        format=format,
    )
    reader = open_reader(source, asked)
    try:
        if kept and not reader.kept:
            raise SourceError(f"{reader.name}: a source of this kind cannot keep columns as text")
        opened = Source(
            reader,
            batch_rows=batch_rows,
            stop=stop,
            on_bad_row=on_bad_row,
            allow_nan=allow_nan,
            on_skip=on_skip,
            clock=clock,
        )
        if position is not None:
            opened.continue_from(position)
        elif start:
            opened.pass_over(start)
    except BaseException:
        reader.close()
        raise
    return opened
