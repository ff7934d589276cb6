"""Networks with interneurons: from random weights, as gain control, and with a mode on the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import offline, streams
from ....network import EqualizingNetwork, HardThresholdNetwork, InterneuronNetwork
from ....regularizers import InputOutput, ScaleDependent, SquaredOutput
from ...reproduction.item import Claim, Table
from .. import experiment
from ..drawing import DARK, LOOKS, MIDDLE, Axes
from ..experiment import SPECTRUM, Array
from ..texts import texts_of

*_, claim = texts_of("relatives")

K, THRESHOLD, GAMMA, BETA = 6, 3.0, 1.0, 0.995
"""As in the item `family`: outputs, threshold, output variance of the equalizer, discount per sample."""
TOP = experiment.N_SIGNAL
START = 200
"""Rows of a closed-form start."""
# Those that `family` states for the closed-form start under forgetting.
WITHIN = {"hard": 0.25, "equalizing": 0.45}
"""Largest relative distance from the offline answer."""
PLAIN = 1.0
BETAS = (BETA, PLAIN)
COLOR = {"hard": LOOKS["input-output"].color, "equalizing": LOOKS["scale-dependent"].color}


def _options(seed: int, beta: float = BETA) -> dict[str, Any]:
    return {"beta": beta, "settling": "fixed-point", "random_state": seed}


def _threshold() -> InputOutput:
    return InputOutput.for_threshold(SPECTRUM, THRESHOLD)


def _network(form: str, n: int, seed: int, beta: float) -> InterneuronNetwork:
    if form == "hard":
        return HardThresholdNetwork(n, K, _threshold(), **_options(seed, beta))
    return EqualizingNetwork(n, K, _threshold(), ScaleDependent(GAMMA), **_options(seed, beta))


RANDOM_SAMPLES = 6_000


def measure_random_starts(seed: int) -> Table:
    """Output eigenvalues of the last 1,000 samples from random weights on, and the offline answer's."""
    X = experiment.stationary(RANDOM_SAMPLES, seed)
    times = list(range(1_000, RANDOM_SAMPLES + 1, 500))
    lam = np.array(experiment.recent_eigenvalues(X, times))
    best = {"hard": np.where(lam > THRESHOLD, lam, 0), "equalizing": np.where(lam > THRESHOLD, GAMMA, 0)}
    runs = [
        {
            "form": form,
            "beta": beta,
            "output": experiment.recent_eigenvalues(_network(form, X.shape[1], seed, beta).run(X), times),
            "offline": best[form].tolist(),
        }
        for form in WITHIN
        for beta in BETAS
    ]
    return {"times": times, "runs": runs}


def _distances(tables: Sequence[Table], form: str, beta: float) -> Array:
    """Median over seeds, at each time, of the largest relative distance of the top three from offline."""
    found = []
    for table in tables:
        (run,) = experiment.chosen(table["runs"], form=form, beta=beta)
        y, best = (np.array(run[key])[:, :TOP] for key in ("output", "offline"))
        found.append(np.max(np.abs(y / np.maximum(best, 1e-12) - 1), axis=1))
    return np.asarray(np.median(found, axis=0), dtype=np.float64)


def draw_random_starts(axis: Axes, tables: Sequence[Table]) -> str:
    for form, color in COLOR.items():
        for beta, style in zip(BETAS, ("-", (0, (4, 1.5))), strict=True):
            label = f"{form}, β = {beta:g}"
            axis.plot(tables[0]["times"], _distances(tables, form, beta), ls=style, color=color, label=label)
    axis.set(yscale="log", xlabel="samples T", ylabel="distance from offline (relative)")
    axis.set_ylim(top=12)
    axis.legend(frameon=False, fontsize=6, ncols=2, loc="upper right")
    return "random starts"


def random_start_claims(tables: Sequence[Table]) -> list[Claim]:
    ends = {(form, beta): float(_distances(tables, form, beta)[-1]) for form in WITHIN for beta in BETAS}
    value = "; ".join(f"{form}, beta {beta:g}: {gap:.0%}" for (form, beta), gap in ends.items())
    near = all(ends[form, BETA] < bound for form, bound in WITHIN.items())
    slower = all(ends[form, PLAIN] > ends[form, BETA] for form in WITHIN)
    words = {"beta": BETA, "last": RANDOM_SAMPLES, **WITHIN}
    return [claim("random-start", value, near and slower, **words)]


# Amplitudes: the variance is then 1, 4 and 1/4 of what it was.
CONTRASTS = (1.0, 2.0, 0.5)
"""Factors on the input, one after the other."""
STRETCH = 2_000
"""Samples of each contrast; spectra are those of the last 1,000."""
GOALS = {
    "fixed gamma": ScaleDependent(GAMMA),
    "gamma by the input": InputOutput(GAMMA / float(SPECTRUM.sum())),
}


def measure_gain_control(seed: int) -> Table:
    """Output eigenvalues at the end of each contrast, for both measures of the output's variance."""
    X = experiment.stationary(STRETCH * len(CONTRASTS), seed) * np.repeat(CONTRASTS, STRETCH)[:, None]
    times = list(range(STRETCH, len(X) + 1, STRETCH))
    outputs = {}
    for name, goal in GOALS.items():
        network = EqualizingNetwork(X.shape[1], K, _threshold(), goal, **_options(seed))
        network.start_from(X[:START], seed)
        Y = np.vstack((X[:START] @ network.filter.T, network.run(X[START:])))
        outputs[name] = experiment.recent_eigenvalues(Y, times)
    return {"outputs": outputs}


def _sizes(tables: Sequence[Table], name: str) -> Array:
    """Output eigenvalues at the end of each contrast, medians of the seeds."""
    return np.asarray(np.median([t["outputs"][name] for t in tables], axis=0), dtype=np.float64)


def draw_gain_control(axis: Axes, tables: Sequence[Table]) -> str:
    looks = ((LOOKS["input-output"].color, "o-"), (LOOKS["scale-dependent"].color, "s--"))
    order = np.argsort(CONTRASTS)
    for name, (color, style) in zip(GOALS, looks, strict=True):
        sizes = _sizes(tables, name)[order]
        for i in range(TOP):
            axis.plot(
                np.array(CONTRASTS)[order], sizes[:, i], style, color=color, ms=4, label=None if i else name
            )
        axis.plot(np.array(CONTRASTS)[order], sizes[:, TOP], ":", color=DARK, lw=1)
    axis.set(
        xscale="log", yscale="log", xlabel="inputs multiplied by", ylabel="output eigenvalue", ylim=(1e-3, 20)
    )
    axis.set_xticks(sorted(CONTRASTS), [f"{c:g}" for c in sorted(CONTRASTS)])
    axis.set_xticks([], minor=True)
    axis.legend(frameon=False, fontsize=6, loc="upper left")
    return "gain control (equalizing)"


def gain_control_claims(tables: Sequence[Table]) -> list[Claim]:
    fixed, follows = (_sizes(tables, name) for name in GOALS)
    power = np.square(CONTRASTS)
    gaps = [
        float(np.max(np.abs(sizes[:, :TOP] / goal[:, None] - 1)))
        for sizes, goal in ((fixed, np.full(len(power), GAMMA)), (follows, GAMMA * power))
    ]
    fourth = max(float(np.max(fixed[:, TOP])) / GAMMA, float(np.max(follows[:, TOP] / power)) / GAMMA)
    means = [", ".join(f"{float(np.mean(row)):.2f}" for row in sizes[:, :TOP]) for sizes in (fixed, follows)]
    value = f"fixed {means[0]}; by the input {means[1]}; fourth at most {fourth:.1%} of the others"
    words = {"contrasts": ", ".join(f"{c:g}" for c in CONTRASTS), "within": WITHIN["equalizing"]}
    return [claim("gain-control", value, max(gaps) < WITHIN["equalizing"] and fourth < 0.1, **words)]


PARTIAL_SPECTRUM = (3.0, 2.0, 0.05, 0.05, 0.05, 0.05)
PARTIAL = SquaredOutput(0.6)
PARTIAL_SAMPLES = 6_000
SILENT = 1e-3
"""Share of the whole below which a mode is silent."""


def measure_partial(seed: int) -> Table:
    """Second output eigenvalue of a hard threshold that is measured by the output and lies on that mode."""
    X = np.vstack(list(streams.colored_gaussian(PARTIAL_SPECTRUM, PARTIAL_SAMPLES, random_state=seed)))
    network = HardThresholdNetwork(X.shape[1], 2, PARTIAL, **_options(seed)).start_from(X[:START], seed)
    Y = np.vstack((X[:START] @ network.filter.T, network.run(X[START:])))
    times = list(range(1_000, PARTIAL_SAMPLES + 1, 250))
    return {"times": times, "second": [d[1] for d in experiment.recent_eigenvalues(Y, times)]}


def _predicted_partial() -> Array:
    return np.asarray(offline.hard_spectrum(PARTIAL_SPECTRUM, PARTIAL, 2)[1], dtype=np.float64)


def draw_partial(axis: Axes, tables: Sequence[Table]) -> str:
    for table in tables:
        axis.plot(table["times"], table["second"], color=LOOKS["squared-output"].color, lw=0.8)
    middle = np.median([t["second"] for t in tables], axis=0)
    axis.plot(tables[0]["times"], middle, color=DARK, lw=1.6, label="online, median of the seeds")
    axis.axhline(_predicted_partial()[1], color=MIDDLE, ls=(0, (4, 1.5)), label="offline: in part")
    for whole in (0, PARTIAL_SPECTRUM[1]):
        axis.axhline(whole, color=MIDDLE, ls=":", lw=0.9)
    axis.set(xlabel="samples T", ylabel="second output eigenvalue", ylim=(-0.1, 2.2))
    axis.legend(frameon=False, fontsize=6, loc="center right")
    return "a mode passes in part"


def partial_claims(tables: Sequence[Table]) -> list[Claim]:
    predicted = float(_predicted_partial()[1])
    readings = np.array([t["second"] for t in tables])
    middle, least, most = float(np.median(readings)), float(readings.min()), float(readings.max())
    own, whole = np.median(readings, axis=1), PARTIAL_SPECTRUM[1]
    value = (
        f"{middle:.2f} ({least:.2f} to {most:.2f}), predicted {predicted:.3f}, whole would be {whole:g}; "
        f"medians of the seeds {own.min():.2f} to {own.max():.2f}"
    )
    in_part = SILENT * whole < least and most < 0.5 * whole
    as_predicted = bool(np.all(np.abs(own / predicted - 1) < 0.25))
    return [claim("partial", value, in_part and as_predicted, in_part, readings=readings.size)]
