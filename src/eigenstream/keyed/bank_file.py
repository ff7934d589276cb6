"""The file of a bank: its format, and how it is read.

Bytes of the file, all numbers little endian::

    0       "eigenstream fleet", a zero byte, the format version (4 bytes)
    4096    slot 0: the last commit or the one before it
    8192    slot 1: the other of the two
    12288   states and records, each appended behind the last

A state is one model, the bytes that `eigenstream.io.checkpoint.packed` makes of it. A record is JSON: facts
of the bank, the models that have changed since the record before, and the place of that record; a record
without one before it lists all models. A slot holds number, place and SHA-256 of the record of a commit, and
a SHA-256 of these. What no record of the last commit names does not count.

A commit is written behind everything else and made durable before the older slot is changed. So one slot is
whole at any moment, and everything that it leads to stays as it is: a reader needs no lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

import msgspec
from msgspec import Meta

from ..io import checkpoint, files

Key = str | int
PathLike = str | os.PathLike[str]

MAGIC = checkpoint.BANK
VERSION = 1
"""Number of the format; docs/compatibility.md says when it changes."""
PAGE = 4096
"""Bytes between the head and the slots: no disk tears two of them with one write."""
START = 3 * PAGE
"""Offset of the first state."""
SLOT = struct.Struct("<3Q32s")
"""Number of the commit, offset, length and SHA-256 of its record. The SHA-256 of these follows."""
SLOT_SIZE = SLOT.size + 32

CHAIN = 64
"""Records at most that a commit is read from. Each costs one read, and all are read when a bank is opened."""
# 2^28 bytes list two million models. A sparse file may claim any size and take no room on the disk.
LARGEST_RECORD = 1 << 28
"""Bytes of a record at most."""
SPARSEST = 64
"""Bytes of a file at most per byte that is not in a hole: some file systems make holes of zeros."""
SMALL = 1 << 20
"""Bytes that cost little, whether they are read, wasted or a hole."""

MOST = 2**63 - 1
"""Largest whole number of a file."""
Count = Annotated[int, Meta(ge=0, le=MOST)]


class Place(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Position of a record in the file, and its SHA-256 in hexadecimal digits."""

    offset: Annotated[int, Meta(ge=START, le=MOST)]
    length: Annotated[int, Meta(ge=1, le=LARGEST_RECORD)]
    checksum: Annotated[str, Meta(min_length=64, max_length=64)]


class Stored(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Position of a state in the file, its CRC-32, and facts about the model that need no reading of it."""

    key: str | Annotated[int, Meta(ge=-MOST - 1, le=MOST)]
    samples: Count
    rank: Count
    used: Count
    """Number of the call in which the model was used last."""
    offset: Annotated[int, Meta(ge=START, le=MOST)]
    length: Annotated[int, Meta(ge=1, le=MOST)]
    checksum: Annotated[int, Meta(ge=0, lt=2**32)]


class WrittenCommit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One commit, as it is written."""

    before: Place | None
    facts: str
    """`Facts` as JSON of Python's kind: positions may hold NaN, and names of files that are no text."""
    models: list[Stored]


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about a bank beside its models."""

    parameters: dict[str, Any] | None = None
    width: Annotated[int, Meta(ge=1, lt=2**40)] | None = None
    dtype: Literal["float32", "float64"] | None = None
    position: Any = None
    samples: Count = 0
    calls: Count = 0
    monitors: dict[str, Any] | None = None
    """Settings of the monitors, if it is a bank of them."""
    features: list[str] | None = None
    alarms: Count = 0
    shared: dict[str, Any] | None = None
    """Evidence for limits that its monitors share, if they do."""


class Commit(NamedTuple):
    """The last commit of a file: everything that counts in it."""

    number: int
    slot: int
    """The slot that leads to it, 0 or 1."""
    place: Place
    """Its record."""
    facts: Facts
    models: dict[Key, Stored]
    chain: list[int]
    """Number of models in each record that it was read from, the last first."""

    @property
    def end(self) -> int:
        """Offset of the first byte that does not count."""
        return self.place.offset + self.place.length


def opened(path: PathLike, flags: int = os.O_RDONLY) -> int:
    """Open a bank's file, which has to be a regular file: others may hang, or act when they are opened."""
    files.require_regular(path)
    # Somebody may have put another file there meanwhile: never wait for one.
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        files.require_regular(path, handle)
    except BaseException:
        os.close(handle)
        raise
    return handle


def is_bank(path: PathLike) -> bool:
    """True if this is the file of a bank of models, by its first bytes."""
    try:
        handle = opened(path)
    except ValueError:
        return False
    try:
        return os.pread(handle, len(MAGIC), 0) == MAGIC
    finally:
        os.close(handle)


def head() -> bytes:
    """The first bytes of a file without commits."""
    return (MAGIC + VERSION.to_bytes(4, "little")).ljust(START, b"\0")


def slot_bytes(number: int, place: Place) -> bytes:
    """The content of a slot."""
    packed = SLOT.pack(number, place.offset, place.length, bytes.fromhex(place.checksum))
    return packed + hashlib.sha256(packed).digest()


def slots(handle: int) -> tuple[bytes, bytes]:
    """Both slots as they are."""
    return os.pread(handle, SLOT_SIZE, PAGE), os.pread(handle, SLOT_SIZE, 2 * PAGE)


def read_commit(handle: int, name: str) -> Commit:
    """Read the last commit of an open file, every number of it checked; ``name`` is for messages.

    Raises
    ------
    ValueError
        If the file is something else, damaged, or of another format version.
    """
    _refuse_other_format(handle, name)
    _refuse_holes(handle, name)
    number, slot, place = _last_commit(handle, name)
    size, models, chain = os.fstat(handle).st_size, dict[Key, Stored](), list[int]()
    facts, following = None, size
    before: Place | None = place
    while before is not None:
        if before.offset + before.length > following or len(chain) == CHAIN:
            damaged(name, f"its record {len(chain)} is out of place")
        record = _read_record(handle, before, name)
        facts = facts or _read_facts(record.facts, name)
        for stored in record.models:
            if stored.offset + stored.length > before.offset:
                damaged(name, f"its model with the key {stored.key!r} is out of place")
            models.setdefault(stored.key, stored)  # the last record that names it counts
        chain.append(len(record.models))
        following, before = before.offset, record.before
    assert facts is not None
    _refuse_nonsense(facts, models, size, name)
    return Commit(number, slot, place, facts, models, chain)


def read_state(handle: int, stored: Stored, name: str) -> bytes:
    """The state of a model, checked against its checksum."""
    state = os.pread(handle, stored.length, stored.offset)
    if zlib.crc32(state) != stored.checksum or len(state) != stored.length:
        damaged(name, f"the model with the key {stored.key!r} has changed")
    return state


def damaged(name: str, why: object) -> NoReturn:
    """Raise the error of a file that cannot be used."""
    raise ValueError(
        f"{name!r} is a damaged bank of models: {why}; take a copy of it, or learn it again from its source"
    ) from None


def _refuse_other_format(handle: int, name: str) -> None:
    start = os.pread(handle, len(MAGIC) + 4, 0)
    if not start.startswith(MAGIC) or len(start) < len(MAGIC) + 4:
        raise ValueError(f"{name!r} is not a bank of models: name another file")
    version = int.from_bytes(start[len(MAGIC) :], "little")
    if version != VERSION:
        raise ValueError(
            f"{name!r} has format version {version}, this eigenstream reads version {VERSION}: use the "
            "version of eigenstream that wrote it, or learn it again from its source"
        )


def _refuse_holes(handle: int, name: str) -> None:
    """Raise if most of a large file is holes: it may claim any size, and is small on the disk."""
    size, held, place = os.fstat(handle).st_size, 0, 0
    while SPARSEST * held + SMALL < size:
        try:
            place = os.lseek(handle, place, os.SEEK_DATA)
        except OSError:  # there is no more
            damaged(name, f"it claims {size:,} bytes and has {held:,}")
        end = os.lseek(handle, place, os.SEEK_HOLE)
        held, place = held + end - place, end


def _last_commit(handle: int, name: str) -> tuple[int, int, Place]:
    """Number, slot and place of the record of the last commit."""
    for _ in range(3):  # a slot that is not whole may just be written
        found = [(read, i) for i, read in enumerate(slots(handle)) if _is_whole(read)]
        if len(found) == 2:
            break
    commits = []
    for read, slot in found:
        number, offset, length, checksum = SLOT.unpack(read[: SLOT.size])
        if 1 <= number < 2**62 and START <= offset < 2**62 and 1 <= length <= LARGEST_RECORD:
            commits.append((number, slot, Place(offset, length, checksum.hex())))
    if not commits:
        damaged(name, "it has no commit")
    return max(commits, key=lambda commit: commit[0])


def _is_whole(slot: bytes) -> bool:
    return len(slot) == SLOT_SIZE and hashlib.sha256(slot[: SLOT.size]).digest() == slot[SLOT.size :]


def _read_record(handle: int, place: Place, name: str) -> WrittenCommit:
    written = os.pread(handle, place.length, place.offset)
    if hashlib.sha256(written).hexdigest() != place.checksum:
        damaged(name, f"its record at byte {place.offset:,} has changed")
    try:
        return msgspec.json.decode(written, type=WrittenCommit)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        damaged(name, error)


def _read_facts(text: str, name: str) -> Facts:
    try:
        return msgspec.convert(json.loads(text), Facts)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        damaged(name, error)


def _refuse_nonsense(facts: Facts, models: dict[Key, Stored], size: int, name: str) -> None:
    """Raise if facts and models cannot belong together, or to a file of this size."""
    if sum(stored.length for stored in models.values()) > size:
        damaged(name, "its models are larger than the file")  # each has a place of its own
    lags = (facts.parameters or {}).get("lags", 0)
    inputs = (facts.width or 0) * (lags + 1 if type(lags) is int and lags >= 0 else 1)
    if inputs > min((stored.length for stored in models.values()), default=size):
        damaged(name, f"its models are too small for {inputs:,} inputs")  # of which each needs a byte
    for stored in models.values():
        if stored.rank > inputs:
            damaged(name, f"the key {stored.key!r} has rank {stored.rank} of {inputs} inputs")
        if stored.samples > facts.samples or stored.used > facts.calls:
            damaged(name, f"the key {stored.key!r} was used more often than the bank")
