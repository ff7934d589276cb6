"""Text in ZIP files, and sheets of XLSX files as text: read as streams, in bounded memory.

What an archive says of itself is not believed: `zipfile` hands out no more bytes of a file than its entry
says, and what is parsed as a whole has a limit. Names in it are never used as names of files.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import IO, Any, cast

from .batch import Hint, SourceError
from .contents import PACKED

WORKBOOK = "xl/workbook.xml"
SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Methods of packing that are unpacked at most as many bytes at a time as are asked for."""
LARGEST_PART = 1 << 24
"""Most bytes of the parts of an XLSX file that are held in memory, such as its texts: unpacked, and together.
Some 200,000 texts; parsed, they take up to twenty times as much."""
MOST_ROWS = 1 << 20
"""Most rows of an XLSX file, as the format says; each takes memory until the file is closed."""
LARGEST_ROW = 1 << 22
"""Most bytes of a row of an XLSX file as XML: 16,384 cells, the most there may be, of 256 bytes each."""
ROW_END = b"row>"
FORBIDDEN = re.compile(
    rb"""\0|<!DOCTYPE|<!ENTITY|encoding\s*=\s*["'](?!(?:utf|UTF)-8["'])"""
    rb"""|\sr\s*=\s*["'](?!(?:[A-Z]{1,3})?\d{1,7}["'])"""
)
"""Parts of XML that no spreadsheet has: entities, other encodings, and cells at places that do not exist, up
to which openpyxl would fill rows with empty ones."""
OVERLAP = 64
"""Bytes looked at twice, so that nothing hides, and nothing is cut off, at the end of a block."""
MOST_COLUMNS = 1 << 14
"""Most columns of an XLSX file, as the format says."""


def opened(path: Path) -> zipfile.ZipFile:
    """Open an archive; `SourceError` if it is not readable."""
    try:
        return zipfile.ZipFile(path)
    except Exception as error:  # a damaged file raises whatever its decoders raise
        raise SourceError(f"{path} is not a readable NPZ, XLSX or ZIP file: {error}") from None


def is_spreadsheet(archive: zipfile.ZipFile) -> bool:
    """Return True for an XLSX file."""
    return WORKBOOK in archive.namelist()


class ZippedFile:
    """Content of the one file in a ZIP file, or of the one that ``name`` says."""

    def __init__(self, path: Path, name: str | None) -> None:
        self.name = str(path)
        self.archive = opened(path)
        try:
            self.file = self._member(name)
        except BaseException:
            self.close()
            raise

    def _member(self, name: str | None) -> zipfile.ZipExtFile:
        # Folders, and what macOS and Windows put beside the files, are none.
        inside = [one for one in self.archive.infolist() if not _is_hidden(one.filename)]
        asked = [one for one in inside if name in (None, one.filename)]
        if len(asked) != 1:
            names = ", ".join(one.filename for one in inside[:20]) or "none"
            hints = [Hint("array", one.filename, "chooses one of them") for one in inside[:1]]
            what = "file" if len(inside) == 1 else "files"
            raise SourceError(
                f"{self.name} holds {len(inside)} {what}: {names}"
                + ("" if name is None else f"; there is no {name!r}"),
                *hints,
            )
        if asked[0].flag_bits & 1:
            raise SourceError(f"{self.name}: {asked[0].filename} is encrypted; unpack it")
        if asked[0].compress_type not in METHODS:
            raise SourceError(f"{self.name}: {asked[0].filename} is packed by an unusual method; unpack it")
        try:
            return cast("zipfile.ZipExtFile", self.archive.open(asked[0]))
        except Exception as error:  # as above
            raise SourceError(f"{self.name} is not a readable ZIP file: {error}") from None

    def begins_with(self, start: bytes) -> bool:
        """Return True if these bytes come first."""
        try:
            return self.file.peek(len(start)).startswith(start)
        except Exception:  # as above; reading says what is wrong with it
            return False

    def read(self, size: int) -> bytes:
        try:
            return self.file.read(size)
        except Exception as error:  # as above
            raise SourceError(f"{self.name}: damaged or cut-off ZIP file: {error}") from None

    def close(self) -> None:
        self.archive.close()


def _is_hidden(name: str) -> bool:
    last = name.rpartition("/")[2]
    return not last or last.startswith(".") or last == "Thumbs.db" or name.startswith("__MACOSX/")


class Worksheet:
    """A sheet of an XLSX file as CSV with tabs, one line per row; its formulas as they were last computed."""

    def __init__(self, path: Path, name: str | None) -> None:
        try:
            import openpyxl
        except ImportError:
            raise SourceError(f"{path}: to read XLSX, pip install 'eigenstream[xlsx]'") from None
        self.name = str(path)
        with closing(opened(path)) as archive:
            self._refuse_large(archive)
        self.file = path.open("rb")  # by its name, openpyxl would want a certain end of it
        try:
            self.book = openpyxl.load_workbook(self.file, read_only=True, data_only=True, keep_links=False)
            self._lines = self._written(self._sheet(name))
        except SourceError:
            self.close()
            raise
        except Exception as error:  # as above
            self.close()
            raise SourceError(f"{path} is not a readable XLSX file: {error}") from None
        self._rest = b""

    def _refuse_large(self, archive: zipfile.ZipFile) -> None:
        """Raise if what is held in memory is too large: the texts of all cells, and each row."""
        sheets = [one for one in archive.infolist() if SHEET.fullmatch(one.filename)]
        others = sum(one.file_size for one in archive.infolist() if one not in sheets and _is_parsed(one))
        if others > LARGEST_PART:
            raise SourceError(
                f"{self.name}: its texts and styles unpack to {others:,} bytes, of which at most "
                f"{LARGEST_PART:,} are read; export it as CSV"
            )
        for sheet in sheets:
            try:
                with archive.open(sheet) as file:
                    self._refuse_long_row(file)
            except SourceError:
                raise
            except Exception as error:  # as above
                raise SourceError(f"{self.name} is not a readable XLSX file: {error}") from None

    def _refuse_long_row(self, file: IO[bytes]) -> None:
        """Raise if there are more rows than there may be, or longer ones: each is parsed as a whole."""
        length, ends, last = 0, 0, b""
        while block := file.read(PACKED):
            seen = last + block
            cut = seen.rfind(ROW_END)
            length = length + len(block) if cut < 0 else len(seen) - cut
            ends, last = ends + block.count(ROW_END), seen[-OVERLAP:]
            # What begins near the end may be cut off there: it is looked at once more with the next block.
            if any(found.start() < len(seen) - OVERLAP for found in FORBIDDEN.finditer(seen)):
                self._refuse_unusual()
            if length > LARGEST_ROW or ends > 2 * MOST_ROWS:  # a row may begin and end by these bytes
                raise SourceError(
                    f"{self.name}: more than {MOST_ROWS:,} rows, or one of more than {LARGEST_ROW:,} bytes; "
                    "is this a table of numbers?"
                )

        if FORBIDDEN.search(last):
            self._refuse_unusual()

    def _refuse_unusual(self) -> None:
        raise SourceError(f"{self.name} is not a spreadsheet as programs write them; export it as CSV")

    def _sheet(self, name: str | None) -> Any:
        names = [sheet.title for sheet in self.book.worksheets]
        if name is not None and name not in names:
            raise SourceError(f"{self.name}: there is no sheet {name!r}; there are {', '.join(names)}")
        if not names or (name is None and len(names) > 1):
            hints = [Hint("array", one, "chooses one of them") for one in names[:1]]
            raise SourceError(f"{self.name} holds {len(names)} sheets: {', '.join(names)}", *hints)
        return self.book[name or names[0]]

    def _written(self, sheet: Any) -> Iterator[bytes]:
        """Yield a line for each row; a row that is empty is a blank line, so that lines count as rows do."""
        width = 0
        sheet.reset_dimensions()  # which the file may not say, or not truly
        for number, row in enumerate(sheet.iter_rows(values_only=True)):
            if number >= MOST_ROWS or len(row) > MOST_COLUMNS:
                raise SourceError(
                    f"{self.name}: more than {MOST_ROWS:,} rows or {MOST_COLUMNS:,} columns, the most of XLSX"
                )
            words = list(map(_word, row))
            while words and not words[-1]:
                words.pop()
            if words:
                width = max(width, len(words))
                words += [""] * (width - len(words))
            line = io.StringIO()
            csv.writer(line, delimiter="\t", lineterminator="\n").writerow(words)
            yield line.getvalue().encode(errors="replace") if words else b"\n"

    def read(self, size: int) -> bytes:
        parts, length = [self._rest], len(self._rest)
        try:
            while length < size and (line := next(self._lines, None)) is not None:
                parts.append(line)
                length += len(line)
        except SourceError:
            raise
        except Exception as error:  # as above
            raise SourceError(f"{self.name} is not a readable XLSX file: {error}") from None
        content = b"".join(parts)
        self._rest = content[size:]
        return content[:size]

    def close(self) -> None:
        self.file.close()


def _is_parsed(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.endswith((".xml", ".rels", ".vml"))


def _word(value: Any) -> str:
    """Return a cell as text: numbers exactly, times as ISO 8601, durations in seconds."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    return re.sub(r"\s+", " ", str(value))
