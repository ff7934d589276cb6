"""Rows that were read and wait for those behind them before they are handed out; a position stores them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from operator import index
from typing import Any, NamedTuple

import numpy as np

from .batch import Chunk, joined, texts_of
from .times import LARGEST_TIME

MOST = 64
"""Most rows that a position may hold without keys: the order of times holds back some ten at most."""


class WaitingRows(NamedTuple):
    """Rows that wait."""

    ready: Chunk | None = None
    """Rows in order, which wait for the next batch."""
    held: Chunk | None = None
    """Rows behind them, whose order is not decided yet."""
    where: list[str] = []  # noqa: RUF012 - never changed
    """Place of each row of `held`, for messages."""

    def document(self) -> dict[str, Any]:
        """Return the rows as plain values, exact to the bit."""
        parts = [part for part in (self.ready, self.held) if part is not None]
        if not parts:
            return {}
        rows, numbers, _, texts, times = joined(parts)
        return {
            "type": rows.dtype.str,
            "rows": b64encode(np.ascontiguousarray(rows).tobytes()).decode(),
            "numbers": numbers.tolist(),
            "texts": [] if texts is None else texts.tolist(),
            "times": [] if times is None else times.tolist(),
            "where": self.where,
        }

    @classmethod
    def from_document(cls, document: Any, width: int, kept: int, *, keyed: bool = False) -> WaitingRows:
        """Return what `document` wrote; ValueError, TypeError or KeyError if it is anything else.

        With ``keyed``, rows of each key may wait, however many keys there are.
        """
        if document == {}:
            return cls()
        numbers = np.array([index(number) for number in document["numbers"]], dtype=np.int64)
        where, count = [str(one) for one in document["where"]], len(numbers)
        texts = [[str(word) for word in row] for row in document["texts"]]
        times = np.array(document["times"], dtype=np.float64)
        if document["type"] not in ("<f4", "<f8"):
            raise ValueError(f"rows of type {document['type']!r}")
        rows = np.frombuffer(b64decode(document["rows"], validate=True), dtype=document["type"])
        rows = rows.reshape(count, width)
        wide = [len(row) for row in texts]
        if (count > MOST and not keyed) or len(where) > count or wide != [kept] * count:
            raise ValueError(f"{count} rows that wait, with {len(texts)} texts and {len(where)} places")
        if times.shape != (count,) or not (np.abs(times) <= LARGEST_TIME).all() or np.isinf(rows).any():
            raise ValueError("rows that wait have no times, or values that are not finite")
        chunk, ready = Chunk(rows, numbers, [], texts_of(texts, kept), times), count - len(where)
        held = chunk.only(slice(ready, None)) if where else None
        return cls(chunk.only(slice(ready)) if ready else None, held, where)
