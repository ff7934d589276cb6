"""The engine's figures in Markdown, each beside its target."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import mark, number, size, table
from benchmarks.sections.engine.settings import BLOCK, PRECISION

KINDS = ("installable", "compiled")
INTRO = """What a step of the paper's network costs (`solver="network"`), without the estimator around it.
Centered streams with k/2 components (variances 10 down to 4) in noise of variance 0.1, float64. Times are
microseconds per sample, best turn of all heats; contenders take turns, every heat has new learners, and
what is compiled is compiled before. Where heats differ, so may ratios. *Installable* peers are NumPy and
scikit-learn as people call them; *compiled* peers are the same algorithms as Numba loops, written for this
comparison. Unlike ours, none of them finds the number of components. The ratio is the fastest peer's time
over ours: above 1, ours is faster."""
DETAILS = """Error: distance of the subspace of the first k/2 components from that of full-batch PCA on
the same rows, 0 equal and 1 orthogonal; who is too slow for the whole stream sees only its first samples.
Memory: the most that Python and NumPy held at once while a learner started and learnt one batch, as
`tracemalloc` sees it (workspace inside compiled code and LAPACK is not counted)."""


def report(results: dict[str, Any]) -> str:
    """Ratios first, then every contender at every size, then the engine against itself."""
    parts = [
        INTRO,
        "## Ours against the fastest of each kind, one thread",
        _ratios(results["contests"]),
        "## Every contender",
        DETAILS,
        *(_contest(contest) for contest in results["contests"]),
        f"## float32 against float64, ours, one thread (target: at least {PRECISION:g} times the rate)",
        _precisions(results["precisions"]),
        f"## A block against its three products alone, one thread (target: at most {BLOCK:g} times)",
        _blocks(results["blocks"]),
    ]
    return "\n\n".join(parts)


def ours(contest: dict[str, Any]) -> float:
    """Our microseconds per sample."""
    return float(next(c["one thread"]["best"] for c in contest["contenders"] if c["kind"] == "ours"))


def fastest(contest: dict[str, Any], kind: str) -> tuple[float, str]:
    """Microseconds and name of the fastest peer of a kind."""
    return min((c["one thread"]["best"], c["name"]) for c in contest["contenders"] if c["kind"] == kind)


def speed_up(contest: dict[str, Any], kind: str) -> float:
    """How many times faster ours is."""
    return fastest(contest, kind)[0] / ours(contest)


def _ratios(contests: list[dict[str, Any]]) -> str:
    rows = []
    for contest in contests:
        for kind in KINDS:
            time, name = fastest(contest, kind)
            ratio, target = speed_up(contest, kind), contest["targets"][kind]
            times = (number(ours(contest)), kind, name, number(time), f"{ratio:.2f}x")
            rows.append((size(contest["n"], contest["k"]), *times, f"{target:.2g}x", mark(ratio >= target)))
    return table(("(n, k)", "ours, µs", "kind", "fastest peer", "its µs", "ratio", "target", ""), rows)


def _contest(contest: dict[str, Any]) -> str:
    headings = ("contender", "kind", "µs", "by heat", "two threads", "seen", "error", "memory, MiB")
    rows = []
    for c in contest["contenders"]:
        two = number(c["two threads"]["best"]) if c["two threads"] else "-"
        by_heat = " / ".join(number(best) for best in c["one thread"]["heats"])
        times = (number(c["one thread"]["best"]), by_heat, two)
        state = (f"{c['samples seen']:,}", number(c["subspace error"]), number(c["memory"]))
        rows.append((c["name"], c["kind"], *times, *state))
    title = f"### {size(contest['n'], contest['k'])}, {contest['T']:,} samples"
    return f"{title}\n\n{table(headings, rows)}"


def _precisions(entries: list[dict[str, Any]]) -> str:
    rows = []
    for e in entries:
        wide, narrow = e["float64"]["best"], e["float32"]["best"]
        verdict = mark(wide / narrow >= PRECISION)
        rows.append((size(e["n"], e["k"]), number(wide), number(narrow), f"{wide / narrow:.2f}x", verdict))
    return table(("(n, k)", "float64, µs", "float32, µs", "faster", ""), rows)


def _blocks(entries: list[dict[str, Any]]) -> str:
    rows = []
    for e in entries:
        whole, bare = (1e6 * e[name]["best"] / e["rows"] for name in ("block", "products"))
        verdict = mark(whole / bare <= BLOCK)
        times = (number(whole), number(bare), f"{whole / bare:.2f}x")
        rows.append((f"{size(e['n'], e['k'])}, {e['dtype']}", *times, verdict))
    return table(("(n, k)", "block, µs per sample", "products, µs per sample", "times", ""), rows)
