"""Outputs of scores: CSV, JSON lines, NPY, or Parquet parts in a folder; each can be cut back.

`Sink.settle` makes everything written so far durable and returns the place where it ends; a sink opened with
that place removes what was written after it. So an interrupted job continues as if it had not written it.

Opening a sink locks the output and compares it with the place; it cuts nothing. The first `write` or `settle`
does. In between, the caller can ask whether something would be lost (`Sink.excess`) and `close` without harm.
"""

from __future__ import annotations

from .opening import check_output as check_output
from .opening import open_sink as open_sink
from .sink import Layout as Layout
from .sink import Sink as Sink
from .sink import SinkError as SinkError

__all__ = ["Layout", "Sink", "SinkError", "check_output", "open_sink"]
