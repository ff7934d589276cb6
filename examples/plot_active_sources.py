"""
How many sources are active?
============================

The question: *how many sources can be heard now, whatever the volume?*

Sixty-four receivers hear a few sources, each receiver all of them with weights of its own, in noise.
Sources are switched on and off. In the middle of the stream somebody turns the volume of everything down to
a tenth.

The answer: **the rank is the number of active sources, nobody had to say it, and the volume does not
matter.** The threshold is read off the noise, so it follows the volume.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenstream import OnlineAdaptivePCA
from eigenstream.plotting import plot_rank_history, plot_tracks

ROWS, RECEIVERS, SOURCES = 12_000, 64, 6
ACTIVE = {0: [0, 1], 2500: [0, 1, 2, 3, 4], 5000: [1, 3, 4], 10_000: [1, 2, 3, 4, 5]}
QUIET = 7500
"""From this row on everything has a tenth of its volume."""

# %%
# The stream.

rng = np.random.default_rng(0)
weights = rng.standard_normal((SOURCES, RECEIVERS))
on = np.zeros((ROWS, SOURCES))
for start, sources in ACTIVE.items():
    on[start:] = np.isin(np.arange(SOURCES), sources)
rows = (on * rng.standard_normal((ROWS, SOURCES))) @ weights + rng.standard_normal((ROWS, RECEIVERS))
rows[QUIET:] *= 0.1

# %%
# One pass, a batch at a time. The model says when the rank changes.

model = OnlineAdaptivePCA(half_life=200)
for start in range(0, ROWS, 100):
    model.partial_fit(rows[start : start + 100])
for change in model.rank_history_:
    print(f"row {change.sample:6,}: {change.before} -> {change.after}")

# %%
# Above, the variance along each component that is kept; all of them, the threshold and the noise fall
# together when the volume does. Below, the rank beside the truth.

figure, (tracks, rank) = plt.subplots(
    2, 1, figsize=(9, 6.5), height_ratios=(3, 2), sharex=True, layout="constrained"
)
plot_tracks(model, tracks)
plot_rank_history(model, rank)
rank.plot(on.sum(axis=1), color="0.5", linewidth=4, alpha=0.4, zorder=0, label="active sources")
rank.legend(loc="lower right")
tracks.axvline(QUIET, color="0.6", linestyle=":")
tracks.set(title="variances of the components, the threshold, and the noise", xlabel="")
plt.show()
