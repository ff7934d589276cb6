"""Theory of the networks' dynamics, each statement predicted (`eigenstream.theory`) and measured."""

from collections.abc import Sequence

from ...reproduction.item import Sheet, Table
from ..themes import Theme, ThemedItem
from . import bias, forgetting, growth, settling, silence, starts, stationary


def sheets(by_theme: dict[str, list[Table]]) -> Sequence[Sheet]:
    """Every prediction beside its measurement."""
    rows = [
        *growth.rows(by_theme["growth"]),
        *growth.rate_rows(by_theme["rate per window"]),
        *starts.rows(by_theme["small starts"]),
        *silence.rows(by_theme["dead modes"]),
        *forgetting.axis_rows(by_theme["scatter and lag"]),
        *bias.rows(by_theme["bias"]),
        *forgetting.edge_rows(by_theme["alpha from the noise"]),
        *forgetting.noise_edge_rows(by_theme["edge under forgetting"]),
        *settling.rows(by_theme["bounds on eta"]),
        *stationary.point_rows(by_theme["stability"]),
        *stationary.rows(by_theme["relaxation"]),
    ]
    columns = ("Statement", "Case", "Predicted", "Measured", "Deviation")
    return [Sheet("Predictions against measurements", columns, tuple(rows), "Medians of the seeds.")]


ITEM = ThemedItem(
    "theory",
    {
        "growth": Theme(growth.measure, growth.claims, growth.draw),
        "rate per window": Theme(growth.measure_rates, growth.rate_claims, growth.draw_rates),
        "small starts": Theme(starts.measure, starts.claims, starts.draw),
        "dead modes": Theme(silence.measure, silence.claims, silence.draw),
        "scatter and lag": Theme(forgetting.measure_axis, forgetting.axis_claims, forgetting.draw_axis),
        "bias": Theme(bias.measure, bias.claims, bias.draw),
        "alpha from the noise": Theme(forgetting.measure_edge, forgetting.edge_claims, forgetting.draw_edge),
        "edge under forgetting": Theme(
            forgetting.measure_noise_edge, forgetting.noise_edge_claims, forgetting.draw_noise_edge
        ),
        "bounds on eta": Theme(settling.measure, settling.claims, settling.draw),
        "stability": Theme(stationary.measure_points, stationary.point_claims, stationary.draw_points),
        "relaxation": Theme(stationary.measure, stationary.claims, stationary.draw),
    },
    full=8,
    quick=1,
    columns=3,
    height=2.3,
    sheets=sheets,
)
