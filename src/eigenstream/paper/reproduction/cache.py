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

from ...io import files
from .item import Item, Table

PACKAGE = Path(__file__).parents[2]
ADAPTERS = {"cli", "live", "running", "integrations", "sources", "sinks", "sinks.py", "files.py"}
PICTURES = {"plotting", "palette.py"}
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
    drawing = {PACKAGE / "palette.py", *(PACKAGE / "plotting").glob("*.py")}
    style = _content(frozenset({*drawing, Path(__file__).with_name("output.py")}))
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
    module = Path(inspect.getfile(item.simulate))
    source = _content(imported_within(module, _root(module)))
    return [item.NAME, source, _below(), *map(version, LIBRARIES)]


def _root(module: Path) -> Path:
    """Where an item's own modules lie: in `paper`; an item from elsewhere, beside its outermost package."""
    if module.is_relative_to(PACKAGE):
        return PACKAGE / "paper"
    return next(folder for folder in module.parents if not (folder / "__init__.py").exists())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _below() -> str:
    """A hash of the layers below the paper."""
    modules = PACKAGE.rglob("*.py")
    return _content(frozenset(path for path in modules if path.relative_to(PACKAGE).parts[0] not in APART))


@cache
def _content(paths: frozenset[Path]) -> str:
    return _hash(
        "".join(
            f"{path.parent.name}/{path.name}\n{path.read_text(encoding='utf-8')}\n" for path in sorted(paths)
        )
    )


@cache
def imported_within(module: Path, root: Path) -> frozenset[Path]:
    """The module and all that it imports from the package at root, directly or through one another."""
    found, waiting = set[Path](), [module]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [target for target in _imports(path, root) if target.is_relative_to(root)]
    return frozenset(found)


def _imports(module: Path, root: Path) -> list[Path]:
    """The files that a module's import statements name, relative ones of any depth and absolute ones."""
    found: list[Path] = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = module.parents[node.level - 1]
            found += _named(above.joinpath(*(node.module or "").split(".")), [a.name for a in node.names])
        elif isinstance(node, ast.ImportFrom):
            found += _named(_absolute(node.module or "", root), [a.name for a in node.names])
        elif isinstance(node, ast.Import):
            found += [file for a in node.names for file in _named(_absolute(a.name, root), [])]
    return found


def _absolute(name: str, root: Path) -> Path:
    """Where a module of this name would be: in root, or in one of the packages that root lies in."""
    first = name.split(".")[0]
    inside = root / first
    top = inside if inside.is_dir() else next((p for p in (root, *root.parents) if p.name == first), None)
    return Path(name) if top is None else top.joinpath(*name.split(".")[1:])


def _named(origin: Path, names: Sequence[str]) -> list[Path]:
    """The submodules among the names; the module or package itself if some name is defined in it.

    A package's own ``__init__`` counts only then: `items` imports every item, and none depends on the others.
    """
    submodules = {name: file for name in names if (file := _file(origin / name))}
    own = _file(origin) if len(submodules) < len(names) or not names else None
    return [*submodules.values(), *([own] if own else [])]


def _file(module: Path) -> Path | None:
    return next(
        (file for file in (module.with_name(f"{module.name}.py"), module / "__init__.py") if file.is_file()),
        None,
    )
