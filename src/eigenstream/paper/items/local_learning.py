"""Fig. 3: the three networks drawn, and the locality of their learning rules measured.

A rule is probed from outside: everything a synapse should not see is changed, and the weight it arrives at
must stay the same. What it should see is changed, too, to prove that the probe notices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...network import HebbianNetwork
from ..reproduction.item import Claim, Table
from .drawing import DARK, LOOKS, Axes, Figure, figure_of, lettered
from .experiment import KINDS, Array
from .texts import texts_of

NAME = "local-learning"
TITLE, CAPTION, ALT, claim = texts_of(NAME)

N_INPUTS, N_OUTPUTS = 6, 4
ALPHA = 0.3
NOTHING = 1e-12
"""A relative change below this is rounding."""


@dataclass(frozen=True)
class Settings:
    draws: int


FULL = Settings(draws=20)
QUICK = Settings(draws=5)


@dataclass(frozen=True)
class Case:
    regularizer: str
    draws: int
    seed: int


def cases(settings: Settings, seed: int) -> Sequence[Case]:
    return [Case(name, settings.draws, seed) for name in KINDS]


@dataclass
class Circumstances:
    """All that a learning rule could look at."""

    x: Array
    y: Array
    W_yx: Array
    W_yy: Array
    mu: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Circumstances:
        W_yy = rng.standard_normal((N_OUTPUTS, N_OUTPUTS)) * (1 - np.eye(N_OUTPUTS))
        return cls(
            rng.standard_normal(N_INPUTS),
            rng.standard_normal(N_OUTPUTS),
            rng.standard_normal((N_OUTPUTS, N_INPUTS)),
            W_yy,
            rng.uniform(5, 10, N_OUTPUTS),
        )

    def learnt(self, name: str) -> HebbianNetwork:
        """The network after one step of learning."""
        network = HebbianNetwork(N_INPUTS, N_OUTPUTS, KINDS[name](ALPHA), random_state=0)
        network.W_yx, network.W_yy, network.mu = self.W_yx.copy(), self.W_yy.copy(), self.mu.copy()
        network.adapt(self.x, self.y)
        return network

    def elsewhere(self, i: int, j: int, rng: np.random.Generator) -> Circumstances:
        """Another moment that agrees in what synapse j -> i (and i, j laterally) may see."""
        other = Circumstances.drawn(rng)
        other.x = _redrawn(self.x, {j}, rng)
        other.y = _redrawn(self.y, {i, j}, rng)
        other.W_yx[i, j], other.W_yy[i, j], other.mu[i] = self.W_yx[i, j], self.W_yy[i, j], self.mu[i]
        return other


def _redrawn(v: Array, kept: set[int], rng: np.random.Generator) -> Array:
    """Other entries in a random direction, of the same length together: v keeps its norm."""
    free = [i for i in range(len(v)) if i not in kept]
    direction = rng.standard_normal(len(free))
    new = v.copy()
    new[free] = direction * np.linalg.norm(v[free]) / np.linalg.norm(direction)
    return new


def _doubled_elsewhere(v: Array, kept: set[int]) -> Array:
    """All other entries twice as large."""
    return np.array([entry if i in kept else 2 * entry for i, entry in enumerate(v)])


def simulate(case: Case) -> Table:
    """Relative change of the new weights: at most (what must not matter) or at least (what must)."""
    rng = np.random.default_rng(case.seed)
    changes: dict[str, list[float]] = {
        name: [] for name in ("elsewhere", "input power", "output power", "pair")
    }
    for _ in range(case.draws):
        moment = Circumstances.drawn(rng)
        for i, j in ((0, 1), (1, 2), (2, 0), (3, 1)):
            for what, alter in _alterations(moment, i, j, rng).items():
                changes[what].append(_change(case.regularizer, moment, alter(), i, j))
    return {
        "regularizer": case.regularizer,
        "most": {what: max(values) for what, values in changes.items()},
        "least": {what: min(values) for what, values in changes.items()},
    }


def _alterations(
    moment: Circumstances, i: int, j: int, rng: np.random.Generator
) -> dict[str, Callable[[], Circumstances]]:
    x, y, W_yx, W_yy, mu = moment.x, moment.y, moment.W_yx, moment.W_yy, moment.mu
    return {
        "elsewhere": lambda: moment.elsewhere(i, j, rng),
        "input power": lambda: Circumstances(_doubled_elsewhere(x, {j}), y, W_yx, W_yy, mu),
        "output power": lambda: Circumstances(x, _doubled_elsewhere(y, {i, j}), W_yx, W_yy, mu),
        "pair": lambda: Circumstances(-x, np.where(np.arange(len(y)) == j, -y, y), W_yx, W_yy, mu),
    }


def _change(name: str, before: Circumstances, after: Circumstances, i: int, j: int) -> float:
    """The larger relative change of the two synapses' new weights."""
    one, two = before.learnt(name), after.learnt(name)
    pairs = ((one.W_yx[i, j], two.W_yx[i, j]), (one.W_yy[i, j], two.W_yy[i, j]))
    return float(max(abs(a - b) / abs(a) for a, b in pairs))


Point = tuple[float, float]

INPUTS: list[Point] = [(0.0, y) for y in (3.6, 2.4, 1.2, 0.0)]
OUTPUTS: list[Point] = [(3.0, y) for y in (3.0, 1.8, 0.6)]
RADIUS = 0.27
GLIA = "#4d8f6f"
BROKEN: Any = (0, (2.2, 0.9))
"""The line of the shared scalar, which in grey looks like that of a synapse."""
SYNAPSES: tuple[Point, Point] = ((1.75, 0.45), (3.62, 0.95))
"""Points among the feed-forward and the lateral synapses, where the scalar is delivered."""
BOTTOM = -1.15


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    """Draw neurons, synapses, and the scalar that glia share, one panel per regularizer."""
    figure, axes = figure_of(1, 3, 2.5)
    for axis, name in zip(axes, LOOKS, strict=True):
        axis.set(xlim=(-0.9, 4.9), ylim=(-1.7, 4.3), aspect="equal")
        axis.axis("off")
        _draw_neurons(axis, LOOKS[name].color, light=name == "squared-output")
        _draw_feedforward(axis)
        _draw_lateral(axis)
    words = "no shared scalar:\na constant $\\alpha$"
    axes[0].text(1.5, BOTTOM - 0.25, words, ha="center", va="top", fontsize=6.5, color="0.25")
    _draw_glia(axes[1], INPUTS, r"$\alpha\,\Vert x\Vert^2$", "input")
    _draw_glia(axes[2], OUTPUTS, r"$\alpha\,\Vert y\Vert^2$", "output")
    lettered(axes, list(LOOKS))
    figure.legend(handles=_keys(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_neurons(axis: Axes, color: str, *, light: bool) -> None:
    from matplotlib.patches import Circle

    for centers, names, face, ink in (
        (INPUTS, ("x_1", "x_2", "x_3", "x_n"), "0.95", DARK),
        (OUTPUTS, ("y_1", "y_2", "y_k"), color, DARK if light else "white"),
    ):
        for (x, y), name in zip(centers, names, strict=True):
            axis.add_patch(Circle((x, y), RADIUS, facecolor=face, edgecolor=DARK, zorder=3))
            axis.text(x, y - 0.02, f"${name}$", ha="center", va="center", zorder=4, color=ink)


def _draw_feedforward(axis: Axes) -> None:
    for start in INPUTS:
        for end in OUTPUTS:
            direction = np.subtract(end, start) / np.linalg.norm(np.subtract(end, start))
            rims = (np.add(start, RADIUS * direction), np.subtract(end, RADIUS * direction))
            _connect(axis, *rims, arrowstyle="-|>", color="0.6")
    axis.text(1.5, 4.0, "$W^{YX}$, Hebbian", ha="center", color="0.35")


def _draw_lateral(axis: Axes) -> None:
    """Connect every two outputs, with a dot at both ends: each inhibits the other."""
    for upper, lower, angle, bend in ((0, 1, -35, 0.45), (1, 2, -35, 0.45), (0, 2, 5, 0.8)):
        tilt = np.deg2rad(angle)
        out, into = ((RADIUS + 0.05) * np.array([np.cos(tilt), sign * np.sin(tilt)]) for sign in (1, -1))
        start, end = np.add(OUTPUTS[upper], out), np.add(OUTPUTS[lower], into)
        _connect(axis, start, end, arrowstyle="-", color=DARK, connectionstyle=f"arc3,rad={-bend}")
        axis.plot(*np.transpose([start, end]), "o", color=DARK, markersize=3.5, zorder=4)
    axis.text(3.0, 3.65, "$W^{YY}$, anti-Hebbian", ha="left", color=DARK)


def _draw_glia(axis: Axes, neurons: list[Point], symbol: str, of: str) -> None:
    """A cell around these neurons that sums their power and tells every synapse."""
    from matplotlib.patches import FancyBboxPatch

    x, top = neurons[0]
    box: Any = {"boxstyle": "round,pad=0.12", "facecolor": GLIA, "edgecolor": "none", "zorder": 0}
    axis.add_patch(FancyBboxPatch((x - 0.33, BOTTOM), 0.66, top + 0.33 - BOTTOM, alpha=0.35, **box))
    axis.text(x, BOTTOM + 0.12, symbol, ha="center", va="bottom", fontsize=6.5, zorder=4)
    for target, bend in zip(SYNAPSES, (0.3, 0.42), strict=True):
        side = 1 if x < target[0] else -1
        _connect(
            axis,
            np.array([x + side * 0.47, BOTTOM + 0.3]),
            np.array(target),
            arrowstyle="-|>",
            color=GLIA,
            linewidth=1.8,
            linestyle=BROKEN,
            connectionstyle=f"arc3,rad={bend * side}",
            zorder=5,
        )
    words = f"glia or extracellular space:\nsum of {of} power, to all synapses"
    axis.text(1.5, BOTTOM - 0.25, words, ha="center", va="top", fontsize=6.5, color="0.25")


def _connect(axis: Axes, start: Any, end: Any, **style: Any) -> None:
    from matplotlib.patches import FancyArrowPatch

    style = {"linewidth": 0.8, "mutation_scale": 7, "shrinkA": 0, "shrinkB": 0, "zorder": 2, **style}
    axis.add_patch(FancyArrowPatch(tuple(start), tuple(end), **style))


def _keys() -> list[Any]:
    from matplotlib.lines import Line2D

    styles: dict[str, dict[str, Any]] = {
        "feed-forward synapse, excites": {"color": "0.6", "marker": ">", "markersize": 4, "linewidth": 0.8},
        "lateral synapses, inhibit both ways": {
            "color": DARK,
            "marker": "o",
            "markersize": 3.5,
            "linewidth": 0.8,
        },
        "one scalar, shared by all synapses": {"color": GLIA, "linewidth": 1.8, "ls": BROKEN},
    }
    return [Line2D([], [], label=label, **style) for label, style in styles.items()]


SCALAR = {"scale-dependent": (), "input-output": ("input power",), "squared-output": ("output power",)}


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    return [judge(table) for table in tables for judge in (_local_claim, _scalar_claim)]


def _local_claim(table: Table) -> Claim:
    most, least = table["most"]["elsewhere"], table["least"]["pair"]
    value = f"new weight changes by at most {most:.0e} (relative); control: at least {least:.2g}"
    return claim("local", value, most < NOTHING and least > 1e-3, name=table["regularizer"])


def _scalar_claim(table: Table) -> Claim:
    needed, powers = SCALAR[table["regularizer"]], ("input power", "output power")
    sensitive = [what for what in powers if table["least"][what] > 1e-6]
    deaf = [what for what in powers if table["most"][what] < NOTHING]
    value = f"weights react to: {', '.join(sensitive) or 'neither'}; not to: {', '.join(deaf) or 'neither'}"
    right = set(sensitive) == set(needed) and len(deaf) == 2 - len(needed)
    return claim("scalar", value, right, name=table["regularizer"])
