"""A copy of a source with its gaps filled: everything else in it stays as it is."""

from __future__ import annotations

import codecs
import csv
import io
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..io import sources
from ..io.refilled import Cell, dialect_of, empty_at_end, refilled
from ..io.refilled_arrays import write_archive, write_matrix, write_zarr
from ..io.refilled_tables import write_sheet, write_table
from ..io.sources import Reader, ReadOptions, Source, SourceError
from ..io.sources.csv_lines import CsvParser
from ..io.sources.line_reader import LineReader
from ..io.sources.matrices import Zarr
from ..io.sources.npy import NpyReader, Npz
from ..io.sources.parquet import ParquetReader
from ..keyed import Bank
from ..keyed.bank_file import Key
from ..keyed.keyed_models import factorized, grouped
from ..model import StreamModel
from .fill_outcome import FillOutcome
from .filling_files import Readable, output_file, output_folder, with_all_names

# Rows: a block, from which on a column without values has been learnt as a constant.
LATE = 64
"""A column begins late if that many more rows are missing before its first value than after its last."""

# Rows. After that many nothing is left of what the past of an input says.
LONGEST_PAUSE = 4096
"""Most rows that are taken to be missing between two rows."""

KINDS = {".parquet": "parquet", ".xlsx": "xlsx", ".npy": "npy", ".npz": "npz", ".zarr": "zarr"}
"""Kinds of sources by the endings of files that hold nothing else."""

ALIKE = 0.5
"""Correlation of the errors of two passes in opposite directions: both know the other inputs of the row."""


class Passed(NamedTuple):
    """Rows of one pass, in the order of the source."""

    rows: NDArray[Any]
    std: NDArray[Any]


class Pauses:
    """Rows that are missing between rows with times, where the usual time between two of them is a step."""

    def __init__(self) -> None:
        self._usual, self._last = 0.0, np.nan

    def before(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Number of rows that are missing before each row."""
        passed = np.diff(times, prepend=self._last)
        if not self._usual and (some := passed[passed > 0]).size:
            self._usual = float(np.median(some))
        if len(times):
            self._last = float(times[-1])
        steps = np.nan_to_num(passed) / (self._usual or np.inf)
        return np.asarray(np.clip(np.rint(steps) - 1, 0, LONGEST_PAUSE).astype(np.int64))


class KeyedFillers:
    """A model for the rows of each key, as if they came alone.

    Parameters
    ----------
    new
        Makes the model of a key that has none yet.
    bank
        Models to go on from; they are copied.
    """

    def __init__(self, new: Callable[[], StreamModel], bank: Bank | None = None) -> None:
        self._new, self._bank = new, bank
        self._models: dict[Key, StreamModel] = {}
        self.features: list[str] = []
        self.needs_timestamps = new().needs_timestamps
        self.unknown = 0
        """Keys that the bank, if there is one, has no model of."""

    def of(self, key: Key) -> StreamModel:
        """The model of this key."""
        if key not in self._models:
            known = self._bank is not None and key in self._bank
            self.unknown += self._bank is not None and not known
            self._models[key] = self._bank.model(key) if known and self._bank is not None else self._new()
        return self._models[key]


def passed(
    model: StreamModel | KeyedFillers,
    rows: NDArray[Any],
    times: NDArray[np.float64] | None,
    keys: list[str] | None,
    fill_by: Callable[[StreamModel, NDArray[Any], NDArray[np.float64] | None], Passed],
) -> Passed:
    """Rows filled by the model, or each by the model of its key."""
    if isinstance(model, StreamModel):
        return fill_by(model, rows, times)
    assert keys is not None
    filled, std = np.array(rows, dtype=np.float64), np.full(rows.shape, np.nan)
    for key, own in grouped(*factorized(keys)).items():
        filled[own], std[own] = fill_by(model.of(key), rows[own], None if times is None else times[own])
    return Passed(filled, std)


def _learnt(
    model: StreamModel, rows: NDArray[Any], times: NDArray[np.float64] | None, pauses: Pauses
) -> Passed:
    """Rows filled by those before them. Where the model takes no times, they say which rows are missing."""
    if times is None or model.needs_timestamps:
        return Passed(*model.learn_and_impute(rows, times))
    lacking = pauses.before(times)
    ends = [0, *(np.flatnonzero(lacking[1:]) + 1).tolist(), len(rows)]
    parts = []
    for a, b in pairwise(ends):
        model.pause(int(lacking[a]))
        parts.append(model.learn_and_impute(rows[a:b]))
    filled, std = zip(*parts, strict=True)
    return Passed(np.vstack(filled), np.vstack(std))


def fill(
    source: Readable,
    output: str,
    model: StreamModel | KeyedFillers,
    *,
    flag: str | None = None,
    std: bool = False,
    ahead: bool = False,
    keep: bool = False,
) -> tuple[FillOutcome, Source]:
    """Write a copy of a source with its gaps filled; the output appears as a whole, or not at all.

    Parameters
    ----------
    source
        A source at hand, as `readable` makes it.
    output
        The copy, a folder for a Zarr array; ``"-"``: standard output.
    model
        A model that fills gaps and learns; as of its last row it goes on. `KeyedFillers` with a ``key`` in
        the options of reading.
    flag
        Says which values were filled: ``""`` in one more column, else in a CSV file of this name.
    std
        True writes the standard deviation of each filled value into more columns.
    ahead
        True lets gaps know what comes after them: passes back and forth over all rows, which are held in
        memory.
    keep
        True leaves an output that exists as it is if it would be written once more, byte by byte, as after a
        command that was killed later on; any other one is refused.
    """
    with source.told_by_its_name(), source.text() as (path, how, wide):
        if model.features and how.columns is None and how.names is None:
            how = replace(how, names=model.features)
        with with_all_names(path, how) as read, sources.open(str(read), how, allow_nan=True) as opened:
            if source.spooled:
                opened.name = opened.reader.name = source.name
            reader, lines = opened.reader, dict[int, int]()
            _refuse_other_kinds(reader, opened.name, more=std or flag == "")
            _refuse_names_of_other_kinds(reader, output)
            if isinstance(reader, LineReader):
                _note_lines(reader, lines)
            found = FillOutcome()
            cells = _filled_cells(opened, model, found, ahead=ahead)
            found.skipped = opened.skipped
            names = found.names = opened.names or [f"x{i}" for i in range(opened.width)]
        model.features = list(opened.names or [])
        if isinstance(reader, LineReader) and reader.kind != "xlsx":
            _leave_empty(found, cells, lines, empty_at_end(path, reader), opened.width)
        if isinstance(reader, Zarr):
            with output_folder(output, keep=keep) as folder:
                write_zarr(path, folder, reader.column_numbers, cells)
        else:
            more = MoreColumns(names, flag == "", std)
            with output_file(output, keep=keep) as plain:
                # As it came: what is written line by line is UTF-8.
                file: Any = codecs.EncodedFile(plain, "utf-8", wide) if wide else plain
                _write(path, file, reader, how, lines, cells, more)
    if flag:
        with output_file(flag, keep=keep) as file:
            file.write(_flags(cells, names))
    return found, opened


class MoreColumns(NamedTuple):
    """Names of the columns that are read, and what is written besides their values."""

    names: list[str]
    flag: bool
    """True adds a column with the names of filled columns."""
    std: bool
    """True adds a column with the deviation of each."""


def _write(
    path: Path,
    file: IO[bytes],
    reader: Reader,
    how: ReadOptions,
    lines: dict[int, int],
    cells: dict[int, dict[int, Cell]],
    more: MoreColumns,
) -> None:
    """Write the copy of a file in the way of its kind."""
    names, flag, std = more
    by_line = {lines[row]: gaps for row, gaps in cells.items()} if lines else {}
    if reader.kind == "xlsx":
        assert isinstance(reader, LineReader)
        assert isinstance(reader.parser, CsvParser)
        header = min(lines.values()) - 1 if reader.parser.titled else None
        chosen = reader.parser.chosen
        write_sheet(path, file, how.array, chosen, names, by_line, header=header, flag=flag, std=std)
    elif isinstance(reader, LineReader):
        dialect = dialect_of(reader, names, flag=flag, std=std)
        for line in refilled(path, reader, dialect, set(lines.values()), by_line):
            file.write(line)
    elif isinstance(reader, ParquetReader):
        write_table(path, file, names, cells, flag=flag, std=std)
    elif isinstance(reader, Npz):
        write_archive(path, file, reader.member, reader.column_numbers, cells)
    else:
        write_matrix(path, file, reader.column_numbers, cells)


def _leave_empty(
    found: FillOutcome, cells: dict[int, dict[int, Cell]], lines: dict[int, int], empty: set[int], width: int
) -> None:
    """Take out of everything the rows that are empty lines at the end, as spreadsheets leave them."""
    for row in [row for row, line in lines.items() if line in empty]:
        found.drop(row, set(cells.pop(row, {})), width)
        del lines[row]


def _refuse_other_kinds(reader: Reader, name: str, *, more: bool) -> None:
    """Raise if a source of this kind cannot be filled, or cannot have more columns."""
    if reader.kind == "recoded":
        raise SourceError(f"{name}: text of two bytes a character cannot be filled; make it UTF-8")
    if reader.kind == "sparse":
        raise SourceError(
            f"{name}: what a sparse matrix does not store is 0 and no gap: there is nothing to fill; save it "
            "as a dense NPY file with NaN for what is missing"
        )
    if not isinstance(reader, LineReader | NpyReader | Npz | Zarr | ParquetReader):
        raise SourceError(
            f"{name}: a {reader.kind} source cannot be filled; CSV and JSON lines can, plain, gzip or in a "
            "ZIP file, XLSX, Parquet, NPY and NPZ files, Zarr arrays, databases and Redis streams"
        )
    if more and isinstance(reader, NpyReader | Npz | Zarr):
        raise SourceError(
            f"{name}: a matrix has no more columns: give --flag a file, which has deviations too, and leave "
            "out --std"
        )


def _refuse_names_of_other_kinds(reader: Reader, output: str) -> None:
    """Raise if the output has the ending of another kind of file than the source."""
    ending = Path(output).suffix.lower()
    if ending in KINDS and reader.kind != KINDS[ending]:
        written = "text" if isinstance(reader, LineReader) and reader.kind != "xlsx" else reader.kind
        raise SourceError(
            f"{output}: the copy is of the kind of its source, here {written}: give it another ending than "
            f"{ending}"
        )


def _note_lines(reader: LineReader, lines: dict[int, int]) -> None:
    """Let a reader write down the number of the line of each row."""
    take = reader.take

    def noting(count: int) -> Any:
        chunk = take(count)
        if chunk is not None:
            lines.update(zip(chunk.numbers.tolist(), reader.taken.tolist(), strict=True))
        return chunk

    reader.take = noting  # type: ignore[method-assign]


def _filled_cells(
    source: Source, model: StreamModel | KeyedFillers, found: FillOutcome, *, ahead: bool
) -> dict[int, dict[int, Cell]]:
    """Values for the gaps of a source, by row and column."""
    cells: dict[int, dict[int, Cell]] = {}
    held, pauses = [], defaultdict[int, Pauses](Pauses)

    def by_the_past(one: StreamModel, rows: NDArray[Any], times: NDArray[np.float64] | None) -> Passed:
        return _learnt(one, rows, times, pauses[id(one)])

    for batch in source:
        if ahead:
            held.append((batch.rows, batch.numbers, batch.times, batch.keys))
        else:
            one = passed(model, batch.rows, batch.times, batch.keys, by_the_past)
            _note_cells(cells, batch.rows, batch.numbers, one, found)
    if held:
        rows, numbers = np.vstack([part[0] for part in held]), np.concatenate([part[1] for part in held])
        times = None if held[0][2] is None else np.concatenate([part[2] for part in held])
        keys = [key for part in held for key in part[3] or ()]
        passed(model, rows, times, keys, _learnt_once)
        _note_cells(cells, rows, numbers, passed(model, rows, times, keys, known_ahead), found)
    found.rows = source.count
    return cells


def _learnt_once(model: StreamModel, rows: NDArray[Any], times: NDArray[np.float64] | None) -> Passed:
    """The first of three passes: backwards if columns begin late, since nothing is known of them so far."""
    came = ~np.isnan(rows[:, ~np.isnan(rows).all(axis=0)])
    late, early = (np.argmax(one, axis=0).max(initial=0) for one in (came, came[::-1]))
    if late <= early + LATE:
        return _learnt(model, rows, times, Pauses())
    return _learnt(model, rows[::-1], None if times is None else times[0] + times[-1] - times[::-1], Pauses())


def known_ahead(model: StreamModel, rows: NDArray[Any], times: NDArray[np.float64] | None) -> Passed:
    """Rows filled by what came before and after them: two more passes of a model that has learnt them once.

    Each pass weighs as the other's variance; over a gap of a random walk that draws a straight line.
    """
    # Time goes on while rows are read backwards: by as much as it has between them.
    back_times = None if times is None else 2 * times[-1] - times[::-1]
    back = Passed(*(part[::-1] for part in _learnt(model, rows[::-1], back_times, Pauses())))
    again = None if times is None else back_times[-1] + times - times[0]  # type: ignore[index]
    forth = _learnt(model, rows, again, Pauses())
    one, other = np.square(forth.std), np.square(back.std)
    weight = np.divide(other, one + other, out=np.full_like(one, 0.5), where=one + other > 0)
    weight = np.where(np.isnan(one), 0.0, np.where(np.isnan(other), 1.0, weight))
    one, other = np.nan_to_num(one), np.nan_to_num(other)
    variances = weight**2 * one + (1 - weight) ** 2 * other
    variances += 2 * ALIKE * weight * (1 - weight) * np.sqrt(one * other)
    filled = np.where(
        weight == 0,
        back.rows,
        np.where(weight == 1, forth.rows, weight * forth.rows + (1 - weight) * back.rows),
    )
    return Passed(filled, np.sqrt(variances))


def _note_cells(
    cells: dict[int, dict[int, Cell]],
    rows: NDArray[Any],
    numbers: NDArray[np.int64],
    passed: Passed,
    found: FillOutcome,
) -> None:
    """Write down what was filled."""
    gaps = np.isnan(rows)
    found.see(rows)
    for t in np.flatnonzero(gaps.any(axis=1)).tolist():
        columns = np.flatnonzero(gaps[t])
        known = columns[np.isfinite(passed.std[t, columns]) & np.isfinite(passed.rows[t, columns])].tolist()
        found.leave(int(numbers[t]), sorted(set(columns.tolist()) - set(known)))
        if known:
            cells[int(numbers[t])] = {
                i: Cell(float(passed.rows[t, i]), float(passed.std[t, i])) for i in known
            }


def _flags(cells: dict[int, dict[int, Cell]], names: list[str]) -> bytes:
    """A table of all values that were filled."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("row", "column", "value", "std"))
    for row in sorted(cells):
        writer.writerows((row, names[i], repr(cell.value), repr(cell.std)) for i, cell in cells[row].items())
    return table.getvalue().encode()
