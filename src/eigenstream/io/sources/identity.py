"""Which source this is: by what it is recognised once it has been learnt, whatever its name is then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .lines import PRINT, fingerprint

if TYPE_CHECKING:
    from .batch import Reader

Identity = dict[str, Any]
"""A name and, of a file, its length and a hash of both its ends; of others, the place where reading ended."""


def identities(reader: Reader) -> list[Identity]:
    """What has been read, after the last row: one for each file."""
    found = [_file(*read) for read in reader.files_read()]
    if found or reader.row == 0 or not reader.lasts:
        return found
    return [{"name": reader.name, "place": reader.place()()}]


def learnt_files(reader: Reader, learnt: list[Identity]) -> dict[Path, Identity]:
    """Files of this source that begin with what was learnt before, and what that was."""
    known = [one for one in learnt if "bytes" in one]
    pairs = ((path, next((one for one in known if _begins_as(path, one)), None)) for path in reader.files)
    return {path: one for path, one in pairs if one is not None}


def learnt_place(reader: Reader, learnt: list[Identity]) -> Identity | None:
    """What was learnt before of a source that is no file; its reader stays at its beginning."""
    for one in learnt:
        if "place" in one and one["name"] == reader.name and reader.lasts:
            beginning = reader.place()()
            try:
                reader.go_to(one["place"])
            except Exception:  # whatever it is, it is not the place that was learnt
                continue
            reader.go_to(beginning)
            return one
    return None


def _file(path: Path, size: int, has_rows: bool) -> Identity:
    return {"name": str(path), "bytes": size, "sha256": _ends(path, size), "has_rows": has_rows}


def _begins_as(path: Path, one: Identity) -> bool:
    """Whether the file is the one that was learnt; it may have grown, unless only its head had been there."""
    size, now = one["bytes"], path.stat().st_size
    fits = now >= size if one.get("has_rows", True) else now == size
    return bool(fits and _ends(path, size) == one["sha256"])


def _ends(path: Path, size: int) -> str:
    """A hash of the first bytes, and of the last of so many."""
    some = min(PRINT, size)
    with path.open("rb") as file:
        head = file.read(some)
        file.seek(size - some)
        return fingerprint(head, file.read(some))
