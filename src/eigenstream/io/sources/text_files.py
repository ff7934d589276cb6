"""Open lines of text: files that may be growing, gzip files and standard input."""

from __future__ import annotations

import codecs
from pathlib import Path

from .batch import SourceError
from .contents import GZIP, PlainFile, Recoded, StandardInput, Unpacked
from .line_reader import LineReader
from .lines import Lines
from .options import ReadOptions

# Byte order marks of encodings in which lines cannot be cut; that of UTF-8 is left to the line reader.
WIDE_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def open_lines(path: Path | None, options: ReadOptions) -> LineReader:
    """Open text in a file, plain or gzip, or (None) on standard input."""
    if path is None:
        return _piped(options)
    follow = options.follow
    start = _start(path)
    encoding = options.encoding if options.recoded() else WIDE_MARKS.get(start[:2])
    packed = start.startswith(GZIP)
    if (packed or encoding) and follow:
        kind = "a gzip file" if packed else f"text in {encoding}"
        raise SourceError(f"{path}: {kind} cannot be followed; only a plain file of lines can grow")
    file = PlainFile(path, follow=follow, idle=options.idle)
    if packed or encoding:
        unpacked = Unpacked(file.read, str(path), file.close) if packed else None
        content: Unpacked | Recoded | None = unpacked
        if encoding is not None:
            content = Recoded(unpacked.read if unpacked else file.read, str(path), encoding, file.close)
        assert content is not None
        reader = _read_again(content, str(path), options)
        reader.files = [path]
        return reader
    lines = Lines(file.read, str(path), growing=follow, ready=file.ready if follow else None)
    reader = LineReader(lines, file, "text", options)
    reader.live, reader.files = follow, [path]
    return reader


def _read_again(content: Unpacked | Recoded, name: str, options: ReadOptions) -> LineReader:
    """Open content that is continued by reading it again from the beginning."""
    kind = "gzip" if isinstance(content, Unpacked) else "recoded"
    return LineReader(Lines(content.read, name, digest=True), content, kind, options)


def _piped(options: ReadOptions) -> LineReader:
    name, content = "standard input", StandardInput()
    read, ready = content.read, content.ready
    if content.begins_with(GZIP):
        read = Unpacked(read, name).read
    encoding = options.encoding if options.recoded() else None
    for mark, known in WIDE_MARKS.items():
        if encoding is None and content.begins_with(mark):
            encoding = known
    if encoding is not None:
        read = Recoded(read, name, encoding, None).read
    lines = Lines(read, name, digest=True, ready=ready)
    piped = LineReader(lines, None, "pipe", options)
    piped.live, piped.lasts = True, False
    return piped


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)
