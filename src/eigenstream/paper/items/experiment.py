"""The paper's experiment: its stream, its two kinds of network, and the spectra seen on the way.

X (T, n)  input, rows are samples      F  filter of the network at some T (k, n)
Y (T, k)  output                       lam, d  eigenvalues of X'X / T and Y'Y / T
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import streams
from ...learners import network as engine
from ...learners.network.state import NetworkRule, new_state, response_filter, to_weights
from ...network import INITIAL_GAIN, HebbianNetwork
from ...orthonormal import random_orthonormal
from ...regularizers import InputOutput, Regularizer, ScaleDependent, SquaredOutput
from ..reproduction.item import Table

Array = NDArray[np.float64]

KINDS: dict[str, type[Regularizer]] = {
    kind.name: kind for kind in (ScaleDependent, InputOutput, SquaredOutput)
}
"""The paper's three, whatever else is registered."""
SELF_CALIBRATING = ("input-output", "squared-output")
"""Regularizers whose threshold is measured by the input or the output, and follows its scale."""
N_INPUTS = 64
N_SIGNAL = 3
"""Number of components to be transmitted."""
LINES = 4
"""Leading eigenvalues that are followed: the components to be transmitted, and the next."""
SPECTRUM: Array = np.concatenate(([6.0, 5.0, 4.0, 2.0], np.full(60, 0.1)))
"""The input spectrum with its noise eigenvalues, uniform on [0, 0.2], at their mean."""

DOUBLED, RESTORED = 1000, 6000
"""The samples from which on the variance is twice as large, and as before."""
# As long as the paper's first stretch, so that after as many samples nothing of the old input is in it.
WINDOW = 1000
"""Latest samples whose spectra are followed."""


@dataclass(frozen=True)
class Setup:
    """Settings of the simulations; the paper's text states eta and the threshold only."""

    k: int = 20
    """Output neurons."""
    mu_0: float = 10.0
    """Initial cumulative activity."""
    W_yx_length: float = float(INITIAL_GAIN)
    """Length of the rows of the initial feed-forward weights, which are orthogonal."""
    tol: float = 1e-5
    """Relative change of the activity at which the printed iteration counts as settled."""
    eta: float = 0.1
    threshold: float = 2.0
    """Amount by which the input eigenvalues are to be shrunk; alpha follows from it."""


DEFAULT = Setup()
# Readings are never exactly zero. A tenth is 0.2, beside 2 for the weakest component to be transmitted.
ZERO = 0.1
"""Share of the threshold below which a reading counts as zero, wherever the paper says "zero"."""
# The fourth input eigenvalue equals the threshold: some readings of some seeds lie above it by chance.
NEARLY_ALL = 0.9
"""Share of the readings, over seeds and times, that must be zero for a mode to count as silent."""


def zero(setup: Setup) -> float:
    """The output eigenvalue below which a reading counts as zero: 0.2, beside 2 for the weakest signal."""
    return ZERO * setup.threshold


def share_of_zeros(values: Array, setup: Setup) -> float:
    return float(np.mean(values < zero(setup)))


def goal(setup: Setup) -> Array:
    """The top output eigenvalues that the paper aims at: 4, 3 and 2."""
    return SPECTRUM[:N_SIGNAL] - setup.threshold


def spread(values: Sequence[float] | Array, digits: str = ".2g") -> str:
    """Median and range of a measurement over seeds, in words.

    Examples
    --------
    >>> spread([1.0, 2.0, 4.0])
    '2 (1 to 4, 3 seeds)'
    """
    found = np.asarray(values, dtype=np.float64)
    middle, least, most = (format(float(v), digits) for v in (np.median(found), found.min(), found.max()))
    return f"{middle} ({least} to {most}, {found.size} seeds)" if found.size > 1 else f"{middle} (one seed)"


def spreads(values: Mapping[str, Sequence[float] | Array], digits: str = ".2g") -> str:
    """Spreads of several measurements, each after its name."""
    return "; ".join(f"{name} {spread(found, digits)}" for name, found in values.items())


def chosen_regularizer(name: str, setup: Setup = DEFAULT) -> Regularizer:
    """The regularizer with the alpha that puts the threshold there on the paper's spectrum."""
    return KINDS[name].for_threshold(SPECTRUM, setup.threshold)


def stationary(n_samples: int, seed: int) -> Array:
    return np.vstack(list(streams.paper_stream(n_samples, random_state=seed)))


def switching(n_samples: int, seed: int) -> Array:
    """The paper's stream, with twice the variance from sample 1000 to 6000."""
    return np.vstack(list(streams.switching_stream(n_samples, random_state=seed)))


def weights_generator(seed: int) -> np.random.Generator:
    """Generator of initial weights: not of the numbers that the stream of this seed is made of."""
    return np.random.default_rng([seed, 1])


@dataclass(frozen=True)
class Case:
    """One network, "printed" (the paper's iteration) or "engine" (direct solve), on one stream."""

    network: str
    regularizer: str
    n_samples: int
    seed: int
    setup: Setup
    beta: float = 1.0


def cases_of(
    network: str, n_samples: int, n_seeds: int, seed: int, setup: Setup, beta: float = 1.0
) -> list[Case]:
    """Cases for all regularizers and for this number of seeds, from ``seed`` on."""
    return [Case(network, name, n_samples, seed + i, setup, beta) for name in KINDS for i in range(n_seeds)]


def chosen(tables: Sequence[Table], **values: Any) -> list[Table]:
    """The tables that hold these values."""
    return [table for table in tables if all(table[name] == value for name, value in values.items())]


class NetworkCourse(NamedTuple):
    """Outputs and filters of a network on a stream."""

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
    setup: Setup = DEFAULT,
) -> NetworkCourse:
    """Let a network of either kind learn from X up to the last of the times."""
    networks: dict[str, Callable[..., HebbianNetwork | Engine]] = {
        "printed": printed_network,
        "engine": Engine,
    }
    learner = networks[network](regularizer, X.shape[1], setup, weights_generator(seed), beta=beta)
    Y, filters = [], []
    for start, stop in zip([0, *times], times, strict=False):
        Y.append(learner.run(X[start:stop]))
        filters.append(learner.filter)
    return NetworkCourse(np.vstack(Y), filters)


def printed_network(
    regularizer: Regularizer, n: int, setup: Setup, rng: np.random.Generator, **options: Any
) -> HebbianNetwork:
    """The network as the paper prints it, with weights drawn from ``rng``."""
    return HebbianNetwork(
        n,
        setup.k,
        regularizer,
        eta=setup.eta,
        tol=setup.tol,
        initial_activity=setup.mu_0,
        initial_gain=setup.W_yx_length,
        random_state=rng,
        **options,
    )


class Engine:
    """The engine at the printed network's start: random weights W_yx, no lateral ones, activity mu_0.

    Parameters
    ----------
    regularizer, n, setup, rng, beta
        As for the printed network; the linear system is solved directly, so eta and tol play no part.
    noise, seed
        Spontaneous activity and its seed.
    """

    def __init__(
        self,
        regularizer: Regularizer,
        n: int,
        setup: Setup,
        rng: np.random.Generator,
        *,
        beta: float = 1.0,
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._rule = NetworkRule.of(regularizer, beta, noise=noise, seed=seed)
        N = setup.mu_0 * setup.W_yx_length * random_orthonormal(n, setup.k, rng)
        # Only the sum of S and theta matters: half of mu_0 each, as in a network at its optimum.
        half = setup.mu_0 / 2
        self._state = new_state(N, half * np.eye(setup.k), half, np.float64)

    def run(self, X: Array, /) -> Array:
        return engine.learn(self._state, self._rule, X)

    @property
    def filter(self) -> Array:
        return response_filter(self._state, self._rule)

    @property
    def mu(self) -> Array:
        """Cumulative activities, the inverse learning rates."""
        return np.asarray(to_weights(self._state, self._rule).mu, dtype=np.float64)


def scatter_sums(Z: Array, times: Sequence[int]) -> dict[int, Array]:
    """The sum of z z' over the first T rows, for each T asked for and for 0."""
    sums = {0: np.zeros((Z.shape[1], Z.shape[1]))}
    before = 0
    for T in times:
        sums[T] = sums[before] + Z[before:T].T @ Z[before:T]
        before = T
    return sums


def eigenvalues(moment: Array) -> Array:
    """Eigenvalues of a second moment, largest first."""
    return np.asarray(np.maximum(np.linalg.eigvalsh(moment)[::-1], 0), dtype=np.float64)


def recent_eigenvalues(Z: Array, times: Sequence[int]) -> list[list[float]]:
    """The top eigenvalues of the second moment of the last min(T, 1000) rows, for each T."""
    sums = scatter_sums(Z, sorted({*times, *(T - WINDOW for T in times if T > WINDOW)}))
    recent = ((sums[T] - sums[max(T - WINDOW, 0)]) / min(T, WINDOW) for T in times)
    return [eigenvalues(moment)[:LINES].tolist() for moment in recent]


def growing_times(n_samples: int, first: int = 10, a_decade: int = 12) -> list[int]:
    """Sample counts that grow by a constant factor, for logarithmic axes; 10, 100, ... are among them."""
    steps = range(a_decade * 10)
    grid = {round(first * 10 ** (i / a_decade)) for i in steps}
    return [*sorted(T for T in grid if T < n_samples), n_samples]
