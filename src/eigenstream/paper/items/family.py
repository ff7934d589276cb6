"""The rest of the family: networks with interneurons, with a fixed threshold and self-calibrating.

Hard threshold and equalizing are those of Pehlevan and Chklovskii (2015); measured by the input or the
output as in the paper reproduced here, their thresholds calibrate themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import offline
from ...network import (
    EqualizingNetwork,
    HardThresholdNetwork,
    HebbianNetwork,
    InterneuronNetwork,
    LocalNetwork,
)
from ...regularizers import Regularizer
from ..reproduction.item import Claim, Sheet, Table
from . import experiment
from .drawing import DARK, LOOKS, MIDDLE, Axes, Figure, figure_of, lettered, mark_changes
from .experiment import DOUBLED, KINDS, LINES, RESTORED, SPECTRUM, Array, recent_eigenvalues
from .texts import texts_of

NAME = "family"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

FORMS = ("hard", "equalizing")
LABEL = {"soft": "soft", "hard": "hard threshold", "equalizing": "equalizing"}
START = 200
"""Rows from which the networks start in closed form."""


@dataclass(frozen=True)
class Settings:
    n_seeds: int
    n_samples: int
    k: int = 6
    threshold: float = 3.0
    gamma: float = 1.0
    beta: float = 0.995
    stationary_samples: int = 4_000


FULL = Settings(n_seeds=10, n_samples=10_000)
QUICK = Settings(n_seeds=1, n_samples=7_000, stationary_samples=1_000)


@dataclass(frozen=True)
class Case:
    form: str
    regularizer: str
    stream: str
    n_samples: int
    k: int
    threshold: float
    gamma: float
    beta: float
    seed: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    if settings.n_samples < RESTORED + 1_000 or settings.n_samples % 200:
        raise ValueError(f"{NAME} needs n_samples of at least {RESTORED + 1_000:,} and a multiple of 200")
    streams = {
        "switching": (settings.n_samples, settings.beta),
        "stationary": (settings.stationary_samples, 1.0),
    }
    return [
        Case(form, name, stream, n, settings.k, settings.threshold, settings.gamma, beta, seed + i)
        for stream, (n, beta) in streams.items()
        for form in (*FORMS, *(("soft",) if stream == "switching" else ()))
        for name in KINDS
        if (form, name) != ("equalizing", "squared-output")
        for i in range(settings.n_seeds)
    ]


def simulate(case: Case) -> Table:
    """Recent spectra of input and output, and of the offline answer on the same samples."""
    make = experiment.switching if case.stream == "switching" else experiment.stationary
    X = make(case.n_samples, case.seed)
    regularizer = regularizer_of(case)
    network = network_of(case, regularizer, X)
    Y = np.vstack((X[:START] @ network.filter.T, network.run(X[START:])))
    times = list(range(START, case.n_samples + 1, 200))
    discount = np.asarray(case.beta ** (2.0 * np.arange(len(X) - 1, -1, -1)), dtype=np.float64)
    found = X @ network.filter.T
    return {
        "form": case.form,
        "regularizer": case.regularizer,
        "stream": case.stream,
        "alpha": regularizer.alpha,
        "times": times,
        "output": recent_eigenvalues(Y, times),
        "offline": [offline_eigenvalues(case, regularizer, X[max(T - 1000, 0) : T]) for T in times],
        "last": experiment.eigenvalues((found.T * discount) @ found / discount.sum())[:LINES].tolist(),
        "last_offline": offline_eigenvalues(case, regularizer, X, discount),
        "scaled": scale_gaps(case, regularizer, X[:600]),
    }


def regularizer_of(case: Case) -> Regularizer:
    """Regularizer with the alpha that puts the threshold there on the paper's spectrum."""
    kind = KINDS[case.regularizer]
    if case.form == "soft" or case.regularizer != "squared-output":
        return kind.for_threshold(SPECTRUM, case.threshold)
    return kind(case.threshold / float(SPECTRUM[SPECTRUM > case.threshold].sum()))


def gamma_of(case: Case) -> float:
    """Gamma per unit of the quantity that the regularizer measures, so that the output variance is gamma."""
    return case.gamma / (float(SPECTRUM.sum()) if case.regularizer == "input-output" else 1.0)


def network_of(case: Case, regularizer: Regularizer, X: Array) -> LocalNetwork:
    """Network after its first rows: the soft one has learnt from them, the others start in closed form."""
    network = new_network(case, regularizer, X)
    if isinstance(network, InterneuronNetwork):
        return network.start_from(X[:START], case.seed)
    network.run(X[:START])
    return network


def new_network(case: Case, regularizer: Regularizer, X: Array) -> LocalNetwork:
    """Network with random weights, as wide as the rows of X."""
    options: dict[str, Any] = {"beta": case.beta, "settling": "gauss-seidel", "random_state": case.seed}
    n = X.shape[1]
    if case.form == "soft":
        return HebbianNetwork(n, case.k, regularizer, **options)
    if case.form == "hard":
        return HardThresholdNetwork(n, case.k, regularizer, **options)
    return EqualizingNetwork(n, case.k, regularizer, gamma_of(case), **options)


def offline_eigenvalues(
    case: Case, regularizer: Regularizer, X: Array, weights: Array | None = None
) -> list[float]:
    """The leading output eigenvalues of the closed form on these rows."""
    if case.form == "soft":
        solution: Any = offline.solve(X, regularizer, case.k, sample_weight=weights)
    elif case.form == "hard":
        solution = offline.solve_hard(X, regularizer, case.k, sample_weight=weights)
    else:
        solution = offline.solve_equalizing(X, regularizer, gamma_of(case), case.k, sample_weight=weights)
    return [float(d) for d in solution.output_eigenvalues[:LINES]]


def scale_gaps(case: Case, regularizer: Regularizer, X: Array) -> dict[str, float] | None:
    """Change of the output, in units of the input, with those units, by start; None where it may change."""
    if case.regularizer == "scale-dependent" or case.form == "soft" or case.stream == "switching":
        return None
    gaps = {}
    for start, make in (("closed-form", network_of), ("random", new_network)):
        outputs = [
            make(case, regularizer, unit * X).run(unit * X[START:]) / unit for unit in (1.0, 1e-3, 1e3)
        ]
        largest = max(float(np.max(np.abs(other - outputs[0]))) for other in outputs[1:])
        gaps[start] = largest / float(np.max(np.abs(outputs[0])))
    return gaps


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    figure, axes = figure_of(3, 2, 6.6)
    titles = []
    panels = [(form, name) for form in FORMS for name in ("scale-dependent", "input-output")]
    for axis, (form, name) in zip(axes, panels, strict=False):
        chosen = tables_of(tables, "switching", form, name)
        _draw_spectrum(axis, chosen, settings)
        titles.append(rf"{LABEL[form]}, {name}, $\alpha={chosen[0]['alpha']:.3g}$")
    for axis in axes[2:4]:
        axis.set_ylim(-0.1, 3.6 * settings.gamma)
    _draw_ranks(axes[4], tables, ("scale-dependent",), settings)
    _draw_ranks(axes[5], tables, ("input-output", "squared-output"), settings)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    for axis in axes[::2]:
        axis.set_ylabel("output eigenvalue")
    axes[4].set_ylabel("modes transmitted")
    lettered(axes, [*titles, "rank, fixed threshold", "rank, self-calibrating"])
    return figure


def _draw_spectrum(axis: Axes, chosen: Sequence[Table], settings: Settings) -> None:
    T = chosen[0]["times"]
    y, best = (np.array([t[key] for t in chosen]) for key in ("output", "offline"))
    for i in range(LINES):
        color = DARK if i == experiment.N_SIGNAL else LOOKS[chosen[0]["regularizer"]].color
        label = {0: "online, top three", experiment.N_SIGNAL: "online, fourth"}.get(i)
        axis.plot(T, np.median(y[:, :, i], axis=0), color=color, lw=1.6, label=label)
        axis.fill_between(T, y[:, :, i].min(axis=0), y[:, :, i].max(axis=0), color=color, alpha=0.25, lw=0)
        dashed: dict[str, Any] = {"ls": (0, (3, 1.5)), "color": MIDDLE, "lw": 0.9, "zorder": 3}
        axis.plot(T, np.median(best[:, :, i], axis=0), label="offline" if i == 0 else None, **dashed)
    axis.set(xlim=(0, T[-1]), ylim=(-0.5, 17))
    mark_changes(axis)


def _draw_ranks(axis: Axes, tables: Sequence[Table], names: Sequence[str], settings: Settings) -> None:
    lines = {"soft": (0, (1, 1.2)), "hard": "-", "equalizing": (0, (5, 1.5))}
    shift = 0.0
    for form in lines:
        for name in names:
            chosen = tables_of(tables, "switching", form, name)
            if not chosen:
                continue
            rank = np.median([rank_of(t, settings) for t in chosen], axis=0) + shift
            shift += 0.1  # lines on top of one another could not be told apart
            label = f"{LABEL[form]}, {name}"
            axis.plot(chosen[0]["times"], rank, ls=lines[form], color=LOOKS[name].color, lw=1.5, label=label)
    axis.set(xlabel="samples T", ylim=(2.4, 6.6), yticks=(3, 4), xlim=(0, settings.n_samples))
    mark_changes(axis)
    # Below the labels of the changes, which stand at the top.
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 0.91), fontsize=6, frameon=False)


def tables_of(tables: Sequence[Table], stream: str, form: str, name: str) -> list[Table]:
    return experiment.chosen(tables, stream=stream, form=form, regularizer=name)


def rank_of(t: Table, settings: Settings) -> Array:
    """Modes whose recent variance counts: above a tenth of the smallest that is to be transmitted."""
    least = {"soft": 1.0, "hard": 4.0, "equalizing": settings.gamma}[t["form"]]
    return np.asarray((np.array(t["output"]) > 0.1 * least).sum(axis=1), dtype=np.float64)


def sheets(settings: Settings, tables: Sequence[Table]) -> Sequence[Sheet]:
    rows = []
    for form in FORMS:
        for name in KINDS:
            for stream in ("stationary", "switching"):
                if chosen := tables_of(tables, stream, form, name):
                    beta, gap = _beta_of(stream, settings), f"{_distance(chosen):.0%}"
                    listed = [_typical(chosen, key) for key in ("last", "last_offline")]
                    rows.append((LABEL[form], name, beta, *listed, gap))
    return [
        Sheet(
            "Online against offline at the end of the stream",
            ("Network", "Regularizer", "beta", "Top three online", "offline", "Largest difference, median"),
            tuple(rows),
            "Both on all samples, discounted as the network forgets; medians of the seeds.",
        )
    ]


def _typical(chosen: Sequence[Table], key: str) -> str:
    return ", ".join(f"{d:.2f}" for d in np.median([t[key][:3] for t in chosen], axis=0))


def _beta_of(stream: str, settings: Settings) -> str:
    return "1" if stream == "stationary" else f"{settings.beta:g}"


def _distance(chosen: Sequence[Table]) -> float:
    """Median over seeds of the largest relative difference of the top three from offline."""
    gaps = [np.max(np.abs(np.array(t["last"][:3]) / np.array(t["last_offline"][:3]) - 1)) for t in chosen]
    return float(np.median(gaps))


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    gaps = [t["scaled"] for t in tables if t["scaled"] is not None]
    closed, random = ([gap[start] for gap in gaps] for start in ("closed-form", "random"))
    differ = (
        f"differ by at most {max(closed):.0e} (relative) from the closed-form start, by {min(random):.2f} to "
        f"{max(random):.2f} from the random one"
    )
    return [
        *(_online_claim(settings, tables, form) for form in FORMS),
        *(_calibrates_claim(settings, tables, form) for form in FORMS),
        claim("units", differ, max(closed) < 1e-9 < 0.1 < min(random), networks=len(gaps)),
        _same_rank_claim(settings, tables),
    ]


def _online_claim(settings: Settings, tables: Sequence[Table], form: str) -> Claim:
    # Twice what was measured, 4 and 10 % (hard), 13 and 24 % (equalizing), rounded.
    plain, discounted = {"hard": (0.1, 0.25), "equalizing": (0.2, 0.45)}[form]
    found = {
        stream: {n: _distance(chosen) for n in KINDS if (chosen := tables_of(tables, stream, form, n))}
        for stream in ("stationary", "switching")
    }
    value = "; ".join(
        f"beta {_beta_of(stream, settings)}: " + ", ".join(f"{n} {gap:.1%}" for n, gap in gaps.items())
        for stream, gaps in found.items()
    )
    near = max(found["stationary"].values()) < plain and max(found["switching"].values()) < discounted
    words = {"n_seeds": settings.n_seeds, "plain": plain, "discounted": discounted}
    return claim("online", value, near, label=LABEL[form], **words)


def _doubled_ranks(settings: Settings, tables: Sequence[Table], form: str, name: str) -> Array:
    chosen = tables_of(tables, "switching", form, name)
    times = np.array(chosen[0]["times"])
    late = (times >= DOUBLED + 2_000) & (times <= RESTORED)
    return np.array([rank_of(t, settings)[late] for t in chosen])


def _calibrates_claim(settings: Settings, tables: Sequence[Table], form: str) -> Claim:
    names = [n for n in KINDS if tables_of(tables, "switching", form, n)]
    ranks = {name: _doubled_ranks(settings, tables, form, name) for name in names}
    fixed = ranks["scale-dependent"]
    others = np.concatenate([found.ravel() for name, found in ranks.items() if name != "scale-dependent"])
    value = "; ".join(
        f"{name} {np.median(found):.0f} ({np.mean(found == np.median(found)):.0%} of readings)"
        for name, found in ranks.items()
    )
    right = min(np.mean(fixed == 4), np.mean(others == 3)) >= experiment.NEARLY_ALL
    return claim("calibrates", value, right, label=LABEL[form], readings=fixed.size)


def _same_rank_claim(settings: Settings, tables: Sequence[Table]) -> Claim:
    """Compare the rank with that of the soft network with the same regularizer."""
    agree = []
    for form in FORMS:
        for name in KINDS:
            if tables_of(tables, "switching", form, name):
                mine, soft = (np.median(_doubled_ranks(settings, tables, f, name)) for f in (form, "soft"))
                agree.append(bool(mine == soft))
    return claim("same-rank", f"the same for {sum(agree)} of {len(agree)}", all(agree))
