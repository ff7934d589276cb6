"""Scores as an NPY file."""

from __future__ import annotations

import io
import os

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .file import File
from .sink import Floats, Place, Texts


class NpySink(File):
    """A matrix of scores."""

    def head(self) -> bytes:
        """Return the head, always of the same length: NumPy leaves room for the number of rows to grow."""
        head = io.BytesIO()
        shape = (self.rows, self.layout.width)
        npy.write_array_header_1_0(
            head,
            {
                "descr": npy.dtype_to_descr(np.dtype(self.layout.dtype)),
                "fortran_order": False,
                "shape": shape,
            },
        )
        return head.getvalue()

    def beginning(self) -> bytes:
        return self.head().partition(b"'shape'")[0]

    def append(self, numbers: NDArray[np.int64], scores: Floats, texts: Texts | None) -> None:
        self.file.append(np.ascontiguousarray(scores, dtype=self.layout.dtype))

    def settle(self, *, final: bool = False) -> Place:
        self._begin()
        os.pwrite(self.file.handle, self.head(), 0)
        return super().settle()
