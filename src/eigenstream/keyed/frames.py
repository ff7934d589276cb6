"""A bank and a data frame with a column of keys, of pandas or polars."""

from __future__ import annotations

from typing import Any

import numpy as np

from .bank import Bank
from .bank_file import Key
from .monitors import MonitorBank


def learn_frame(
    bank: Bank | MonitorBank,
    frame: Any,
    *,
    key: str,
    time: str | None = None,
    columns: list[str] | None = None,
) -> Any:
    """Learn the rows of a data frame, each by the model of its key; returns a frame with a row for each.

    Columns are found by name: tomorrow's frame may have them in another order, and others beside them.

    Parameters
    ----------
    bank
        Its models learn the rows in their order; monitors judge each before they learn it.
    frame
        A data frame of pandas or polars.
    key
        The column that says whose each row is.
    time
        The column with the times of the rows, if the half-life is a duration; it is not learnt in any case.
    columns
        The columns to learn; by default those of the bank, and for a new one all others that hold numbers.

    Returns
    -------
    frame
        Of the same library, with the key: scores by each row's model from before it learnt the row; of
        monitors, the verdict (`eigenstream.monitoring.Verdict`) and, of rows that alarm, the input to blame
        most.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((600, 3)) * [5.0, 1.0, 1.0]
    >>> frame = pd.DataFrame(rows, columns=["flow", "heat", "level"])
    >>> frame["pump"] = np.tile(["north", "south"], 300)
    >>> bank = Bank()
    >>> learn_frame(bank, frame, key="pump").columns.tolist()
    ['pump', 'component_0', 'component_1', 'component_2']
    >>> bank.model("south").features, bank.model("south").n_components_
    (['flow', 'heat', 'level'], 1)
    """
    names = _columns(bank, frame, key, time, columns)
    keys, rows = _keys(frame[key]), np.column_stack([_numbers(frame[name], name) for name in names])
    times = None if time is None or not bank.needs_timestamps else np.asarray(frame[time])
    if bank.features is None:
        bank.features = names
    if isinstance(bank, Bank):
        scores = bank.learn_many(keys, rows, times)
        found: dict[str, Any] = {f"component_{i}": column for i, column in enumerate(scores.T)}
    else:
        verdicts, contributors = bank.explain_many(keys, rows, times)
        blamed = [one[0][0] if one else None for one in contributors]
        found = {**verdicts._asdict(), "blamed": np.array(blamed, dtype=object)}
    made = type(frame)({key: np.array(keys, dtype=None if keys else object), **found})
    if hasattr(frame, "index"):
        made.index = frame.index
    return made


def _columns(bank: Any, frame: Any, key: str, time: str | None, columns: list[str] | None) -> list[str]:
    """Names of the columns to learn."""
    there = [str(name) for name in frame.columns]
    wanted = columns or bank.features
    if wanted is None:
        others = [name for name in there if name not in (key, time)]
        wanted = [name for name in others if _holds_numbers(frame[name])]
    missing = [name for name in (key, *([time] if time else []), *wanted) if name not in there]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r} in the frame; there are {', '.join(there)}")
    if columns and bank.features and columns != bank.features:
        raise ValueError(
            f"the bank has learnt from {', '.join(bank.features)}, not from {', '.join(columns)}"
        )
    if not wanted:
        raise ValueError(f"there is no column of numbers besides {key!r}: nothing is left to learn from")
    return list(wanted)


def _holds_numbers(column: Any) -> bool:
    is_numeric = getattr(column.dtype, "is_numeric", None)  # of polars
    return bool(is_numeric()) if is_numeric is not None else getattr(column.dtype, "kind", "O") in "fiub"


def _numbers(column: Any, name: str) -> Any:
    dtype = np.float32 if str(column.dtype).lower() == "float32" else np.float64
    try:
        if hasattr(column, "index"):  # of pandas, which may have values that are no numbers for missing ones
            return column.to_numpy(dtype=dtype, na_value=np.nan)
        return column.to_numpy().astype(dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} holds something other than numbers: {error}") from None


def _keys(column: Any) -> list[Key]:
    keys = list(column.to_list())
    for row, key in enumerate(keys):
        if not isinstance(key, str) and (key is None or key != key):
            raise ValueError(f"row {row} of the frame has no key: fill in column {column.name!r}")
    return keys
