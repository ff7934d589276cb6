"""The paper's experiment: its stream, its two kinds of network, and the spectra seen on the way.

X (T, n)  input, rows are samples      F  filter of the network at some T (k, n)
Y (T, k)  output                       lam, d  eigenvalues of X'X / T and Y'Y / T
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import engine, streams
from ..engine.optimum import random_start
from ..engine.state import Rule, response_filter
from ..network import HebbianNetwork
from ..regularizers import REGULARIZERS, Regularizer

Array = NDArray[np.float64]

N_INPUTS = 64
N_OUTPUTS = 20
N_SIGNAL = 3
"""How many components are to be transmitted."""
THRESHOLD = 2.0
INITIAL_ACTIVITY = 10.0
SPECTRUM: Array = np.concatenate(([6.0, 5.0, 4.0, 2.0], np.full(60, 0.1)))
"""The input spectrum with its noise eigenvalues, uniform on [0, 0.2], at their mean."""

NETWORK_LABEL = {"printed": "printed network (Jacobi iteration)", "engine": "engine (direct solve)"}
"""The two kinds of network: the same algorithm as the paper prints it, and as a computer does it fast."""


def chosen_regularizer(name: str) -> Regularizer:
    """The regularizer with the alpha that puts the threshold at 2 on the paper's spectrum."""
    return REGULARIZERS[name].for_threshold(SPECTRUM, THRESHOLD)


def stationary(n_samples: int, seed: int) -> Array:
    return np.vstack(list(streams.paper_stream(n_samples, random_state=seed)))


def switching(n_samples: int, seed: int) -> Array:
    """Twice the variance from sample 1000 to 6000."""
    return np.vstack(list(streams.switching_stream(n_samples, random_state=seed)))


class Course(NamedTuple):
    """What a network did on a stream."""

    Y: Array
    filters: list[Array]
    """F at each of the times asked for."""


def run(
    network: str,
    regularizer: Regularizer,
    X: Array,
    times: Sequence[int],
    *,
    seed: int,
    beta: float = 1.0,
    n_outputs: int = N_OUTPUTS,
) -> Course:
    """Let a network of either kind learn from X up to the last of the times."""
    make = {"printed": _printed, "engine": _engine}[network]
    learn, read_filter = make(regularizer, X.shape[1], n_outputs, beta, seed)
    Y, filters = [], []
    for start, stop in zip([0, *times], times, strict=False):
        Y.append(learn(X[start:stop]))
        filters.append(read_filter())
    return Course(np.vstack(Y), filters)


Learner = tuple[Callable[[Array], Array], Callable[[], Array]]
"""What learns from rows and returns the outputs, and what reads the filter."""


def _printed(regularizer: Regularizer, n: int, k: int, beta: float, seed: int) -> Learner:
    network = HebbianNetwork(
        n, k, regularizer, beta=beta, initial_activity=INITIAL_ACTIVITY, random_state=seed
    )
    return network.run, lambda: network.filter


def _engine(regularizer: Regularizer, n: int, k: int, beta: float, seed: int) -> Learner:
    rule = Rule.of(regularizer, beta)
    state = random_start(n, k, INITIAL_ACTIVITY, np.random.default_rng(seed))
    return lambda X: engine.learn(state, rule, X), lambda: response_filter(state, rule)


def scatter_sums(Z: Array, times: Sequence[int]) -> dict[int, Array]:
    """The sum of z z' over the first T rows, for each T asked for and for 0."""
    sums = {0: np.zeros((Z.shape[1], Z.shape[1]))}
    before = 0
    for T in times:
        sums[T] = sums[before] + Z[before:T].T @ Z[before:T]
        before = T
    return sums


def eigenvalues(moment: Array) -> Array:
    """Of a second moment, largest first."""
    return np.asarray(np.maximum(np.linalg.eigvalsh(moment)[::-1], 0), dtype=np.float64)


def even_times(n_samples: int, points: int = 100) -> list[int]:
    """A fixed grid of sample counts up to the last."""
    return sorted({max(1, round(n_samples * i / points)) for i in range(1, points + 1)})


def growing_times(n_samples: int, first: int = 10, a_decade: int = 12) -> list[int]:
    """Sample counts that grow by a constant factor, for logarithmic axes; 10, 100, ... are among them."""
    steps = range(a_decade * 10)
    grid = {round(first * 10 ** (i / a_decade)) for i in steps}
    return [*sorted(T for T in grid if T < n_samples), n_samples]
