"""How many components by which rule: known answers, real data, offline and online, and events on streams."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.markdown import mark, table
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.sections.rules import published
from benchmarks.sections.rules.data import SPIKES, VARIANCES, evidence_of, real_sets, stationary_streams
from benchmarks.sections.rules.data import draw as draw_noise
from eigenstream import AdaptivePCA, OnlineAdaptivePCA, streams
from eigenstream.plotting import BLACK, BLUE, ORANGE, panels
from eigenstream.rank import Evidence, NoiseEdge, ParallelAnalysis, Rule, VarianceShare

TITLE = "How many components? The rules"
TARGETED = ("white", "uniform", "decaying (e^-3)", "decaying (e^-5)")
"""Noise on which the default has targets: 0 components in 99 %, the exact number of spikes in 95 %."""
MOST_EVENTS = 5
PICTURES = ("Tennessee Eastman (normal), standardized", "photograph (china)", "paper's stream", "digits")


def ours(rule: Rule) -> Callable[[Evidence, int], int]:
    return lambda evidence, T: rule.judge(evidence).rank()


def others(
    count: Callable[[Array, int, int], int | None],
) -> Callable[[Evidence, int], int | None]:
    return lambda evidence, T: count(evidence.variances, evidence.n_inputs, T)


RULES: dict[str, Callable[[Evidence, int], int | None]] = {
    "default": ours(NoiseEdge()),
    "parallel analysis": ours(ParallelAnalysis()),
    "Gavish-Donoho": others(published.gavish_donoho),
    "BEMA": others(published.bema),
    "ScreeNOT": others(published.screenot),
    "Minka": others(published.minka),
    "95 %": ours(VarianceShare(0.95)),
}


@dataclass(frozen=True)
class Settings:
    sizes: tuple[tuple[int, int], ...] = ((50, 60), (200, 12))
    """Inputs, and how many draws."""
    ratios: tuple[float, ...] = (1.5, 3.0, 10.0)
    capacities: tuple[int, ...] = (32, 64, 128)
    half_lives: tuple[int, ...] = (50, 200, 1000, 5000)
    rows: int = 10_000
    seconds: tuple[float, float, float] = (80.0, 55.0, 30.0)


def settings(quick: bool) -> Settings:
    return Settings(((50, 2),), (3.0,), (32,), (200,), 2_000, (2.0, 1.0, 1.0)) if quick else Settings()


def seconds(quick: bool) -> float:
    return sum(settings(quick).seconds)


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    chosen = settings(quick)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # capacities may be too small
        with meter.measuring("rules: known answers", chosen.seconds[0]):
            known = {family: _known(family, chosen, meter) for family in VARIANCES}
        with meter.measuring("rules: real data", chosen.seconds[1]):
            real = {name: _real(name, X, chosen, meter) for name, X in real_sets(quick)}
        with meter.measuring("rules: events", chosen.seconds[2]):
            events = {
                name: {h: _events(X, h) for h in chosen.half_lives}
                for name, X in stationary_streams(quick, chosen.rows)
            }
            delays = {h: _delay(h) for h in chosen.half_lives}
    return {
        "known": known,
        "real": real,
        "events": events,
        "delays": delays,
        "rows": chosen.rows,
        "capacities": chosen.capacities,
    }


def _known(family: str, chosen: Settings, meter: Meter) -> dict[str, dict[str, Any]]:
    """Share of draws in which each rule finds the right number; over all sizes, and in the worst of them."""
    right: dict[str, dict[str, list[float]]] = {
        str(spikes): {rule: [] for rule in RULES} for spikes in (0, SPIKES)
    }
    for n, draws in chosen.sizes:
        for ratio in chosen.ratios:
            T = int(ratio * n)
            meter.note(f"{family}, {n} inputs, {T} samples")
            for spikes in (0, SPIKES):
                found: dict[str, list[int]] = {rule: [] for rule in RULES}
                for seed in range(draws):
                    evidence = evidence_of(draw_noise(family, n, T, spikes, seed))
                    for rule, count in RULES.items():
                        if rule != "Minka" or (seed < 5 and n <= 50):
                            found[rule].append(int(count(evidence, T) == spikes))
                for rule, hits in found.items():
                    if hits:
                        right[str(spikes)][rule].append(float(np.mean(hits)))
    return {
        spikes: {
            rule: {"mean": float(np.mean(shares)), "worst": float(np.min(shares))}
            for rule, shares in by_rule.items()
        }
        for spikes, by_rule in right.items()
    }


def _real(name: str, X: Array, chosen: Settings, meter: Meter) -> dict[str, Any]:
    meter.note(name)
    centered = X - X.mean(axis=0)
    n, T = int(centered.any(axis=0).sum()), len(X)
    evidence = evidence_of(centered)._replace(n_inputs=n)
    shuffled = X[np.random.default_rng(0).permutation(T)]
    online = {}
    for k in chosen.capacities:
        k = min(k, X.shape[1])
        online[str(k)] = [
            AdaptivePCA(max_components=k).fit(X).n_components_,
            OnlineAdaptivePCA(max_components=k).fit(X).n_components_,
            OnlineAdaptivePCA(max_components=k).fit(shuffled).n_components_,
        ]
    return {
        "n": n,
        "T": T,
        "ranks": {rule: count(evidence, T) for rule, count in RULES.items()},
        "online": online,
        "spectrum": evidence.variances[:48].tolist(),
        "lines": NoiseEdge().judge(evidence).lines[:48].tolist(),
        "independence": float(ParallelAnalysis().judge(evidence).lines[0]),
    }


def _events(X: Array, half_life: int) -> int:
    return len(OnlineAdaptivePCA(half_life=half_life).fit(X).rank_history_)


def _delay(half_life: int) -> float | None:
    """How many windows after two components have come (3, then 5, in 64 inputs) the rank says so."""
    start, window = max(2_000, 4 * half_life), half_life / np.log(2)
    stream = streams.changing_rank(start + int(2 * window), ranks={0: 3, start: 5}, random_state=0)
    model = OnlineAdaptivePCA(half_life=half_life).fit(np.vstack(list(stream)))
    later = [change.sample - start for change in model.rank_history_ if change.sample > start]
    return float(later[0] / window) if later else None


def report(results: dict[str, Any]) -> str:
    return "\n\n".join((_known_report(results), _real_report(results), _event_report(results)))


def _known_report(results: dict[str, Any]) -> str:
    rows = []
    for spikes, target in (("0", 0.99), (str(SPIKES), 0.95)):
        for family, shares in results["known"].items():
            worst = shares[spikes]["default"]["worst"]
            verdict = f"{target:.0%}: {mark(worst >= target)}" if family in TARGETED else ""
            cells = [_percent(shares[spikes].get(rule)) for rule in RULES]
            rows.append((spikes, family, *cells, f"{worst:.0%}", verdict))
    intro = (
        "Share of draws in which a rule finds the right number of components: none in noise alone, and 5 "
        "spikes of 2.5 to 40 times the edge of that noise; 50 and 200 inputs, 1.5, 3 and 10 times as many "
        "samples (Minka: 50 inputs). The last columns are the default in the worst of these sizes, and its "
        "target."
    )
    headings = ("spikes", "noise", *RULES, "default, worst", "target")
    return f"## Known answers\n\n{intro}\n\n{table(headings, rows)}"


def _percent(share: dict[str, float] | None) -> str:
    return "" if share is None else f"{share['mean']:.0%}"


def _real_report(results: dict[str, Any]) -> str:
    rows, agreement = [], []
    for name, found in results["real"].items():
        ranks = ["" if count is None else count for count in found["ranks"].values()]
        rows.append((name, found["n"], found["T"], *ranks))
        cells = [" / ".join(map(str, counts)) for counts in found["online"].values()]
        cells += [""] * (len(results["capacities"]) - len(cells))
        near = all(abs(count - counts[0]) <= 1 for counts in found["online"].values() for count in counts)
        agreement.append((name, *cells, mark(near)))
    first = table(("data", "inputs", "samples", *RULES), rows)
    second = table(
        ("data", *(f"capacity {k}" for k in results["capacities"]), "online within 1 of offline"), agreement
    )
    return (
        "## Real data\n\nThe number of components by each rule. Two questions have two answers: the default, "
        "BEMA and ScreeNOT ask what stands out of noise of some colour; parallel analysis asks what exceeds "
        f"independent inputs.\n\n{first}\n\nThe default offline / online in the given order / online "
        f"shuffled, by capacity:\n\n{second}"
    )


def _event_report(results: dict[str, Any]) -> str:
    per = 10_000 / results["rows"]
    rows = []
    for name, counts in results["events"].items():
        verdict = "" if "not stationary" in name else mark(max(counts.values()) * per <= MOST_EVENTS)
        rows.append((name, *(f"{count * per:g}" for count in counts.values()), verdict))
    delays = results["delays"]
    late = ["never" if d is None else f"{d:.2f}" for d in delays.values()]
    met = mark(all(d is not None and d <= 0.25 for d in delays.values()))
    rows.append(("windows until 2 new components are reported", *late, f"at most 0.25: {met}"))
    half_lives = (f"half-life {h}" for h in delays)
    return (
        f"## Events\n\nChanges of rank per 10,000 rows; the target is {MOST_EVENTS} where the stream is "
        f"stationary.\n\n{table(('stream', *half_lives, 'target'), rows)}"
    )


def draw(results: dict[str, Any]) -> Figure:
    names = [name for name in PICTURES if name in results["real"]]
    figure, axes = panels(1, len(names), 4.2 * len(names), 3.6)
    for axis, name in zip(axes, names, strict=True):
        found = results["real"][name]
        lam, place = np.array(found["spectrum"]), np.arange(1, len(found["spectrum"]) + 1)
        axis.plot(place, lam, "o", color=BLACK, markersize=3, label="variances")
        axis.plot(place, found["lines"], color=BLUE, label=f"default: {found['ranks']['default']}")
        count = found["ranks"]["parallel analysis"]
        axis.axhline(found["independence"], color=ORANGE, label=f"parallel analysis: {count}")
        axis.set_yscale("log")
        axis.set_ylim(max(lam[lam > 0].min(), 1e-3 * lam[0]) / 2, 2 * lam[0])
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("component")
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("variance, and the line it has to exceed")
    return figure
