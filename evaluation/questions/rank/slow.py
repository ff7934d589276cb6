"""Rows that resemble each other: independent inputs have no components, however slow they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks.peers.peer import Array
from benchmarks.sections.rules import published

from eigenstream import AdaptivePCA, OnlineAdaptivePCA
from eigenstream.paper.reproduction.item import Table
from eigenstream.rank import Evidence, NoiseEdge, ParallelAnalysis, Rule, VarianceShare
from evaluation.methods import Ours, ranks_of
from evaluation.rivals import factor_counts
from evaluation.rivals import settings as rival_settings
from evaluation.slow_streams import FAMILIES, independent_rows, slow

FIRST_SEED = 10_000
"""Seeds from here on; whoever tunes the rule leaves them alone."""
LEAST, MOST = 40, 200
"""Draws of a case; between the two as many as make `ROWS` rows."""
ROWS = 200_000
WINDOWS, SETTLE = 10, 4
"""Half-lives that a stream with a half-life lasts, and those at its start that do not count. Without a
half-life the first half of the rows does not."""
STEP = 64
"""Rows between two looks that tell when factors are found first."""
BY_ROWS = "as if rows were independent"

WHOLE: tuple[tuple[str, bool, int], ...] = (
    *((family, False, 500) for family in ("AR 0.5", "AR 0.9", "ARMA")),
    *((f, False, 2_000) for f in ("AR 0.99", "AR 0.999", "mixed", "season", "random walks")),
    *((family, False, 10_000) for family in ("AR 0.99", "AR 0.999", "random walks")),
    *(("white", True, T) for T in (60, 210, 1_000)),
    *(("AR 0.5", True, T) for T in (100, 350)),
    *(("AR 0.9", True, T) for T in (300, 600, 2_000)),
    *(("AR 0.99", True, T) for T in (2_000, 6_000, 20_000)),
    *(("AR 0.999", True, T) for T in (2_000, 10_000)),
    *(("ARMA", True, T) for T in (400, 1_400)),
    *((family, True, 2_000) for family in ("mixed", "season", "random walks")),
    *((family, True, 1_000) for family in ("AR 0.9 factors in white", "AR 0.99 factors in white")),
    *(("white factors in AR 0.9", True, T) for T in (600, 2_000)),
    ("white factors in AR 0.99", True, 6_000),
)
"""Streams that are learnt without forgetting: family, with factors or without, rows."""
WINDOWED: tuple[tuple[str, bool, int], ...] = (
    ("AR 0.5", False, 200),
    *((family, False, 300) for family in ("AR 0.9", "AR 0.99", "ARMA")),
    ("AR 0.99", False, 700),
    *((family, False, 1_000) for family in ("AR 0.999", "mixed", "season", "random walks")),
    ("AR 0.5", True, 200),
    *((f, True, 300) for f in ("AR 0.9", "ARMA", "white factors in AR 0.9", "AR 0.9 factors in white")),
    *((family, True, 1_000) for family in ("AR 0.9", "AR 0.999", "mixed", "season", "random walks")),
    ("AR 0.99", True, 2_100),
)
"""Streams that are learnt with a half-life: family, with factors or without, half-life."""


@dataclass(frozen=True)
class Settings:
    n: int = 30
    whole: tuple[tuple[str, bool, int], ...] = WHOLE
    windowed: tuple[tuple[str, bool, int], ...] = WINDOWED
    draws: int | None = None
    """None: as many as make `ROWS` rows."""
    beside: int = 4
    """Draws that streaming rivals learn, too, which go from row to row."""


FULL = Settings()
QUICK = Settings(
    12, (("AR 0.9", False, 300), ("AR 0.9", True, 600)), (("AR 0.9", False, 50), ("AR 0.9", True, 50)), 2, 1
)

INTRO = f"""Then rows that resemble each other: {", ".join(FAMILIES)}; noise only, and three to five factors
(one number after the other) of which the weakest has 1.5 times the largest eigenvalue of such noise, as
measured, and which are as slow as the noise unless the name says otherwise (*mixed*: each input has its own
correlation from row to row, factors 0.9). ARMA: a slow part and white noise in each input. A season: the same
period in each input with a phase of its own, which makes 2 components. *Worth* is the number of independent
rows whose covariances would be as uncertain. How early slow factors in white noise are found is compared with
the same rule as if rows were independent, on the same streams: a slow factor has its full variance only at
the end of a stream, and before that any rule sees less of it than of a white one. Rules and economists'
estimators are handed all rows; streaming rivals {FULL.beside} draws of each kind, with their papers' settings
and with our memory, the better of the two. Seeds count from {FIRST_SEED:,} on."""


@dataclass(frozen=True)
class Slow:
    """Which streams: everything they depend on."""

    family: str
    factors: bool
    """With three to five factors, one number after the other, or noise only."""
    n: int
    T: int
    half_life: int | None
    seed: int
    draws: int
    beside: int


def cases(settings: Settings, seed: int) -> Sequence[Slow]:
    streams: list[tuple[str, bool, int, int | None]]
    streams = [(family, factors, T, None) for family, factors, T in settings.whole]
    streams += [(family, factors, WINDOWS * h, h) for family, factors, h in settings.windowed]
    return [
        Slow(
            family, factors, settings.n, T, h, FIRST_SEED + seed, settings.draws or _draws(T), settings.beside
        )
        for family, factors, T, h in streams
    ]


def _draws(T: int) -> int:
    return min(max(ROWS // T, LEAST), MOST)


def simulate(case: Slow) -> Table:
    """Rank less the truth by each method, one per draw, and of ours with a half-life its course."""
    found: dict[str, list[int]] = {}
    course: dict[str, list[float]] = {"right": [], "too many": [], "changes": [], "found late": []}
    early = case.factors and case.half_life is None and FAMILIES[case.family].tau == 1
    found_at: dict[str, list[float]] = {"rows": [], "independent rows": []}
    for i in range(case.draws):
        seed = case.seed + i
        stream = slow(case.family, case.n, case.T, (3 + seed % 3) * case.factors, seed, case.half_life)
        X = stream.rows
        model = Ours(case.n, None, half_life=case.half_life)
        model.learn(X)
        ranks = {"online": model.model.n_components_}
        settled = SETTLE * case.half_life if case.half_life else case.T // 2
        _follow(course, ranks_of(model.model), settled, stream.rank)
        if early:
            for way, row in _first_found(X, stream.rank).items():
                found_at[way].append(row)
        if case.half_life is None:
            ranks |= offline_ranks(X) | factor_counts.counts(X)
        if i < case.beside:
            beta = 1.0 if case.half_life is None else 0.5 ** (1 / case.half_life)
            centered = X - X.mean(axis=0)
            ranks |= {
                name: int(make().learn(centered)[-1])
                for name, make in rival_settings.published(case.n, beta).items()
            }
        for name, rank in ranks.items():
            found.setdefault(name, []).append(int(rank) - stream.rank)
    return {
        "kind": "slow",
        "family": case.family,
        "factors": case.factors,
        "rows": case.T,
        "half-life": case.half_life,
        "seed": case.seed,
        "worth": independent_rows(case.family, case.T, case.half_life),
        "errors": found,
        "course": course,
        "found at": found_at if early else None,
    }


def _follow(course: dict[str, list[float]], ranks: Array, settled: int, truth: int) -> None:
    """Note the course of the rank from a row on.

    A rise towards the truth, to a rank that there was not before, is no change of what was settled: only then
    has the stream shown enough of another component.
    """
    highest, ranks = np.maximum.accumulate(ranks)[settled:], ranks[settled:]
    late = np.count_nonzero((np.diff(highest) > 0) & (highest[1:] <= truth))
    course["right"].append(float(np.mean(ranks == truth)))
    course["too many"].append(float(np.mean(ranks > truth)))
    course["changes"].append(float(1e4 * np.count_nonzero(np.diff(ranks)) / len(ranks)))
    course["found late"].append(float(1e4 * late / len(ranks)))


def _first_found(X: Array, truth: int) -> dict[str, float]:
    """First row at which the rule has the right rank, on the same sums: by rows, and by independent rows."""
    model, first = OnlineAdaptivePCA(), {"rows": float(len(X)), "independent rows": float(len(X))}
    for end in range(STEP, len(X) + 1, STEP):
        evidence = model.partial_fit(X[end - STEP : end])._tracker.evidence()
        for way, seen in (("rows", evidence._replace(persistence=None)), ("independent rows", evidence)):
            if NoiseEdge().judge(seen).rank() == truth:
                first[way] = min(first[way], float(end))
    return first


def _ours(rule: Rule) -> Callable[[Evidence, int], int]:
    return lambda evidence, T: rule.judge(evidence).rank()


def _others(count: Callable[[Array, int, int], int | None]) -> Callable[[Evidence, int], int | None]:
    return lambda evidence, T: count(evidence.variances, evidence.n_inputs, T)


RULES: dict[str, Callable[[Evidence, int], int | None]] = {
    BY_ROWS: _ours(NoiseEdge()),
    "parallel analysis": _ours(ParallelAnalysis()),
    "Gavish-Donoho": _others(published.gavish_donoho),
    "BEMA": _others(published.bema),
    "ScreeNOT": _others(published.screenot),
    "95 %": _ours(VarianceShare(0.95)),
}
"""Rules that take rows for samples."""


def offline_ranks(X: Array) -> dict[str, int]:
    """Ours offline, and rules that take rows for samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the capacity is reached
        model = AdaptivePCA(max_components=X.shape[1]).fit(X)
    evidence = model._evidence._replace(persistence=None)
    found = {name: count(evidence, len(X)) for name, count in RULES.items()}
    return {"offline": model.n_components_} | {name: rank for name, rank in found.items() if rank is not None}
