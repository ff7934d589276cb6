"""
One stream per machine
======================

Three hundred machines send eight measurements each, mixed up in one stream. Each machine gets a model of its own,
by its key; a bank learns all of them together.

The point: **thousands of small models cost little more than one, and each is its own.** Machines that run a second
process at a time are seen, each at its own moment, with nobody looking.
"""

import matplotlib.pyplot as plt
import numpy as np

from eigenstream.bank import Bank
from eigenstream.plotting import BLUE, ORANGE

MACHINES, ROWS, INPUTS = 300, 600, 8
BUSY = (250, 450)
"""In these rounds every fifth machine runs a second process."""

# %%
# The stream: in each round, every machine sends one row. All have one process; some get a second one for a while.

rng = np.random.default_rng(0)
first, second = rng.standard_normal((2, MACHINES, INPUTS))
busy = np.arange(MACHINES) % 5 == 0


def one_round(t):
    """One row of each machine."""
    found = 2 * rng.standard_normal((MACHINES, 1)) * first + 0.5 * rng.standard_normal((MACHINES, INPUTS))
    if BUSY[0] <= t < BUSY[1]:
        found[busy] += 2 * rng.standard_normal((busy.sum(), 1)) * second[busy]
    return found
