"""Open a source as its options say; its reader is found by its content, not by its name."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import fields, replace
from glob import glob
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...streams import changing_rank
from ..files import shown, without_secret
from . import archives
from .arrays import Forward, Pieces, RowReader
from .batch import Reader, SourceError
from .contents import GZIP, Content, PlainFile, Ready, Recoded, StandardInput, Unpacked
from .databases import open_database, open_sqlite
from .line_reader import LineReader
from .lines import Lines
from .matrices import Zarr, is_sparse_npz, matrix_market, sparse_npz
from .mqtt_address import MqttReader, open_mqtt
from .npy import NpyReader, Npz
from .options import ReadOptions
from .parquet import ParquetReader
from .redis_address import open_redis
from .several import Several
from .source import Source

# Byte order marks of encodings in which lines cannot be cut; that of UTF-8 is left to the line reader.
WIDE_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
SUFFIXES = (
    *(".csv", ".tsv", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".gz"),
    *(".npy", ".npz", ".mtx", ".zip", ".xlsx"),
)
"""Suffixes of the files read from a folder; other files in it are ignored."""


Opener = Callable[[str, ReadOptions], Reader]

SCHEMES: dict[str, Opener] = {
    "redis": open_redis,
    "mqtt": open_mqtt,
    "mqtts": open_mqtt,
    "sqlite": open_sqlite,
    **dict.fromkeys(("postgresql", "mysql", "mariadb", "duckdb"), open_database),
}
"""Openers of addresses such as ``redis://127.0.0.1/0?stream=sensors``, by the scheme before ``://`` (or
before a plus sign in it, as in ``postgresql+pg8000://``). An entry of your own makes `open` and the command
line read your own kind of source."""


def open(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
    options: ReadOptions | None = None,
    *,
    position: dict[str, Any] | None = None,
    on_skip: Callable[[str], object] | None = None,
    **reading: Any,
) -> Source:
    """Open a stream of batches.

    Parameters
    ----------
    source
        A CSV or JSON-lines file (gzip and ZIP too), an XLSX file, an NPY or NPZ file, a sparse matrix (Matrix
        Market, or NPZ of ``scipy.sparse.save_npz``), a Parquet file or folder, a Zarr array;
        several files, as a list, a pattern (``"2024-*.csv"``) or a folder, which are read in the order of
        their names; ``"-"`` for lines on standard input; an address of `SCHEMES`; None for a built-in stream
        of 64 inputs whose rank changes twice.
    options
        All options of reading as one value.
    position
        The `Batch.position` to continue from.
    on_skip
        Called with the reason for each row left out.
    **reading
        Single options: the fields of `ReadOptions` by their names, such as ``columns="0:8"``.

    Raises
    ------
    SourceError
        If it cannot be read, or is not what ``position`` was made from. It names file, line and column.
    """
    options = replace(options or ReadOptions(), **reading)
    reader = _open_reader(source, options)
    try:
        if options.keeps and not reader.kept:
            raise SourceError(f"{reader.name}: a source of this kind cannot keep columns as text")
        if options.every is not None and not isinstance(reader, MqttReader):
            raise SourceError(f"{reader.name}: every is for topics of MQTT, whose values come at any time")
        if options.titles is not None and not set(reader.names or ()) <= set(options.titles):
            raise SourceError(f"{reader.name}: its columns have names of their own: read it without others")
        opened = Source(reader, options, on_skip=on_skip)
        if position is not None:
            opened.continue_from(position)
        elif options.rows[0]:
            opened.pass_over(options.rows[0])
    except BaseException:
        reader.close()
        raise
    return opened


def _with_each_option(function: Callable[..., Source]) -> None:
    """List the options by name in the signature, for ``help`` and for editors."""
    shown = signature(function)
    given = [one for one in shown.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    options = [
        Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=option.type)
        for option in fields(ReadOptions)
    ]
    function.__signature__ = shown.replace(parameters=[*given, *options])  # type: ignore[attr-defined]


_with_each_option(open)


def _open_reader(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None, options: ReadOptions
) -> Reader:
    """Return the reader of a source."""
    if source is None:
        return BuiltIn(options)
    try:
        if isinstance(source, str | os.PathLike):
            return _open_one(os.fspath(source), options)
        return _open_several([Path(one) for one in source], options)
    except OSError as error:
        name = shown(without_secret(os.fspath(source))) if isinstance(source, str | os.PathLike) else source
        raise SourceError(f"{name} cannot be read: {error.strerror or error}") from None


def _open_one(source: str, options: ReadOptions) -> Reader:
    if source == "-":
        return open_lines(None, options)
    scheme = re.match(r"([a-z][a-z0-9+.-]*)://", source)
    if scheme:
        opener = SCHEMES.get(scheme[1]) or SCHEMES.get(scheme[1].partition("+")[0])
        if opener is None:
            what = (
                f"{shown(without_secret(source))}: {scheme[1]}:// is not read; there are {', '.join(SCHEMES)}"
            )
            raise SourceError(what)
        return opener(source, options)
    path = Path(source)
    if not path.exists():
        found = files_of(source)
        if not found:
            raise SourceError(f"there is no file {source!r}")
        return _open_several(found, options)
    if path.is_dir():
        return _open_folder(path, options)
    return _open_file(path, options)


def files_of(source: str) -> list[Path]:
    """Files that a folder or a pattern such as ``data/*.csv`` stands for, in the order of their names."""
    path = Path(source)
    if path.is_dir():
        return [file for file in sorted(path.iterdir()) if file.suffix.lower() in SUFFIXES]
    if path.exists() or not any(sign in source for sign in "*?["):
        return []
    return [Path(one) for one in sorted(glob(source))]


def _open_several(paths: list[Path], options: ReadOptions) -> Reader:
    if not paths:
        raise SourceError("there is no file to read: the list of files is empty")
    if len(paths) == 1:
        return _open_one(str(paths[0]), options)
    if options.follow:
        raise SourceError(f"{len(paths)} files cannot be followed: only a plain file of lines can grow")

    def open_part(path: Path, names: tuple[str, ...] | None) -> Reader:
        return _open_file(path, options if names is None else replace(options, names=names))

    return Several(paths, open_part)


def _open_folder(path: Path, options: ReadOptions) -> Reader:
    for marks, kind in FOLDERS:
        if any(any(path.glob(mark)) for mark in marks):
            _refuse_following(path, options)
            return kind(path, options)
    inside = files_of(str(path))
    if inside:
        return _open_several(inside, options)
    raise SourceError(
        f"{path} is a folder, but neither a Zarr array nor one of Parquet files; nor does it hold files that "
        f"end in {', '.join(SUFFIXES)}"
    )


def _open_file(path: Path, options: ReadOptions) -> Reader:
    if not path.is_file():  # a named pipe would be waited for
        raise SourceError(f"{path} is not a regular file; pass pipes through standard input (-)")
    with path.open("rb") as file:
        start = file.read(6)
    for mark, what in FOREIGN.items():
        if start.startswith(mark):
            raise SourceError(f"{path} is {what}")
    for mark, kind in FILES:
        if start.startswith(mark):
            _refuse_following(path, options)
            return kind(path, options)
    return open_lines(path, options)


def open_lines(path: Path | None, options: ReadOptions) -> LineReader:
    """Open text in a file, plain or gzip, or (None) on standard input."""
    piped = path is None
    file = StandardInput() if path is None else PlainFile(path, follow=options.follow, idle=options.idle)
    packed = file.begins_with(GZIP)
    unpacked = Unpacked(file) if packed else file
    follow = options.follow and not piped
    try:
        encoding = _wide_encoding(unpacked, options)
    except SourceError:  # damaged
        file.close()
        raise
    if (packed or encoding) and follow:
        file.close()
        kind = "a gzip file" if packed else f"text in {encoding}"
        raise SourceError(f"{path}: {kind} cannot be followed; only a plain file of lines can grow")
    content = Recoded(unpacked, encoding) if encoding else unpacked
    kind = "pipe" if piped else "gzip" if packed and not encoding else "recoded" if encoding else "text"
    ready = file.ready if piped or follow else None
    return _line_reader(path, content, kind, options, growing=follow, ready=ready)


def _wide_encoding(
    content: PlainFile | StandardInput | Unpacked | archives.ZippedFile, options: ReadOptions
) -> str | None:
    """Return the encoding of text that must be recoded before lines can be cut; None for all other text."""
    if options.recoded():
        return options.encoding
    return next((encoding for mark, encoding in WIDE_MARKS.items() if content.begins_with(mark)), None)


def _line_reader(
    path: Path | None,
    content: Content,
    kind: str,
    options: ReadOptions,
    *,
    growing: bool = False,
    ready: Ready | None = None,
) -> LineReader:
    # What is not a plain file is continued by reading it again from the beginning, comparing a hash.
    again = not isinstance(content, PlainFile)
    lines = Lines(content.read, content.name, growing=growing, digest=again, ready=ready)
    reader = LineReader(lines, content, kind, options)
    reader.live, reader.lasts = ready is not None, path is not None
    reader.files = [] if path is None else [path]
    return reader


def _refuse_following(path: Path, options: ReadOptions) -> None:
    if options.follow:
        raise SourceError(f"{path} cannot be followed: only a plain file of lines can grow")


def _open_zip(path: Path, options: ReadOptions) -> Reader:
    """Open what a ZIP file holds: arrays of NumPy, a sheet, or one file of text."""
    with closing(archives.opened(path)) as archive:
        if archives.is_spreadsheet(archive):
            tabs = replace(options, delimiter="\t", encoding=None)
            return _line_reader(path, archives.Worksheet(path, options.array), "xlsx", tabs)
        arrays = any(name.endswith(".npy") for name in archive.namelist())
    if arrays:
        return sparse_npz(path, options) if is_sparse_npz(path) else Npz(path, options)
    zipped = archives.ZippedFile(path, options.array)
    encoding = _wide_encoding(zipped, options)
    return _line_reader(path, Recoded(zipped, encoding) if encoding else zipped, "zip", options)


Kind = Callable[[Path, ReadOptions], Reader]

FOLDERS: list[tuple[tuple[str, ...], Kind]] = [
    (("*.parquet",), ParquetReader),
    (("zarr.json", ".zarray"), Zarr),
]
"""Readers of folders, by files of which one is in the folder."""
FILES: list[tuple[bytes, Kind]] = [
    (b"\x93NUMPY", NpyReader),
    (b"PK\x03\x04", _open_zip),
    (b"PK\x05\x06", _open_zip),
    (b"%%Matr", matrix_market),
    (b"PAR1", ParquetReader),
]
"""Readers of files, by their first bytes; other files are text."""

UNPACK = "which is not unpacked here; unpack it, or pass its content through standard input (-)"
EXPORT = "which is not read; export it as CSV or Parquet"
FOREIGN = {
    b"BZh": f"packed by bzip2, {UNPACK}",
    b"\xfd7zXZ": f"packed by xz, {UNPACK}",
    b"\x28\xb5\x2f\xfd": f"packed by zstd, {UNPACK}",
    b"\x89HDF": f"an HDF5 file, {EXPORT}",
    b"\xd0\xcf\x11\xe0": f"an old spreadsheet, {EXPORT}",
    b"ARROW1": f"an Arrow file, {EXPORT}",
    b"SQLite": "an SQLite database: read a table of it by its address, sqlite:///PATH?table=NAME&order=COLUMN",
    b"%PDF": f"a PDF document, {EXPORT}",
    b"MATLAB": f"a MATLAB file, {EXPORT}",
}
"""Files that are not read, by their first bytes, and the error that names them."""


class BuiltIn(RowReader):
    """The built-in stream: 64 inputs, 3 components in noise, 5 from row 3,000, 2 from row 6,000 on."""

    kind = "generated"
    ROWS, RANKS, PIECE = 10_000, {0: 3, 3000: 5, 6000: 2}, 100

    def __init__(self, options: ReadOptions) -> None:
        name = "built-in stream (3 components, 5 from row 3,000 on, 2 from row 6,000 on)"
        self._rows = Forward(self._from, name)
        super().__init__(name, (self.ROWS, 64), np.float64, options)

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        return self._rows.fetch(start, stop)

    def fingerprint(self, row: int) -> str:
        return self.name

    def _from(self, start: int) -> Pieces:
        pieces = changing_rank(self.ROWS, ranks=self.RANKS, batch_size=self.PIECE, random_state=0)
        for _ in range(start // self.PIECE):
            next(pieces)
        yield next(pieces)[start % self.PIECE :]
        yield from pieces
