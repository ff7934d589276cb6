"""`fit` against IncrementalPCA's, first uses, and the command: what people call, timed from outside."""

from __future__ import annotations

from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.markdown import size
from benchmarks.meter import Meter
from benchmarks.sections.fit.grid import timed, warm_up
from benchmarks.sections.fit.picture import draw
from benchmarks.sections.fit.processes import command_runs, first_use
from benchmarks.sections.fit.report import report
from benchmarks.sections.fit.settings import settings

__all__ = ["TITLE", "draw", "report", "run", "seconds"]

TITLE = "fit, as a user calls it"


def seconds(quick: bool) -> float:
    chosen = settings(quick)
    return sum(each.seconds for each in chosen.sizes) + chosen.process_seconds


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """The grid in this process with one BLAS thread, then new processes."""
    chosen = settings(quick)
    grid = []
    with threadpool_limits(1):
        warm_up()
        for each in chosen.sizes:
            with meter.measuring(f"fit {size(each.n, each.k)}, {each.T:,} rows", each.seconds):
                grid.append(timed(each, chosen, meter))
    with meter.measuring("new processes", chosen.process_seconds):
        uses = first_use(chosen, meter)
        runs = command_runs(chosen.processes, meter)
    return {"grid": grid, "processes": chosen.processes, "first use": uses, "runs": runs}
