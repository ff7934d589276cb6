"""What comes of streams whose rows resemble each other: shares, targets, tables, and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean, median
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.markdown import table

from eigenstream.paper.reproduction.item import Claim, Table
from evaluation.question import HINDSIGHT, OURS, Row, target
from evaluation.questions.rank.slow import BY_ROWS, RULES, SETTLE, Settings
from evaluation.rivals import factor_counts
from evaluation.rivals import settings as rival_settings
from evaluation.slow_streams import FAMILIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENOUGH, SOME = 2, 20
"""Independent rows from which on a rank should be exact, per input, and noise be known as noise, in all."""
AUTOREGRESSIVE = ("AR 0.5", "AR 0.9", "AR 0.99", "ARMA")
"""Noise in which 99 % are asked; others: 95 %."""
MOST_CHANGES = 5
"""Changes of rank per 10,000 rows of a stationary stream, at most."""
LONG = 2_000
"""Rows of a stream without a half-life from which on changes are counted: one change in half of fewer rows is
more than ten per 10,000."""
LATER = 1.1
"""Ratio of rows by which factors may be found later because independent rows are counted."""


def share(errors: Sequence[int], *, too_many: bool = False) -> float:
    """Share of draws with the right rank, or with more."""
    return mean(error > 0 if too_many else error == 0 for error in errors)


def name_of(t: Table) -> str:
    """A case in words."""
    what = "3 to 5 factors" if t["factors"] else "noise only"
    memory = f"{t['rows']:,} rows" if t["half-life"] is None else f"half-life {t['half-life']:,}"
    return f"{t['family']}, {what}, {memory}"


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    found = []
    for t in tables:
        size = t["rows"] if t["half-life"] is None else f"h{t['half-life']}"
        anchor = f"a/slow/{t['family'].replace(' ', '-')}/{'factors' if t['factors'] else 'noise'}/{size}"
        for way in ("offline", "online"):
            if way not in t["errors"]:
                continue
            for measure, what in (("right", "the right rank"), ("too-many", "too many components")):
                few = measure == "too-many"
                values = _columns({name: share(e, too_many=few) for name, e in t["errors"].items()}, way, few)
                by_rows = values.pop(BY_ROWS, None)
                found.append(
                    Row(
                        f"{anchor}/{way}/{measure}", f"{name_of(t)}, {way}", f"share of streams with {what}",
                        values, few, contest=not few, extra={} if by_rows is None else {BY_ROWS: by_rows},
                    )
                )  # fmt: skip
    return found


def _columns(shares: dict[str, float], way: str, few: bool) -> dict[str, float]:
    """Ours one way, rules, and the best of what each economist and each streaming rival can be set to."""
    kept = {OURS: shares[way]} | {name: shares[name] for name in RULES if name in shares}
    best = min if few else max
    for author in ("Bai-Ng", "Onatski", "Ahn-Horenstein"):
        for what in ("levels", "differences"):
            mine = [shares[name] for name in shares if name.startswith(author) and name.endswith(what)]
            if mine:
                several = f", {HINDSIGHT}" if len(mine) > 1 else ""
                kept[f"{author}, {what}{several}"] = best(mine)
    for rival in rival_settings.contenders(1, 1.0):
        mine = [shares[name] for name in shares if name.startswith(f"{rival}, ")]
        if mine:
            kept[rival] = best(mine)
    return kept


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    noise = [t for t in tables if not t["factors"]]
    factors = [t for t in tables if t["factors"]]
    enough = [t for t in factors if t["worth"] >= ENOUGH * settings.n and t["family"] != "season"]
    fewer = [t for t in factors if t not in enough]
    quick = [t for t in noise if t["family"] in AUTOREGRESSIVE and t["worth"] >= SOME]
    slowest = [t for t in noise if t["family"] not in AUTOREGRESSIVE]
    stationary = [
        t for t in tables if FAMILIES[t["family"]].stationary and (t["half-life"] or t["rows"] >= LONG)
    ]
    asked = [
        _at_least(0.99, quick, f"nothing found in autoregressive noise up to 0.99 worth {SOME} rows or more"),
        _at_least(0.95, slowest, "nothing found in slower noise: AR 0.999, walks, mixed (a season: its 2)"),
        _at_least(0.95, enough, f"factors counted where rows are worth {ENOUGH} per input or more"),
        _at_least(0.95, fewer, "not too many factors where rows are worth less", too_many=True),
    ]
    return [*(claim for claim in asked if claim), _changes(stationary), *_early(tables)]


def _at_least(least: float, tables: Sequence[Table], what: str, *, too_many: bool = False) -> Claim | None:
    """Claim about all ways in which all these streams were learnt; None if there are none."""
    if not tables:
        return None
    shares = {
        f"{name_of(t)}, {way}": (1 - share(t["errors"][way], too_many=True))
        if too_many
        else share(t["errors"][way])
        for t in tables
        for way in ("offline", "online")
        if way in t["errors"]
    }
    missed = [f"{name} {s:.1%}" for name, s in shares.items() if s < least]
    worst = min(shares.values())
    value = f"{worst:.1%} or more in each of {len(shares)} cases"
    return target(
        f"{what}: {least:.0%}",
        "share of streams, in each kind of them, offline, online and with a half-life",
        f"{value}; missed by {'; '.join(missed)}" if missed else value,
        not missed,
    )


def _changes(tables: Sequence[Table]) -> Claim:
    """Changes but for those by which a component is found for the first time, which only the text has."""
    all_, found = (
        {name_of(t): mean(t["course"][what]) for t in tables} for what in ("changes", "found late")
    )
    name = max(all_, key=lambda name: all_[name] - found[name])
    most = all_[name] - found[name]
    return target(
        f"at most {MOST_CHANGES} changes of rank per 10,000 rows of a stationary stream",
        f"changes after {SETTLE} half-lives, or without one in the second half of {LONG:,} rows and more; "
        "not those by which one of its components is found for the first time",
        f"at most {most:.2g} ({name}); with components found for the first time at most "
        f"{max(all_.values()):.2g} ({max(all_, key=lambda name: all_[name])})",
        most <= MOST_CHANGES,
    )


def _early(tables: Sequence[Table]) -> Iterable[Claim]:
    """Compare independent rows with rows, on the same streams: factors in white noise, lively and slow.

    Not slow factors with lively ones: a slow factor has its full variance only at the end of the stream, and
    its first rows say less of it, whoever counts them.
    """
    found = {
        name_of(t): [median(t["found at"][way]) for way in ("rows", "independent rows")]
        for t in tables
        if t["found at"]
    }
    if found:
        yield target(
            "counting independent rows delays no factors in white noise, however slow they are (at most "
            f"{LATER - 1:.0%} later)",
            "rows until the rule first has the right rank, median: as if rows were independent / as they are",
            "; ".join(f"{name} {by_rows:.0f} / {ours:.0f}" for name, (by_rows, ours) in found.items()),
            all(ours <= LATER * by_rows for by_rows, ours in found.values()),
        )


def further(settings: Settings, tables: Sequence[Table]) -> str:
    """Estimators of economists one by one; the time that ours has the right rank; seeds that were missed."""
    whole = [t for t in tables if t["half-life"] is None]
    names = [f"{name}, {what}" for what in ("levels", "differences") for name in factor_counts.COUNTS]
    estimators = [
        (name_of(t), *(f"{share(t['errors'][name]):.0%}" for name in ("offline", *names))) for t in whole
    ]
    courses = [
        (
            name_of(t),
            f"{t['worth']:.0f}",
            *(f"{mean(t['course'][what]):.0%}" for what in ("right", "too many")),
            f"{mean(t['course']['changes']):.2g}",
        )
        for t in tables
        if t["half-life"] is not None
    ]
    return "\n\n".join(
        (
            "### Rows that resemble each other, one estimator at a time",
            "Share of streams with the right number of factors.",
            table(("", OURS, *names), estimators),
            "### Rows that resemble each other, with a half-life",
            f"Ours after {SETTLE} half-lives: independent rows that a window is worth, share of the time at "
            "the right rank and above it, changes per 10,000 rows.",
            table(("", "worth", "right", "too many", "changes"), courses),
            "### Rows that resemble each other: errors of ours",
            "Rank less truth: number of draws; the first seeds with an error.",
            table(("", "worth", "way", "draws", "errors", "seeds"), _errors(tables)),
        )
    )


def _errors(tables: Sequence[Table]) -> Iterable[tuple[Any, ...]]:
    for t in tables:
        for way in ("offline", "online"):
            errors = t["errors"].get(way, [])
            if any(errors):
                counts = ", ".join(f"{e:+d}: {errors.count(e)}" for e in sorted(set(errors)) if e)
                seeds = [str(t["seed"] + i) for i, e in enumerate(errors) if e][:3]
                yield name_of(t), f"{t['worth']:.0f}", way, len(errors), counts, ", ".join(seeds)


def draw_on(noise: Axes, factors: Axes, tables: Sequence[Table]) -> None:
    """Shares of streams with the right rank: ours beside what economists use, without forgetting."""
    from eigenstream.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY

    colours = {
        "offline": BLUE,
        BY_ROWS: BLACK,
        "Bai-Ng IC_p2, levels": ORANGE,
        "Onatski, levels": GREEN,
        "Onatski, differences": PURPLE,
        "Ahn-Horenstein GR, levels": SKY,
    }
    for axis, with_factors in ((noise, False), (factors, True)):
        mine = [t for t in tables if t["half-life"] is None and t["factors"] == with_factors]
        for i, (name, colour) in enumerate(colours.items()):
            heights = [share(t["errors"][name]) for t in mine]
            label = OURS if name == "offline" else name
            axis.bar(np.arange(len(mine)) + 0.13 * (i - 2.5), heights, 0.12, color=colour, label=label)
        labels = [f"{t['family']}, {t['rows']:,}" for t in mine]
        axis.set_xticks(range(len(mine)), labels, fontsize=6, rotation=30, ha="right")
        what = "3 to 5 factors in rows" if with_factors else "nothing but noise, its rows"
        axis.set(ylim=(0, 1.05), ylabel="share of streams", title=f"The right rank: {what} alike")
        axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
