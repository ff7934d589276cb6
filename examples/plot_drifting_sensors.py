"""
Drifting sensors, one of which fails
====================================

The question: *how is a fault told from a drift that is normal?*

Forty sensors follow three processes. How strongly each sensor follows them drifts slowly, all the time:
that is normal here. After row 12,000 sensor 17 loses contact and reports noise of its usual size: each of
its values looks fine by itself.

Two monitors watch. One has learnt the first 2,000 rows and stands still. The other goes on learning, with a
half-life of 1,000 rows.

The answer: **a model that stands still takes the drift for a fault, and the fault drowns in it. A model that
forgets follows the drift, and only the fault is left.** It has its price: a model that goes on learning
takes a fault that lasts for normal in the end, here after about a thousand rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenstream import OnlineAdaptivePCA, StreamMonitor
from eigenstream.plotting import BLUE, ORANGE, RED

ROWS, SENSORS, LEARNT, FAILS, FAILED = 15_000, 40, 2000, 12_000, 17

# %%
# The sensors. Their weights turn by a quarter of a circle over the whole stream.

rng = np.random.default_rng(0)
angle = np.linspace(0, np.pi / 2, ROWS)[:, None]
first, last = rng.standard_normal((2, 3, SENSORS))
processes = rng.standard_normal((ROWS, 3))
rows = np.cos(angle) * (processes @ first) + np.sin(angle) * (processes @ last)
rows += 0.3 * rng.standard_normal((ROWS, SENSORS))
rows[FAILS:, FAILED] = rows[:FAILS, FAILED].std() * rng.standard_normal(ROWS - FAILS)

# %%
# Both monitors judge each row by what they knew before it.

still = StreamMonitor(OnlineAdaptivePCA()).fit(rows[:LEARNT])
forgetting = StreamMonitor(OnlineAdaptivePCA(half_life=1000)).fit(rows[:LEARNT])
verdicts = {"stands still": still.judge(rows[LEARNT:]), "forgets": forgetting.learn_many(rows[LEARNT:])}

fails = FAILS - LEARNT
for name, said in verdicts.items():
    before, after = said.alarm[:fails].mean(), said.alarm[fails : fails + 500].mean()
    print(f"the monitor that {name}: {before:.1%} of rows alarm before the fault, {after:.1%} of 500 after")

# %%
# The index of each row is the largest ratio of a statistic to its limit; above 1 is an alarm.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
for axis, (name, said) in zip(axes, verdicts.items(), strict=True):
    axis.semilogy(np.arange(LEARNT, ROWS), said.severity, ".", color=BLUE, markersize=1.5)
    axis.axhline(1, color=RED, linestyle="--", label="limit")
    axis.axvline(FAILS, color=ORANGE, linewidth=2, label=f"sensor {FAILED} fails")
    axis.set(title=f"the monitor that {name}", xlabel="row")
axes[0].set_ylabel("severity")
axes[0].legend(loc="lower right")

# %%
# Whom the monitor that forgets blames for the worst row after the fault:

worst = max((alarm for alarm in forgetting.alarms_ if alarm.began >= FAILS), key=lambda alarm: alarm.peak)
names, shares = zip(*worst.contributors, strict=True)
figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
axis.barh(names, shares, color=ORANGE)
axis.invert_yaxis()
axis.set(xlabel="share of what is unusual", title=f"row {worst.peak_row:,}, {worst.statistic.upper()}")
plt.show()
