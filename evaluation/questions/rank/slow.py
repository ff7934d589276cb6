"""Rows that resemble each other: independent inputs have no components, however slow they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

import numpy as np
from benchmarks.markdown import table
from benchmarks.peers.peer import Array
from benchmarks.sections.rules import published

from eigenstream import AdaptivePCA
from eigenstream.paper.reproduction.item import Claim, Table
from eigenstream.rank import Evidence, NoiseEdge, ParallelAnalysis, Rule, VarianceShare
from evaluation.methods import Ours, ranks_of
from evaluation.question import HINDSIGHT, OURS, Row, target
from evaluation.rivals import factor_counts
from evaluation.rivals import settings as rival_settings
from evaluation.slow_streams import FAMILIES, independent_rows, slow

FIRST_SEED = 10_000
"""Seeds from here on; whoever tunes the rule leaves them alone."""
LEAST, MOST = 40, 200
"""Draws of a case; between the two as many as make `ROWS` rows."""
ROWS = 400_000
WINDOWS, SETTLE = 10, 4
"""Half-lives that a stream with a half-life lasts, and those at its start that do not count."""
BY_ROWS = "as if rows were independent"
ENOUGH, SOME = 2, 20
"""Independent rows from which on a rank should be exact, per input, and noise be known as noise, in all."""
AUTOREGRESSIVE = ("AR 0.5", "AR 0.9", "AR 0.99", "ARMA")
"""Noise in which 99 % are asked; others: 95 %."""
MOST_CHANGES = 5
"""Changes of rank per 10,000 rows of a stationary stream, at most."""

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
    beside: int = 2
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
rows whose covariances would be as uncertain. Rules and economists' estimators are handed all rows; streaming
rivals {FULL.beside} draws of each kind, with their papers' settings and with our memory, the better of the
two. Seeds count from {FIRST_SEED:,} on."""


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
    course: dict[str, list[float]] = {"right": [], "too many": [], "changes": [], "reached": []}
    for i in range(case.draws):
        seed = case.seed + i
        stream = slow(case.family, case.n, case.T, (3 + seed % 3) * case.factors, seed, case.half_life)
        X = stream.rows
        model = Ours(case.n, None, half_life=case.half_life)
        model.learn(X)
        ranks = {"online": model.model.n_components_}
        _follow(course, ranks_of(model.model), stream.rank, SETTLE * (case.half_life or 0))
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
    }


def _follow(course: dict[str, list[float]], ranks: Array, truth: int, start: int) -> None:
    settled, reached = ranks[start:], np.flatnonzero(ranks == truth)
    course["right"].append(float(np.mean(settled == truth)))
    course["too many"].append(float(np.mean(settled > truth)))
    course["changes"].append(1e4 * np.count_nonzero(np.diff(settled)) / len(settled))
    course["reached"].append(float(reached[0]) if len(reached) else float(len(ranks)))


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
    stationary = [t for t in tables if t["half-life"] and FAMILIES[t["family"]].stationary]
    return [
        _at_least(0.99, quick, f"nothing found in autoregressive noise up to 0.99 worth {SOME} rows or more"),
        _at_least(0.95, slowest, "nothing found in slower noise: AR 0.999, walks, mixed (a season: its 2)"),
        _at_least(0.95, enough, f"factors counted where rows are worth {ENOUGH} per input or more"),
        _at_least(0.95, fewer, "not too many factors where rows are worth less", too_many=True),
        _changes(stationary),
        *_early(tables),
    ]


def _at_least(least: float, tables: Iterable[Table], what: str, *, too_many: bool = False) -> Claim:
    """Claim about all ways in which all these streams were learnt."""
    shares = {
        f"{name_of(t)}, {way}": (1 - share(t["errors"][way], too_many=True))
        if too_many
        else share(t["errors"][way])
        for t in tables
        for way in ("offline", "online")
        if way in t["errors"]
    }
    missed = [f"{name} {s:.1%}" for name, s in shares.items() if s < least]
    worst = min(shares.values(), default=1.0)
    value = f"{worst:.1%} or more in each of {len(shares)} cases"
    return target(
        f"{what}: {least:.0%}",
        "share of streams, in each kind of them, offline, online and with a half-life",
        f"{value}; missed by {'; '.join(missed)}" if missed else value,
        not missed,
    )


def _changes(tables: Sequence[Table]) -> Claim:
    changes = {name_of(t): mean(t["course"]["changes"]) for t in tables}
    name = max(changes, key=lambda name: changes[name])
    return target(
        f"at most {MOST_CHANGES} changes of rank per 10,000 rows of a stationary stream",
        f"changes after {SETTLE} half-lives, mean over draws",
        f"at most {changes[name]:.2g} ({name})",
        changes[name] <= MOST_CHANGES,
    )


def _early(tables: Sequence[Table]) -> Iterable[Claim]:
    """Compare slow factors in white noise with white ones, after as many rows and with the same strengths."""
    reached = {
        t["family"]: median(t["course"]["reached"])
        for t in tables
        if t["factors"] and t["half-life"] is None and t["rows"] == 1_000
    }
    if {"white", "AR 0.9 factors in white"} <= set(reached):
        found = {name: rows for name, rows in reached.items() if "white" in name}
        yield target(
            "slow factors in white noise are found as early as white ones (AR 0.9: at most a quarter later)",
            "rows until the right rank is first reached, median",
            "; ".join(f"{name} {rows:.0f}" for name, rows in found.items()),
            reached["AR 0.9 factors in white"] <= 1.25 * reached["white"],
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
