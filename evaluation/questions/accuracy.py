"""(b) Accuracy of the top axes in one pass over real data, at equal components and at equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.peers.incremental_pca import IncrementalPCAByK
from benchmarks.peers.peer import Array
from benchmarks.sections.accuracy.data import SOURCES, load
from benchmarks.sections.accuracy.methods import components_for
from benchmarks.sections.accuracy.passes import error
from benchmarks.sections.accuracy.targets import EXACT, TIMES

from eigenstream import offline
from eigenstream.paper.reproduction.item import Claim, Table
from evaluation import rivals
from evaluation.methods import CENTERING, Learner, Make, Ours, bytes_of, learnt, methods_for, present
from evaluation.question import OURS, Row, in_words, median_ratio, target, worst

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, LETTER, ALONE = "accuracy", "b", False
TITLE = "Accuracy on real data"
OWN, SHUFFLED, ADVERSARIAL = "own", "shuffled", "adversarial"
SUBSPACE = "eigenstream, subspace"
INTRO = f"""The distance of the top m axes from those of full-batch PCA after one pass (0 equal, 1
orthogonal; below {EXACT:.0e} is rounding and counts as equal), m the number of components that
everybody was asked for. Rows come in their own order, shuffled, and in an order chosen to hurt: those
close to the mean first, those that make up the leading axes last. Nobody forgets. At *equal bytes*,
IncrementalPCA, block SVD and Frequent Directions get as many components as fit into the state and
buffer of ours, by batches of as many rows, their workspace not counted; ours has m. CCIPCA, FSM, Oja,
SPIRIT, FRAHST, Federated PCA and Frequent Directions are handed rows without the mean of all rows, the
later ones too. *{SUBSPACE}* is shown where the default is the exact solver. AdaptivePCA forgets by
design and is given short and narrow sets only."""


@dataclass(frozen=True)
class Settings:
    data: tuple[str, ...]
    capacities: tuple[int, ...]


FULL = Settings(tuple(SOURCES), (4, 10, 20))
QUICK = Settings(("wine",), (4,))


@dataclass(frozen=True)
class Case:
    data: str
    order: str
    m: int
    seed: int
    present: str


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [
        Case(data, order, m, seed, present())
        for data in settings.data
        for order in (OWN, SHUFFLED, ADVERSARIAL)
        for m in settings.capacities
    ]


def simulate(case: Case) -> Table:
    """Errors by method; no methods where the set cannot be read here or has too few inputs."""
    X = load(case.data)
    if X is None:
        return {"missing": f"{case.data} (needs {SOURCES[case.data].needs})"}
    if case.m >= X.shape[1]:
        return {"missing": ""}
    mean = X.mean(axis=0)
    rows = X[_order(X - mean, case)]
    truth = offline.spectrum(X - mean, case.m)[1]
    T, n = rows.shape
    found = {
        name: error(_run(make, rows, mean, name, case.m).components(case.m), truth)
        for name, make in methods_for(n, T).items()
    }
    ours = _run(Ours, rows, mean, OURS, case.m)
    size, extra = bytes_of(ours, n, case.m), {}
    if ours.model._tracker.plan.solver != "subspace":  # type: ignore[attr-defined]
        options = Ours(n, case.m, solver="subspace")
        extra[SUBSPACE] = error(learnt(options, rows).components(case.m), truth)
    return {
        "data": case.data,
        "order": case.order,
        "m": case.m,
        "errors": found,
        "extra": extra,
        "bytes": size,
        "at equal bytes": {OURS: found[OURS], **_at_equal_bytes(rows, mean, truth, size)},
    }


def _order(centered: Array, case: Case) -> Array:
    if case.order == OWN:
        return np.arange(len(centered))
    if case.order == SHUFFLED:
        return np.random.default_rng(case.seed).permutation(len(centered))
    return np.argsort(np.einsum("ij,ij->i", centered, centered), kind="stable")


def _run(make: Make, rows: Array, mean: Array, name: str, k: int) -> Learner:
    return learnt(make(rows.shape[1], k), rows if name in CENTERING else rows - mean)


def _at_equal_bytes(rows: Array, mean: Array, truth: Array, size: int) -> dict[str, float]:
    """The rivals with as many components as fit into so many bytes."""
    (T, n), m = rows.shape, len(truth)
    numbers = size // 8
    most = {
        "IncrementalPCA": components_for(size, n, T),
        "block SVD": min((numbers // n - 2) // 2, n, T),
        "Frequent Directions": min(numbers // n // 2, n, T),
    }
    make: dict[str, Make] = {
        "IncrementalPCA": IncrementalPCAByK,
        "block SVD": lambda n, k: rivals.BlockSVD(n, k, block=k),
        "Frequent Directions": rivals.FrequentDirections,
    }
    return {
        name: error(_run(make[name], rows, mean, name, k).components(min(m, k)), truth) if k else 1.0
        for name, k in most.items()
    }


def rows(settings: Settings, tables: Sequence[Table]) -> list[Row]:
    found = []
    for t in (t for t in tables if "errors" in t):
        where = f"{t['data']}, {t['order']} order, m = {t['m']}"
        anchor = f"b/{t['data'].replace(' ', '-')}/{t['order']}/{t['m']}"
        measure = f"error of the top {t['m']} axes"
        found.append(Row(f"{anchor}/components", where, measure, t["errors"], floor=EXACT, extra=t["extra"]))
        found.append(
            Row(f"{anchor}/bytes", where, f"{measure}, equal bytes", t["at equal bytes"], floor=EXACT)
        )
    return found


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found = rows(settings, tables)
    by_components = [row.against("IncrementalPCA") for row in found if row.anchor.endswith("/components")]
    by_bytes = [row for row in found if row.anchor.endswith("/bytes")]
    typical = median_ratio(by_components)
    return [
        _never("never less accurate than IncrementalPCA with as many components", by_components),
        target(
            f"errors {TIMES:g} times smaller than IncrementalPCA's in the median",
            "ratio of errors, median over all cases",
            in_words(typical, "smaller", "larger"),
            typical >= TIMES,
        ),
        _never("never less accurate than a rival at equal bytes", by_bytes),
    ]


def _never(says: str, found: Sequence[Row]) -> Claim:
    lost, most = [row for row in found if row.lost], worst(found)
    value = f"less accurate in {len(lost)} of {len(found)} cases"
    if most:
        value += f", at worst {in_words(most.ratio)} than {most.best_rival}: {most.case}"
    return target(says, "error of the top m axes", value, not lost)


def further(settings: Settings, tables: Sequence[Table]) -> str:
    missing = {t["missing"] for t in tables if t.get("missing")}
    return f"Left out: {'; '.join(sorted(missing))}." if missing else ""


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from eigenstream.plotting import BLUE, GREEN, ORANGE, PURPLE, RED, SKY, panels

    colours = (BLUE, RED, GREEN, PURPLE, ORANGE, ORANGE, ORANGE, SKY, SKY, SKY, "0.5")
    markers = "osD^x+1x+1."
    figure, axes = panels(2, 1, 11, 8)
    for axis, key in zip(axes, ("errors", "at equal bytes"), strict=True):
        mine = [t for t in tables if "errors" in t]
        names = list(dict.fromkeys(name for t in mine for name in t[key]))
        for i, name in enumerate(names):
            there = [(x, t[key][name]) for x, t in enumerate(mine) if name in t[key]]
            place = [x + 0.06 * (i - len(names) / 2) for x, _ in there]
            values = [max(value, EXACT) for _, value in there]
            axis.plot(place, values, markers[i % 11], color=colours[i % 11], markersize=4, label=name)
        axis.set(yscale="log", ylabel="error of the top m axes", ylim=(EXACT / 3, 3))
        labels = [f"{t['data']}, {t['order']}, {t['m']}" for t in mine]
        axis.set_xticks(range(len(mine)), labels, rotation=90, fontsize=5)
        axis.set_title("equal components" if key == "errors" else "equal bytes")
        axis.legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return figure
