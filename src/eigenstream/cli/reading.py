"""Options of a source, translated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from .options import KEEP_OPTIONS, SOURCE_OPTIONS

if TYPE_CHECKING:
    from ..io.sources import Source


def reading(options: dict[str, Any]) -> dict[str, Any]:
    """The options that say how to read a source, as `eigenstream.sources.open` takes them."""
    given = {name: options[name] for name in SOURCE_OPTIONS}
    kept = {name: options[name] or None for name in KEEP_OPTIONS if name in options}  # '' keeps none
    return given | kept | {"rows": options["rows"] or (0, None)}


def require_input(source: str | list[str] | None) -> None:
    """An error if standard input is asked for and closed."""
    if source == "-" and sys.stdin is None:
        raise click.UsageError("standard input is closed: name a file, or pipe something in")


def open_source(source: str | list[str], options: dict[str, Any], **more: Any) -> Source:
    """The source that these options describe."""
    from ..io import sources

    require_input(source)
    return sources.open(source, **reading(options) | more)
