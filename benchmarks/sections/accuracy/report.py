"""Where ours loses first, then the targets, then every case, then every learner with its cost."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import mark, number, table
from benchmarks.sections.accuracy.methods import (
    BATCH,
    BYTES,
    BYTES_SUBSPACE,
    CCIPCA,
    DOUBLE,
    FSM,
    NETWORK,
    OURS,
    SAME,
    SUBSPACE,
)
from benchmarks.sections.accuracy.targets import (
    EXACT,
    TIMES,
    Comparison,
    contests,
    error,
    losses,
    median_times,
    numbers_of_axes,
)

Case = dict[str, Any]
SETTING = """Relative subspace error to full-batch PCA: 0 equal, 1 orthogonal; below {exact:.0e} is
rounding and counts as zero. One pass over the rows, in the order in which the data come and in shuffled
order (medians over shuffles, the same for all; {seeds} of them). *Ours* is
`OnlineAdaptivePCA(max_components=m)` with everything else at its default; its axes are all that it knows,
also those below the threshold, which `components_` leaves out. *Ours, subspace* is the same with
`solver="subspace"`, where the default is the exact solver. IncrementalPCA is scikit-learn's, fed {batch}
rows at a time, with m components and with 2m; and with as many as fit into the bytes of ours, by batches
of as many rows, since shorter batches leave more room. On narrow data that is as many as there are
inputs: IncrementalPCA is then exact, too. Digits and MNIST are pixels as they are; breast cancer, wine
and Tennessee Eastman are standardized; china is a photograph in patches of 8 x 8 pixels in three colours."""
SIZES = """Bytes of ours: the arrays of the learner, its workspace and the room for waiting rows. Bytes of
IncrementalPCA: components, mean, variances, singular values and one batch. This favours IncrementalPCA,
whose workspace (it stacks components and batch, and decomposes the stack) is not counted. Nor is what
ours remembers for others to read: history and last spectrum."""
FURTHER = """`solver="network"`, FSM and CCIPCA have 2m components. FSM and CCIPCA are compiled, written
for this comparison, and favoured: they are fed rows from which the mean of all rows, the later ones too,
has been subtracted. One shuffle only. Errors are those of the top m axes."""
ORDER = """All parameters at their defaults, no forgetting. Variances: the largest relative difference of
a kept component's variance between shuffled and own order (target: at most {most:.0%}). Ranks: online on
shuffled rows, online in own order, and `AdaptivePCA` on the same rows."""
MOST = 0.01
"""How far variances of kept components may differ between two orders of the rows."""
WORST = 12
"""How many losses are listed one by one."""


def report(results: dict[str, Any]) -> str:
    cases = results["cases"]
    parts = [SETTING.format(seeds=results["seeds"], batch=BATCH, exact=EXACT)]
    if results["missing"]:
        parts.append(f"Left out, because it is not on this machine: {', '.join(results['missing'])}.")
    parts += ["## Where ours is less accurate", _losses(cases), "## Targets", _targets(cases)]
    parts += ["## The order of rows", ORDER.format(most=MOST), _orders(results["order"])]
    full = dict.fromkeys(e["data"] for e in results["order"] if e["offline rank"] == e["capacity"])
    if full:
        parts.append(f"On {', '.join(full)} all ranks are the default capacity: there are more components.")
    parts += ["## Every case", _overview(cases), "## Further learners", FURTHER, _further(cases)]
    held = sorted({case["data"] for case in cases if case["T"] < case["methods"][NETWORK]["start"]})
    if held:
        parts.append(
            f"The network never started on {', '.join(held)}: there are fewer rows than it keeps to start "
            "from, so that its answer is the closed form of all of them."
        )
    parts += ["## Time and bytes", SIZES]
    parts += [_costs(name, cases) for name in dict.fromkeys(case["data"] for case in cases)]
    return "\n\n".join(parts)


def _losses(cases: list[Case]) -> str:
    texts = []
    for ours, theirs, found, targeted in contests(cases):
        lost = losses(found)
        if not lost:
            continue
        note = "" if targeted else " (no target)"
        more = f"; the worst {WORST}" if len(lost) > WORST else ""
        heading = f"*{ours}* against *{theirs}*{note}: {len(lost)} of {len(found)} cases{more}."
        rows = [_loss(one) for one in lost[:WORST]]
        headings = ("data", "order", "m", "top axes", "ours", "theirs", "times larger")
        texts.append(f"{heading}\n\n{table(headings, rows)}")
    return "\n\n".join(texts) or "Nowhere."


def _loss(one: Comparison) -> tuple[object, ...]:
    times = f"{1 / one.times_smaller:.3g}x" if one.theirs > EXACT else "theirs is 0"
    return one.data, one.order, one.m, one.top, _error(one.ours), _error(one.theirs), times


def _targets(cases: list[Case]) -> str:
    rows = []
    for ours, theirs, found, targeted in contests(cases):
        lost, times = len(losses(found)), median_times(found)
        exact = sum(one.ours <= EXACT for one in found)
        verdict = mark(not lost) if targeted else "no target"
        goal = mark(times >= TIMES) if theirs == SAME else "no target"
        smaller = {float("inf"): "ours is 0", 0.0: "theirs is 0"}.get(times, f"{times:.3g}x")
        rows.append((ours, theirs, f"{lost} of {len(found)}", verdict, smaller, goal, exact))
    headings = (
        "ours", "against", "ours larger", "target: never", "smaller, median",
        f"target: {TIMES:g}x", "cases where ours is 0",
    )  # fmt: skip
    return table(headings, rows)


def _orders(effects: list[dict[str, Any]]) -> str:
    rows = []
    for effect in effects:
        if effect["solver"] != "auto" and effect["used"] == _automatic(effect["data"], effects):
            continue
        ranks = sorted(set(effect["shuffled ranks"]))
        verdict = mark(effect["difference"] <= MOST)
        shuffled = " / ".join(map(str, ranks))
        figures = (f"{effect['difference']:.2g}", verdict, shuffled, effect["own rank"])
        rows.append((effect["data"], effect["used"], *figures, effect["offline rank"]))
    headings = ("data", "solver", "variances differ by", "", "rank, shuffled", "rank, own", "rank, offline")
    return table(headings, rows)


def _automatic(data: str, effects: list[dict[str, Any]]) -> str:
    return str(next(e["used"] for e in effects if (e["data"], e["solver"]) == (data, "auto")))


def _overview(cases: list[Case]) -> str:
    rows = []
    for case in cases:
        solver, equal = case["methods"][OURS]["solver"], case["methods"][BYTES]["k"]
        for top in numbers_of_axes(case):
            errors = [_error(error(case, by, top)) for by in (OURS, SUBSPACE, SAME, DOUBLE, BYTES)]
            if solver == "subspace":
                errors[1] = "the same"
            where = (case["data"], case["order"], case["m"], top)
            rows.append((*where, solver, *errors[:-1], f"{errors[-1]} ({equal})"))
    others = (OURS, SUBSPACE, SAME, DOUBLE, "IncrementalPCA at equal bytes (its components)")
    return table(("data", "order", "m", "top axes", "solver of ours", *others), rows)


def _further(cases: list[Case]) -> str:
    methods = (OURS, NETWORK, FSM, CCIPCA, SAME)
    rows = [
        (case["data"], case["order"], case["m"], *(_error(error(case, by, case["m"])) for by in methods))
        for case in cases
    ]
    return table(("data", "order", "m", *methods), rows)


def _costs(name: str, cases: list[Case]) -> str:
    mine = [case for case in cases if case["data"] == name]
    rows = []
    for case in mine:
        for method, found in case["methods"].items():
            if case["methods"][OURS]["solver"] == "subspace" and method in (SUBSPACE, BYTES_SUBSPACE):
                continue
            costs = (number(found["milliseconds"]), number(found["bytes"] / 2**10))
            errors = found["errors"][str(case["m"])]
            spread = f"{_error(errors['min'])} to {_error(errors['max'])}"
            rows.append((method, case["order"], case["m"], found["k"], spread, *costs))
    title = f"### {name}: {mine[0]['T']:,} rows of {mine[0]['n']} inputs"
    headings = ("", "order", "m", "components", "error of top m, least to most", "pass, ms", "KiB")
    return f"{title}\n\n{table(headings, rows)}"


def _error(value: float) -> str:
    return "0" if value <= EXACT else number(value)
