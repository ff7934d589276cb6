"""Which reader a source needs: found by what is in it, not by its name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from pathlib import Path

from ...streams import changing_rank
from .arrays import Generated
from .batch import Floats, Reader, SourceError
from .columns import Choice, Columns
from .formats import Format
from .npy import Npy, Npz
from .parquet import Parquet
from .redis_stream import open_redis
from .several import Several
from .sparse_matrix import is_sparse_npz, matrix_market, sparse_npz
from .text_files import open_lines
from .zarr_array import Zarr

SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".gz", ".npy", ".npz", ".mtx")
"""Of files that are read out of a folder; other files in it are not looked at."""


@dataclass(frozen=True)
class Asked:
    """What an opener is told besides the source."""

    columns: Columns = None
    exclude: Columns = None
    keep: Columns = None
    names: tuple[str, ...] | None = None
    """As in `open`, and of `eigenstream.io.sources.columns.Choice`."""
    follow: bool = False
    idle: float | None = None
    array: str | None = None
    threads: int = 1
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
        return open_lines(None, choice=asked.choice, format=asked.format, threads=asked.threads)
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
        threads=asked.threads,
    )


def _refuse_following(path: Path, asked: Asked) -> None:
    if asked.follow:
        raise SourceError(f"{path} cannot be followed: only a plain file of lines can grow")


def _open_npz(path: Path, asked: Asked) -> Reader:
    if is_sparse_npz(path):
        return sparse_npz(path, asked.choice)
    return Npz(path, asked.array, asked.choice)


Kind = Callable[[Path, Asked], Reader]

FOLDERS: list[tuple[tuple[str, ...], Kind]] = [
    (("*.parquet",), lambda path, asked: Parquet(path, asked.choice)),
    (("zarr.json", ".zarray"), lambda path, asked: Zarr(path, asked.choice)),
]
"""Kinds of folders, by files of which one is in them."""
FILES: list[tuple[bytes, Kind]] = [
    (b"\x93NUMPY", lambda path, asked: Npy(path, asked.choice)),
    (b"PK\x03\x04", lambda path, asked: _open_npz(path, asked)),
    (b"%%Matr", lambda path, asked: matrix_market(path, asked.choice)),
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

BUILT_IN_ROWS, BUILT_IN_RANKS = 10_000, {0: 3, 3000: 5, 6000: 2}


def built_in(asked: Asked) -> Reader:
    """Components in noise, 64 inputs: 3 of them at first, from row 3,000 on 5, from row 6,000 on 2."""

    def make(start: int) -> Iterator[Floats]:
        batches = changing_rank(BUILT_IN_ROWS, ranks=BUILT_IN_RANKS, batch_size=100, random_state=0)
        for _ in range(start // 100):
            next(batches)
        yield next(batches)[start % 100 :]
        yield from batches

    name = "built-in stream (3 components, 5 from row 3,000 on, 2 from row 6,000 on)"
    return Generated(name, (BUILT_IN_ROWS, 64), make, asked.choice)
