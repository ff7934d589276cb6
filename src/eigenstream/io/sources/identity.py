"""Recognise a source that has been learnt, whatever its name is now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .lines import hash_of_ends

if TYPE_CHECKING:
    from .batch import Reader

Identity = dict[str, Any]
"""A name and, for a file, its length and a hash of both its ends; otherwise the place where reading ended."""


def identities(reader: Reader) -> list[Identity]:
    """Return the identity of each file read, or of the source, after its last row."""
    found = [_file(*read) for read in reader.files_read()]
    if found or reader.row == 0 or not reader.lasts:
        return found
    return [{"name": reader.name, "place": reader.place()()}]


def learnt_files(reader: Reader, learnt: list[Identity]) -> dict[Path, Identity]:
    """Return the files of this source that begin with one learnt before, and its identity."""
    known = [one for one in learnt if "bytes" in one]
    pairs = ((path, next((one for one in known if _begins_as(path, one)), None)) for path in reader.files)
    return {path: one for path, one in pairs if one is not None}


def learnt_place(reader: Reader, learnt: list[Identity]) -> Identity | None:
    """Return the identity of a source without files, if it was learnt before; it stays at its beginning."""
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
    return {"name": str(path), "bytes": size, "sha256": hash_of_ends(path, size), "has_rows": has_rows}


def _begins_as(path: Path, one: Identity) -> bool:
    """Return True if the file is the one learnt; it may have grown, unless it had no rows then."""
    size, now = one["bytes"], path.stat().st_size
    fits = now >= size if one.get("has_rows", True) else now == size
    return bool(fits and hash_of_ends(path, size) == one["sha256"])
