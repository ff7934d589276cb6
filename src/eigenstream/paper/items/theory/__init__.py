"""Theory of the networks' dynamics, each statement predicted (`eigenstream.theory`) and measured."""

from collections.abc import Sequence

from ...reproduction.item import Sheet, Table
from ..themes import Theme, ThemedItem
from . import forgetting, growth, settling


def sheets(by_theme: dict[str, list[Table]]) -> Sequence[Sheet]:
    """Every prediction beside its measurement."""
    rows = [
        *growth.rows(by_theme["growth"]),
        *growth.rate_rows(by_theme["rate per window"]),
        *forgetting.axis_rows(by_theme["scatter and lag"]),
        *forgetting.edge_rows(by_theme["alpha from the noise"]),
        *settling.rows(by_theme["bounds on eta"]),
        *settling.relaxation_rows(by_theme["stability"]),
    ]
    columns = ("Statement", "Case", "Predicted", "Measured", "Deviation")
    return [Sheet("Predictions against measurements", columns, tuple(rows), "Medians of the seeds.")]


ITEM = ThemedItem(
    "theory",
    {
        "growth": Theme(growth.measure, growth.claims, growth.draw),
        "rate per window": Theme(growth.measure_rates, growth.rate_claims, growth.draw_rates),
        "scatter and lag": Theme(forgetting.measure_axis, forgetting.axis_claims, forgetting.draw_axis),
        "alpha from the noise": Theme(forgetting.measure_edge, forgetting.edge_claims, forgetting.draw_edge),
        "bounds on eta": Theme(settling.measure, settling.claims, settling.draw),
        "stability": Theme(settling.measure_relaxation, settling.relaxation_claims, settling.draw_stability),
    },
    full=8,
    quick=1,
    height=2.6,
    sheets=sheets,
)
