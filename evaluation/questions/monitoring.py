"""(i) Monitoring: which rows of a plant with faults stand out, at the same measured rate of false alarms?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.peers.peer import Array
from benchmarks.sections.monitor import plant

from eigenstream import StreamMonitor
from eigenstream.paper.reproduction.item import Claim, Table
from evaluation import sensors
from evaluation.question import OURS, Row, target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "monitoring", "i", False
TITLE = "Monitoring"
ADAPTIVE = "eigenstream, adaptive with its anchor"
PLANT = "Tennessee Eastman"
RATE = 0.01
LENGTH, AFTER, BETWEEN = 60, 40, 100
"""Rows of an injected fault, rows after it that do not count, and normal rows between."""
LEFT_OUT = ("eeg-alcohol", "drift", "sport-activity")
"""Sets with fewer than twenty rows per sensor."""
INTRO = f"""{PLANT}: trained on the normal run, tested on the 18 visible faults. The sensor sets of
imputegap: the first
half is declared normal, into the second faults of six kinds are injected ({LENGTH} rows each: a bias of 1.5
and of 3 standard deviations, a ramp to 4, a stuck sensor, a burst of noise of 3, two sensors swapped),
sizes and places by the seed; the {AFTER} rows after each do not count. The measure is the share of rows of
faults that exceed the line which {RATE:.0%} of the normal rows exceed, the same for everyone. Ours is
`StreamMonitor` with its defaults, `fit` and then frozen; beside it the same monitor as it goes on learning.
Mahalanobis distances by scikit-learn's covariances; PCA with 90 % of the variance, the larger of T² and Q
in units of their 99 % quantiles."""


@dataclass(frozen=True)
class Settings:
    sets: tuple[str, ...]
    rows: int
    draws: int


FULL = Settings(tuple(name for name in sensors.SETS if name not in LEFT_OUT), 4_000, 2)
QUICK = Settings(("airq",), 1_000, 1)


@dataclass(frozen=True)
class Case:
    stream: str
    rows: int
    seed: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    drawn = [Case(name, settings.rows, seed + i) for name in settings.sets for i in range(settings.draws)]
    there = not isinstance(plant.load(), str)  # a plant that was not there is not kept as skipped
    return [Case(PLANT, int(there), seed), *drawn]


def simulate(case: Case) -> Table:
    if case.stream == PLANT:
        runs = plant.load()
        if isinstance(runs, str):
            return {"stream": case.stream, "skipped": runs}
        visible = [i for i in range(1, plant.RUNS) if i not in plant.HIDDEN]
        tests = [runs["test_00"], *(runs[f"test_{i:02d}"] for i in visible)]
        faulty = [np.zeros(len(tests[0]), bool), *(np.arange(len(run)) >= plant.ONSET for run in tests[1:])]
        found = {
            name: detected([index(run) for run in tests], faulty)
            for name, index in methods(runs["train_00"]).items()
        }
        return {"stream": case.stream, "detected": found}
    X = sensors.load(case.stream, case.rows)
    if X is None:
        return {"stream": case.stream, "skipped": sensors.WHY_NOT}
    training, rest = X[: len(X) // 2], X[len(X) // 2 :]
    center, spread = training.mean(axis=0), training.std(axis=0)
    spread[spread == 0] = 1.0
    rows, faulty_rows, counts = with_faults(
        (rest - center) / spread, np.random.default_rng([case.seed, len(X)])
    )
    found = {}
    for name, index in methods((training - center) / spread).items():
        found[name] = detected([index(rows)[counts]], [faulty_rows[counts]])
    return {"stream": case.stream, "detected": found}


def with_faults(rows: Array, rng: np.random.Generator) -> tuple[Array, Any, Any]:
    """Rows with faults, which rows are faulty, and which count."""
    X, faulty, counts = rows.copy(), np.zeros(len(rows), bool), np.ones(len(rows), bool)
    start, kinds = BETWEEN, list[int]()
    while start + LENGTH + AFTER <= len(X):
        kinds = kinds or rng.permutation(6).tolist()
        kind, part, sign = kinds.pop(), slice(start, start + LENGTH), rng.choice([-1, 1])
        i, j = rng.permutation(X.shape[1])[:2]
        if kind < 2:
            X[part, i] += sign * (1.5, 3.0)[kind]
        elif kind == 2:
            X[part, i] += sign * np.linspace(0, 4, LENGTH)
        elif kind == 3:
            X[part, i] = X[start, i]
        elif kind == 4:
            X[part, i] += 3 * rng.standard_normal(LENGTH)
        else:
            X[part, [i, j]] = X[part, [j, i]]
        faulty[part] = True
        counts[start + LENGTH : start + LENGTH + AFTER] = False
        start += LENGTH + AFTER + BETWEEN
    return X, faulty, counts


def detected(indices: Sequence[Array], faulty: Sequence[Any]) -> float:
    """Share of the faulty rows above the line that `RATE` of the normal rows of all runs exceed."""
    line = np.quantile(
        np.concatenate([one[~odd] for one, odd in zip(indices, faulty, strict=True)]), 1 - RATE
    )
    shares = [float(np.mean(one[odd] > line)) for one, odd in zip(indices, faulty, strict=True) if odd.any()]
    return mean(shares)


def methods(training: Array) -> dict[str, Callable[[Array], Array]]:
    """Everyone, trained on normal rows."""
    from sklearn.covariance import EmpiricalCovariance, LedoitWolf, MinCovDet

    scale = np.maximum(training.std(axis=0), 1e-12)
    found: dict[str, Callable[[Array], Array]] = {
        OURS: lambda rows: (
            StreamMonitor(false_alarm_rate=RATE).fit(training).freeze().learn_many(rows).severity
        ),
        ADAPTIVE: lambda rows: _adaptive(training, rows),
        "PCA, T² and Q": _pca(training / scale, scale),
    }
    covariances = {"empirical": EmpiricalCovariance(), "Ledoit-Wolf": LedoitWolf()}
    for name, covariance in (covariances | {"MinCovDet": MinCovDet(random_state=0)}).items():
        fitted = covariance.fit(training / scale)
        found[f"Mahalanobis, {name}"] = lambda rows, fitted=fitted: fitted.mahalanobis(rows / scale)
    return found


def _adaptive(training: Array, rows: Array) -> Array:
    verdicts = StreamMonitor(false_alarm_rate=RATE).fit(training).learn_many(rows)
    return np.asarray(np.maximum(verdicts.severity, verdicts.drift))


def _pca(training: Array, scale: Array) -> Callable[[Array], Array]:
    from sklearn.decomposition import PCA

    pca = PCA(0.9).fit(training)

    def parts(rows: Array) -> tuple[Array, Array]:
        scores = pca.transform(rows)
        rest = rows - pca.inverse_transform(scores)
        return np.sum(scores**2 / pca.explained_variance_, axis=1), np.sum(rest**2, axis=1)

    limits = [np.quantile(part, 0.99) for part in parts(training)]
    return lambda rows: np.max([p / l for p, l in zip(parts(rows / scale), limits, strict=True)], axis=0)


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    known = [table for table in tables if "detected" in table]
    found = []
    for stream in dict.fromkeys(table["stream"] for table in known):
        mine = [table["detected"] for table in known if table["stream"] == stream]
        values = {name: mean(one[name] for one in mine) for name in mine[0]}
        extra = {ADAPTIVE: values.pop(ADAPTIVE)}
        measure = f"share of rows of faults seen at {RATE:.0%} false alarms"
        anchor = "i/" + stream.lower().replace(" ", "-")
        found.append(Row(anchor, stream, measure, values, smaller_is_better=False, extra=extra))
    return found


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found = rows(settings, tables)
    judged = []
    injected = [row for row in found if row.case != PLANT]
    for name, some, least in (
        (PLANT, [r for r in found if r.case == PLANT], 0.94),
        ("injected faults", injected, 0.39),
    ):
        if not some:
            continue
        values = {method: mean(row.values[method] for row in some) for method in some[0].values}
        rival = max((method for method in values if method != OURS), key=lambda method: values[method])
        told = f"{values[OURS]:.3f}; {rival} {values[rival]:.3f}"
        met = values[OURS] >= least and values[OURS] > values[rival]
        judged.append(
            target(f"{name}, frozen: at least {least}, and more than any rival", "rows seen", told, met)
        )
        adaptive = mean(row.extra[ADAPTIVE] for row in some)
        least = 0.92 if name == PLANT else 0.30
        judged.append(
            target(f"{name}, adaptive: at least {least}", "rows seen", f"{adaptive:.3f}", adaptive >= least)
        )
    return judged


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

    found = rows(settings, tables)
    figure, (axis,) = panels(1, 1, 10, 4.5)
    for i, (colour, name) in enumerate(zip((BLUE, ORANGE, GREEN, RED, PURPLE), found[0].values, strict=True)):
        axis.plot(
            range(len(found)), [row.values[name] for row in found], "osD^v"[i], color=colour, label=name
        )
    axis.plot(range(len(found)), [row.extra[ADAPTIVE] for row in found], "x", color=SKY, label=ADAPTIVE)
    axis.set_xticks(range(len(found)), [row.case for row in found], rotation=45, ha="right", fontsize=7)
    axis.set(ylabel=f"rows of faults seen at {RATE:.0%} false alarms", ylim=(0, 1))
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
