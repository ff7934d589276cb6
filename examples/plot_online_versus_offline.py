"""
Online against offline on the same data
=======================================

The question: *how far from the answer on all rows is a model that saw each of them once?*

The same rows, once all together (`AdaptivePCA`, the closed form) and once as a stream, by each of the three
solvers.

The answer: **how far a streaming model is from the answer is a number, not a matter of trust.** With
``"exact"`` there is no difference but rounding. ``"subspace"`` keeps the leading directions only, which
costs little here. ``"network"`` is the paper's network: it starts from the closed form of its first 200
rows, then learns by a local rule, which approaches the answer as rows come.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, compare_to_offline, streams
from eigenstream.metrics import subspace_error
from eigenstream.plotting import BLUE, GREEN, ORANGE

rows = np.vstack(list(streams.paper_stream(10_000, random_state=0)))
STEPS = np.unique(np.logspace(2, np.log10(len(rows)), 16).astype(int))
SOLVERS = {"exact": BLUE, "subspace": GREEN, "network": ORANGE}

# %%
# The distance between what each model knows after t rows and the closed form of the same t rows.

found = {solver: [] for solver in SOLVERS}
for solver, errors in found.items():
    model, start = OnlineAdaptivePCA(solver=solver, random_state=0), 0
    for stop in STEPS:
        model.partial_fit(rows[start:stop])
        start, offline = stop, AdaptivePCA().fit(rows[:stop])
        errors.append(subspace_error(model.components_[:4], offline.components_[:4]))
    print(f"{solver:8}: after {len(rows):,} rows {model.n_components_} components, error {errors[-1]:.1e}")

# %%
# The same as a report, for the last one. `compare_to_offline` needs the rows, of course.

print(compare_to_offline(model, rows))

# %%

figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
for solver, colour in SOLVERS.items():
    axis.loglog(STEPS, np.maximum(found[solver], 1e-16), "o-", color=colour, label=f'solver="{solver}"')
axis.axhline(1e-15, color="0.7", linestyle=":", label="rounding")
axis.set(xlabel="rows", ylabel="distance from the closed form", title="the subspace of four components")
axis.legend()
plt.show()
