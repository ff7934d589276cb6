"""Options of a source, translated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from .options import KEEP_OPTIONS

if TYPE_CHECKING:
    from ..io.sources import ReadOptions, Source


def reading(options: dict[str, Any]) -> ReadOptions:
    """The options that say how to read a source: those of `ReadOptions`, by the same names."""
    from ..io.sources.options import STORED, ReadOptions

    given = {name: options[name] for name in STORED if name in options}
    kept = {name: options[name] or None for name in KEEP_OPTIONS if name in options}  # '' keeps none
    return ReadOptions(**given | kept | {"rows": options["rows"] or (0, None)})


def require_input(source: str | list[str] | None) -> None:
    """Raise an error if standard input is asked for and closed."""
    if source == "-" and sys.stdin is None:
        raise click.UsageError("standard input is closed: name a file, or pipe something in")


def open_source(source: str | list[str], options: dict[str, Any], **more: Any) -> Source:
    """The source that these options describe."""
    from ..io import sources

    require_input(source)
    return sources.open(source, reading(options), **more)
