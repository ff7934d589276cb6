"""Numbers as people read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from ..model.history import STATISTIC_NAMES
from ..monitoring import Alarm
from .board import MOST_COMPONENTS, Snapshot, Watching

NOTHING = "\N{EN DASH}"


def brief(value: float) -> str:
    """Three digits, and a letter for thousands and millions.

    Examples
    --------
    >>> [brief(x) for x in (0.01234, 3.0, 812.4, 999_900.0, 1_234_567.0)]
    ['0.0123', '3', '812', '1 M', '1.23 M']
    """
    if not math.isfinite(value):
        return NOTHING
    for unit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= 0.9995 * unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def tiles(snapshot: Snapshot | None, lag_unit: str) -> dict[str, str]:
    """The numbers at the top of the page, by their ids."""
    if snapshot is None:
        return dict.fromkeys(("samples", "rank", "rate", "lag", "lag-unit"), NOTHING)
    now, watching = snapshot.now, snapshot.watching
    return {
        "samples": f"{now.sample:,}",
        "rank": str(now.rank),
        "capacity": f"of at most {snapshot.capacity}",
        "rate": brief(now.rows_per_second),
        "lag": brief(now.lag),
        "lag-unit": "not known" if math.isnan(now.lag) else f"{lag_unit} behind",
        **(_of_model(snapshot) if watching is None else _of_monitor(watching)),
    }


def _of_model(snapshot: Snapshot) -> dict[str, str]:
    return {
        "threshold": brief(snapshot.now.threshold),
        "explained": f"{100 * snapshot.explained:.1f} %",
        "leading": leading(snapshot.now.rank),
    }


def _of_monitor(watching: Watching) -> dict[str, str]:
    severity = watching.history.severity
    on = any(alarm.ended is None for alarm in watching.alarms)
    return {
        "severity": brief(float(severity[-1])) if len(severity) else NOTHING,
        "alarm-count": f"{watching.number:,}",
        "alarm-now": "one is on" if on else f"{watching.alarmed:,} rows in all",
    }


def alarm_entry(alarm: Alarm, milliseconds: float | None) -> dict[str, Any]:
    """An alarm as the list shows it; with the time at which it began, if that is known.

    Examples
    --------
    >>> alarm = Alarm(1200, 1244, 31, ended=1245, peak=3.21, statistic="spe", contributors=(("valve", 0.6),))
    >>> alarm_entry(alarm, None)["when"], alarm_entry(alarm, 1.7e12)["when"]
    ('1,200', '2023-11-14 22:13:20')
    """
    when = f"{alarm.began:,}"
    if milliseconds is not None:
        when = datetime.fromtimestamp(milliseconds / 1e3, UTC).strftime("%Y-%m-%d %H:%M:%S")
    state = "on" if alarm.ended is None else "accepted" if alarm.accepted else "ended"
    return {
        "key": alarm.began,
        "when": when,
        "rows": f"{alarm.rows:,}",
        "peak": brief(alarm.peak),
        "statistic": STATISTIC_NAMES[alarm.statistic],
        "state": state,
        "contributors": [[name, round(100 * share, 1)] for name, share in alarm.contributors],
    }


def leading(rank: int) -> str:
    """Caption that says which of the components are shown.

    Examples
    --------
    >>> leading(0), leading(1), leading(9)
    ('nothing above the threshold', 'the only one', 'first 6 of 9')
    """
    if rank <= 1:
        return "the only one" if rank else "nothing above the threshold"
    return f"all {rank}" if rank <= MOST_COMPONENTS else f"first {MOST_COMPONENTS} of {rank}"


def input_labels(start: list[int], names: list[str]) -> list[str]:
    """The input, or the first and last input, that each point of a thinned component stands for.

    Examples
    --------
    >>> input_labels([0, 2, 3], ["x0", "x1", "x2", "x3", "x4"])
    ['x0 to x1', 'x2', 'x3 to x4']
    """
    ends = [*start[1:], len(names)]
    return [
        names[a] if b == a + 1 else f"{names[a]} to {names[b - 1]}" for a, b in zip(start, ends, strict=True)
    ]
