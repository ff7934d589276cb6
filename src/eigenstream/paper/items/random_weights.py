"""The stationary experiment once more, with lateral weights that are random at the start, too.

The iteration that settles the activity is ``y <- (1 - eta) y + eta (W_yx x - W_yy y)``: it diverges once an
eigenvalue of ``I + W_yy`` has a negative real part, and random weights of spread s / sqrt(k) have eigenvalues
in a disk of radius about s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ... import metrics, offline
from ...network import ConvergenceError
from ..reproduction.item import Claim, Table
from . import experiment
from .drawing import DARK, LIGHT, LOOKS, MIDDLE, Figure, curve, figure_of, lettered
from .experiment import DEFAULT, KINDS, Setup, chosen
from .texts import texts_of

NAME = "random-weights"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

SAFE, UNIT = 0.75, 1.0
"""The spread up to which no draw diverges, and the one at which a neuron's lateral weights have length 1."""
MAX_ITERATIONS = 3_000
"""Limit of settling: twenty times what it takes from lateral weights at zero; divergence shows earlier."""
FOLLOWED = (0.0, 0.5, UNIT)
"""Spreads that are followed further."""


@dataclass(frozen=True)
class Settings:
    spreads: tuple[float, ...]
    draws: int
    short: int
    """Samples shown to each draw."""
    long: int
    """Samples shown to the draws that are followed further."""
    followed: int
    setup: Setup = DEFAULT


FULL = Settings((0.0, 0.5, SAFE, 0.9, UNIT, 1.1, 1.25, 1.5), draws=100, short=20, long=2_000, followed=6)
QUICK = Settings((0.0, 0.5, SAFE, UNIT), draws=10, short=4, long=200, followed=2)


@dataclass(frozen=True)
class Case:
    regularizer: str
    spread: float
    draws: int
    n_samples: int
    seed: int
    setup: Setup


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    if not {0.0, SAFE, UNIT} <= set(settings.spreads):
        raise ValueError(f"{NAME} needs 0, {SAFE} and {UNIT} among its spreads, got {settings.spreads}")
    short = [
        Case(name, spread, settings.draws, settings.short, seed, settings.setup)
        for name in KINDS
        for spread in settings.spreads
    ]
    return short + [
        Case(name, spread, settings.followed, settings.long, seed, settings.setup)
        for name in KINDS
        for spread in FOLLOWED
    ]


def simulate(case: Case) -> Table:
    """Growth of the slowest mode, its last change and the final error, for each draw."""
    draws = [_one_draw(case, case.seed + i) for i in range(case.draws)]
    return {
        "regularizer": case.regularizer,
        "spread": case.spread,
        "n_samples": case.n_samples,
        "growth": [growth for growth, _, _ in draws],
        "last_change": [change for _, change, _ in draws],
        "subspace_error": [error for _, _, error in draws],
    }


def _one_draw(case: Case, seed: int) -> tuple[float, float, float | None]:
    """Growth and last change (log10) of the first iteration; the final error, None if one did not settle."""
    X = experiment.stationary(case.n_samples, seed)
    network = experiment.printed_network(
        experiment.chosen_regularizer(case.regularizer, case.setup),
        X.shape[1],
        case.setup,
        experiment.weights_generator(seed),
        initial_lateral=case.spread,
        max_iter=MAX_ITERATIONS,
    )
    modes = 1 - network.eta * (1 + np.linalg.eigvals(network.W_yy))
    growth = float(np.max(np.abs(modes)))
    # The iteration stops by its last change, a mode's share of which is |m - 1| |m|^iterations.
    change = float(np.max(np.log10(np.abs(modes - 1)) + MAX_ITERATIONS * np.log10(np.abs(modes))))
    try:
        network.run(X)
    except ConvergenceError:
        return growth, change, None
    components = offline.spectrum(X, experiment.N_SIGNAL)[1]
    return growth, change, metrics.subspace_error(network.filter, components, experiment.N_SIGNAL)


def _share(table: Table) -> float:
    return float(np.mean([error is None for error in table["subspace_error"]]))


def _settled(table: Table) -> list[float]:
    """The errors of the draws that settled."""
    return [error for error in table["subspace_error"] if error is not None]


def _split(settings: Settings, tables: Sequence[Table]) -> tuple[list[Table], list[Table]]:
    """The many short runs and the few long ones."""
    n_short = len(settings.spreads) * len(KINDS)
    return list(tables[:n_short]), list(tables[n_short:])


NESTED = {"input-output": 8.0, "scale-dependent": 6.0, "squared-output": 3.5}
"""Sizes of marks that often coincide: the one below is the larger."""


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    short, long = _split(settings, tables)
    figure, (left, right) = figure_of(1, 2, 3.0)
    fills = dict(zip(FOLLOWED, ("white", LIGHT, DARK), strict=True))
    for i, name in enumerate(KINDS):
        look = LOOKS[name]
        mine = chosen(short, regularizer=name)
        shares = [100 * _share(t) for t in mine]
        curve(left, name, [t["spread"] for t in mine], shares, marker=look.marker, ms=NESTED[name])
        for t in chosen(long, regularizer=name):
            errors, place = _settled(t), i + 0.22 * (FOLLOWED.index(t["spread"]) - 1)
            fill = fills[t["spread"]]
            right.plot([place] * len(errors), errors, look.marker, mec=look.color, mfc=fill, ms=4.5)
    left.axvline(SAFE, color=MIDDLE, lw=0.8, ls=":", zorder=1)
    left.set(xlabel=r"spread of the lateral weights at the start, in units of $1/\sqrt{k}$")
    left.set(ylabel="draws whose activity\ndoes not settle (%)", ylim=(-3, 103))
    left.legend(loc="upper left", frameon=False)
    right.set(yscale="log", ylabel=f"subspace error at T = {settings.long:,}, m = 3", xlim=(-0.5, 2.5))
    right.set_xticks(range(3), list(KINDS))
    right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    right.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    right.yaxis.set_minor_formatter(NullFormatter())
    lettered((left, right), (f"{settings.draws} draws per point", "spread 0 (open), 0.5 (grey), 1 (black)"))
    return figure


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    short, long = _split(settings, tables)
    return [
        _initial_weights_claim(short),
        _large_claim(short),
        _foreseen_claim(settings, short),
        *_learns(long),
    ]


def _at_spread(short: Sequence[Table], spread: float) -> list[float]:
    return [_share(t) for t in chosen(short, spread=spread)]


def _initial_weights_claim(short: Sequence[Table]) -> Claim:
    """Judge random weights as printed; the paper does not state their size."""
    small = [_share(t) for t in short if 0 < t["spread"] <= SAFE]
    value = f"{max(small):.0%} at most, in {len(small)} sets of draws"
    words = {"draws": len(short[0]["growth"]), "max_iterations": MAX_ITERATIONS, "safe": SAFE}
    return claim("initial-weights", value, max(small) == 0, **words)


def _large_claim(short: Sequence[Table]) -> Claim:
    shares = _at_spread(short, UNIT)
    growing = np.mean([growth >= 1 for t in chosen(short, spread=UNIT) for growth in t["growth"]])
    value = f"{min(shares):.0%} to {max(shares):.0%}, {growing:.0%} grow without bound"
    some = min(shares) > 0.02 and max(_at_spread(short, 0.0)) == 0
    return claim("large", value, some, draws=len(short[0]["growth"]))


def _foreseen_claim(settings: Settings, short: Sequence[Table]) -> Claim:
    pairs = [
        (change > math.log10(settings.setup.tol), error is None)
        for t in short
        for change, error in zip(t["last_change"], t["subspace_error"], strict=True)
    ]
    missed = sum(foreseen != unsettled for foreseen, unsettled in pairs)
    return claim("foreseen", f"{missed} of them otherwise", missed <= 0.03 * len(pairs), draws=len(pairs))


def _learns(long: Sequence[Table]) -> list[Claim]:
    """Draw by draw: the same stream and feed-forward weights with and without lateral ones."""
    found = []
    for name in KINDS:
        errors = {t["spread"]: t["subspace_error"] for t in chosen(long, regularizer=name)}
        ratios = {}
        for spread in FOLLOWED[1:]:
            pairs = [pair for pair in zip(errors[spread], errors[0.0], strict=True) if None not in pair]
            ratios[spread] = [one / none for one, none in pairs]
        worst = max(float(np.median(values or [np.inf])) for values in ratios.values())
        value = "; ".join(
            f"spread {spread}: median {np.median(values or [np.nan]):.2f} of {len(values)} draws"
            for spread, values in ratios.items()
        )
        found.append(claim("learns", value, worst < 3, name=name, n_samples=long[0]["n_samples"]))
    return found
