"""The goals first, then every case, then every learner with its cost."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.markdown import mark, number, table
from benchmarks.sections.accuracy.methods import BATCH, CCIPCA, FSM, INCREMENTAL, OURS, OURS_AUTO

Case = dict[str, Any]
SETTING = """Relative subspace error to full-batch PCA: 0 equal, 1 orthogonal. One pass over the rows in
shuffled order; medians over {seeds} shuffles, the same for all. Everyone has capacity k = min(2m, n - 1), of
which the top m axes are read. *Ours* is `OnlineAdaptivePCA(alpha=0.1 / n, max_components=k)`, all else as it
comes; its axes are all that it knows, also those below the threshold, which `components_` leaves out, as of
its last look at the spectrum, which the last rows come after. *Looked again* reads the same model after one
more look at the end. IncrementalPCA is scikit-learn's, fed {batch} rows at a time; a remainder of fewer than
k rows would join the batch before, so that no row is lost. FSM and CCIPCA are compiled, written for this
comparison, and favoured: they are fed rows from which the mean of all rows, the later ones too, has been
subtracted. Digits and MNIST are pixels as they are, breast cancer and wine are standardized, and china is a
photograph in patches of 8 x 8 pixels in three colours."""
COSTS = """Time is that of the whole pass (for ours including validation), one thread, median over shuffles.
State is the size of the pickled learner after the pass; the rows that ours holds until it starts ({start} of
them) and the batch that IncrementalPCA is handed are not in it, unless the stream ended before."""


def report(results: dict[str, Any]) -> str:
    cases = results["cases"]
    parts = [SETTING.format(seeds=results["seeds"], batch=BATCH)]
    if results["missing"]:
        parts.append(f"Left out for want of a package: {', '.join(results['missing'])}.")
    parts += ["## Goals", _goals(cases)]
    held = sorted({case["data"] for case in cases if never_started(case)})
    if held:
        parts.append(_goals_without(held, cases))
    parts += ["## Every case", _overview(cases), "## With alpha found from the data", _automatic(cases)]
    start = max(figure(case, OURS, "rows to start from") for case in cases)
    parts += ["## Time and state", COSTS.format(start=f"{start:.0f}")]
    parts += [_costs(name, cases) for name in dict.fromkeys(case["data"] for case in cases)]
    return "\n\n".join(parts)


def figure(case: Case, method: str, name: str = "error") -> float:
    """The median over the seeds."""
    return float(case["methods"][method][name]["median"])


def never_started(case: Case) -> bool:
    """Whether the rows were so few that ours held them all: full-batch PCA of what it has looked at."""
    return bool(case["methods"][OURS]["rows held"]["max"] > 0)


def below_peers(cases: list[Case]) -> int:
    return sum(figure(c, OURS) < min(figure(c, FSM), figure(c, CCIPCA)) for c in cases)


def at_most_incremental(cases: list[Case], reading: str = "error") -> int:
    return sum(figure(c, OURS, reading) <= figure(c, INCREMENTAL) for c in cases)


def median_ratio(cases: list[Case], reading: str = "error") -> float:
    """Our error over IncrementalPCA's."""
    return median(figure(c, OURS, reading) / figure(c, INCREMENTAL) for c in cases)


def _goals(cases: list[Case]) -> str:
    total, peers, best = len(cases), below_peers(cases), at_most_incremental(cases)
    again = "error looked again"
    rows = [
        ("below both FSM and CCIPCA", f"{peers} of {total} cases", mark(peers == total)),
        ("at most IncrementalPCA's (the hard one)", f"{best} of {total} cases", mark(best == total)),
        ("median ratio to IncrementalPCA's", f"{median_ratio(cases):.2f}", ""),
        (
            "*looked again*: at most IncrementalPCA's",
            f"{at_most_incremental(cases, again)} of {total} cases",
            "no goal",
        ),
        (
            "*looked again*: median ratio to IncrementalPCA's",
            f"{median_ratio(cases, again):.2f}",
            "no goal",
        ),
    ]
    return table(("our error is", "", "goal: all"), rows)


def _goals_without(held: list[str], cases: list[Case]) -> str:
    streamed = [case for case in cases if not never_started(case)]
    text = (
        f"The network never started on {', '.join(held)}: there are fewer rows than ours holds to start "
        "from, so it answers with full-batch PCA of the rows up to its last look, and these cases say "
        "nothing about streaming."
    )
    if not streamed:
        return text
    again = "error looked again"
    return (
        f"{text} Without them: below both FSM and CCIPCA in {below_peers(streamed)} of {len(streamed)}, "
        f"at most IncrementalPCA's in {at_most_incremental(streamed)}, median ratio "
        f"{median_ratio(streamed):.2f}; looked again in {at_most_incremental(streamed, again)}, median ratio "
        f"{median_ratio(streamed, again):.2f}."
    )


def _overview(cases: list[Case]) -> str:
    rows = []
    for case in cases:
        errors = [figure(case, method) for method in (OURS, INCREMENTAL, FSM, CCIPCA)]
        again = figure(case, OURS, "error looked again")
        unseen = f"{figure(case, OURS, 'rows since look'):.0f}"
        ratio = f"{errors[0] / errors[1]:.2f}"
        axes = f"{case['m']} of {case['methods'][OURS]['k']}"
        rows.append((case["data"], axes, *map(number, errors), ratio, number(again), unseen))
    contenders = (OURS, INCREMENTAL, FSM, CCIPCA)
    ratio, again = "ours over IncrementalPCA", "ours, looked again"
    return table(("data", "m of k", *contenders, ratio, again, "rows after the last look"), rows)


def _automatic(cases: list[Case]) -> str:
    rows = []
    for case in cases:
        rank = case["methods"][OURS_AUTO]["rank"]
        ranks = f"{rank['median']:g} ({rank['min']:g} to {rank['max']:g})"
        errors = [figure(case, OURS_AUTO, name) for name in ("error", "error above threshold")]
        axes = f"{case['m']} of {case['methods'][OURS_AUTO]['k']}"
        rows.append((case["data"], axes, ranks, *map(number, errors)))
    kept = "error, top min(m, rank)"
    return table(("data", "m of k", "rank found, median and range", "error, top m known", kept), rows)


def _costs(name: str, cases: list[Case]) -> str:
    mine = [case for case in cases if case["data"] == name]
    rows = []
    for case in mine:
        for method, found in case["methods"].items():
            spread = f"{number(found['error']['min'])} to {number(found['error']['max'])}"
            costs = (number(figure(case, method, cost)) for cost in ("milliseconds", "KiB"))
            axes = f"{case['m']} of {found['k']}"
            rows.append((method, axes, number(figure(case, method)), spread, *costs))
    title = f"### {name}: {mine[0]['T']:,} rows of {mine[0]['n']} inputs"
    return f"{title}\n\n{table(('', 'm of k', 'error', 'min to max', 'pass, ms', 'state, KiB'), rows)}"
