"""Sources of `fill` as files that can be read twice, and its outputs, which appear as a whole."""

from __future__ import annotations

import codecs
import filecmp
import gzip
import hashlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, NamedTuple

from ..io import files
from ..io.refilled import json_with_all_names
from ..io.sources import ReadOptions, SourceError
from ..io.sources.archives import ZippedFile, is_spreadsheet
from ..io.sources.archives import opened as opened_archive
from ..io.spooling import spool


class TextFile(NamedTuple):
    """A file to read, and how; text in it is UTF-8, or of one byte a character."""

    path: Path
    options: ReadOptions
    wide: str | None
    """Encoding of the source, if that has two bytes or more for a digit."""


@dataclass(frozen=True)
class Readable:
    """A source at hand: a file, or a Zarr array, that can be read as often as one likes."""

    path: Path
    options: ReadOptions
    """Options of reading it."""
    name: str
    """Name of the source, for messages."""
    spooled: bool = False
    """True if the file is a copy of a source that was none."""

    def digest(self) -> str:
        """SHA-256 of the content; of a folder, of all files in it."""
        paths = [self.path]
        if self.path.is_dir():
            paths = sorted(path for path in self.path.rglob("*") if path.is_file())
        found = hashlib.sha256()
        for path in paths:
            with path.open("rb") as file:
                one = hashlib.file_digest(file, "sha256")
            if len(paths) == 1:
                return one.hexdigest()
            found.update(str(path.relative_to(self.path)).encode() + one.digest())
        return found.hexdigest()

    @contextmanager
    def told_by_its_name(self) -> Iterator[None]:
        """Let errors name the source where they would name its copy."""
        try:
            yield
        except SourceError as error:
            if not self.spooled:
                raise
            raise SourceError(error.what.replace(str(self.path), self.name), *error.hints) from None

    @contextmanager
    def text(self) -> Iterator[TextFile]:
        """The file to read: the text in a ZIP file, and text in a wide encoding, are put into one first."""
        wide, zipped = self._wide_encoding(), self._zipped()
        if wide is None and zipped is None:
            yield TextFile(self.path, self.options, None)
            return
        with tempfile.NamedTemporaryFile(suffix=".csv") as spooled:
            if wide is not None:
                with self.path.open("rb") as file:
                    shutil.copyfileobj(codecs.EncodedFile(file, "utf-8", wide), spooled)
                how = replace(self.options, encoding=None)
            else:
                assert zipped is not None
                with closing(zipped):
                    shutil.copyfileobj(zipped, spooled)  # type: ignore[type-var,arg-type]
                how = replace(self.options, array=None)
            spooled.flush()
            yield TextFile(Path(spooled.name), how, wide)

    def _wide_encoding(self) -> str | None:
        """The encoding of a file of text that has two bytes or more for a digit; None for all others."""
        if not self.path.is_file():
            return None
        if self.options.recoded():
            return self.options.encoding
        with self.path.open("rb") as file:
            return "utf-16" if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else None

    def _zipped(self) -> ZippedFile | None:
        """The text in a ZIP file; None for everything else."""
        if not self.path.is_file() or not zipfile.is_zipfile(self.path):
            return None
        with closing(opened_archive(self.path)) as archive:
            if is_spreadsheet(archive) or any(name.endswith(".npy") for name in archive.namelist()):
                return None
        return ZippedFile(self.path, self.options.array)


def is_zarr(path: str | os.PathLike[str]) -> bool:
    """Return True for the folder of a Zarr array."""
    if Path(path, ".zarray").is_file():
        return True
    try:
        return bool(json.loads(Path(path, "zarr.json").read_bytes()).get("node_type") == "array")
    except (OSError, ValueError, AttributeError):
        return False


@contextmanager
def readable(source: str, options: ReadOptions) -> Iterator[Readable]:
    """The source as a file that can be read twice, and how to read that.

    Lines on standard input and the rows of an address are put into a file first.
    """
    if source == "-" or files.is_address(source):
        with tempfile.NamedTemporaryFile(suffix=".csv") as spooled:
            how = options
            if source == "-":
                shutil.copyfileobj(sys.stdin.buffer, spooled)
            else:
                how = spool(source, options, spooled)
            spooled.flush()
            name = "standard input" if source == "-" else files.shown(files.without_secret(source))
            yield Readable(Path(spooled.name), how, name, True)
        return
    if not Path(source).is_file() and not is_zarr(source):
        raise SourceError(
            f"{files.shown(source)} is not a file: files, Zarr arrays, addresses of databases and Redis "
            "streams, and lines on standard input (-) are filled"
        )
    yield Readable(Path(source), options, source)


@contextmanager
def with_all_names(path: Path, options: ReadOptions) -> Iterator[Path]:
    """The file to read: a copy, if the first line of JSON lacks names that later ones have."""
    lines = json_with_all_names(path) if options.columns is None and path.is_file() else None
    if lines is None:
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as spooled:
        spooled.writelines(lines)
        spooled.flush()
        yield Path(spooled.name)


@contextmanager
def output_file(path: str, *, keep: bool) -> Iterator[IO[bytes]]:
    """The output: a file that appears as a whole, or standard output; ``keep`` as of `filling.fill`."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if keep and Path(path).exists():
        with tempfile.TemporaryDirectory() as folder:
            twin = str(Path(folder) / Path(path).name)
            with output_file(twin, keep=False) as file:
                yield file
            _refuse_another(path, same=filecmp.cmp(twin, path, shallow=False))
        return
    files.remove_leftovers(path)  # of one that was killed; those of one that is at work are locked
    with files.replacing(path) as file:
        if path.endswith(".gz"):
            # Without a name and a time: the same rows are the same bytes.
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield file


@contextmanager
def output_folder(path: str, *, keep: bool) -> Iterator[Path]:
    """An empty folder that appears as a whole; ``keep`` as of `filling.fill`."""
    if path == "-":
        raise SourceError("a Zarr array is a folder: name one as --output")
    there = Path(path).exists() and (not Path(path).is_dir() or any(Path(path).iterdir()))
    if there and not is_zarr(path):
        raise SourceError(f"{path} exists, and is no Zarr array: it is not replaced; choose another name")
    if keep and there:
        with tempfile.TemporaryDirectory() as folder:
            twin = Path(folder)
            yield twin
            _refuse_another(path, same=_same_files(twin, Path(path)))
        return
    files.remove_leftovers(path)
    with files.replacing_folder(path) as folder:
        yield folder


def _same_files(one: Path, other: Path) -> bool:
    names = [sorted(str(path.relative_to(top)) for path in top.rglob("*")) for top in (one, other)]
    pairs = ((one / name, other / name) for name in names[0])
    return names[0] == names[1] and all(
        left.is_dir() or filecmp.cmp(left, right, shallow=False) for left, right in pairs
    )


def _refuse_another(path: str, *, same: bool) -> None:
    if not same:
        raise SourceError(f"{path} exists, and is not what this command writes: --overwrite replaces it")
