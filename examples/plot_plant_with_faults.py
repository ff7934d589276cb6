"""
A plant with faults
===================

The question: *when does the plant leave its normal run, and which measurements say so?*

A monitor learns the usual pattern of a plant from its normal run, then watches a run in which something
breaks.

The answer: **nobody has to say how many components there are, where the limits are, or in which units inputs
come, and the alarm says which inputs are to blame.** Inputs are standardized while the monitor learns, and
limits are corrected by the rows that it sees.

The data are those of the Tennessee Eastman plant, 52 measurements every three minutes (Downs and Vogel
1993). They are not part of the package: put ``tennessee_eastman.npz`` into the folder that EIGENSTREAM_DATA
names. Without them, a plant of our own stands in: 20 sensors that follow three slow processes, one of which
drifts.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from eigenstream import OnlineAdaptivePCA, StreamMonitor
from eigenstream.plotting import GREEN, plot_contributions, plot_control_chart

ONSET = 160
"""The fault begins after this row of the test run."""


def tennessee_eastman(path):
    """Normal rows, and a run in which the temperature of the cooling water varies at random (fault 11)."""
    with np.load(path) as runs:
        names = [f"XMEAS({i})" for i in range(1, 42)] + [f"XMV({i})" for i in range(1, 12)]
        return [pd.DataFrame(runs[run].astype(float), columns=names) for run in ("train_00", "test_11")]


def stand_in():
    """Twenty sensors of three processes; sensor 7 drifts away."""
    rng = np.random.default_rng(0)
    processes = rng.standard_normal((2000, 3))
    for t in range(1, len(processes)):
        processes[t] += 0.9 * processes[t - 1]
    rows = processes @ rng.standard_normal((3, 20)) + rng.standard_normal((2000, 20))
    rows[1000 + ONSET :, 7] += np.linspace(0, 30, 1000 - ONSET)
    frame = pd.DataFrame(rows, columns=[f"sensor {i}" for i in range(20)])
    return frame[:1000], frame[1000:]


# %%
# The first phase: learn what is usual.

path = Path(os.environ.get("EIGENSTREAM_DATA", ".")) / "tennessee_eastman.npz"
training, test = tennessee_eastman(path) if path.exists() else stand_in()
monitor = StreamMonitor(OnlineAdaptivePCA(standardize=True), false_alarm_rate=0.01).fit(training)
print(f"{monitor.model_.n_components_} components were found in {training.shape[1]} inputs")

# %%
# The second phase: watch. Each row is judged by what was known before it.

verdicts = monitor.learn_many(test)
before, after = verdicts.alarm[:ONSET].mean(), verdicts.alarm[ONSET:].mean()
print(f"{before:.1%} of the rows before the fault alarm, {after:.1%} after")

worst = max(monitor.alarms_, key=lambda alarm: alarm.rows)
blamed = ", ".join(f"{name} {share:.0%}" for name, share in worst.contributors[:3])
print(f"the longest alarm began at row {worst.began - len(training)}; inputs to blame: {blamed}")

# %%
# The control charts: statistics, their limits, and the rows that alarm. Rows are counted from the first
# that was learnt.

figure, axes = plt.subplots(3, 1, figsize=(9, 7), sharex=True, layout="constrained")
for axis, statistic in zip(axes, ("t2", "spe", "distance"), strict=True):
    plot_control_chart(verdicts, axis, statistic=statistic)
    axis.axvline(len(training) + ONSET, color=GREEN, linewidth=2, linestyle=":")
    axis.label_outer()
for axis in axes[1:]:
    axis.get_legend().remove()
figure.suptitle("the fault begins at the dotted line")

# %%
# The inputs to blame for the last row.

plot_contributions(monitor, row=test.iloc[-1], count=8)
plt.show()
