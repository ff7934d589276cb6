"""The networks on real data: patches of photographs under changes of contrast, sensors under changes of gain.

Each network learns at contrast 1, is copied, and goes on at each of the contrasts. Its rank and the size of
its output at the end are held against those at contrast 1.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ... import offline, streams
from ...network import (
    EqualizingNetwork,
    FastSimilarityMatching,
    HardThresholdNetwork,
    HebbianNetwork,
    InterneuronNetwork,
    LocalNetwork,
    MinMaxNetwork,
    NonnegativeNetwork,
    SimilarityMatchingNetwork,
)
from ...regularizers import InputOutput, Regularizer, ScaleDependent
from ..reproduction.item import Claim, Sheet, Table
from . import experiment
from .drawing import DARK, LOOKS, MIDDLE, Axes, Figure, figure_of, lettered
from .experiment import KINDS, Array
from .texts import texts_of

NAME = "real-data"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

SIDE = 6
"""Pixels along the side of a patch."""
N_PATCHES = 12_000
K = 8
BETA = 0.995
BETAS = (0.995, 0.999, 1.0)
"""Discounts with which whitening is measured: windows of 100 and 500 samples, and no forgetting."""
START = 200
"""Rows of a closed-form start."""
CONTRASTS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Factors on the inputs."""
FEWEST, MOST = 3, 6
"""The threshold lies in the widest gap of the spectrum behind one of these components."""
PASSES = 0.02
"""Share of the strongest mode's output variance from which on a mode counts as transmitted."""
SILENT = 1e-3
"""Share of the usual output variance below which the strongest mode counts as silent, too."""
LIBRARY, NONE = "library", "none"
TAU = 0.25
"""Rates of the network with two of them: lateral weights learn twice as fast as the others."""
FORMS = (
    *(("soft", name) for name in KINDS),
    *(("hard", name) for name in KINDS),
    ("equalizing", "scale-dependent"),
    ("equalizing", "input-output"),
    ("gain control", "input-output"),
    ("two rates", "input-output"),
    ("non-negative", "input-output"),
    ("similarity matching", NONE),
    ("fast similarity matching", NONE),
    (LIBRARY, "noise edge"),
)
"""All networks, and what a person would use instead."""
WHITENING = ("whitening", "scale-dependent")
"""An equalizing network at contrast 1, for longer."""
LONGER = 2
CALIBRATED = ("input-output", "squared-output")
STYLE = {
    "soft": "o-",
    "hard": "s--",
    "equalizing": "^-.",
    "gain control": "D:",
    "two rates": "v-",
    "non-negative": "P--",
    "similarity matching": "<-.",
    "fast similarity matching": ">:",
    LIBRARY: "x-",
}


@dataclass(frozen=True)
class Settings:
    n_seeds: int
    stretch: int
    """Samples at each contrast; spectra are those of the last third."""


FULL = Settings(n_seeds=10, stretch=1_500)
QUICK = Settings(n_seeds=1, stretch=900)


@dataclass(frozen=True)
class Case:
    data: str
    form: str
    regularizer: str
    stretch: int
    seed: int
    beta: float = BETA


def sensors() -> str:
    """The sensor set that is at hand: that of a real plant if the user has it."""
    return "Tennessee Eastman" if plant_file().exists() else "stand-in plant"


def plant_file() -> Path:
    return Path(os.environ.get("EIGENSTREAM_DATA", ".")) / "tennessee_eastman.npz"


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    if settings.stretch < START or settings.stretch % 3:
        raise ValueError(f"{NAME} needs a stretch of at least {START} samples and a multiple of 3")
    sets, seeds = ("photographs", sensors()), range(seed, seed + settings.n_seeds)
    found = [Case(data, *form, settings.stretch, s) for data in sets for form in FORMS for s in seeds]
    longer = LONGER * settings.stretch
    return found + [Case(data, *WHITENING, longer, s, beta) for data in sets for beta in BETAS for s in seeds]


@cache
def rows_of(data: str) -> Array:
    """Rows of a set, as they come or, of photographs, at random places; centered."""
    if data == "photographs":
        return _patches()
    if data == "Tennessee Eastman":
        with np.load(plant_file()) as runs:
            X = np.vstack([runs[run].astype(np.float64) for run in ("train_00", "test_00")])
    else:
        X = np.vstack(list(streams.plant(1_500, n_sensors=20, n_causes=3, random_state=0)))
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0), dtype=np.float64)


def _patches() -> Array:
    """Patches of scikit-learn's two photographs, each without its own mean brightness."""
    from sklearn.datasets import load_sample_images

    rng, found = np.random.default_rng(0), []
    for image in load_sample_images().images:
        gray = image.mean(axis=2) / 255
        windows = np.lib.stride_tricks.sliding_window_view(gray, (SIDE, SIDE)).reshape(-1, SIDE * SIDE)
        found.append(windows[rng.choice(len(windows), N_PATCHES // 2, replace=False)])
    X = rng.permutation(np.vstack(found))
    X = X - X.mean(axis=1, keepdims=True)
    return np.asarray(X - X.mean(axis=0), dtype=np.float64)


def stream_of(case: Case, length: int) -> Array:
    """Rows in their order from a random one on, again from the first after the last."""
    X = rows_of(case.data)
    first = int(np.random.default_rng([case.seed, 4]).integers(len(X)))
    return X[(first + np.arange(length)) % len(X)]


def threshold_of(data: str) -> tuple[Array, float, int]:
    """Spectrum of all rows, the threshold in its widest gap, and the number of components above."""
    lam = np.asarray(offline.spectrum(rows_of(data), 1)[0], dtype=np.float64)
    ratios = lam[FEWEST - 1 : MOST] / lam[FEWEST : MOST + 1]
    p = FEWEST + int(np.argmax(ratios))
    return lam, float(np.sqrt(lam[p - 1] * lam[p])), p


def network_of(case: Case, X: Array) -> LocalNetwork:
    """A network with the threshold in the gap, after its start."""
    lam, theta, p = threshold_of(case.data)
    n, trace = X.shape[1], float(lam.sum())
    options: dict[str, Any] = {"beta": case.beta, "settling": "fixed-point", "random_state": case.seed}
    options["initial_activity"] = trace  # of the order of a sample's squared length, whatever the units
    if case.regularizer == NONE:
        plain = case.form == "similarity matching"
        return (SimilarityMatchingNetwork if plain else FastSimilarityMatching)(n, K, **options)
    kind = KINDS[case.regularizer]
    regularizer: Regularizer = kind.for_threshold(lam, theta)
    if case.form == "hard" and case.regularizer == "squared-output":
        regularizer = kind(theta / float(lam[:p].sum()))
    if case.form == "soft":
        return HebbianNetwork(n, K, regularizer, **options)
    if case.form == "two rates":
        return MinMaxNetwork(n, K, regularizer, TAU, **options)
    if case.form == "non-negative":
        return NonnegativeNetwork(n, K, regularizer, **(options | {"settling": "gauss-seidel", "tol": 1e-4}))
    if case.form == "hard":
        return HardThresholdNetwork(n, K, regularizer, **options)
    # Outputs of the size of the threshold, so that all of them can be compared.
    own = InputOutput(theta / trace) if case.regularizer == "input-output" else ScaleDependent(theta)
    goal = ScaleDependent(theta) if case.form == "gain control" else own
    return EqualizingNetwork(n, K, regularizer, goal, **options)


def simulate(case: Case) -> Table:
    """Output eigenvalues at the end of each contrast, or how far an equalizer is from whitening."""
    X = stream_of(case, 2 * case.stretch)
    before, after = X[: case.stretch], X[case.stretch :]
    follow = LibraryScores(case) if case.form == LIBRARY else NetworkOutputs(case, before)
    follow(before)
    table: Table = {"data": case.data, "form": case.form, "regularizer": case.regularizer, "beta": case.beta}
    if case.form == WHITENING[0]:
        Y = follow(after)[-case.stretch // 3 :]
        return table | {"whitened": _whitening_gap(case, after[-len(Y) :], Y)}
    outputs = {}
    for contrast in CONTRASTS:
        Y = deepcopy(follow)(contrast * after)[-case.stretch // 3 :]
        outputs[f"{contrast:g}"] = experiment.eigenvalues(Y.T @ Y / len(Y)).tolist()
    return table | {"outputs": outputs}


class NetworkOutputs:
    """A network that takes rows and returns its outputs; interneurons start from the first rows."""

    def __init__(self, case: Case, X: Array) -> None:
        self.network, self.seed = network_of(case, X), case.seed
        self.started = not isinstance(self.network, InterneuronNetwork)

    def __call__(self, X: Array) -> Array:
        if not self.started:
            assert isinstance(self.network, InterneuronNetwork)
            self.started = True
            self.network.start_from(X[:START], self.seed)
            return np.vstack((X[:START] @ self.network.filter.T, self.network.run(X[START:])))
        return self.network.run(X)


class LibraryScores:
    """The choice of most users: components that stand out of the noise, scores of variance 1."""

    def __init__(self, case: Case) -> None:
        from ...estimators import OnlineAdaptivePCA

        half_life = float(np.log(0.5) / np.log(BETA**2))
        self.model = OnlineAdaptivePCA(
            max_components=K, half_life=half_life, center=False, scores="whitened", random_state=case.seed
        )

    def __call__(self, X: Array) -> Array:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a rank at its capacity: the figure shows it
            return np.asarray(self.model.learn_many(X), dtype=np.float64)


def _whitening_gap(case: Case, X: Array, Y: Array) -> Table:
    """Output against the closed form on the same rows: its similarity matrix, and its top eigenvalues."""
    theta = threshold_of(case.data)[1]
    best = offline.solve_equalizing(X, ScaleDependent(theta), theta, K)
    gap = np.linalg.norm(Y @ Y.T - best.Y @ best.Y.T) / np.linalg.norm(best.Y @ best.Y.T)
    kept = max(best.n_components, 1)
    variances = experiment.eigenvalues(Y.T @ Y / len(Y))[:kept] / theta
    return {"similarity": float(gap), "variances": variances.tolist(), "rank": best.n_components}


def _found(tables: Sequence[Table], data: str, form: tuple[str, str]) -> tuple[Array, Array]:
    """Ranks, and sizes relative to contrast 1 (seeds, contrasts)."""
    mine = experiment.chosen(tables, data=data, form=form[0], regularizer=form[1])
    outputs = [[t["outputs"][f"{c:g}"] for c in CONTRASTS] for t in mine]
    usual = [max(row[CONTRASTS.index(1.0)]) for row in outputs]
    ranks = np.array(
        [
            [_transmitted(d, c**2 * size) for d, c in zip(row, CONTRASTS, strict=True)]
            for row, size in zip(outputs, usual, strict=True)
        ]
    )
    sizes = np.array([[float(np.sum(d)) for d in row] for row in outputs])
    return ranks, sizes / np.maximum(sizes[:, [CONTRASTS.index(1.0)]], 1e-300)


def _transmitted(eigenvalues: Sequence[float], usual: float) -> int:
    """Modes with a fiftieth of the strongest one's output variance; none where that is next to nothing.

    ``usual`` is the strongest at contrast 1 with the input's power now.
    """
    d = np.asarray(eigenvalues)
    return int(np.sum(d > PASSES * d[0])) if d[0] > SILENT * usual else 0


def _data_of(tables: Sequence[Table]) -> list[str]:
    return list(dict.fromkeys(t["data"] for t in tables))


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    figure, axes = figure_of(2, 2, 5.6, sharex=True)
    titles = []
    for row, data in enumerate(_data_of(tables)):
        for form in FORMS:
            _draw_form(axes[2 * row], axes[2 * row + 1], tables, data, form)
        titles += [f"{data}: modes transmitted", f"{data}: size of the output"]
        axes[2 * row].set(ylabel="rank", ylim=(-0.5, K + 0.8))
        axes[2 * row + 1].set(yscale="log", ylabel="output variance over that at 1")
    for axis in axes:
        axis.set_xscale("log")
        axis.set_xticks(CONTRASTS, [f"{c:g}" for c in CONTRASTS])
        axis.set_xticks([], minor=True)
    for axis in axes[2:]:
        axis.set_xlabel("inputs multiplied by")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=6)
    lettered(axes, titles)
    return figure


def _draw_form(left: Axes, right: Axes, tables: Sequence[Table], data: str, form: tuple[str, str]) -> None:
    color = LOOKS[form[1]].color if form[1] in LOOKS else MIDDLE if form[1] == NONE else DARK
    shift = 1.02 ** (FORMS.index(form) - len(FORMS) / 2)  # bars on top of one another could not be told apart
    for axis, values in zip((left, right), _found(tables, data, form), strict=True):
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
        x = shift * np.array(CONTRASTS)
        axis.plot(x, middle, STYLE[form[0]], color=color, ms=3.5, lw=1, label=", ".join(form))
        axis.vlines(x, low, high, color=color, lw=1)


def sheets(settings: Settings, tables: Sequence[Table]) -> Sequence[Sheet]:
    found = []
    for data in _data_of(tables):
        lam, theta, p = threshold_of(data)
        for what, index in (("Rank", 0), ("Size of the output over that at 1", 1)):
            rows = tuple(
                (*form, *(_quartiles(column) for column in _found(tables, data, form)[index].T))
                for form in FORMS
            )
            columns = ("Network", "Threshold measured by", *(f"× {c:g}" for c in CONTRASTS))
            note = (
                f"Median and quartiles of {settings.n_seeds} seeds over the last {settings.stretch // 3} of "
                f"{settings.stretch:,} samples, beta = {BETA:g}, {K} outputs. Threshold behind component "
                f"{p}, {theta / lam.sum():.1%} of the variance."
            )
            found.append(Sheet(f"{what}: {data}", columns, rows, note))
    return [*found, _whitening_sheet(tables)]


def _quartiles(values: Array) -> str:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def _gaps(tables: Sequence[Table], data: str, beta: float) -> list[Table]:
    return [t["whitened"] for t in experiment.chosen(tables, data=data, form=WHITENING[0], beta=beta)]


def _whitening_sheet(tables: Sequence[Table]) -> Sheet:
    rows = []
    for data in _data_of(tables):
        for beta in BETAS:
            gaps = _gaps(tables, data, beta)
            spread = np.array([[min(g["variances"]), max(g["variances"])] for g in gaps])
            rows.append(
                (
                    data,
                    "never forgets" if beta == 1 else f"{1 / (1 - beta**2):.0f}",
                    _quartiles(np.array([float(g["rank"]) for g in gaps])),
                    *(_quartiles(column) for column in spread.T),
                    _quartiles(np.array([g["similarity"] for g in gaps])),
                )
            )
    return Sheet(
        "Whitening by the equalizing network against the closed form",
        ("Data", "Window", "Modes", "Least output variance", "Largest", "Distance of the outputs"),
        tuple(rows),
        "Fixed threshold, contrast 1. The closed form of the last samples has variance 1 in every mode. "
        "Distance: of the similarity matrices, relative. Median and quartiles of the seeds.",
    )


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    return [
        claim
        for data in _data_of(tables)
        for claim in (_rank_claim(tables, data), _size_claim(tables, data), _whitening_claim(tables, data))
    ]


def _rank_claim(tables: Sequence[Table], data: str) -> Claim:
    """Judge networks by medians: the same to within one at every contrast, or not.

    The library's rank, and those of networks without a threshold, are told with them.
    """
    medians = {form: np.median(_found(tables, data, form)[0], axis=0) for form in FORMS}
    fixed = {form: ranks for form, ranks in medians.items() if form[1] in KINDS and form[1] not in CALIBRATED}
    others = {form: ranks for form, ranks in medians.items() if form[1] in CALIBRATED}
    listed = {form: " ".join(f"{rank:g}" for rank in ranks) for form, ranks in medians.items()}
    value = "; ".join(f"{form}, {name}: {ranks}" for (form, name), ranks in listed.items())
    usual = CONTRASTS.index(1.0)
    right = all(np.max(np.abs(ranks - ranks[usual])) <= 1 for ranks in others.values()) and all(
        ranks[0] < ranks[usual] and ranks[0] < ranks[-1] - 1 for ranks in fixed.values()
    )
    return claim("rank", value, right, data=data)


def _size_claim(tables: Sequence[Table], data: str) -> Claim:
    """Judge by the slope of the size against the contrast, in logarithms: 2 follows the input, 0 does not."""
    slopes = {}
    for form in FORMS:
        sizes = np.median(_found(tables, data, form)[1], axis=0)
        slopes[form] = float(np.polyfit(np.log(CONTRASTS), np.log(np.maximum(sizes, 1e-12)), 1)[0])
    value = "; ".join(f"{form}, {name}: {slope:.2f}" for (form, name), slope in slopes.items())
    flat = slopes["gain control", "input-output"]
    follow = [
        slope
        for (form, name), slope in slopes.items()
        if name in (*CALIBRATED, NONE) and form != "gain control"
    ]
    right = abs(flat) < 0.25 and all(abs(slope - 2) < 0.25 for slope in follow)
    return claim("size", value, right, data=data)


def _whitening_claim(tables: Sequence[Table], data: str) -> Claim:
    found = {beta: _gaps(tables, data, beta) for beta in BETAS}
    distances = {beta: float(np.median([g["similarity"] for g in gaps])) for beta, gaps in found.items()}
    least = {beta: float(np.median([min(g["variances"]) for g in gaps])) for beta, gaps in found.items()}
    value = "; ".join(
        f"beta {beta:g}: {distances[beta]:.0%}, weakest mode {least[beta]:.2g}" for beta in BETAS
    )
    return claim("whitening", value, distances[BETAS[0]] > max(distances[1.0], 0.3), data=data)
