"""Results kept from run to run, each under a hash of all that it depends on."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...io import files

PACKAGE = Path(__file__).parents[2]
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
"""Libraries whose versions may change a number."""


def default_folder() -> Path:
    """The user's cache directory, as the XDG specification places it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eigenstream"


def key(*parts: Any) -> str:
    """Hash of values, all of which JSON can hold."""
    return _hash(json.dumps(parts))


@cache
def basis(folders: tuple[Path, ...] = (PACKAGE,)) -> str:
    """Hash of the Python files in the folders and of the libraries' versions: another one recomputes all.

    Whole packages count, not what an item imports of them: finding that out would take more code than it
    would save time, since a full run takes minutes.
    """
    sources = [(folder, path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    texts = (f"{path.relative_to(folder)}\n{path.read_text(encoding='utf-8')}" for folder, path in sources)
    return key(*texts, *map(version, LIBRARIES))


def keep(path: Path, text: str) -> None:
    """Replace the file: it holds the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, f"{_hash(text)}\n{text}".encode())


def recall(path: Path) -> str | None:
    """Return the text that `keep` wrote there; None if it is missing or damaged."""
    try:
        checksum, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if checksum == _hash(text) else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
