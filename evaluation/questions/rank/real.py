"""Real records: the number of components by everybody, and what is known about them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks.markdown import table
from benchmarks.peers.peer import Array
from benchmarks.sections.rules.data import plant

from eigenstream import AdaptivePCA, OnlineAdaptivePCA
from eigenstream.paper.reproduction.item import Claim, Table
from evaluation import sensors
from evaluation.methods import present
from evaluation.question import target
from evaluation.questions.rank.slow import BY_ROWS, offline_ranks
from evaluation.rivals import factor_counts

BLOCK, BLOCKS, ORDERS = 128, 20, 2
"""Rows of a block at least, so that rows keep most of their neighbours; blocks at most, whose order is
shuffled; and how often."""
GRID = 64
"""Blocks have a multiple of so many rows. Models compare neighbours within these: no pair is made of the end
of one block and the beginning of another, which never were neighbours."""
LONG = 1e9
"""Half-life, in rows, that forgets nothing in practice."""
PLANT = "one plant under control: unknown, 5 to 15 by custom"
RECORDS = {
    "airq": "pollutants of one street, and the weather: 1 to 4 (traffic, season, day)",
    "bafu": "rivers of one country: 1 to 3 (snow melt, rain)",
    "chlorine": "simulated pipes, one daily wave with delays: 2, and overtones (there is no noise)",
    "climate": "many quantities over a continent, rows of stations mixed: unknown, 2 or more with the season",
    "drift": "features of 16 sensors, six gases: unknown, 2 to 6, and more where features follow each other",
    "eeg-alcohol": "64 electrodes for one second: unknown, 4 to 8 by custom",
    "eeg-reading": "33 electrodes: unknown, 3 to 8 by custom",
    "electricity": "clients of one country: 1 to 3 (day, week)",
    "forecast-economy": "unknown; most inputs correlate by 0.9: 1 to 3",
    "meteo": "four series of the weather: 1 or 2",
    "motion": "attitude, gravity, acceleration and rotation of a telephone: unknown, 2 to 5",
    "soccer": "positions on a pitch during 25 s: cannot be told",
    "sport-activity": "69 nearly equal inputs: 1; the rest is unknown",
    "stock-exchange": "rates against one currency, near random walks: levels cannot tell; differences 1 or 2",
    "temperature": "stations of one country: 1 to 4 (season, weather of regions)",
    "traffic": "roads of one area: 1 to 3 (day, week)",
    "Tennessee Eastman (normal, 500 rows), standardized": PLANT,
    "Tennessee Eastman (normal), standardized": PLANT,
    "Tennessee Eastman (fault 5), standardized": f"{PLANT}, and one disturbance",
}
"""What somebody who knows the record would say, and how sure."""

INTRO = f"""At last real records, whose number of components nobody knows for certain: ours offline, online,
with blocks of {BLOCK} rows or more in other orders (cut at multiples of {GRID} rows, within which models
compare neighbours), and with a half-life that forgets nothing; others beside."""


@dataclass(frozen=True)
class Settings:
    rows: int
    records: tuple[str, ...]


FULL = Settings(5_000, tuple(RECORDS))
QUICK = Settings(400, ("meteo",))


@dataclass(frozen=True)
class Record:
    name: str
    rows: int
    present: str


def cases(settings: Settings, seed: int) -> Sequence[Record]:
    return [Record(name, settings.rows, present()) for name in settings.records]


def load(case: Record) -> Array | None:
    if case.name in sensors.SETS:
        return sensors.load(case.name, case.rows)
    return next((X[: case.rows] for name, X in plant() if name == case.name), None)


def simulate(case: Record) -> Table:
    X = load(case)
    if X is None:
        return {"kind": "real", "name": case.name, "ranks": None}
    ranks = offline_ranks(X) | factor_counts.counts(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the capacity is reached
        model = AdaptivePCA().fit(X)
        ranks["ours, differences"] = AdaptivePCA().fit(np.diff(X, axis=0)).n_components_
        ranks["online"] = OnlineAdaptivePCA().fit(X).n_components_
        ranks["half-life"] = OnlineAdaptivePCA(half_life=LONG).fit(X).n_components_
        rng = np.random.default_rng(0)
        shuffled = []
        for _ in range(ORDERS):
            shuffled.append(OnlineAdaptivePCA().fit(_in_another_order(X, rng)).n_components_)
        ranks["rows shuffled"] = OnlineAdaptivePCA().fit(X[rng.permutation(len(X))]).n_components_
    return {
        "kind": "real",
        "name": case.name,
        "n": X.shape[1],
        "T": len(X),
        "worth": model.n_samples_effective_,
        "ranks": ranks,
        "blocks": shuffled,
        "advice": model.advice_,
    }


def _in_another_order(X: Array, rng: np.random.Generator) -> Array:
    """Blocks of rows in another order; what is left over stays at the end."""
    size = GRID * max(-(-len(X) // (BLOCKS * GRID)), BLOCK // GRID)
    whole = len(X) // size * size
    blocks = X[:whole].reshape(-1, size, X.shape[1])
    return np.vstack([*blocks[rng.permutation(len(blocks))], X[whole:]])


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found = [t for t in tables if t["ranks"]]
    if not found:
        return []
    apart = [
        f"{t['name']} {t['ranks']['offline']} / {t['ranks']['online']} / {', '.join(map(str, t['blocks']))}"
        for t in found
        if max(abs(rank - t["ranks"]["offline"]) for rank in (t["ranks"]["online"], *t["blocks"])) > 1
    ]
    differ = [
        f"{t['name']} {t['ranks']['online']} / {t['ranks']['half-life']}"
        for t in found
        if t["ranks"]["online"] != t["ranks"]["half-life"]
    ]
    return [
        target(
            "online within 1 of offline on every real record, in its order and in two others of its blocks",
            f"ranks offline / online / blocks of {BLOCK} rows or more in {ORDERS} orders",
            f"{len(found) - len(apart)} of {len(found)}" + (f"; not {'; '.join(apart)}" if apart else ""),
            not apart,
        ),
        target(
            f"a half-life of {LONG:g} rows and none end with the same rank on every real record",
            "ranks without / with",
            f"{len(found) - len(differ)} of {len(found)}" + (f"; not {'; '.join(differ)}" if differ else ""),
            not differ,
        ),
    ]


RULES = (BY_ROWS, "parallel analysis", "Gavish-Donoho", "BEMA", "ScreeNOT", "95 %")
ESTIMATORS = (
    "Bai-Ng IC_p1",
    "Bai-Ng IC_p2",
    "Bai-Ng IC_p3",
    "Onatski",
    "Ahn-Horenstein ER",
    "Ahn-Horenstein GR",
)


def further(settings: Settings, tables: Sequence[Table]) -> str:
    found = [t for t in tables if t["ranks"]]
    if not found:
        return f"### Real records\n\nSkipped: {sensors.WHY_NOT}."
    ours, others = [], []
    for t in found:
        ranks, name = t["ranks"], t["name"].removesuffix(", standardized")
        ours.append(
            (
                name,
                t["n"],
                f"{t['T']:,}",
                f"{t['worth']:,.0f}",
                *(ranks[key] for key in (BY_ROWS, "offline", "online", "half-life")),
                ", ".join(map(str, t["blocks"])),
                ranks["rows shuffled"],
                ranks["ours, differences"],
                RECORDS.get(t["name"], "unknown"),
            )
        )
        others.append(
            (
                name,
                ranks["offline"],
                *(ranks.get(rule, "") for rule in RULES[1:]),
                *(f"{ranks[f'{name}, levels']} / {ranks[f'{name}, differences']}" for name in ESTIMATORS),
            )
        )
    headings = ("record", "inputs", "rows", "worth", "by rows", "offline", "online", f"half-life {LONG:g}")
    more = ("blocks in other orders", "rows shuffled", "differences", "what somebody would say who knows it")
    return "\n\n".join(
        (
            "### Real records",
            "Ours, the inputs standardized: number of components with rows taken for samples, and by the "
            "independent rows that they are worth.",
            table((*headings, *more), ours),
            f"The others; of economists' estimators, which look for {factor_counts.MOST} factors at most, in "
            "levels / in differences.",
            table(("record", "ours", *RULES[1:], *ESTIMATORS), others),
        )
    )
