"""Which reader a source needs: found by what is in it, not by its name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path
from typing import Any, Literal

from ..streams import switching_stream
from .arrays import Generated
from .batch import Floats, Hint, Reader, SourceError
from .columns import Choice, Columns, listed
from .formats import Format
from .line_reader import open_lines
from .npy import Npy, Npz
from .parquet import Parquet
from .redis_stream import open_redis
from .several import Several
from .source import Source
from .times import Clock
from .zarr_array import Zarr

TIME_COLUMN = Hint("time_column", None, "names the column that says when each row was taken")
SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".gz", ".npy", ".npz")
"""Of files that are read out of a folder; other files in it are not looked at."""


@dataclass(frozen=True)
class Asked:
    """What an opener is told besides the source."""

    columns: Columns = None
    exclude: Columns = None
    keep: Columns = None
    names: tuple[str, ...] | None = None
    """As in `open`, and of `eigenstream.sources.columns.Choice`."""
    follow: bool = False
    idle: float | None = None
    array: str | None = None
    format: Format = field(default_factory=Format)

    @property
    def choice(self) -> Choice:
        """Which columns to read."""
        return Choice(self.columns, self.exclude, self.keep, self.names)


Opener = Callable[[str, Asked], Reader]

SCHEMES: dict[str, Opener] = {
    "redis": lambda address, asked: open_redis(address, asked.choice, asked.follow, asked.idle)
}
"""Openers of addresses such as ``redis://127.0.0.1/0?stream=sensors``, by what stands before ``://``. An
entry of your own makes `open` and the command line read your own kind of source."""


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
) -> Source:
    """Open a stream of batches.

    Parameters
    ----------
    source
        A CSV or JSON-lines file (gzip too), an NPY or NPZ file, a Parquet file or folder, a Zarr array;
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

    Raises
    ------
    SourceError
        If it cannot be read, or is not what ``position`` was made from. It names file, line and column.
    """
    start, stop = rows
    if start < 0 or (stop is not None and stop <= start):
        raise SourceError(f"expected a range of rows such as (0, 1000), got {rows}")
    format = Format(delimiter, header, decimal, comment, skip_lines, encoding, na)
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


def open_reader(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None, asked: Asked
) -> Reader:
    """The reader of a source."""
    if source is None:
        return built_in(asked)
    try:
        if isinstance(source, str | os.PathLike):
            return _open_one(os.fspath(source), asked)
        return _open_several([Path(one) for one in source], asked)
    except OSError as error:
        raise SourceError(f"{source} cannot be read: {error.strerror or error}") from None


def _open_one(source: str, asked: Asked) -> Reader:
    if source == "-":
        return open_lines(None, choice=asked.choice, format=asked.format)
    scheme = re.match(r"([a-z][a-z0-9+.-]*)://", source)
    if scheme:
        if scheme[1] not in SCHEMES:
            raise SourceError(f"{source}: {scheme[1]}:// is not read; there are {', '.join(SCHEMES)}")
        return SCHEMES[scheme[1]](source, asked)
    path = Path(source)
    if not path.exists():
        found = sorted(glob(source)) if any(sign in source for sign in "*?[") else []
        if not found:
            raise SourceError(f"there is no file {source!r}")
        return _open_several([Path(one) for one in found], asked)
    if path.is_dir():
        return _open_folder(path, asked)
    return _open_file(path, asked)


def _open_several(paths: list[Path], asked: Asked) -> Reader:
    if not paths:
        raise SourceError("there is no file to read: the list of files is empty")
    if len(paths) == 1:
        return _open_one(str(paths[0]), asked)
    if asked.follow:
        raise SourceError(f"{len(paths)} files cannot be followed: only a plain file of lines can grow")

    def open_part(path: Path, names: tuple[str, ...] | None) -> Reader:
        return _open_file(path, asked if names is None else replace(asked, names=names))

    return Several(paths, open_part)


def _open_folder(path: Path, asked: Asked) -> Reader:
    for marks, kind in FOLDERS:
        if any(any(path.glob(mark)) for mark in marks):
            _refuse_following(path, asked)
            return kind(path, asked)
    inside = [file for file in sorted(path.iterdir()) if file.suffix.lower() in SUFFIXES]
    if inside:
        return _open_several(inside, asked)
    raise SourceError(
        f"{path} is a folder, but neither a Zarr array nor one of Parquet files; nor does it hold files that "
        f"end in {', '.join(SUFFIXES)}"
    )


def _open_file(path: Path, asked: Asked) -> Reader:
    if not path.is_file():  # a named pipe would be waited for
        raise SourceError(f"{path} is not a regular file; pass pipes through standard input (-)")
    with path.open("rb") as file:
        start = file.read(6)
    for mark, what in FOREIGN.items():
        if start.startswith(mark):
            raise SourceError(f"{path} is {what}")
    for mark, kind in FILES:
        if start.startswith(mark):
            _refuse_following(path, asked)
            return kind(path, asked)
    return open_lines(
        path,
        follow=asked.follow,
        idle=asked.idle,
        choice=asked.choice,
        format=asked.format,
    )


def _refuse_following(path: Path, asked: Asked) -> None:
    if asked.follow:
        raise SourceError(f"{path} cannot be followed: only a plain file of lines can grow")


Kind = Callable[[Path, Asked], Reader]

FOLDERS: list[tuple[tuple[str, ...], Kind]] = [
    (("*.parquet",), lambda path, asked: Parquet(path, asked.choice)),
    (("zarr.json", ".zarray"), lambda path, asked: Zarr(path, asked.choice)),
]
"""Kinds of folders, by files of which one is in them."""
FILES: list[tuple[bytes, Kind]] = [
    (b"\x93NUMPY", lambda path, asked: Npy(path, asked.choice)),
    (b"PK\x03\x04", lambda path, asked: Npz(path, asked.array, asked.choice)),
    (b"PAR1", lambda path, asked: Parquet(path, asked.choice)),
]
"""Kinds of files, by their first bytes; what begins otherwise is text."""

UNPACK = "which is not unpacked here; unpack it, or pass its content through standard input (-)"
EXPORT = "which is not read; export it as CSV or Parquet"
FOREIGN = {
    b"BZh": f"packed by bzip2, {UNPACK}",
    b"\xfd7zXZ": f"packed by xz, {UNPACK}",
    b"\x28\xb5\x2f\xfd": f"packed by zstd, {UNPACK}",
    b"\x89HDF": f"an HDF5 file, {EXPORT}",
    b"\xd0\xcf\x11\xe0": f"an old spreadsheet, {EXPORT}",
    b"ARROW1": f"an Arrow file, {EXPORT}",
    b"SQLite": f"an SQLite database, {EXPORT}",
    b"%PDF": f"a PDF document, {EXPORT}",
    b"MATLAB": f"a MATLAB file, {EXPORT}",
}
"""Kinds of files that are recognised only to say so."""

BUILT_IN_ROWS = 10_000


def built_in(asked: Asked) -> Reader:
    """The paper's non-stationary input: 64 inputs whose scale doubles at sample 1,000, and back at 6,000."""

    def make(start: int) -> Iterator[Floats]:
        batches = switching_stream(BUILT_IN_ROWS, batch_size=100, random_state=0)
        for _ in range(start // 100):
            next(batches)
        yield next(batches)[start % 100 :]
        yield from batches

    name = "built-in stream (its variance doubles at 1,000 and halves at 6,000)"
    return Generated(name, (BUILT_IN_ROWS, 64), make, asked.choice)
