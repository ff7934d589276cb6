"""(d) Missing entries: sensor sets with holes, each entry filled at the moment its row comes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.markdown import table
from benchmarks.peers.peer import Array

from eigenstream import OnlineAdaptivePCA
from eigenstream.model.delays import embedded
from eigenstream.paper.reproduction.item import Claim, Table
from evaluation import rivals, sensors
from evaluation.methods import present
from evaluation.question import HINDSIGHT, OURS, Row, target
from evaluation.rivals.forecasting import ForecastingSPIRIT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "missing", "d", False
TITLE = "Missing entries"
JUDGED = ("SPIRIT", "GROUSE")
DIVERGED = 1e6
"""Standard deviations beyond which it does not matter any more how far off a filled entry is."""
STRETCH = 50
"""Rows for which a sensor is gone, where gaps come in blocks."""
NO_LAGS, FORGETTING = f"{OURS}, no lags", f"{OURS}, half-life 200"
LAGS = 2
"""How many rows before it a row is filled by, for every set. SPIRIT looks at six."""
INTRO = f"""Sensor sets that the package imputegap carries, each sensor standardized, with 5, 20 and 50 %
of the entries taken out at random, and 20 % in blocks (a sensor is gone for {STRETCH} rows). Every row is
filled when it comes, by what was learnt from the rows before it, and then learnt. The measure is the root
mean square error of the filled entries, in standard deviations, over all rows but the first tenth. Ours
is `OnlineAdaptivePCA(missing="impute", lags={LAGS}).learn_and_impute(X)` with everything else at its
default, the same for all sets. Trials on these very sets have shown that lags help: without them it is
*{OURS}, no lags*, which is shown, not judged, and so is a half-life of 200 rows. SPIRIT forecasts each
row from the six rows before (lambda 0.96, energy 0.95 to 0.98; bounded in its favour, so that it does not
diverge); GROUSE has rank 5 (a quarter of the sensors where these are few) and step 0.1. *GROUSE, lags*:
the same with as many lags as ours, although it has no such setting. *{HINDSIGHT}*: the best for this set
among SPIRIT's with lambda 0.96, 0.99 and 1 and energies from 0.9 and 0.95 on, and among GROUSE's with
ranks 1, 2, 4, 8 and steps 0.01, 0.1, 0.5. *Mean* is that of the sensor so far, *last value* the sensor's
last. GROUSE without lags looks at the other sensors of the same moment, SPIRIT and the last value at the
past, ours at both."""


@dataclass(frozen=True)
class Settings:
    sets: tuple[str, ...]
    gaps: tuple[tuple[str, float], ...]
    most: int


FULL = Settings(
    sensors.SETS, (("scattered", 0.05), ("scattered", 0.2), ("scattered", 0.5), ("blocks", 0.2)), 1_000
)
QUICK = Settings(("airq", "meteo"), (("scattered", 0.2),), 200)


@dataclass(frozen=True)
class Case:
    name: str
    pattern: str
    share: float
    most: int
    seed: int
    present: str


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [
        Case(name, pattern, share, settings.most, seed, present())
        for name in settings.sets
        for pattern, share in settings.gaps
    ]


def holes(shape: tuple[int, int], case: Case) -> Array:
    """Which entries are taken out; of every row at least one is left."""
    T, n = shape
    rng = np.random.default_rng(case.seed)
    if case.pattern == "scattered":
        gone = rng.random((T, n)) < case.share
    else:
        gone = np.zeros((T, n), bool)
        for start in range(0, T, STRETCH):
            gone[start : start + STRETCH] = rng.random(n) < case.share
    gone[gone.all(axis=1), rng.integers(n)] = False
    return gone


Fill = Callable[[Array], Array]
"""Rows with gaps in, rows without out; each row by what was known before it."""


def ours(**options: Any) -> Fill:
    def fill(gappy: Array) -> Array:
        model = OnlineAdaptivePCA(missing="impute", random_state=0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the capacity is reached
            return model.learn_and_impute(gappy)

    return fill


def by_rows(make: Callable[[int], Any], lags: int = 0) -> Fill:
    def fill(gappy: Array) -> Array:
        rows = embedded(gappy, lags)
        learner = make(rows.shape[1])
        return np.array([learner.fill_one(x) for x in rows])[:, : gappy.shape[1]]

    return fill


def grouse(n: int, columns: int | None = None) -> rivals.GROUSE:
    """As published, for so many sensors."""
    return rivals.GROUSE(columns or n, max(min(5, n // 4), 1))


def by_mean(gappy: Array) -> Array:
    seen = ~np.isnan(gappy)
    counts = np.cumsum(seen, axis=0)
    means = np.cumsum(np.where(seen, gappy, 0.0), axis=0) / np.maximum(counts, 1)
    return np.where(seen, gappy, means)


def by_last(gappy: Array) -> Array:
    filled = gappy.copy()
    filled[0, np.isnan(filled[0])] = 0.0
    for t in range(1, len(filled)):
        filled[t] = np.where(np.isnan(gappy[t]), filled[t - 1], gappy[t])
    return filled


def published() -> dict[str, Fill]:
    return {
        OURS: ours(lags=LAGS),
        "SPIRIT": by_rows(ForecastingSPIRIT),
        "GROUSE": by_rows(grouse),
        "mean": by_mean,
        "last value": by_last,
    }


def variants() -> dict[str, Fill]:
    return {
        NO_LAGS: ours(),
        FORGETTING: ours(lags=LAGS, half_life=200),
        "GROUSE, lags": by_rows(lambda n: grouse(n // (LAGS + 1), n), LAGS),
    }


def tuned() -> dict[str, list[Fill]]:
    """Settings to choose from in hindsight."""
    return {
        "SPIRIT": [
            by_rows(lambda n, d=d, low=low: ForecastingSPIRIT(n, discount=d, low=low, high=low + 0.03))
            for d in (0.96, 0.99, 1.0)
            for low in (0.9, 0.95)
        ],
        "GROUSE": [
            by_rows(lambda n, k=k, step=step: rivals.GROUSE(n, min(k, n), step))
            for k in (1, 2, 4, 8)
            for step in (0.01, 0.1, 0.5)
        ],
    }


def simulate(case: Case) -> Table:
    X = sensors.load(case.name, case.most)
    if X is None:
        return {"missing": sensors.WHY_NOT}
    gone = holes(X.shape, case)
    gappy = np.where(gone, np.nan, X)
    judged = gone.copy()
    judged[: len(X) // 10] = False

    def error(fill: Fill) -> float:
        with np.errstate(all="ignore"):
            off = np.clip(np.nan_to_num(fill(gappy) - X, nan=DIVERGED), -DIVERGED, DIVERGED)
        return float(np.sqrt(np.mean(off[judged] ** 2)))

    errors = {name: error(fill) for name, fill in published().items()}
    best = {
        f"{name}, {HINDSIGHT}": min(errors[name], *(error(fill) for fill in fills))
        for name, fills in tuned().items()
    }
    return {
        "name": case.name,
        "gaps": f"{case.pattern} {case.share:.0%}",
        "shape": list(X.shape),
        "errors": errors | best,
        "extra": {name: error(fill) for name, fill in variants().items()},
    }


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    return [
        Row(
            f"d/{t['name']}/{t['gaps'].replace(' ', '-').replace('%', '')}",
            f"{t['name']}, {t['gaps']}",
            "error of filled entries",
            t["errors"],
            extra=t["extra"],
        )
        for t in tables
        if "errors" in t
    ]


def by_set(tables: Sequence[Table]) -> dict[str, dict[str, float]]:
    """Geometric mean over the kinds of gaps, for every set and method."""
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(t["name"] for t in tables if "errors" in t):
        mine = [{**t["errors"], **t["extra"]} for t in tables if t.get("name") == name]
        found[name] = {method: geometric_mean(t[method] for t in mine) for method in mine[0]}
    return found


def behind(sets: dict[str, dict[str, float]], others: Sequence[str], mine: str = OURS) -> list[str]:
    """Sets on which one of the others fills better than ours."""
    return [name for name, errors in sets.items() if errors[mine] > min(errors[other] for other in others)]


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    sets = by_set(tables)
    if not sets:
        return []
    lost = behind(sets, JUDGED)
    return [
        target(
            "behind SPIRIT or GROUSE on at most a third of the sets",
            "error of filled entries, geometric mean over the kinds of gaps; rivals as published",
            f"behind on {len(lost)} of {len(sets)} sets ({', '.join(lost)})",
            3 * len(lost) <= len(sets),
        )
    ]


def further(settings: Settings, tables: Sequence[Table]) -> str:
    missing = {t["missing"] for t in tables if "missing" in t}
    if missing:
        return f"Skipped: {'; '.join(missing)}."
    sets = by_set(tables)
    counts = [
        (
            mine,
            *(f"{len(behind(sets, others, mine))} of {len(sets)}" for others in _opponents()),
        )
        for mine in (OURS, NO_LAGS, FORGETTING)
    ]
    names = list(next(iter(sets.values())))
    lines = [(name, *(f"{errors[method]:.3f}" for method in names)) for name, errors in sets.items()]
    return "\n\n".join(
        (
            "### Sets on which ours is behind",
            table(("", *(" or ".join(others) for others in _opponents())), counts),
            "### By set: geometric mean over the kinds of gaps",
            table(("set", *names), lines),
        )
    )


def _opponents() -> list[tuple[str, ...]]:
    best = tuple(f"{name}, {HINDSIGHT}" for name in JUDGED)
    return [JUDGED, *((name,) for name in JUDGED), best, ("GROUSE, lags",), ("last value",), ("mean",)]


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

    figure, (axis,) = panels(1, 1, 10, 4.5)
    sets = by_set(tables)
    if not sets:
        axis.text(0.5, 0.5, sensors.WHY_NOT, ha="center", fontsize=8)
        return figure
    styles = {
        OURS: ("o", BLUE), "SPIRIT": ("s", ORANGE), "GROUSE": ("D", GREEN), "mean": ("_", BLACK),
        "last value": ("x", "0.5"), f"SPIRIT, {HINDSIGHT}": ("s", RED), f"GROUSE, {HINDSIGHT}": ("D", PURPLE),
        NO_LAGS: ("^", SKY), FORGETTING: ("v", SKY),
    }  # fmt: skip
    for name, (marker, colour) in styles.items():
        values = [errors[name] for errors in sets.values()]
        axis.plot(range(len(sets)), values, marker, color=colour, markersize=5, label=name)
    axis.set_xticks(range(len(sets)), sets, rotation=45, ha="right")
    axis.set(yscale="log", ylabel="error of filled entries\n(standard deviations)", ylim=(None, 3))
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
