"""Results kept from run to run, each under a hash of all that it depends on."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import files
from .item import Item, Table

PACKAGE = Path(__file__).parent.parent
ADAPTERS = {"cli", "live", "running", "integrations", "sources", "sinks", "sinks.py", "files.py"}
PICTURES = {"plotting.py", "colors.py"}
APART = ADAPTERS | PICTURES | {"paper"}
"""What of the package no simulation depends on. Of `paper`, the modules that the item imports count."""
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
"""Whose versions may change a number."""


def default_folder() -> Path:
    """The user's cache directory, as the XDG specification places it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eigenstream"


def key(item: Item, case: Any) -> str:
    """A hash of the case, of the source that simulates it, and of the libraries underneath."""
    return _hash(json.dumps([repr(case), *_basis(item)]))


def figure_key(item: Item, settings: Any, tables: Sequence[Table]) -> str:
    """A hash of what is drawn, and of all that draws it."""
    style = _content(frozenset(PACKAGE / name for name in PICTURES if (PACKAGE / name).exists()))
    return _hash(json.dumps([repr(settings), tables, *_basis(item), style, version("matplotlib")]))


def keep(path: Path, text: str) -> None:
    """Replace the file: it holds the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, f"{_hash(text)}\n{text}".encode())


def recall(path: Path) -> str | None:
    """What `keep` wrote there; nothing if it is missing or damaged."""
    try:
        checksum, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if checksum == _hash(text) else None


def _basis(item: Item) -> list[str]:
    source = _content(imported_beside(Path(inspect.getfile(item.simulate))))
    return [item.NAME, source, _below(), *map(version, LIBRARIES)]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _below() -> str:
    """A hash of the layers below the paper."""
    modules = PACKAGE.rglob("*.py")
    return _content(frozenset(path for path in modules if path.relative_to(PACKAGE).parts[0] not in APART))


@cache
def _content(paths: frozenset[Path]) -> str:
    return _hash("".join(f"{path.name}\n{path.read_text(encoding='utf-8')}\n" for path in sorted(paths)))


@cache
def imported_beside(module: Path) -> frozenset[Path]:
    """The module and those of its own package that it imports, and so on."""
    found, waiting = set[Path](), [module]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found.add(path)
            waiting += [path.with_name(f"{name}.py") for name in _siblings(path)]
    return frozenset(found)


def _siblings(module: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names += [node.module] if node.module else [alias.name for alias in node.names]
    return names
