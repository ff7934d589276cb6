"""Similarity matching with two rates, without a threshold, and with outputs that cannot be negative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .... import metrics, offline
from ....network import (
    FastSimilarityMatching,
    HebbianNetwork,
    LocalNetwork,
    MinMaxNetwork,
    NonnegativeNetwork,
    SimilarityMatchingNetwork,
)
from ....orthonormal import random_orthonormal
from ....regularizers import InputOutput
from ...reproduction.item import Claim, Table
from .. import experiment
from ..drawing import DARK, LOOKS, Axes
from ..experiment import Array
from ..texts import texts_of

*_, claim = texts_of("relatives")

TOP = experiment.N_SIGNAL
COLORS = [look.color for look in LOOKS.values()]


def _options(seed: int) -> dict[str, Any]:
    return {"settling": "fixed-point", "random_state": seed}


def _errors(network: LocalNetwork, X: Array, times: Sequence[int]) -> list[float]:
    """Subspace error of the filter, m = 3, at each of the times."""
    found = []
    for start, stop in zip([0, *times], times, strict=False):
        network.run(X[start:stop])
        found.append(metrics.subspace_error(network.filter, offline.spectrum(X[:stop], TOP)[1], TOP))
    return found


TAUS = (0.125, 0.25, 0.5, 1.0, 2.0)
RATE_TIMES = (100, 200, 400, 800, 1600, 3200)
K = 6


def measure_two_rates(seed: int) -> Table:
    """Subspace errors by tau, and the distance of tau = 1/2 from the paper's network."""
    X = experiment.stationary(RATE_TIMES[-1], seed)
    regularizer = experiment.chosen_regularizer("input-output")
    errors = {
        f"{tau:g}": _errors(MinMaxNetwork(X.shape[1], K, regularizer, tau, **_options(seed)), X, RATE_TIMES)
        for tau in TAUS
    }
    mine, paper = (
        make(X.shape[1], K, regularizer, **_options(seed)) for make in (MinMaxNetwork, HebbianNetwork)
    )
    gap = float(np.max(np.abs(mine.run(X[:300]) - paper.run(X[:300]))))
    return {"errors": errors, "gap": gap}


def _medians(tables: Sequence[Table]) -> dict[str, Array]:
    return {name: np.median([t["errors"][name] for t in tables], axis=0) for name in tables[0]["errors"]}


def draw_two_rates(axis: Axes, tables: Sequence[Table]) -> str:
    styles = ((0, (1, 1)), (0, (3, 1.5)), "-", (0, (5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))
    for (tau, errors), style in zip(_medians(tables).items(), styles, strict=True):
        label = f"τ = {tau}" + (" (paper)" if tau == "0.5" else "")
        axis.plot(RATE_TIMES, errors, ls=style, color=DARK if tau == "0.5" else COLORS[1], label=label)
    axis.set(xscale="log", yscale="log", xlabel="samples T", ylabel="subspace error, m = 3")
    axis.legend(frameon=False, fontsize=6)
    return "two learning rates (R_XY)"


def two_rates_claims(tables: Sequence[Table]) -> list[Claim]:
    ends = {tau: float(errors[-1]) for tau, errors in _medians(tables).items()}
    gap = max(t["gap"] for t in tables)
    value = f"equal to {gap:.0e} at 1/2; errors at the end " + ", ".join(
        f"{error:.2g} (τ = {tau})" for tau, error in ends.items()
    )
    paper = ends["0.5"]
    right = gap < 1e-9 and max(ends.values()) < 0.005 and min(ends.values()) > paper / 1.5
    return [claim("two-rates", value, right, last=RATE_TIMES[-1])]


PLAIN_TIMES = (100, 200, 400, 800, 1600, 3200)


def measure_plain(seed: int) -> Table:
    """Subspace errors of the networks without a threshold, and of the paper's with as many outputs."""
    X = experiment.stationary(PLAIN_TIMES[-1], seed)
    n = X.shape[1]
    networks: dict[str, LocalNetwork] = {
        "similarity matching": SimilarityMatchingNetwork(n, TOP, **_options(seed)),
        "fast similarity matching": FastSimilarityMatching(n, TOP, random_state=seed),
        "paper, R_XY": HebbianNetwork(
            n, TOP, experiment.chosen_regularizer("input-output"), **_options(seed)
        ),
    }
    return {"errors": {name: _errors(network, X, PLAIN_TIMES) for name, network in networks.items()}}


def draw_plain(axis: Axes, tables: Sequence[Table]) -> str:
    for (name, errors), color, style in zip(
        _medians(tables).items(), COLORS, ("o-", "s--", "^-."), strict=True
    ):
        axis.plot(PLAIN_TIMES, errors, style, color=color, ms=3.5, label=name)
    axis.set(xscale="log", yscale="log", xlabel="samples T", ylabel="subspace error, m = 3")
    axis.legend(frameon=False, fontsize=6)
    return f"without a threshold, k = {TOP}"


def plain_claims(tables: Sequence[Table]) -> list[Claim]:
    medians = _medians(tables)
    value = "; ".join(f"{name} {errors[0]:.2g} falls to {errors[-1]:.2g}" for name, errors in medians.items())
    right = all(errors[-1] < min(0.01, errors[0] / 3) for errors in medians.values())
    return [claim("plain", value, right, first=PLAIN_TIMES[0], last=PLAIN_TIMES[-1])]


CLUSTERS, CLUSTER_INPUTS, CLUSTER_SAMPLES, ASKED = 4, 16, 3_000, 400
CLUSTER_NOISE = 0.1


def measure_nonnegative(seed: int) -> Table:
    """Responses to rows of each cluster, with rectified and with linear outputs."""
    rng = np.random.default_rng([seed, 3])
    centers = random_orthonormal(CLUSTER_INPUTS, CLUSTERS, rng)
    labels = rng.integers(CLUSTERS, size=CLUSTER_SAMPLES + ASKED)
    X = rng.uniform(1, 3, (len(labels), 1)) * centers[labels]
    X += CLUSTER_NOISE * rng.standard_normal(X.shape)
    found = {}
    for name, kind in (("non-negative", NonnegativeNetwork), ("linear", HebbianNetwork)):
        options = {**_options(seed), "settling": "gauss-seidel", "initial_activity": 4.0}
        network = kind(CLUSTER_INPUTS, CLUSTERS, InputOutput(0.02), **options)
        network.run(X[:CLUSTER_SAMPLES])
        Y = np.array([network.respond(x) for x in X[CLUSTER_SAMPLES:]])
        found[name] = _told_apart(Y, labels[CLUSTER_SAMPLES:])
    return found


def _told_apart(Y: Array, labels: NDArray[np.int64]) -> Table:
    """Share of rows whose strongest neuron is their cluster's, and its share of the output's power.

    Rectified outputs may all be zero: then no neuron is the cluster's, and has no share.
    """
    power = Y**2
    total, winners = power.sum(axis=1), np.argmax(power, axis=1)
    answered = total > 0
    counts = np.zeros((CLUSTERS, CLUSTERS), dtype=int)
    np.add.at(counts, (labels[answered], winners[answered]), 1)
    own = np.argmax(counts, axis=1)
    return {
        "purity": float(np.mean(answered & (winners == own[labels]))),
        "neurons": len(set(own[counts.any(axis=1)].tolist())),
        "share": float(np.median(power.max(axis=1) / np.where(answered, total, 1.0))),
        "least": float(Y.min()),
        "answers": [
            [float(v) for v in np.sqrt(np.mean(power[labels == c], axis=0))] for c in range(CLUSTERS)
        ],
    }


def draw_nonnegative(axis: Axes, tables: Sequence[Table]) -> str:
    answers = np.array(tables[0]["non-negative"]["answers"])
    order = np.argsort(np.argmax(answers, axis=1), kind="stable")
    axis.imshow(answers[order], cmap="Greys", aspect="auto", vmin=0, vmax=2 * answers.max())
    for (row, column), value in np.ndenumerate(answers[order]):
        axis.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7)
    axis.set(xlabel="neuron", ylabel="cluster", xticks=range(CLUSTERS), yticks=range(CLUSTERS))
    axis.grid(False)
    return "non-negative: one neuron per cluster"


def nonnegative_claims(tables: Sequence[Table]) -> list[Claim]:
    rectified, linear = ([t[name] for t in tables] for name in ("non-negative", "linear"))
    purity, share = (float(np.median([t[key] for t in rectified])) for key in ("purity", "share"))
    mixed = float(np.median([t["share"] for t in linear]))
    neurons = float(np.median([t["neurons"] for t in rectified]))
    least, short = min(t["least"] for t in rectified), sum(t["neurons"] < CLUSTERS for t in rectified)
    value = (
        f"{purity:.1%} of rows, by {neurons:g} neurons, whose share of the output's power is {share:.0%} "
        f"(linear: {mixed:.0%}); no output below {least:g}; in {short} of "
        f"{len(rectified)} seeds a cluster has no neuron of its own"
    )
    right = purity > 0.95 and neurons == CLUSTERS and share > 0.9 > mixed and least >= 0
    return [claim("nonnegative", value, right, clusters=CLUSTERS)]
