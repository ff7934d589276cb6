"""Relatives of the paper's networks: those with interneurons once more, and similarity matching."""

from ..themes import Theme, ThemedItem
from . import interneurons, saddles, similarity

ITEM = ThemedItem(
    "relatives",
    {
        "random starts": Theme(
            interneurons.measure_random_starts,
            interneurons.random_start_claims,
            interneurons.draw_random_starts,
        ),
        "gain control": Theme(
            interneurons.measure_gain_control,
            interneurons.gain_control_claims,
            interneurons.draw_gain_control,
        ),
        "partial passing": Theme(
            interneurons.measure_partial, interneurons.partial_claims, interneurons.draw_partial
        ),
        "saddle search": Theme(saddles.measure, saddles.claims, saddles.draw),
        "two rates": Theme(
            similarity.measure_two_rates, similarity.two_rates_claims, similarity.draw_two_rates
        ),
        "without threshold": Theme(similarity.measure_plain, similarity.plain_claims, similarity.draw_plain),
        "non-negative": Theme(
            similarity.measure_nonnegative, similarity.nonnegative_claims, similarity.draw_nonnegative
        ),
    },
    full=6,
    quick=1,
    height=2.4,
)
