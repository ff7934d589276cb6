"""Fig. 6: the input's variance doubles at 1000 and returns at 6000; the networks forget.

Spectra are those of the last min(T, 1000) samples. The fourth input eigenvalue sits on the threshold, so
the fourth output eigenvalue is judged by its size, never by whether it is exactly zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..reproduction.item import Claim, Sheet, Table
from . import experiment
from .drawing import DARK, LOOKS, MIDDLE, Axes, Figure, figure_of, lettered, mark_changes
from .experiment import (
    DEFAULT,
    DOUBLED,
    KINDS,
    LINES,
    RESTORED,
    SELF_CALIBRATING,
    Array,
    Case,
    Setup,
    cases_of,
    chosen,
    recent_eigenvalues,
)
from .texts import texts_of

NAME = "sudden-change"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

AFTERWARDS = 8000
"""A sample by which the return has been learnt."""
LEFT_BEHIND = 1.2
"""Largest excess over 4, 3 and 2 of a network that still remembers the doubled input."""
NEAR = 0.4
"""Largest distance from 4, 3 and 2 at which a median output eigenvalue counts as tracked."""


@dataclass(frozen=True)
class Settings:
    n_seeds: int
    n_samples: int
    printed_samples: int
    beta: float = 0.995
    other_betas: tuple[float, ...] = (0.95, 0.999)
    """Shorter and longer memory, to show why not them: the paper does not say which it took."""
    other_thresholds: tuple[float, ...] = (2.5, 3.0, 3.5)
    """Other alphas that retain the top three components, which is all that the paper asks of it here."""
    setup: Setup = DEFAULT


FULL = Settings(n_seeds=10, n_samples=10_000, printed_samples=10_000)
QUICK = Settings(n_seeds=6, n_samples=10_000, printed_samples=1_200)


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    if settings.n_samples < AFTERWARDS or settings.n_samples % 200:
        raise ValueError(
            f"{NAME} needs n_samples of at least {AFTERWARDS:,} and a multiple of 200, got "
            f"{settings.n_samples:,}: the input returns at {RESTORED:,}"
        )
    if settings.setup.threshold in settings.other_thresholds:
        raise ValueError(f"{NAME} has threshold {settings.setup.threshold:g} among its other_thresholds, too")
    if len(settings.other_betas) != 2:
        raise ValueError(f"{NAME} needs two other_betas, a shorter and a longer memory")
    counts = {1.0: settings.n_seeds, **dict.fromkeys(settings.other_betas, settings.n_seeds // 2)}
    counts[settings.beta] = settings.n_seeds
    found = cases_of("printed", settings.printed_samples, 1, seed, settings.setup, settings.beta)
    for beta, n_seeds in counts.items():
        found += cases_of("engine", settings.n_samples, n_seeds, seed, settings.setup, beta)
    for threshold in settings.other_thresholds:
        setup, few = replace(settings.setup, threshold=threshold), settings.n_seeds // 2
        found += cases_of("engine", settings.n_samples, few, seed, setup, settings.beta)
    return found


def simulate(case: Case) -> Table:
    """The top eigenvalues of input and output over the last min(T, 1000) samples."""
    times = [T for T in range(100, case.n_samples + 1, 100) if T <= 2500 or T % 200 == 0]
    X = experiment.switching(case.n_samples, case.seed)
    regularizer = experiment.chosen_regularizer(case.regularizer, case.setup)
    Y = experiment.run(
        case.network, regularizer, X, times, seed=case.seed, beta=case.beta, setup=case.setup
    ).Y
    return {
        "network": case.network,
        "regularizer": case.regularizer,
        "alpha": regularizer.alpha,
        "beta": case.beta,
        "threshold": case.setup.threshold,
        "times": times,
        "input": recent_eigenvalues(X, times),
        "output": recent_eigenvalues(Y, times),
    }


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    figure, axes = figure_of(2, 3, 4.6, sharex=True, sharey=True)
    titles = []
    for row, beta in enumerate((settings.beta, 1.0)):
        for column, name in enumerate(KINDS):
            mine = engines(tables, name, beta, settings.setup.threshold)
            _draw_lines(axes[3 * row + column], name, mine)
            titles.append(rf"{name}, $\alpha={mine[0]['alpha']:.3g}$")
        axes[3 * row].set_ylabel(f"β = {beta:g}: eigenvalue over\nthe last 1,000 samples")
    for axis in axes[3:]:
        axis.set_xlabel("samples T")
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, frameon=False)
    lettered(axes, titles)
    return figure


def _draw_lines(axis: Axes, name: str, tables: Sequence[Table]) -> None:
    T = tables[0]["times"]
    x, y = (np.array([t[which] for t in tables]) for which in ("input", "output"))
    for i in range(LINES):
        label = "input, top four" if i == 0 else None
        axis.plot(T, np.median(x[:, :, i], axis=0), ls=(0, (3, 1.5)), color=MIDDLE, lw=0.9, label=label)
        color = DARK if i == experiment.N_SIGNAL else LOOKS[name].color
        names = {0: "output, top three", experiment.N_SIGNAL: "output, fourth"}
        axis.plot(T, np.median(y[:, :, i], axis=0), color=color, lw=1.7, label=names.get(i))
        axis.fill_between(T, y[:, :, i].min(axis=0), y[:, :, i].max(axis=0), color=color, alpha=0.25, lw=0)
    mark_changes(axis)
    axis.set(xlim=(0, T[-1]), ylim=(-0.4, 13.8))


def engines(tables: Sequence[Table], name: str, beta: float, threshold: float) -> list[Table]:
    return chosen(tables, network="engine", regularizer=name, beta=beta, threshold=threshold)


def outputs_of(tables: Sequence[Table], beta: float, setup: Setup) -> dict[str, Array]:
    """The engine's output eigenvalues (seeds, times, lines) by regularizer."""
    mine = {name: engines(tables, name, beta, setup.threshold) for name in KINDS}
    return {name: np.array([table["output"] for table in found]) for name, found in mine.items()}


def _setups(settings: Settings) -> list[Setup]:
    """The setup taken, and those with other thresholds."""
    others = [replace(settings.setup, threshold=threshold) for threshold in settings.other_thresholds]
    return [settings.setup, *others]


def _appears(times: Array, fourth: Array, setup: Setup) -> float:
    """First T after the change at which the median fourth eigenvalue is not zero; infinite if none is."""
    late = times > DOUBLED
    above = np.median(fourth[:, late], axis=0) > experiment.zero(setup)
    return float(times[late][np.argmax(above)]) if above.any() else math.inf


def _when(T: float) -> str:
    return f"{T:,.0f}" if T < math.inf else "never"


def sheets(settings: Settings, tables: Sequence[Table]) -> Sequence[Sheet]:
    """Threshold by threshold: what alpha decides in Section VI.B."""
    times, rows = np.array(tables[-1]["times"]), []
    doubled = (times >= 3000) & (times <= RESTORED)
    for setup in _setups(settings):
        outputs = outputs_of(tables, settings.beta, setup)
        before = {name: y[:, times <= DOUBLED, 3] for name, y in outputs.items()}
        shares = ", ".join(f"{experiment.share_of_zeros(fourth, setup):.0%}" for fourth in before.values())
        calm = [
            experiment.share_of_zeros(outputs[n][:, times >= DOUBLED, 3], setup) for n in SELF_CALIBRATING
        ]
        fixed = outputs["scale-dependent"][:, :, 3]
        alphas = ", ".join(
            f"{engines(tables, n, settings.beta, setup.threshold)[0]['alpha']:.3g}" for n in KINDS
        )
        rows.append(
            (
                f"{setup.threshold:g}",
                alphas,
                shares,
                ", ".join(f"{share:.0%}" for share in calm),
                _when(_appears(times, fixed, setup)),
                f"{np.median(fixed[:, doubled]):.2f}",
            )
        )
    return [
        Sheet(
            "What alpha decides here: the paper asks only that the top three components are retained",
            (
                "Threshold",
                "α of R_TY, R_XY, R_YY",
                "Fourth zero up to 1,000: R_TY, R_XY, R_YY",
                "Fourth zero from 1,000 on: R_XY, R_YY",
                "R_TY's fourth appears by T =",
                "R_TY's fourth while doubled",
            ),
            tuple(rows),
            f"Shares of readings, every seed; zero is below a tenth of the threshold. {settings.n_seeds} "
            f"seeds at the threshold taken, {settings.n_seeds // 2} at others.",
        )
    ]


def recorded(settings: Settings, tables: Sequence[Table]) -> list[Table]:
    """Output eigenvalues of the first seed at every beta and threshold that was run, for the sliders."""
    found = []
    for beta, setup in (
        *((beta, settings.setup) for beta in (settings.beta, 1.0, *settings.other_betas)),
        *((settings.beta, setup) for setup in _setups(settings)[1:]),
    ):
        runs = {SYMBOLS[name]: engines(tables, name, beta, setup.threshold)[0] for name in KINDS}
        kept = [i for i, T in enumerate(runs["TY"]["times"]) if T % 200 == 0]
        outputs = {
            symbol: [[round(d, 3) for d in run["output"][i]] for i in kept] for symbol, run in runs.items()
        }
        times = [runs["TY"]["times"][i] for i in kept]
        found.append({"beta": beta, "threshold": setup.threshold, "times": times, "output": outputs})
    return found


SYMBOLS = {"scale-dependent": "TY", "input-output": "XY", "squared-output": "YY"}
"""Regularizers as the page's script calls them."""


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    outputs, setup = outputs_of(tables, settings.beta, settings.setup), settings.setup
    times = np.array(tables[-1]["times"])
    control = outputs_of(tables, 1.0, setup)
    return [
        _three_before(times, outputs, setup),
        _silent_before(times, outputs, setup),
        *(_silent_throughout(times, outputs[name], name, setup) for name in SELF_CALIBRATING),
        _fourth_appears(times, outputs["scale-dependent"]),
        _others_do_better(times, outputs),
        _back_to_three(times, outputs, setup),
        *(_because_of_forgetting(times, control[name], name, setup) for name in KINDS),
        _same_in_print(tables, settings),
        _memory_claim(times, settings, tables),
        _threshold_claim(times, settings, tables),
    ]


def _at(times: Array, T: int) -> int:
    return int(np.flatnonzero(times == T)[0])


def _listed(values: Array) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _three_before(times: Array, outputs: dict[str, Array], setup: Setup) -> Claim:
    tops = {name: y[:, _at(times, DOUBLED), :3] for name, y in outputs.items()}
    off = max(float(np.max(np.abs(np.median(top, axis=0) - experiment.goal(setup)))) for top in tops.values())
    value = "; ".join(
        f"{name} {_listed(np.median(top, axis=0))} (spread up to ±{np.max(np.ptp(top, axis=0)) / 2:.2f})"
        for name, top in tops.items()
    )
    return claim("three-before", value, off < NEAR, n_seeds=len(tops["input-output"]), near=NEAR)


def _silent_before(times: Array, outputs: dict[str, Array], setup: Setup) -> Claim:
    """Judge every reading: the paper says "all the time"."""
    early = {name: y[:, times <= DOUBLED, 3] for name, y in outputs.items()}
    shares = {name: experiment.share_of_zeros(fourth, setup) for name, fourth in early.items()}
    at_end = min(experiment.share_of_zeros(fourth[:, -1], setup) for fourth in early.values())
    value = "; ".join(
        f"{name} zero in {shares[name]:.0%} of readings, largest {fourth.max():.2f}, "
        f"median {np.median(fourth[:, 0]):.3f} at 100 and {np.median(fourth[:, -1]):.3f} at 1,000"
        for name, fourth in early.items()
    )
    always, at_last = min(shares.values()) == 1, at_end >= experiment.NEARLY_ALL
    return claim("silent-before", value, always, at_last, zero=experiment.zero(setup))


def _silent_throughout(times: Array, y: Array, name: str, setup: Setup) -> Claim:
    fourth = y[:, times >= DOUBLED, 3]
    share = experiment.share_of_zeros(fourth, setup)
    value = (
        f"zero in {share:.1%} of readings; largest median {np.median(fourth, axis=0).max():.3f}, largest of "
        f"all {fourth.max():.3f}"
    )
    words = {"last": times[-1], "zero": experiment.zero(setup), "nearly_all": experiment.NEARLY_ALL}
    return claim("silent-throughout", value, share >= experiment.NEARLY_ALL, name=name, **words)


def _fourth_appears(times: Array, y: Array) -> Claim:
    after = {T: y[:, _at(times, T), 3] for T in (DOUBLED, DOUBLED + 500, DOUBLED + 1000)}
    settled = y[:, (times >= 3000) & (times <= RESTORED), 3]
    return claim(
        "fourth-appears",
        "; ".join(f"{np.median(d):.2f} at {T:,}" for T, d in after.items())
        + f"; {experiment.spread(np.median(settled, axis=1), '.2f')} while doubled, never below "
        f"{settled.min():.2f}",
        float(settled.min()) > 1 and bool(np.all(after[DOUBLED + 500] > after[DOUBLED])),
    )


def _others_do_better(times: Array, outputs: dict[str, Array]) -> Claim:
    late = (times >= 3000) & (times <= RESTORED)
    doubled = {name: np.median(y[:, late, 3], axis=1) for name, y in outputs.items()}
    others = max(float(np.median(doubled[name])) for name in SELF_CALIBRATING)
    better = others < float(np.median(doubled["scale-dependent"])) / 20
    return claim("others-do-better", experiment.spreads(doubled, ".3f"), better)


def _back_to_three(times: Array, outputs: dict[str, Array], setup: Setup) -> Claim:
    end = {name: y[:, -1] for name, y in outputs.items()}
    medians = {name: np.median(d[:, :3], axis=0) for name, d in end.items()}
    off = max(float(np.max(np.abs(top - experiment.goal(setup)))) for top in medians.values())
    fourth = {name: d[:, 3] for name, d in end.items()}
    silent = min(experiment.share_of_zeros(found, setup) for found in fourth.values())
    value = "; ".join(f"{name} {_listed(medians[name])} and {np.median(fourth[name]):.3f}" for name in end)
    value += f"; fourth zero in at least {silent:.0%} of the seeds"
    back = off < NEAR and silent >= experiment.NEARLY_ALL
    return claim("back-to-three", value, back, last=times[-1], near=NEAR, zero=experiment.zero(setup))


def _because_of_forgetting(times: Array, y: Array, name: str, setup: Setup) -> Claim:
    """Judge the control without forgetting, which is not to recover."""
    top, fourth = np.median(y[:, -1, :3], axis=0), y[:, -1, 3]
    off = float(np.max(np.abs(top - experiment.goal(setup))))
    recovers = off < NEAR and experiment.share_of_zeros(fourth, setup) >= experiment.NEARLY_ALL
    found = "recovers without forgetting" if recovers else "does not recover"
    value = f"top three {_listed(top)}, fourth {experiment.spread(fourth)}: {found}"
    words = {"last": times[-1], "near": NEAR, "zero": experiment.zero(setup)}
    remembers = not recovers and off < LEFT_BEHIND
    return claim("because-of-forgetting", value, remembers, recovers, name=name, **words)


def _same_in_print(tables: Sequence[Table], settings: Settings) -> Claim:
    """The engine's first case of each regularizer has the printed network's seed."""
    gaps = []
    for name in KINDS:
        mine = chosen(tables, regularizer=name, beta=settings.beta, threshold=settings.setup.threshold)
        printed, direct = (chosen(mine, network=network)[0] for network in ("printed", "engine"))
        length = len(printed["times"])
        gaps.append(float(np.max(np.abs(np.subtract(printed["output"], direct["output"][:length])))))
    value = f"differ by at most {max(gaps):.1e}"
    return claim("same-in-print", value, max(gaps) < 1e-2, last=printed["times"][-1])


def _memory_claim(times: Array, settings: Settings, tables: Sequence[Table]) -> Claim:
    """Judge beta by the third eigenvalue's size and by R_TY's fourth soon after the return."""
    short, long = settings.other_betas
    third, fourth = {}, {}
    for beta in (short, settings.beta, long):
        outputs = outputs_of(tables, beta, settings.setup)
        third[beta] = float(np.median([np.median(y[:, -1, 2]) for y in outputs.values()]))
        fourth[beta] = float(np.median(outputs["scale-dependent"][:, _at(times, AFTERWARDS), 3]))
    value = "; ".join(f"beta {beta}: {third[beta]:.2f} and {fourth[beta]:.3f}" for beta in third)
    right = third[short] < third[settings.beta] - 0.05
    right &= abs(third[settings.beta] - experiment.goal(settings.setup)[2]) < NEAR / 2
    right &= fourth[settings.beta] < experiment.zero(settings.setup) < fourth[long]
    words = {"beta": settings.beta, "short": short, "long": long, "afterwards": AFTERWARDS}
    return claim("memory", value, right, **words)


def _threshold_claim(times: Array, settings: Settings, tables: Sequence[Table]) -> Claim:
    """Judge what another threshold decides: the fourth before the change, and how late R_TY's appears."""
    silent, appears = [], []
    for setup in _setups(settings):
        outputs = outputs_of(tables, settings.beta, setup)
        early = [experiment.share_of_zeros(y[:, times <= DOUBLED, 3], setup) for y in outputs.values()]
        silent.append(min(early))
        appears.append(_appears(times, outputs["scale-dependent"][:, :, 3], setup))
    value = "; ".join(
        f"{setup.threshold:g}: zero in at least {share:.0%} of readings, appears by {_when(T)}"
        for setup, share, T in zip(_setups(settings), silent, appears, strict=True)
    )
    right = silent[0] < 1 and min(silent[1:]) == 1 and appears[0] < min(appears[1:])
    return claim("threshold", value, right, least=min(settings.other_thresholds))
