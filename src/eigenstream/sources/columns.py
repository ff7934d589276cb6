"""Which columns: names, numbers counted from 0, and ranges of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .batch import SourceError

Columns = str | Sequence[str | int] | None

WIDEST = 2**27
"""Numbers a row may have."""


def chosen_columns(columns: Columns, names: Sequence[str] | None, width: int, source: str) -> Sequence[int]:
    """The numbers of the columns asked for, in the order asked for; all of them if None.

    Examples
    --------
    >>> chosen_columns("b,0,2:4", ["a", "b", "c", "d"], 4, "x.csv")
    [1, 0, 2, 3]
    """
    if not 1 <= width <= WIDEST:
        raise SourceError(f"{source}: rows of {width:,} numbers; 1 to {WIDEST:,} are read")
    if columns is None:
        return range(width)
    asked = columns.split(",") if isinstance(columns, str) else list(columns)
    found = [number for one in asked for number in _numbers(one, names, width, source)]
    repeated = [number for number, times in Counter(found).items() if times > 1]
    if repeated:
        raise SourceError(f"{source}: column {min(repeated)} was asked for more than once")
    if not found:
        raise SourceError(f"{source}: no column was asked for: give names, numbers or ranges such as 0:8")
    return found


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
