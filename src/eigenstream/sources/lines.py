"""Whole lines of a stream of bytes, and where they end."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import sys
import time
import zlib
from collections import deque
from collections.abc import Callable
from pathlib import Path

from .batch import SourceError

BLOCK = 1 << 20
LONGEST = 1 << 28
"""Bytes a line may have; more is taken for a file that has no lines."""
PRINT = 4096
"""Bytes at the beginning, and before the place reached, by which a file is recognised."""
POLL = 0.1

Read = Callable[[int], bytes]


class Lines:
    """Lines one after the other; `offset` bytes in `line` lines have been taken."""

    def __init__(self, read: Read, name: str, *, growing: bool = False, digest: bool = False) -> None:
        self.read, self.name, self.growing = read, name, growing
        self.offset = self.line = 0
        self.digest = hashlib.sha256() if digest else None
        """Of everything taken, where a place cannot be looked at again."""
        self._waiting: deque[bytes] = deque()
        self._start: list[bytes] = []
        """The pieces of a line whose end has not come yet."""
        self._ended = False

    def take(self, count: int) -> list[bytes]:
        """The next lines with their ends; fewer than ``count`` only at the end."""
        while len(self._waiting) < count and not self._ended:
            self._fetch()
        taken = [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]
        self.offset += sum(map(len, taken))
        self.line += len(taken)
        if self.digest is not None:
            self.digest.update(b"".join(taken))
        return taken

    def _fetch(self) -> None:
        block = self.read(BLOCK)
        if not block:
            self._ended = True
            if self._start and not self.growing:  # whoever is still writing has not finished this line
                self._waiting.append(b"".join(self._start))
                self._start = []
            return
        *whole, rest = block.split(b"\n")
        if whole:
            whole[0] = b"".join((*self._start, whole[0]))
            self._waiting += [line + b"\n" for line in whole]
            self._start = []
        if rest:
            self._start.append(rest)
            self._refuse_endless_line()

    def _refuse_endless_line(self) -> None:
        if sum(map(len, self._start)) > LONGEST:
            raise SourceError(
                f"{self.name}, line {self.line + len(self._waiting) + 1}: longer than {LONGEST:,} bytes; "
                "is this a file of lines?"
            )


class Unpacked:
    """The content of a gzip file."""

    def __init__(self, path: Path) -> None:
        self.path, self.file = path, gzip.open(path, "rb")  # noqa: SIM115 - until `close`

    def read(self, size: int) -> bytes:
        try:
            return self.file.read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise SourceError(f"{self.path}: damaged or cut-off gzip file: {error}") from None

    def close(self) -> None:
        self.file.close()


def standard_input() -> Read:
    """What has come so far, without waiting for a block to fill."""
    handle = sys.stdin.buffer.fileno()
    return lambda size: os.read(handle, size)


class PlainFile:
    """A file on disk, which may still be growing."""

    def __init__(self, path: Path, *, follow: bool = False, idle: float | None = None) -> None:
        self.path, self.follow, self.idle = path, follow, idle
        self.handle = os.open(path, os.O_RDONLY)
        if not stat.S_ISREG(os.fstat(self.handle).st_mode):
            os.close(self.handle)
            raise SourceError(f"{path} is not a regular file; pass pipes through standard input (-)")
        self.offset = 0
        self._last = b""

    def read(self, size: int) -> bytes:
        """The next bytes; with ``follow``, waits for them."""
        waited = 0.0
        while True:
            block = os.pread(self.handle, size, self.offset)
            if waited or not block:
                self._refuse_other_content()
            if block:
                self.offset += len(block)
                self._last = (self._last + block)[-PRINT:]
                return block
            if not self.follow or (self.idle is not None and waited >= self.idle):
                return b""
            time.sleep(POLL)
            waited += POLL

    def _refuse_other_content(self) -> None:
        """An error unless this is still the file that was opened, and what was read still stands there."""
        if not self.follow:
            return
        try:
            now, here = os.stat(self.path), os.fstat(self.handle)
        except FileNotFoundError:
            raise SourceError(f"{self.path} was removed while it was followed") from None
        if (now.st_dev, now.st_ino) != (here.st_dev, here.st_ino):
            raise SourceError(f"{self.path} was replaced by another file while it was followed")
        before = os.pread(self.handle, len(self._last), self.offset - len(self._last))
        if here.st_size < self.offset or before != self._last:
            raise SourceError(
                f"{self.path} was truncated or rewritten while it was followed: {self.offset:,} bytes had "
                f"been read, it has {here.st_size:,}"
            )

    def go_to(self, offset: int) -> None:
        self.offset = offset
        self._last = os.pread(self.handle, min(PRINT, offset), max(offset - PRINT, 0))

    def fingerprint(self, offset: int) -> str:
        """By which the first ``offset`` bytes are recognised: a hash of their beginning and end."""
        if self.handle < 0:
            raise SourceError(f"{self.path} has been closed: ask for the position before that")
        digest = hashlib.sha256(os.pread(self.handle, min(PRINT, offset), 0))
        digest.update(os.pread(self.handle, min(PRINT, offset), max(offset - PRINT, 0)))
        return digest.hexdigest()

    def ends_line(self, offset: int) -> bool:
        """Whether a line ends here: by a line feed, or because the file does and is not to grow."""
        if offset == 0 or (offset >= self.size() and not self.follow):
            return True
        return os.pread(self.handle, 1, offset - 1) == b"\n"

    def size(self) -> int:
        return os.fstat(self.handle).st_size

    def close(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)
        self.handle = -1
