"""
One stream per machine
======================

The question: *which of three hundred machines runs a second process, and when?*

Three hundred machines send eight measurements each, mixed up in one stream. Each machine gets a model of
its own, by its key; a bank learns all of them together.

The answer: **thousands of small models cost little more than one, and each is its own.** Machines that run a
second process at a time are seen, each at its own moment, with nobody looking.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenstream.keyed import Bank
from eigenstream.plotting import ORANGE

MACHINES, ROWS, INPUTS = 300, 1000, 8
BUSY = (250, 450)
"""In these rounds every fifth machine runs a second process."""

# %%
# The stream: in each round, every machine sends one row. All have one process; some get a second one for a
# while.

rng = np.random.default_rng(0)
first, second = rng.standard_normal((2, MACHINES, INPUTS))
busy = np.arange(MACHINES) % 5 == 0


def one_round(t):
    """One row of each machine."""
    found = 2 * rng.standard_normal((MACHINES, 1)) * first + 0.5 * rng.standard_normal((MACHINES, INPUTS))
    if BUSY[0] <= t < BUSY[1]:
        found[busy] += 2 * rng.standard_normal((busy.sum(), 1)) * second[busy]
    return found


# %%
# The bank. `on_rank_change` is called with the key and the change; between calls, models could wait in a
# file.

bank, changes = Bank(half_life=40), []
bank.on_rank_change = lambda machine, change: changes.append((machine, change))
machines = np.arange(MACHINES)
for start in range(0, ROWS, 10):
    rounds = [one_round(t) for t in range(start, start + 10)]
    bank.learn_many(np.tile(machines, 10), np.vstack(rounds))
print(f"{bank.samples:,} rows of {len(bank)} machines")

# %%
# The rank of each machine over time. A stripe is a machine with two processes; it ends when the second has
# been forgotten.

ranks = np.zeros((MACHINES, ROWS))
for machine, change in changes:
    ranks[machine, change.sample :] = change.after
found = {machine for machine, change in changes if change.after == 2}
right = found & set(np.flatnonzero(busy).tolist())
print(f"{busy.sum()} machines had a second process; found: {len(right)} of them, {len(found - right)} others")

figure, axis = plt.subplots(figsize=(9, 4.5), layout="constrained")
image = axis.imshow(ranks, aspect="auto", interpolation="nearest", cmap="Blues", vmin=0, vmax=2.5)
axis.vlines(BUSY, -0.5, MACHINES - 0.5, color=ORANGE, label="the second process begins and ends")
axis.set(xlabel="rows of each machine", ylabel="machine", title="the rank of every machine")
axis.legend(loc="lower left")
figure.colorbar(image, label="rank", ticks=[0, 1, 2])
plt.show()
