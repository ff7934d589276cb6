"""The network's engine against its peers by size: time, accuracy, memory; and wide, against itself."""

from __future__ import annotations

from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.markdown import size
from benchmarks.meter import Meter
from benchmarks.sections.engine.contest import contest
from benchmarks.sections.engine.picture import draw
from benchmarks.sections.engine.report import report
from benchmarks.sections.engine.settings import settings
from benchmarks.sections.engine.wide import blocks, precisions

__all__ = ["TITLE", "draw", "report", "run", "seconds"]

TITLE = "The network's engine and its peers"


def seconds(quick: bool) -> float:
    chosen = settings(quick)
    return sum(c.seconds for c in chosen.contests) + 2 * chosen.wide_seconds


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """Everything in one process, so that ratios compare like with like."""
    chosen = settings(quick)
    contests = []
    for each in chosen.contests:
        with meter.measuring(f"engine {size(each.n, each.k)}", each.seconds):
            contests.append(contest(each, chosen, meter))
    with threadpool_limits(1):
        with meter.measuring("float32 against float64", chosen.wide_seconds):
            narrow = [precisions(n, k, chosen, meter) for n, k in chosen.precisions]
        with meter.measuring("block against its products", chosen.wide_seconds):
            wide = [blocks(n, k, dtype, chosen) for n, k in chosen.blocks for dtype in ("float64", "float32")]
    return {"contests": contests, "precisions": narrow, "blocks": wide}
