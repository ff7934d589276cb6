"""Choose columns by names, numbers from 0, ranges and patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from .batch import SourceError

Columns = str | Sequence[str | int] | None

WIDEST = 2**24
"""Most columns of a source: a row of float64 then has 128 MiB, and a damaged head asks for more."""
TEXT = "text"
"""Word that excludes columns without numbers."""


class Chosen(NamedTuple):
    """Numbers of the columns to read."""

    learnt: Sequence[int]
    kept: list[int]
    """Columns kept as text."""


def named_columns(wanted: Sequence[str], names: Sequence[str], width: int, source: str) -> list[int]:
    """Return the numbers of the columns with these names: a name is never taken for a number here."""
    times = Counter(names)
    missing = [name for name in wanted if not times[name]]
    if missing:
        what = repr(missing[0]) if len(missing) == 1 else f"called {_listed(missing, 0)}"
        raise SourceError(f"{source}: there is no column {what}; there are {_listed(names, width)}")
    twice = next((name for name in wanted if times[name] > 1), None)
    if twice is not None:
        raise SourceError(
            f"{source}: there are {times[twice]} columns called {twice!r}; give each its own name"
        )
    place = {name: number for number, name in enumerate(names)}
    return [place[name] for name in wanted]


def chosen_columns(
    columns: Columns,
    names: Sequence[str] | None,
    width: int,
    source: str,
    exclude: Columns = None,
    text: Callable[[], Collection[int]] = tuple,
) -> Sequence[int]:
    """Return the numbers of the columns asked for, in the order asked for; all of them if None.

    Parameters
    ----------
    columns
        Names, numbers and ranges.
    exclude
        The same, patterns such as ``"*_id"``, and ``"text"`` for columns that hold no numbers.
    text
        Returns the columns without numbers; called if they are to be excluded.

    Examples
    --------
    >>> chosen_columns("b,0,2:4", ["a", "b", "c", "d"], 4, "x.csv")
    [1, 0, 2, 3]
    >>> chosen_columns(None, ["time", "a", "b", "a_id"], 4, "x.csv", exclude="time,*_id")
    [1, 2]
    """
    if not 1 <= width <= WIDEST:
        raise SourceError(f"{source}: rows of {width:,} numbers; 1 to {WIDEST:,} are read")
    if columns is None and exclude is None:
        return range(width)
    found = list(range(width)) if columns is None else column_numbers(columns, names, width, source)
    repeated = [number for number, times in Counter(found).items() if times > 1]
    if repeated:
        raise SourceError(f"{source}: column {min(repeated)} was asked for more than once")
    if exclude is not None:
        left_out = _excluded(exclude, names, width, source, text)
        found = [number for number in found if number not in left_out]
    if not found:
        raise SourceError(f"{source}: no column was asked for: give names, numbers or ranges such as 0:8")
    return found


def _each(columns: str | Sequence[str | int]) -> list[str | int]:
    """Return the columns as a list."""
    return list(columns.split(",")) if isinstance(columns, str) else list(columns)


def column_numbers(
    columns: str | Sequence[str | int], names: Sequence[str] | None, width: int, source: str
) -> list[int]:
    """Return the numbers of the columns listed, in the order listed."""
    return [number for one in _each(columns) for number in _numbers(one, names, width, source)]


def _excluded(
    exclude: str | Sequence[str | int],
    names: Sequence[str] | None,
    width: int,
    source: str,
    text: Callable[[], Collection[int]],
) -> set[int]:
    left_out: set[int] = set()
    for one in _each(exclude):
        word = str(one).strip()
        if names is not None and word in names and not isinstance(one, int):
            left_out |= {number for number, name in enumerate(names) if name == word}
        elif word == TEXT:
            left_out |= set(text())
        elif any(sign in word for sign in "*?["):
            matching = {i for i, name in enumerate(names or ()) if fnmatchcase(name, word)}
            if not matching:
                raise SourceError(f"{source}: no column matches {word!r}; there are {_listed(names, width)}")
            left_out |= matching
        else:
            left_out |= set(_numbers(one, names, width, source))
    return left_out


def _numbers(one: str | int, names: Sequence[str] | None, width: int, source: str) -> list[int]:
    word = str(one).strip()
    if names is not None and word in names and not isinstance(one, int):
        return [list(names).index(word)]
    start, colon, stop = word.partition(":")
    try:
        first = int(start) if start or not colon else 0
        last = first + 1 if not colon else int(stop) if stop else width
    except ValueError:
        raise SourceError(
            f"{source}: there is no column {word!r}; there are {_listed(names, width)}"
        ) from None
    if not 0 <= first < last <= width:
        raise SourceError(f"{source}: column {word!r} does not exist; there are {_listed(names, width)}")
    return list(range(first, last))


def _listed(names: Sequence[str] | None, width: int) -> str:
    if not names:
        return f"columns 0 to {width - 1}"
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
