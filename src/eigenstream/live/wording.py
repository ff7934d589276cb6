"""Numbers as people read them."""

from __future__ import annotations

import math

from .snapshot import MOST_COMPONENTS, Snapshot

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
    """What the numbers at the top of the page say."""
    if snapshot is None:
        return dict.fromkeys(
            ("samples", "rank", "threshold", "explained", "rate", "lag", "lag-unit"), NOTHING
        )
    now = snapshot.now
    return {
        "samples": f"{now.sample:,}",
        "rank": str(now.rank),
        "capacity": f"of at most {snapshot.capacity}",
        "threshold": brief(now.threshold),
        "explained": f"{100 * snapshot.explained:.1f} %",
        "rate": brief(now.rows_per_second),
        "lag": brief(now.lag),
        "lag-unit": "not known" if math.isnan(now.lag) else f"{lag_unit} behind",
        "leading": leading(now.rank),
    }


def leading(rank: int) -> str:
    """Which of the components are shown.

    Examples
    --------
    >>> leading(0), leading(1), leading(9)
    ('nothing above the threshold', 'the only one', 'first 6 of 9')
    """
    if rank <= 1:
        return "the only one" if rank else "nothing above the threshold"
    return f"all {rank}" if rank <= MOST_COMPONENTS else f"first {MOST_COMPONENTS} of {rank}"


def feature_labels(start: list[int], n_features: int, names: list[str] | None) -> list[str]:
    """What each point of a thinned component stands for.

    Examples
    --------
    >>> feature_labels([0, 2, 3], 5, None), feature_labels([0, 1], 2, ["height", "width"])
    (['0 to 1', '2', '3 to 4'], ['height', 'width'])
    """
    known = names if names is not None and len(names) == n_features else list(map(str, range(n_features)))
    ends = [*start[1:], n_features]
    return [
        known[a] if b == a + 1 else f"{known[a]} to {known[b - 1]}" for a, b in zip(start, ends, strict=True)
    ]
