"""Real data in one pass: how close every learner comes to full-batch PCA, at what cost."""

from __future__ import annotations

from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.meter import Meter
from benchmarks.sections.accuracy.data import SOURCES, load
from benchmarks.sections.accuracy.order import order_effects
from benchmarks.sections.accuracy.passes import cases, warm_up
from benchmarks.sections.accuracy.picture import draw
from benchmarks.sections.accuracy.report import report
from benchmarks.sections.accuracy.settings import settings

__all__ = ["TITLE", "draw", "report", "run", "seconds"]

TITLE = "Accuracy on real data"


def seconds(quick: bool) -> float:
    return sum(settings(quick).data.values())


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """One BLAS thread throughout; data that cannot be read here are left out and named."""
    chosen = settings(quick)
    found: list[dict[str, Any]] = []
    effects: list[dict[str, Any]] = []
    missing = []
    with threadpool_limits(1):
        warm_up()
        for name, expected in chosen.data.items():
            with meter.measuring(f"accuracy on {name}", expected):
                X = load(name)
                if X is None:
                    missing.append(f"{name} (needs {SOURCES[name].needs})")
                else:
                    found += cases(name, X, chosen, meter)
                    effects += order_effects(name, X, chosen.seeds)
    return {"seeds": chosen.seeds, "missing": missing, "cases": found, "order": effects}
