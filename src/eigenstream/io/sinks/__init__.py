"""Outputs of scores: CSV, JSON lines, NPY, or Parquet parts in a folder; each can be cut back.

`Sink.settle` makes everything written so far durable and returns the place where it ends; a sink opened with
that place removes what was written after it. So an interrupted job continues as if it had not written it.

Opening a sink locks the output and compares it with the place; it cuts nothing. The first `write` or `settle`
does. In between, the caller can ask whether something would be lost (`Sink.excess`) and `close` without harm.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ..files import require_regular
from .file import CsvSink, File, Jsonl, NpySink
from .parquet import ParquetSink, require_arrow
from .sink import Layout as Layout
from .sink import Place
from .sink import Sink as Sink
from .sink import SinkError as SinkError

__all__ = ["Layout", "Sink", "SinkError", "check_output", "open_sink"]


def check_output(path: str, *, keep: bool = False) -> None:
    """Raise `SinkError` if no output (that can ``keep`` text) could be opened there, touching nothing."""
    if keep and _kind(path) is NpySink:
        raise SinkError(
            f"output {path!r} can only hold numbers: for text, such as columns that are kept, write CSV, "
            "JSON lines or Parquet"
        )
    if path == "-":
        if sys.stdout is None:
            raise SinkError("standard output is closed: name a file to write to")
        return
    if _kind(path) is ParquetSink:
        require_arrow(Path(path))
    parent = Path(path).absolute().parent
    if not parent.is_dir():
        raise SinkError(f"output {path!r} cannot be written: there is no folder {str(parent)!r}")
    if _kind(path) is not ParquetSink:
        try:
            require_regular(path)
        except ValueError as error:
            raise SinkError(f"output {error}") from None
    elif Path(path).exists() and not Path(path).is_dir():
        raise SinkError(f"output {path!r} cannot be written: what is there is not a folder")


def open_sink(path: str, layout: Layout, place: Place | None = None) -> Sink:
    """Open a sink for rows of scores; its kind follows from the name, ``-`` is CSV on standard output.

    Parameters
    ----------
    path
        NAME.csv, NAME.jsonl, NAME.npy or NAME.parquet (a folder).
    layout
        What a row holds.
    place
        Place to continue from, as `Sink.settle` returned it; None starts a new output.

    Raises
    ------
    SinkError
        If it cannot be written, another process writes to it, or it does not hold what ``place`` says.
    """
    kind = _kind(path)
    if place is not None:
        _check_place(path, place, "part" if kind is ParquetSink else "rows")
    return CsvSink(None, layout, place) if path == "-" else kind(Path(path), layout, place)


KINDS: dict[str, type[File] | type[ParquetSink]] = {
    ".csv": CsvSink,
    ".jsonl": Jsonl,
    ".ndjson": Jsonl,
    ".npy": NpySink,
    ".parquet": ParquetSink,
}
"""Sinks by the suffix of the name."""


def _kind(path: str) -> type[File] | type[ParquetSink]:
    kind = CsvSink if path == "-" else KINDS.get(Path(path).suffix.lower())
    if kind is None:
        raise SinkError(f"output {path!r} must end in .csv, .jsonl, .npy or .parquet")
    return kind


def _check_place(path: str, place: Any, count: str) -> None:
    """Raise if `Sink.settle` cannot have returned this place."""
    counts = (count, "bytes")
    if not (
        isinstance(place, dict)
        and set(place) == {*counts, "sha256"}
        and all(type(place[name]) is int and 0 <= place[name] < 2**63 for name in counts)
        and isinstance(place["sha256"], str)
    ):
        raise SinkError(
            f"output {path!r}: {place!r} is not a place in such a file; start afresh without resuming"
        )
