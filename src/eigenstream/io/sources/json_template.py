"""Parse JSON lines that are written alike: the same text around the numbers, as a program writes them.

The text before each number is compared with that of the first line; the rest must be numbers as JSON has
them. All other lines are left to a parser, which reads objects of numbers half as fast or slower.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .cells import LINE_FEED, cast_cells

COMMA, MINUS, DOT, ZERO, NINE = b",-.09"
WORD = 8
"""Bytes compared at once: those of a 64-bit integer."""
CELL = re.compile(rb'([\[{]?\s*(?:"[^"\\]*"\s*:\s*)?)(?:-?\d[\d.eE+-]*|null|NaN)(\s*[\]}]?)')


class Template:
    """Text before each number, and after the last."""

    def __init__(self, before: list[bytes], after: bytes) -> None:
        self.width = len(before)
        self.after = after
        self.lengths = np.array([len(text) for text in before])
        checks = [
            (column, at, text[at : at + WORD].ljust(WORD, b"\0"), min(WORD, len(text) - at))
            for column, text in enumerate(before)
            for at in range(0, len(text), WORD)
        ]
        self._columns = np.array([check[0] for check in checks], dtype=np.int64)
        self._at = np.array([check[1] for check in checks], dtype=np.int64)
        self._words = np.frombuffer(b"".join(check[2] for check in checks), dtype="<u8")
        self._masks = np.array([(1 << 8 * check[3]) - 1 for check in checks], dtype=np.uint64)

    @classmethod
    def of(cls, line: bytes, width: int) -> Template | None:
        """Return the template of the first line; None if it cannot be cut at its commas."""
        found = [CELL.fullmatch(cell) for cell in line.strip().split(b",")]
        parts = [match.groups() for match in found if match]
        if len(parts) != width or len(found) != width or any(after for _, after in parts[:-1]):
            return None
        before = [text for text, _ in parts]
        return None if b"." in b"".join(before) else cls(before, parts[-1][1])

    def parsed(self, data: bytes, count: int, chosen: Sequence[int]) -> NDArray[np.float64] | None:
        """Parse ``count`` lines with their line feeds; None if one is written otherwise."""
        array = np.frombuffer(data + bytes(WORD), dtype=np.uint8)
        is_end = array == COMMA
        is_end |= array == LINE_FEED
        ends = np.flatnonzero(is_end)
        if len(ends) != count * self.width:
            return None
        if not (array[ends[self.width - 1 :: self.width]] == LINE_FEED).all():
            return None
        starts = np.zeros_like(ends)
        np.add(ends[:-1], 1, out=starts[1:])
        if not self._fits(array, starts.reshape(count, self.width), ends):
            return None
        starts = (starts.reshape(count, self.width) + self.lengths).ravel()
        ends[self.width - 1 :: self.width] -= len(self.after)
        if not _are_numbers(array, starts, ends):
            return None
        # All columns: a line is no JSON if a value that nobody reads is none.
        rows = cast_cells(data, starts, ends, count, self.width, range(self.width), ())
        if rows is None or np.isinf(rows).any():
            return None
        return rows if isinstance(chosen, range) else np.ascontiguousarray(rows[:, chosen])

    def _fits(self, array: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> bool:
        """Return True if the text around the numbers is that of the first line."""
        words = np.ndarray((len(array) - WORD + 1,), "<u8", array, strides=(1,))
        seen = words[np.minimum(starts[:, self._columns] + self._at, len(words) - 1)]
        if ((seen & self._masks) != self._words).any():
            return False
        last = ends[self.width - 1 :: self.width]
        return all(
            bool((array[last - len(self.after) + i] == byte).all()) for i, byte in enumerate(self.after)
        )


def _are_numbers(array: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> bool:
    """Return True if all cells begin as numbers do in JSON and have digits behind a point."""
    if (starts >= ends).any():
        return False
    digits = starts + (array[starts] == MINUS)
    first, second = array[digits], array[digits + 1]
    if not _are_digits(first).all() or ((first == ZERO) & _are_digits(second)).any():
        return False
    points = np.flatnonzero(array == DOT)
    return bool(_are_digits(array[points + 1]).all())


def _are_digits(characters: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return (characters >= ZERO) & (characters <= NINE)
