"""
A plant with faults
===================

A monitor learns the usual pattern of a plant from its normal run, then watches a run in which something
breaks. It needs no number of components, no limits and no scaling: inputs are standardized while it learns,
and limits are corrected by the rows that it sees.

The data are those of the Tennessee Eastman plant, 52 measurements every three minutes (Downs and Vogel 1993).
They are not part of the package: put ``tennessee_eastman.npz`` into the folder that EIGENSTREAM_DATA names.
Without them, a plant of our own stands in: 20 sensors that follow three slow processes, one of which drifts.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from eigenstream import OnlineAdaptivePCA, StreamMonitor

ONSET = 160
"""The fault begins after this row of the test run."""


def tennessee_eastman(path):
    """Normal rows, and a run in which the temperature of the cooling water varies at random (fault 11)."""
    with np.load(path) as runs:
        names = [f"XMEAS({i})" for i in range(1, 42)] + [f"XMV({i})" for i in range(1, 12)]
        return runs["train_00"].astype(float), runs["test_11"].astype(float), names


def stand_in():
    """Twenty sensors of three processes; sensor 7 drifts away."""
    rng = np.random.default_rng(0)
    processes = rng.standard_normal((2000, 3))
    for t in range(1, len(processes)):
        processes[t] += 0.9 * processes[t - 1]
    rows = processes @ rng.standard_normal((3, 20)) + rng.standard_normal((2000, 20))
    training, test = rows[:1000], rows[1000:].copy()
    test[ONSET:, 7] += np.linspace(0, 30, len(test) - ONSET)
    return training, test, [f"sensor {i}" for i in range(20)]


# %%
# The first phase: learn what is usual.

path = Path(os.environ.get("EIGENSTREAM_DATA", ".")) / "tennessee_eastman.npz"
training, test, names = tennessee_eastman(path) if path.exists() else stand_in()
monitor = StreamMonitor(OnlineAdaptivePCA(standardize=True), false_alarm_rate=0.01).fit(training)
print(f"{monitor.model_.n_components_} components were found in {len(names)} inputs")

# %%
# The second phase: watch. Each row is judged by what was known before it.

verdicts = monitor.learn_many(test)
before, after = verdicts.alarm[:ONSET].mean(), verdicts.alarm[ONSET:].mean()
print(f"{before:.1%} of the rows before the fault alarm, {after:.1%} after")

worst = max(monitor.alarms_, key=lambda alarm: alarm.rows)
blamed = ", ".join(f"{names[int(name[1:])]} {share:.0%}" for name, share in worst.contributors[:3])
print(f"the longest alarm began at row {worst.began - len(training)}; inputs to blame: {blamed}")

# %%
# The control charts: statistics, their limits, and the rows that alarm.

figure, axes = plt.subplots(3, 1, figsize=(9, 6), sharex=True, layout="constrained")
rows = np.arange(len(test))
for axis, name, label in zip(axes, ("t2", "spe", "distance"), ("T²", "SPE", "distance"), strict=True):
    values, limit = getattr(verdicts, name), getattr(verdicts, f"{name}_limit")
    axis.semilogy(rows, values, color="0.6", linewidth=0.7)
    axis.semilogy(rows[verdicts.alarm], values[verdicts.alarm], ".", color="C3", markersize=3)
    axis.semilogy(rows, limit, color="k", linewidth=1, label="limit")
    axis.axvline(ONSET, color="C0", linestyle="--", linewidth=1, label="the fault begins")
    axis.set_ylabel(label)
axes[0].legend(loc="upper left", frameon=False)
axes[-1].set_xlabel("row of the test run")
figure.suptitle("The distance sees the fault first: it knows relations that hold almost exactly")
plt.show()
