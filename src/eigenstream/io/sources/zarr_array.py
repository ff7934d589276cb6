"""Rows of Zarr arrays."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import RowReader
from .batch import SourceError
from .options import ReadOptions

LARGEST_CHUNK = 1 << 30
LARGEST_SLAB = 1 << 23
"""Numbers in rows that are kept."""


class Zarr(RowReader):
    """A two-dimensional Zarr array."""

    kind = "zarr"

    def __init__(self, path: Path, options: ReadOptions) -> None:
        try:
            import zarr
        except ImportError:
            raise SourceError(f"{path}: to read Zarr, pip install 'eigenstream[zarr]'") from None
        try:
            self.array: Any = zarr.open_array(str(path), mode="r")
            shape, dtype = tuple(self.array.shape), np.dtype(self.array.dtype)
            shape_of_chunk = getattr(self.array, "shards", None) or self.array.chunks
            chunk, tall = math.prod(shape_of_chunk) * dtype.itemsize, int(shape_of_chunk[0])
        except Exception as error:  # a damaged store raises whatever its parts raise
            raise SourceError(f"{path} is not a readable Zarr array: {error}") from None
        if len(shape) != 2 or 0 in shape:
            raise SourceError(f"{path}: expected an array of rows and columns, got shape {shape}")
        super().__init__(str(path), shape, dtype, options)
        if chunk > LARGEST_CHUNK:
            raise SourceError(
                f"{path}: its chunks have {chunk:,} bytes; rechunk it to at most {LARGEST_CHUNK:,}"
            )

        self.tall = tall if tall * self.full <= LARGEST_SLAB else 1
        """Rows that are decoded at once and kept until others are asked for: a chunk is decoded only once."""
        self._slab: tuple[int, NDArray[Any]] = (-1, np.zeros((0, 0)))

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        if self.tall == 1:
            return self._decoded(start, stop)
        parts = []
        for low in range(start - start % self.tall, stop, self.tall):
            slab = self._slab  # taken once: somebody else may be asking for other rows at the same time
            if slab[0] != low:
                slab = self._slab = (low, self._decoded(low, min(low + self.tall, self.total)))
            parts.append(slab[1][max(start - low, 0) : stop - low])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _decoded(self, start: int, stop: int) -> NDArray[Any]:
        try:
            return np.asarray(self.array[start:stop])
        except Exception as error:  # as above
            raise SourceError(f"{self.name}, rows {start} to {stop}: cannot be read: {error}") from None
