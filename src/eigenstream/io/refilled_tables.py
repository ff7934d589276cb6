"""Copies of Parquet files and spreadsheets with some cells replaced; everything else stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from .refilled import Cell

Cells = Mapping[int, Mapping[int, Cell]]
"""Gaps to fill, by row and by the number of the column among those that are read."""


def write_table(
    path: Path, file: IO[bytes], names: Sequence[str], cells: Cells, *, flag: bool, std: bool
) -> None:
    """Write a Parquet file with its gaps filled; columns keep their types, and whole numbers stay whole.

    Parameters
    ----------
    path
        The file that was read.
    file
        The copy.
    names
        Names of the columns that were read.
    cells
        Gaps to fill, rows counted from 0.
    flag, std
        True adds a column with the names of filled columns, and one with the deviation of each.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    for i, name in enumerate(names):
        rows = [row for row, gaps in cells.items() if i in gaps]
        if not rows:
            continue
        place = table.schema.get_field_index(name)
        column = table.column(name).combine_chunks()
        missing = column.is_null().to_numpy(zero_copy_only=False).copy()
        values = pc.fill_null(column, 0).to_numpy(zero_copy_only=False).copy()
        filled = np.array([cells[row][i].value for row in rows])
        values[rows] = filled if values.dtype.kind == "f" else np.rint(filled)
        missing[rows] = False
        table = table.set_column(
            place, table.schema.field(place), pa.array(values, type=column.type, mask=missing)
        )
    for name, column in _more_columns(names, cells, table.num_rows, flag=flag, std=std):
        table = table.append_column(name, pa.array(column))
    pq.write_table(table, file)


def write_sheet(
    path: Path,
    file: IO[bytes],
    sheet: str | None,
    columns: Sequence[int],
    names: Sequence[str],
    cells: Cells,
    *,
    header: int | None,
    flag: bool,
    std: bool,
) -> None:
    """Write an XLSX file with the gaps of one sheet filled; formats and other sheets stay.

    Parameters
    ----------
    path, file, names, flag, std
        As of `write_table`.
    sheet
        Name of the sheet; None for the only one.
    columns
        Numbers of the columns that were read, from 0.
    cells
        Gaps to fill, rows by their number in the sheet, from 1.
    header
        Row of the names of columns; None: there is none.
    """
    import openpyxl

    book = openpyxl.load_workbook(path)
    page = book[sheet] if sheet else book.worksheets[0]
    for row, gaps in cells.items():
        for i, cell in gaps.items():
            page.cell(row, columns[i] + 1).value = cell.value
    last, rows = page.max_column, page.max_row
    by_row = {row - 1: gaps for row, gaps in cells.items()}
    for k, (name, column) in enumerate(_more_columns(names, by_row, rows, flag=flag, std=std), 1):
        for row, value in enumerate(column, 1):
            page.cell(row, last + k).value = name if row == header else value
    book.save(file)


def _more_columns(
    names: Sequence[str], cells: Cells, rows: int, *, flag: bool, std: bool
) -> list[tuple[str, list[Any]]]:
    """Columns with the deviation of each filled value, and with the names of filled columns."""
    found: list[tuple[str, list[Any]]] = []
    if std:
        for i, name in enumerate(names):
            column: list[Any] = [None] * rows
            for row, gaps in cells.items():
                if i in gaps:
                    column[row] = gaps[i].std
            found.append((f"{name}_std", column))
    if flag:
        words = [""] * rows
        for row, gaps in cells.items():
            words[row] = "+".join(names[i] for i in sorted(gaps))
        found.append(("filled", words))
    return found
