"""Sources of bytes: plain files that may be growing, gzip files, standard input; other encodings."""

from __future__ import annotations

import codecs
import hashlib
import os
import select
import stat
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .batch import SourceError

POLL = 0.1
"""Seconds between looks at a file that is followed: a delay that a person hardly notices, and little work."""
GZIP = b"\x1f\x8b"
PACKED = 1 << 16
"""Bytes of packed data read at a time: they unpack to less than a block of lines in most files."""
BLOCK = 1 << 20
"""Bytes read at a time: with fewer, calls take time; with more, the arrays made of them leave the cache."""
PRINT = 4096
"""Bytes at the beginning, and before the place reached, that are hashed to recognise a file on resuming: one
page, so that a check costs two reads of the disk however long the file is."""

Read = Callable[[int], bytes]
Ready = Callable[[float], bool]


@dataclass
class SeenBytes:
    """Number of bytes that have passed, the first `PRINT` of them, and the last."""

    offset: int = 0
    head: bytes = b""
    tail: bytes = b""

    def add(self, data: bytes) -> None:
        """Count the next bytes."""
        self.offset += len(data)
        if len(self.head) < PRINT:
            self.head = (self.head + data[:PRINT])[:PRINT]
        self.tail = data[-PRINT:] if len(data) >= PRINT else (self.tail + data)[-PRINT:]


def fingerprint(head: bytes, tail: bytes) -> str:
    """Return a hash of the first and the last bytes."""
    return hashlib.sha256(head + tail).hexdigest()


def hash_of_ends(path: Path, size: int) -> str:
    """Return a hash of the first bytes of a file, and of those before byte ``size``."""
    some = min(PRINT, size)
    with path.open("rb") as file:
        head = file.read(some)
        file.seek(size - some)
        return fingerprint(head, file.read(some))


class PlainFile:
    """A file on disk, which may still be growing."""

    def __init__(self, path: Path, *, follow: bool = False, idle: float | None = None) -> None:
        self.path, self.name, self.follow, self.idle = path, str(path), follow, idle
        self.handle = os.open(path, os.O_RDONLY)
        if not stat.S_ISREG(os.fstat(self.handle).st_mode):
            os.close(self.handle)
            raise SourceError(f"{path} is not a regular file; pass pipes through standard input (-)")
        self.seen = SeenBytes()

    def begins_with(self, start: bytes) -> bool:
        """Return True if these bytes come first."""
        return os.pread(self.handle, len(start), 0) == start

    def read(self, size: int) -> bytes:
        """Return the next bytes; with ``follow``, wait for them."""
        waited = 0.0
        while True:
            block = os.pread(self.handle, size, self.seen.offset)
            # After the read: if the bytes before it have changed, the block may be of another file.
            self._refuse_other_content()
            if block:
                self.seen.add(block)
                return block
            if not self.follow or (self.idle is not None and waited >= self.idle):
                return b""
            time.sleep(POLL)
            waited += POLL

    def ready(self, seconds: float) -> bool:
        """Wait for more than was read, ``seconds`` at most; return True if there is."""
        waited = 0.0
        while self.size() <= self.seen.offset:
            if waited >= seconds:
                return False
            time.sleep(min(POLL, seconds - waited))
            waited += POLL
        return True

    def _refuse_other_content(self) -> None:
        """Raise if the bytes read have changed or, if followed, the file was removed or replaced."""
        how = "followed" if self.follow else "read"
        here = os.fstat(self.handle)
        if self.follow:
            try:
                now = os.stat(self.path)
            except FileNotFoundError:
                raise SourceError(f"{self.path} was removed while it was followed") from None
            if (now.st_dev, now.st_ino) != (here.st_dev, here.st_ino):
                raise SourceError(f"{self.path} was replaced by another file while it was followed")
        read = self.seen.offset
        if here.st_size < read or self.around(read) != (self.seen.head, self.seen.tail):
            raise SourceError(
                f"{self.path} was truncated or rewritten while it was {how}: {read:,} bytes had "
                f"been read, it has {here.st_size:,}"
            )

    def go_to(self, offset: int) -> None:
        """Read on from this byte."""
        self.seen = SeenBytes(offset, *self.around(offset))

    def around(self, offset: int) -> tuple[bytes, bytes]:
        """Return the first `PRINT` bytes, and those before ``offset``."""
        size = min(PRINT, offset)
        return os.pread(self.handle, size, 0), os.pread(self.handle, size, offset - size)

    def ends_line(self, offset: int) -> bool:
        """Return True if a line ends here: by a line feed, or with a file that does not grow."""
        if offset == 0 or (offset >= self.size() and not self.follow):
            return True
        return os.pread(self.handle, 1, offset - 1) == b"\n"

    def size(self) -> int:
        return os.fstat(self.handle).st_size

    def close(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)
        self.handle = -1


class StandardInput:
    """Standard input: returns what has come, without waiting for a block to fill."""

    name = "standard input"

    def __init__(self) -> None:
        try:
            self.handle = sys.stdin.buffer.fileno()
        except (AttributeError, OSError, ValueError):
            raise SourceError("standard input is closed: there is nothing to read") from None
        self._peeked: list[bytes] = []

    def begins_with(self, start: bytes) -> bool:
        """Wait for as many bytes; return True if these come first."""
        seen = b"".join(self._peeked)
        while len(seen) < len(start) and start.startswith(seen):
            block = os.read(self.handle, BLOCK)
            if not block:
                break
            self._peeked.append(block)
            seen += block
        return seen.startswith(start)

    def read(self, size: int) -> bytes:
        return self._peeked.pop(0) if self._peeked else os.read(self.handle, size)

    def ready(self, seconds: float) -> bool:
        """Wait for bytes or the end, ``seconds`` at most; return True if there are."""
        if self._peeked:
            return True
        try:
            return bool(select.select([self.handle], [], [], seconds)[0])
        except (OSError, ValueError):  # a file, or a system that cannot tell
            return True

    def close(self) -> None:
        """Do nothing: it is not ours to close."""


class Unpacked:
    """Content of gzip data, member by member; at most the bytes asked for, however well it is packed."""

    def __init__(self, packed: PlainFile | StandardInput) -> None:
        self.packed, self.name = packed, packed.name
        self._inflate = zlib.decompressobj(wbits=31)
        self._waiting = b""
        self._between = False
        """True between members: some writers fill the rest of the file with zeros."""
        self._peeked = b""

    def begins_with(self, start: bytes) -> bool:
        """Return True if these bytes come first."""
        while len(self._peeked) < len(start) and (block := self._unpacked(len(start))):
            self._peeked += block
        return self._peeked.startswith(start)

    def read(self, size: int) -> bytes:
        peeked, self._peeked = self._peeked, b""
        return peeked or self._unpacked(size)

    def _unpacked(self, size: int) -> bytes:
        try:
            return self._read(size)
        except zlib.error as error:
            raise SourceError(f"{self.name}: damaged or cut-off gzip file: {error}") from None

    def _read(self, size: int) -> bytes:
        while True:
            if not self._waiting:
                self._waiting = self.packed.read(PACKED)
                if not self._waiting:
                    return self._last()
            if self._between:
                self._waiting = self._waiting.lstrip(b"\0")
                if not self._waiting:
                    continue
                self._inflate, self._between = zlib.decompressobj(wbits=31), False
            content = self._inflate.decompress(self._waiting, size)
            self._between = self._inflate.eof
            self._waiting = self._inflate.unused_data if self._between else self._inflate.unconsumed_tail
            if content:
                return content

    def _last(self) -> bytes:
        content = b"" if self._between else self._inflate.flush()
        if not self._between and not self._inflate.eof:
            raise SourceError(f"{self.name}: damaged or cut-off gzip file: it ends too early")
        self._between = True
        return content

    def close(self) -> None:
        self.packed.close()


class Recoded:
    """Text in another encoding, recoded to UTF-8."""

    def __init__(self, content: Content, encoding: str) -> None:
        self.content, self.name, self.encoding = content, content.name, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ended = False

    def read(self, size: int) -> bytes:
        while not self._ended:
            block = self.content.read(size)
            self._ended = not block
            try:
                content = self._decoder.decode(block, final=self._ended).encode()
            except UnicodeError as error:
                raise SourceError(f"{self.name}: not text in {self.encoding}: {error}") from None
            if content:
                return content
        return b""

    def close(self) -> None:
        self.content.close()


class Content(Protocol):
    """A source of bytes."""

    name: str

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most ``size``; none at the end."""

    def close(self) -> None:
        """Close all files."""
