"""Weaknesses of the paper's networks, measured with and without the library's remedies."""

from ..themes import Theme, ThemedItem
from . import forgetting, starts

ITEM = ThemedItem(
    "weaknesses",
    {
        "slow start": Theme(starts.measure_slow_start, starts.slow_start_claims, starts.draw_slow_start),
        "dead modes": Theme(
            forgetting.measure_dead_modes, forgetting.dead_modes_claims, forgetting.draw_dead_modes
        ),
        "initial scale": Theme(
            starts.measure_initial_scale, starts.initial_scale_claims, starts.draw_initial_scale
        ),
    },
    full=8,
    quick=1,
)
