"""A spool: the file that keeps messages of a broker until they are learnt, and beyond.

A message is acknowledged to the broker once its line is safely in the file. From there on it is a file of
lines like any other: a job goes on at the byte that it had reached, exactly once.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from ..files import lock, printable, require_regular, sync_folder
from .batch import SourceError
from .contents import POLL, PlainFile

HEAD = b"# eigenstream MQTT spool 1 "
"""Start of a spool, behind which its client and address stand: no other file is written to."""
LONGEST_HEAD = 1 << 16
TAIL = 1 << 26
"""Bytes at the end of a spool in which the messages of the last packets are looked for when it is opened
again: there are 65,535 numbers of packets, and lines of a thousand bytes are long."""
IDENTITY = "mqtt_id"
KEPT = re.compile(rb'"mqtt_id": "(\d{1,5})-([0-9a-f]{16})"')
"""The identity in a line; in a text of a message, its quotes would stand behind backslashes."""


class Out(Protocol):
    """A place for lines."""

    packets: dict[str, str]
    """Hash of the message that came last with each packet number: a broker may send it again."""

    def write(self, lines: Sequence[bytes]) -> None:
        """Keep lines, durably; after that they can be acknowledged."""


class Spool:
    """The file of a spool, locked for this process.

    Parameters
    ----------
    path
        The file; it is made if there is none, and refused if it is anything but a spool of this address.
    about
        What the spool is of.
    client
        Name of the session at the broker; if None, that of the spool, or a new one.

    Raises
    ------
    SourceError
        If it is not a spool of this kind, or another process has it.
    """

    def __init__(self, path: Path, about: dict[str, Any], client: str | None) -> None:
        self.path, self.packets = path, dict[str, str]()
        try:
            require_regular(path)
            fresh = not path.exists()
            # It names a server, and holds what that server says.
            self.handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except ValueError as error:
            raise SourceError(str(error)) from None
        try:
            if not lock(self.handle):
                raise SourceError(f"{path}: another process writes to this spool; wait until it has ended")
            if fresh or os.fstat(self.handle).st_size == 0:
                self.client = client or f"eigenstream-{secrets.token_hex(8)}"
                head = json.dumps({**about, "client": self.client}).encode()
                os.write(self.handle, HEAD + head + b"\n")
                os.fsync(self.handle)
                sync_folder(path.absolute().parent)
            else:
                self.client = self._refuse_other(about, client)
                self._cut_torn_line()
                self._remember()
        except BaseException:
            os.close(self.handle)
            raise
        self.durable = os.fstat(self.handle).st_size
        """Bytes that are safely in the file."""

    def write(self, lines: Sequence[bytes]) -> None:
        left, end = b"".join(lines), self.durable
        while left:
            written = os.pwrite(self.handle, left, end)
            left, end = left[written:], end + written
        os.fsync(self.handle)
        self.durable = end

    def first_row(self) -> bytes:
        """Return the first line behind the head; none if there is none."""
        return os.pread(self.handle, 1 << 25, 0).partition(b"\n")[2].partition(b"\n")[0]

    def close(self) -> None:
        """Close the file, and unlock it."""
        if self.handle >= 0:
            os.close(self.handle)
        self.handle = -1

    def _refuse_other(self, about: dict[str, Any], client: str | None) -> str:
        """Raise if the file is not a spool of this address; return its client."""
        head = os.pread(self.handle, LONGEST_HEAD, 0).partition(b"\n")[0]
        try:
            found = json.loads(head.removeprefix(HEAD)) if head.startswith(HEAD) else None
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("client"), str):
            raise SourceError(f"{self.path} exists, and is not a spool of MQTT messages: name another file")
        if {**about, "client": client or found["client"]} != found:
            differ = [
                name for name in (*about, "client") if found.get(name) != {**about, "client": client}[name]
            ]
            was = printable(str(found.get(differ[0])))
            raise SourceError(f"{self.path} is the spool of another {differ[0]}, {was!r}: name another file")
        return str(found["client"])

    def _cut_torn_line(self) -> None:
        """Cut off the last line if it has no end: its message was not acknowledged, and comes again."""
        size = end = os.fstat(self.handle).st_size
        while end:
            start = max(end - (1 << 16), 0)
            found = os.pread(self.handle, end - start, start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            os.ftruncate(self.handle, end)

    def _remember(self) -> None:
        size = os.fstat(self.handle).st_size
        tail = os.pread(self.handle, TAIL, max(size - TAIL, 0))
        self.packets = {number.decode(): seen.decode() for number, seen in KEPT.findall(tail)}


class Recording(Protocol):
    """Whatever writes to a spool."""

    def check(self) -> None:
        """Raise if it has failed."""


class SpoolFile(PlainFile):
    """A spool as a growing file, read as far as it is safely on disk."""

    def __init__(self, spool: Spool, recording: Recording, idle: float | None) -> None:
        super().__init__(spool.path, follow=True, idle=idle)
        self.spool, self.recording = spool, recording

    def read(self, size: int) -> bytes:
        waited = 0.0
        while True:
            self.recording.check()
            left = min(size, self.spool.durable - self.seen.offset)
            if left > 0:
                block = os.pread(self.handle, left, self.seen.offset)
                self._refuse_other_content()
                self.seen.add(block)
                return block
            if self.idle is not None and waited >= self.idle:
                return b""
            time.sleep(POLL)
            waited += POLL

    def size(self) -> int:
        return self.spool.durable
