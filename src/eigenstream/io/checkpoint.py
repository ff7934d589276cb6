"""Named arrays and a small JSON document in one file, written all or not at all.

The format is safetensors: a header that is checked against the file, then raw numbers. Nothing in it is ever
executed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as deserialized

from . import files

FORMAT = "eigenstream"
BANK = b"eigenstream fleet\0"
"""First bytes of a bank of models, a file of another kind (`eigenstream.keyed.bank_file`)."""
VERSION = 1
"""Number of the format; docs/compatibility.md says when it changes."""
TYPES = {np.dtype(kind): name for kind, name in ((np.int64, "I64"), (np.float64, "F64"), (np.float32, "F32"))}
TYPES |= {np.dtype(np.int32): "I32", np.dtype(np.bool_): "BOOL"}
"""Types of arrays in a file, in the order in which safetensors puts them, and their names there."""
ORDER = {kind: i for i, kind in enumerate(TYPES)}
NAMES = {kind: str(kind) for kind in TYPES}
"""Names of types in checksums. NumPy takes 6 µs to find one, and a monitor has fifty arrays."""
UNREADABLE = (
    *(SafetensorError, json.JSONDecodeError, UnicodeError, RecursionError),
    *(KeyError, TypeError, AttributeError),
)
"""Errors of reading a file that is damaged, or something else."""


def write(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any]
) -> None:
    """Replace the file at ``path``: it holds the old content or the new, never a part.

    A file that holds an address of a server is for its owner alone.
    """
    files.replace(path, packed(arrays, document), private=holds_address(document))


def holds_address(document: Any) -> bool:
    """Return True if a value somewhere in the document is an address."""
    if isinstance(document, Mapping):
        return any(map(holds_address, document.values()))
    if isinstance(document, list | tuple):
        return any(map(holds_address, document))
    return files.is_address(document)


def packed(arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any]) -> bytes:
    """Return the content of a file with these arrays and this document."""
    text = json.dumps(document)
    plain = {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}
    content = {name: array.tobytes() for name, array in plain.items()}
    header = {"version": VERSION, "document": text, "checksum": _checksum(plain, content, text)}
    return _serialized(plain, content, {FORMAT: json.dumps(header)})


def _serialized(
    arrays: Mapping[str, NDArray[Any]], content: Mapping[str, bytes], metadata: dict[str, str]
) -> bytes:
    """Return the bytes that ``safetensors.numpy.save`` writes, in a fifth of its time; names are sorted."""
    names = sorted(arrays, key=lambda name: ORDER[arrays[name].dtype])
    entries, offset = [f'"__metadata__":{json.dumps(metadata, separators=(",", ":"))}'], 0
    for name in names:  # text by hand: names are ours and need no escaping, and json takes as long as SHA-256
        array, start = arrays[name], offset
        offset += array.nbytes
        shape = ",".join(map(str, array.shape))
        entries.append(
            f'"{name}":{{"dtype":"{TYPES[array.dtype]}","shape":[{shape}],"data_offsets":[{start},{offset}]}}'
        )
    header = f"{{{','.join(entries)}}}".encode()
    header += b" " * (-len(header) % 8)
    return b"".join((len(header).to_bytes(8, "little"), header, *map(content.__getitem__, names)))


def read(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the document of a file that `write` wrote.

    Raises
    ------
    ValueError
        If the file is something else, damaged, or of another format version.
    """
    files.require_regular(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no model file {os.fspath(path)!r}")
    return unpacked(files.content(path), os.fspath(path))


def unpacked(content: bytes, name: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the document that `packed` was given; messages call the file ``name``."""
    if content.startswith(BANK):
        raise ValueError(
            f"{name!r} is a bank of models, one per key, where one model was expected: choose one of them by "
            "its key, or open the bank with eigenstream.keyed.open_bank"
        )
    try:
        arrays = dict(deserialized(content))
        size = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + size]).get("__metadata__", {})
        if FORMAT not in metadata:
            raise ValueError(f"{name!r} is not an eigenstream model")
        header = json.loads(metadata[FORMAT])
        version = index(header["version"])
        if version != VERSION:
            raise ValueError(
                f"{name!r} has format version {version}, this eigenstream reads version {VERSION}: use the "
                "version of eigenstream that wrote it, or learn the model again from its source"
            )
        arrays = {name: arrays[name] for name in sorted(arrays)}
        numbers = {name: array.tobytes() for name, array in arrays.items()}
        if _checksum(arrays, numbers, header["document"]) != header["checksum"]:
            raise ValueError(f"{name!r} is a damaged eigenstream model: its checksum is wrong")
        return arrays, json.loads(header["document"])
    except UNREADABLE as error:
        what = "" if isinstance(error, SafetensorError) else f": {error}"
        raise ValueError(
            f"{name!r} is not a readable eigenstream model{what}; expected a file "
            "that eigenstream run or a model's save wrote"
        ) from None


def _checksum(arrays: Mapping[str, NDArray[Any]], content: Mapping[str, bytes], document: str) -> str:
    """Return a hash of the document and of every name, type, shape and number; names are sorted."""
    parts = [document.encode()]  # joined: sixty calls of the hash would take as long as all of its work
    for name, array in arrays.items():
        parts += (f"{name} {NAMES.get(array.dtype, array.dtype)} {array.shape}".encode(), content[name])
    return hashlib.sha256(b"".join(parts)).hexdigest()
