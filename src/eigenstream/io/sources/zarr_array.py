"""Reader of Zarr arrays."""

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
"""Most bytes of a chunk: Zarr decodes chunks as a whole."""
LARGEST_BAND = 1 << 23
"""Most numbers of a row of chunks that is kept after decoding: 64 MiB of float64."""


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
            chunk, chunk_rows = math.prod(shape_of_chunk) * dtype.itemsize, int(shape_of_chunk[0])
        except Exception as error:  # a damaged store raises whatever its parts raise
            raise SourceError(f"{path} is not a readable Zarr array: {error}") from None
        if len(shape) != 2 or 0 in shape:
            raise SourceError(f"{path}: expected an array of rows and columns, got shape {shape}")
        super().__init__(str(path), shape, dtype, options)
        if chunk > LARGEST_CHUNK:
            raise SourceError(
                f"{path}: its chunks have {chunk:,} bytes; rechunk it to at most {LARGEST_CHUNK:,}"
            )
        self.band_rows = chunk_rows if chunk_rows * self.full <= LARGEST_BAND else None
        """Rows per chunk. One row of chunks, a band, is kept, so that batches smaller than a chunk decode it
        only once; None if a band is too large to keep."""
        self._band: tuple[int, NDArray[Any]] = (-1, np.zeros((0, 0)))
        """First row of the band that is kept, and its rows."""

    def fetch(self, start: int, stop: int) -> NDArray[Any]:
        if self.band_rows is None:
            return self._decoded(start, stop)
        parts = []
        for first in range(start - start % self.band_rows, stop, self.band_rows):
            band = self._band  # read once: another thread may ask for other rows at the same time
            if band[0] != first:
                band = self._band = (first, self._decoded(first, min(first + self.band_rows, self.total)))
            parts.append(band[1][max(start - first, 0) : stop - first])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _decoded(self, start: int, stop: int) -> NDArray[Any]:
        try:
            return np.asarray(self.array[start:stop])
        except Exception as error:  # as above
            raise SourceError(f"{self.name}, rows {start} to {stop}: cannot be read: {error}") from None
