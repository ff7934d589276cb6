"""Rows out of lines of text: from files that may be growing, gzip files and standard input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import CELLS, BadValue, Chunk, Place, Reader, SourceError
from .columns import Columns
from .lines import Lines, PlainFile, Unpacked, standard_input
from .text import Complaint, Csv, JsonLines, Parser

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LineReader(Reader):
    """Rows of a text, one a line; blank lines do not count."""

    unit = "bytes"

    def __init__(self, lines: Lines, content: PlainFile | Unpacked | None, kind: str, **options: Any) -> None:
        self.lines, self.content, self.name, self.kind = lines, content, lines.name, kind
        self.file = content if isinstance(content, PlainFile) else None
        """The content, where a place in it can be gone to."""
        self.row = 0
        self._held: list[tuple[int, bytes]] = []
        """The first line, where it was data: it had to be looked at to know what the others are."""
        self._taken: list[int] = []
        try:
            self.parser = self._understand(**options)
        except BaseException:
            self.close()
            raise
        self.full, self.width, self.names = self.parser.full, self.parser.width, self.parser.names
        self._step = max(1, min(10_000, CELLS // self.full))
        """Lines gone through at a time."""

    def _understand(self, columns: Columns, delimiter: str | None, header: bool | None) -> Parser:
        numbered = self._nonblank(1)
        if not numbered:
            raise SourceError(f"{self.name} is empty: there is nothing to learn from")
        line, first = numbered[0][0], numbered[0][1].removeprefix(BYTE_ORDER_MARK)
        if b"\0" in first:
            raise SourceError(f"{self.name}, line {line}: not text in UTF-8, nor any other kind that is read")
        if first.lstrip().startswith((b"{", b"[")):
            parser: Parser = JsonLines(first, self.name, columns, line)
        else:
            parser = Csv(first, self.name, columns, delimiter, header)
        if not parser.titled:
            self._held = [(line, first)]
        return parser

    def take(self, count: int) -> Chunk | None:
        numbered = self._held + self._nonblank(count - len(self._held))
        self._held = []
        if not numbered:
            return None
        self._taken, lines = [number for number, _ in numbered], [line for _, line in numbered]
        numbers = np.arange(self.row, self.row + len(lines))
        self.row += len(lines)
        rows = self.parser.quick(lines)
        return Chunk(*self._with_care(lines, numbers)) if rows is None else Chunk(rows, numbers, [])

    def pass_over(self, count: int) -> None:
        while count:
            step = self._held + self._nonblank(min(count, self._step) - len(self._held))
            self._held = []
            if not step:
                return
            self.row += len(step)
            count -= len(step)

    def where(self, chunk: Chunk, row: int, column: int) -> str:
        return f"{self.name}, line {self._taken[row]}, {self.parser.column(column)}"

    def place(self) -> Callable[[], Place]:
        at = {"row": self.row, "line": self.lines.line, "offset": self.lines.offset}
        file, digest = self.file, self.lines.digest and self.lines.digest.copy()

        def worked_out() -> Place:
            seen = file.fingerprint(at["offset"]) if file else digest.hexdigest() if digest else ""
            return {**at, "fingerprint": seen}

        return worked_out

    def go_to(self, place: Place) -> None:
        row, line, offset = (index(place[name]) for name in ("row", "line", "offset"))
        if not 0 <= row <= line <= offset:
            raise ValueError(f"row {row} in line {line} at byte {offset}")
        if self.file is not None:
            self._jump(line, offset)
            seen = self.file.fingerprint(offset)
        else:
            while self.lines.line < line and self.lines.take(min(line - self.lines.line, self._step)):
                pass
            assert self.lines.digest is not None
            seen = self.lines.digest.hexdigest()
        if seen != place["fingerprint"] or (self.lines.line, self.lines.offset) != (line, offset):
            raise SourceError(
                f"{self.name} does not begin as it did: something in its first {offset:,} bytes has changed; "
                "give the same source, or start afresh without resuming"
            )
        if self.file is not None and not self.file.ends_line(offset):
            raise SourceError(f"{self.name}, line {line}: it had no end when it was read, and may have grown")
        self._held, self.row = [], row

    def _jump(self, line: int, offset: int) -> None:
        assert self.file is not None
        size = self.file.size()
        if size < offset:
            raise SourceError(
                f"{self.name} has become shorter: {offset:,} bytes had been read, it has {size:,} now"
            )
        lines = Lines(self.file.read, self.name, growing=self.lines.growing)
        lines.line, lines.offset = line, offset
        self.file.go_to(offset)
        self.lines = lines

    def progress(self) -> float | None:
        if self.file is None or self.file.follow:
            return None
        return min(self.lines.offset / max(self.file.size(), 1), 1.0)

    def behind(self) -> int | None:
        return None if self.file is None else max(self.file.size() - self.lines.offset, 0)

    def close(self) -> None:
        if self.content is not None:
            self.content.close()

    def _nonblank(self, count: int) -> list[tuple[int, bytes]]:
        """So many lines with something on them, and their numbers; fewer only at the end."""
        found: list[tuple[int, bytes]] = []
        while len(found) < count:
            before = self.lines.line
            lines = self.lines.take(count - len(found))
            if not lines:
                break
            found += [(before + i, line) for i, line in enumerate(lines, 1) if not line.isspace()]
        return found

    def _with_care(
        self, lines: Sequence[bytes], numbers: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], list[BadValue]]:
        rows, bad = np.zeros((len(lines), self.width)), []
        for i, line in enumerate(lines):
            found = self.parser.row(line)
            if isinstance(found, Complaint):
                column = f", {found.column}" if found.column else ""
                bad.append(BadValue(i, f"{self.name}, line {self._taken[i]}{column}", found.what))
            else:
                rows[i] = found
        return rows, numbers, bad


def open_lines(path: Path | None, *, follow: bool, idle: float | None, **options: Any) -> LineReader:
    """Text in a file, plain or gzip, or (None) on standard input."""
    if path is None:
        piped = LineReader(Lines(standard_input(), "standard input", digest=True), None, "pipe", **options)
        piped.live = True
        return piped
    if is_gzip(path):
        if follow:
            raise SourceError(f"{path}: a gzip file cannot be followed; only a plain file of lines can grow")
        packed = Unpacked(path)
        return LineReader(Lines(packed.read, str(path), digest=True), packed, "gzip", **options)
    file = PlainFile(path, follow=follow, idle=idle)
    reader = LineReader(Lines(file.read, str(path), growing=follow), file, "text", **options)
    reader.live = follow
    return reader


def is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
