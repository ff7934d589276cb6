"""Open a source as its options say."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from inspect import Parameter, signature
from typing import Any

from .batch import SourceError
from .options import ReadOptions
from .readers import open_reader
from .source import Source


def open(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
    options: ReadOptions | None = None,
    *,
    position: dict[str, Any] | None = None,
    on_skip: Callable[[str], object] | None = None,
    **reading: Any,
) -> Source:
    """Open a stream of batches.

    Parameters
    ----------
    source
        A CSV or JSON-lines file (gzip too), an NPY or NPZ file, a sparse matrix (Matrix Market, or NPZ of
        ``scipy.sparse.save_npz``), a Parquet file or folder, a Zarr array;
        several files, as a list, a pattern (``"2024-*.csv"``) or a folder, which are read in the order of
        their names; ``"-"`` for lines on standard input; an address of `SCHEMES`; None for a built-in stream
        of 64 inputs whose rank changes twice.
    options
        All options of reading as one value.
    position
        The `Batch.position` to continue from.
    on_skip
        Called with the reason for each row left out.
    **reading
        Single options: the fields of `ReadOptions` by their names, such as ``columns="0:8"``.

    Raises
    ------
    SourceError
        If it cannot be read, or is not what ``position`` was made from. It names file, line and column.
    """
    options = replace(options or ReadOptions(), **reading)
    reader = open_reader(source, options)
    try:
        if options.keeps and not reader.kept:
            raise SourceError(f"{reader.name}: a source of this kind cannot keep columns as text")
        opened = Source(reader, options, on_skip=on_skip)
        if position is not None:
            opened.continue_from(position)
        elif options.rows[0]:
            opened.pass_over(options.rows[0])
    except BaseException:
        reader.close()
        raise
    return opened


def _with_each_option(function: Callable[..., Source]) -> None:
    """List the options by name in the signature, for ``help`` and for editors."""
    shown = signature(function)
    given = [one for one in shown.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    options = [
        Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=option.type)
        for option in fields(ReadOptions)
    ]
    function.__signature__ = shown.replace(parameters=[*given, *options])  # type: ignore[attr-defined]


_with_each_option(open)
