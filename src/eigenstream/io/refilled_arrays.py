"""Copies of NPY and NPZ files and Zarr arrays with some cells replaced; everything else stays as it is."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .refilled_tables import Cells


def write_matrix(path: Path, file: IO[bytes], columns: Sequence[int], cells: Cells) -> None:
    """Write an NPY file with its gaps filled.

    Parameters
    ----------
    path, file
        The file that was read, and the copy.
    columns
        Number in the file of each column that was read; none: all were.
    cells
        Gaps to fill, rows counted from 0.
    """
    matrix = np.load(path)
    _put(matrix, 0, columns, cells)
    np.save(file, matrix)


def write_archive(path: Path, file: IO[bytes], member: str, columns: Sequence[int], cells: Cells) -> None:
    """Write an NPZ file with the gaps of one of its arrays filled; the others are copied.

    Parameters
    ----------
    path, file, columns, cells
        As of `write_matrix`.
    member
        Name of the array.
    """
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(file, "w") as copy:
        for info in archive.infolist():
            kept = zipfile.ZipInfo(info.filename, info.date_time)
            kept.compress_type, kept.external_attr = info.compress_type, info.external_attr
            with archive.open(info) as content, copy.open(kept, "w", force_zip64=True) as written:
                if info.filename == f"{member}.npy":
                    matrix = np.lib.format.read_array(content, allow_pickle=False)
                    _put(matrix, 0, columns, cells)
                    np.lib.format.write_array(written, matrix, allow_pickle=False)
                else:
                    shutil.copyfileobj(content, written)


def write_zarr(path: Path, folder: Path, columns: Sequence[int], cells: Cells) -> None:
    """Write a Zarr array with its gaps filled into an empty folder; chunks without gaps are copied.

    Parameters
    ----------
    path, folder
        The array that was read, and the folder of its copy.
    columns, cells
        As of `write_matrix`.
    """
    import zarr

    shutil.copytree(path, folder, dirs_exist_ok=True)
    array: Any = zarr.open_array(str(folder), mode="r+")
    # A chunk is decoded and written as a whole: once, not once for each of its gaps.
    height = int((getattr(array, "shards", None) or array.chunks)[0])
    bands: dict[int, dict[int, Any]] = {}
    for row, gaps in cells.items():
        bands.setdefault(row - row % height, {})[row] = gaps
    for first, gaps in sorted(bands.items()):
        rows = np.array(array[first : first + height])
        _put(rows, first, columns, gaps)
        array[first : first + height] = rows


def _put(matrix: NDArray[Any], first: int, columns: Sequence[int], cells: Cells) -> None:
    """Put values into the rows of a matrix that begins with row ``first``; whole numbers stay whole."""
    whole = matrix.dtype.kind in "iu"
    for row, gaps in cells.items():
        for i, cell in gaps.items():
            matrix[row - first, columns[i] if columns else i] = np.rint(cell.value) if whole else cell.value
