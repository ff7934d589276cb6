"""Rows of lines of text."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from operator import index
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .batch import BadValue, Chunk, Hint, Place, Reader, SourceError, texts_of
from .contents import Content, PlainFile
from .csv_lines import CsvParser
from .json_lines import JsonLines
from .lines import FEW, NOTHING, Lines, Parsed, Parser, Piece, joined
from .options import ReadOptions

BYTE_ORDER_MARK = codecs.BOM_UTF8
BLANK = np.isin(np.arange(256), list(b" \t\n\r\v\f"))
"""True for each byte that a blank line may have."""
COMMENTS = (b"#", b"%", b"!")
"""Signs with which comments at the top begin, where no option says so."""
MOST_COMMENTS = 1000
"""Comments at the top that are looked at one by one for names; more are passed over at once."""
EMPTIEST = 1 << 25
"""Most bytes of blank lines and comments between two rows: beyond, it is a file without rows, such as a disk
image of zeros, and reading it to its end would take hours."""


class LineReader(Reader):
    """Rows of a text, one per line; blank lines and comments do not count.

    Parameters
    ----------
    lines
        Lines of the text.
    content
        Content that they are read from, to be closed.
    kind
        "text", "gzip" or "pipe".
    options
        How to parse them, and in how many threads.
    """

    unit = "bytes"

    def __init__(self, lines: Lines, content: Content, kind: str, options: ReadOptions) -> None:
        self.lines, self.content, self.name, self.kind = lines, content, lines.name, kind
        self.file = content if isinstance(content, PlainFile) else None
        """The content, if reading can start at any byte of it."""
        self.options, self._threads = options, options.threads
        self._pool = ThreadPoolExecutor(self._threads, "parsing") if self._threads > 1 else None
        self._held = NOTHING
        """First data line, read during detection."""
        self._taken = np.zeros(0, dtype=np.int64)
        """Numbers of the lines taken last."""
        self._notes: list[str] = []
        self._blank, self._without_values = BLANK, 0
        """Bytes of a line that is no row; number of the lines passed over that had delimiters alone."""
        self._worded: bool | None = False
        """True if each row has a text, so that a line of delimiters alone is none; None: not known yet."""
        self._first = np.zeros(0)
        """First column of the first rows."""
        try:
            self.parser = self._understand()
        except BaseException:
            self.close()
            raise
        self.full, self.width = self.parser.full, self.parser.width
        self.names, self.kept = self.parser.names, self.parser.kept
        self.column_numbers, self.unknown = self.parser.numbers, self.parser.unknown
        if isinstance(self.parser, CsvParser) and self.parser.delimiter != " ":
            self._settle(True if self.kept else None)

    def _settle(self, worded: bool | None) -> None:
        """Go on with this: where rows have a time, a key or a text, a line of delimiters alone is none."""
        self._worded = worded
        if worded and isinstance(self.parser, CsvParser):
            self._blank = BLANK | (np.arange(256) == self.parser.delimiter.encode()[0])

    def _understand(self) -> Parser:
        self.lines.pass_over(self.options.skip_lines)
        piece, remark = self._past_comments(self._next(1))
        if not len(piece):
            raise SourceError(f"{self.name} is empty: there is nothing to learn from")
        line, first = int(piece.numbers[0]), piece.data.removeprefix(BYTE_ORDER_MARK)
        if b"\0" in first:
            wide = max(first[::2].count(0), first[1::2].count(0)) > len(first) // 4
            raise SourceError(
                f"{self.name}, line {line}: not text in UTF-8, nor any other kind that is read",
                *([Hint("encoding", "utf-16-le", "reads text of two bytes a character")] if wide else []),
            )
        if b"\r" in first.rstrip(b"\r\n"):
            raise SourceError(
                f"{self.name}, line {line}: there are carriage returns within it; convert them to line feeds"
            )
        if first.lstrip().startswith((b"{", b"[")):
            parser: Parser = JsonLines(first, self.name, self.options, line)
        else:
            parser = CsvParser(first, self.name, self.options, line, self._peek, remark, self._sample)
        if not parser.titled:
            shorter = len(piece.data) - len(first)
            self._held = Piece(first, piece.ends - shorter, piece.numbers)
        return parser

    def _past_comments(self, piece: Piece) -> tuple[Piece, bytes | None]:
        """Pass over comments at the top, if no option says how they begin; return the last one's words."""
        sign = _comment_sign(piece.data.removeprefix(BYTE_ORDER_MARK))
        if self.options.comment is not None or sign is None:
            return piece, None
        before = piece
        for _ in range(MOST_COMMENTS):
            piece = self._next(1)
            if not piece.data.lstrip().startswith(sign):
                break
            before = piece
        self.options = replace(self.options, comment=sign.decode())
        if piece.data.lstrip().startswith(sign):
            return self._next(1), None
        words = before.data.removeprefix(BYTE_ORDER_MARK).lstrip().lstrip(sign)
        self._notes.append(f"{self.name}: lines that begin with {sign.decode()!r} are taken for comments")
        return piece, words

    def _peek(self) -> bytes | None:
        """Return the next line that is not empty, without taking it."""
        self._pass_over_empty()
        coming = self.lines.coming(1)
        return coming.data if len(coming) else None

    def _sample(self, count: int) -> list[bytes]:
        """Return the next lines that are rows, without taking them; none of a source that is live."""
        if self.kind == "pipe" or (self.file is not None and self.file.follow):
            return []
        coming = self.lines.coming(count)
        rows = coming.without(self._empty(coming)) if len(coming) else coming
        return rows.lines() if len(rows) else []

    def take(self, count: int) -> Chunk | None:
        piece = self._next(count)
        if not len(piece):
            return None
        self._taken = piece.numbers
        self.parser.look(piece, self.row)
        numbers = np.arange(self.row, self.row + len(piece))
        rows, bad = self._parsed(piece)
        self._notice_index(rows)
        self.row += len(piece)
        values = [
            BadValue(i, f"{self.name}, line {self._taken[i]}{one.column and ', '}{one.column}", *one[1:])
            for i, one in bad
        ]
        texts = None
        if self.kept:
            texts = texts_of([self.parser.texts(line) for line in piece.lines()], len(self.kept))
        return Chunk(self.options.with_gaps(rows), numbers, values, texts)

    @property
    def taken(self) -> NDArray[np.int64]:
        """Numbers of the lines taken last, counted from 1."""
        return self._taken

    def _parsed(self, piece: Piece) -> Parsed:
        """Parse the lines, in several threads if asked for; the rows are the same."""
        if self._pool is None or len(piece) < FEW * self._threads:
            return self.parser.parsed(piece)
        cuts = [len(piece) * i // self._threads for i in range(self._threads + 1)]
        parts = list(self._pool.map(self.parser.parsed, [piece.part(*cut) for cut in pairwise(cuts)]))
        bad = [(i + cut, what) for cut, part in zip(cuts, parts, strict=False) for i, what in part[1]]
        return np.concatenate([part[0] for part in parts]), bad

    def ready(self, seconds: float) -> bool:
        return bool(len(self._held)) or self.lines.ready(seconds)

    def pass_over(self, count: int) -> None:
        while count and (passed := len(self._next(count))):  # at most a block of lines
            self.row += passed
            count -= passed

    def where(self, chunk: Chunk, row: int, column: int) -> str:
        return f"{self.where_row(chunk, row)}, {self.parser.column(column)}"

    def where_row(self, chunk: Chunk, row: int) -> str:
        return f"{self.name}, line {self._taken[row]}"

    def notes(self) -> list[str]:
        notes = super().notes() + [f"{self.name}: {note}" for note in self.parser.notes()] + self._notes
        if self._without_values:
            many = f"{self._without_values:,} lines of delimiters alone are no rows"
            said = "1 line of delimiters alone is no row" if self._without_values == 1 else many
            notes.append(f"{self.name}: {said}")
        return notes

    def place(self) -> Callable[[], Place]:
        at: Place = {"row": self.row, "line": self.lines.line, "offset": self.lines.seen.offset}
        if isinstance(self.parser, CsvParser) and not self.parser.given:
            at["decimal"] = self.parser.mark
        if self._worded and not self.kept:
            at["worded"] = True
        seen = self.lines.fingerprint()
        return lambda: {**at, "fingerprint": seen()}

    def go_to(self, place: Place) -> None:
        row, line, offset = (index(place[name]) for name in ("row", "line", "offset"))
        if not 0 <= row <= line <= offset:
            raise ValueError(f"row {row} in line {line} at byte {offset}")
        mark = place.get("decimal")
        if mark not in (None, ".", ","):
            raise ValueError(f"decimal mark {mark!r}")
        if self.file is not None:
            self._jump(self.file, line, offset)
        else:
            self.lines.pass_over(max(line - self.lines.line, 0))
        seen = self.lines.fingerprint()()
        if seen != place["fingerprint"] or (self.lines.line, self.lines.seen.offset) != (line, offset):
            raise SourceError(
                f"{self.name} does not begin as it did: something in its first {offset:,} bytes has changed; "
                "give the same source, or start afresh without resuming"
            )
        if self.file is not None and not self.file.ends_line(offset):
            raise SourceError(f"{self.name}, line {line}: it had no end when it was read, and may have grown")
        self._held, self.row = NOTHING, row
        if row and self._worded is None:
            self._settle(place.get("worded") is True)
        if isinstance(self.parser, CsvParser) and not self.parser.given and mark is not None:
            self.parser.settle(mark)

    def _jump(self, file: PlainFile, line: int, offset: int) -> None:
        size = file.size()
        if size < offset:
            raise SourceError(
                f"{self.name} has become shorter: {offset:,} bytes had been read, it has {size:,} now"
            )
        file.go_to(offset)
        self.lines.jump(line, replace(file.seen))

    def progress(self) -> float | None:
        if self.file is None or self.file.follow:
            return None
        return min(self.lines.seen.offset / max(self.file.size(), 1), 1.0)

    def behind(self) -> int | None:
        return None if self.file is None else max(self.file.size() - self.lines.seen.offset, 0)

    def files_read(self) -> list[tuple[Path, int, bool]]:
        read = super().files_read()
        return read if self.file is None else [(path, self.lines.seen.offset, some) for path, _, some in read]

    def close(self) -> None:
        self.content.close()
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    def _next(self, count: int) -> Piece:
        """Take lines that are not empty, at most ``count``, the held one first; none at the end."""
        if self._worded is None:  # the first row decides, however many are taken at once
            first = self._held.data if len(self._held) else self._peek()
            assert isinstance(self.parser, CsvParser)
            self._settle(first is not None and self.parser.has_text(first))
        piece, self._held = self._held, NOTHING
        if len(piece) and count > 1 and self.lines.has_come():
            piece = joined(piece, self._filled(self.lines.take(count - 1)))
        if not len(piece):
            piece = self._filled(self.lines.take(count))
        if not len(piece):
            self._pass_over_empty()
            piece = self._filled(self.lines.take(count))
        return piece

    def _filled(self, piece: Piece) -> Piece:
        """Return the lines that are neither blank nor comments."""
        if not len(piece):
            return piece
        empty = self._empty(piece)
        self._count_without_values(piece, empty)
        return piece.without(empty)

    def _pass_over_empty(self) -> None:
        """Take the blank lines and comments that come next; raise if there are too many."""
        passed_over, number = 0, 16
        while len(coming := self.lines.coming(number)):
            empty = self._empty(coming)
            some = len(coming) if empty.all() else int(empty.argmin())
            taken = self.lines.take(some)
            passed_over += len(taken.data)
            self._count_without_values(taken, np.ones(len(taken), dtype=bool))
            if passed_over > EMPTIEST:
                raise SourceError(
                    f"{self.name}, line {self.lines.line}: {passed_over:,} bytes of blank lines or comments "
                    "without a row among them; is this a file of rows?"
                )
            if some < len(coming):
                return
            number *= 2

    def _count_without_values(self, piece: Piece, passed: NDArray[np.bool_]) -> None:
        """Count those lines passed over that have delimiters and nothing else."""
        if self._blank is not BLANK and passed.any():
            comment = (self.options.comment or "\0").encode()[0]
            values = piece.has_any(~BLANK) & (piece.starts() != comment)
            self._without_values += int(np.count_nonzero(passed & values))

    def _empty(self, piece: Piece) -> NDArray[np.bool_]:
        """Return True for each line that is blank or a comment."""
        starts, comment = piece.starts(), self.options.comment
        perhaps = self._blank[starts]
        if comment is not None:
            perhaps = perhaps | (starts == comment.encode()[0])
        if not perhaps.any():
            return perhaps
        empty: NDArray[np.bool_] = perhaps & ~piece.has_any(~self._blank)
        if comment is not None:
            for i in np.flatnonzero(perhaps & ~empty).tolist():
                empty[i] = piece.part(i, i + 1).data.strip().startswith(comment.encode())
        return empty

    def _notice_index(self, rows: NDArray[np.float64]) -> None:
        """Note a first column that counts rows."""
        parser = self.parser
        if self.row > 1 or not isinstance(parser, CsvParser) or not parser.may_count_rows():
            return
        self._first = np.concatenate((self._first, rows[:, 0]))
        if len(self._first) > 1 and (np.diff(self._first) == 1).all():
            self._notes.append(
                f"{self.name}: the first column has no name and counts rows, as the index does that pandas "
                "writes; it is read like any other column: exclude=0 leaves it out"
            )


def _comment_sign(line: bytes) -> bytes | None:
    """Return the sign with which a line begins, if it is a comment: names such as ``#1,#2`` are none."""
    start = line.lstrip()
    sign = next((one for one in COMMENTS if start.startswith(one)), None)
    if sign is None or any(one + sign in start for one in (b",", b";", b"\t", b"|")):
        return None
    return sign
