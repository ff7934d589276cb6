"""Fig. 3: the three networks drawn, and the locality of their learning rules measured.
from .drawing import Figure

A rule is probed from outside: everything a synapse should not see is changed, and the weight it arrives at
must stay the same. What it should see is changed, too, to prove that the probe notices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...network import HebbianNetwork
from ..reproduction.item import Claim, Table, verdict
from .drawing import Figure
from .experiment import KINDS, Array
from .schematic import draw_network

NAME = "local-learning"
TITLE = "Fig. 3: three networks with local learning rules"
CAPTION = (
    "The three Hebbian/anti-Hebbian networks. Learning is local in all of them; the self-calibrating "
    "ones need one more scalar, the summed power of the inputs or of the outputs, which every synapse "
    "receives, feed-forward and lateral alike."
)
ALT = (
    "Three drawings of the same network: four input neurons, each connected to three output neurons, "
    "which inhibit one another. In the second a shaded cell around the inputs, in the third one around "
    "the outputs, sends a scalar to the feed-forward and to the lateral synapses."
)

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


def draw(settings: Settings, tables: Sequence[Table]) -> Figure:
    return draw_network()


SCALAR = {"scale-dependent": (), "input-output": ("input power",), "squared-output": ("output power",)}
QUOTE = {
    "scale-dependent": "",
    "input-output": "a new scalar variable ‖x_T‖² is needed that sums up the current input "
    "amplitude across all input neurons",
    "squared-output": "the learning rate depends on the norm of current output vector, ‖y_T‖²",
}
WHERE = {"scale-dependent": "left", "input-output": "middle", "squared-output": "right"}


def claims(settings: Settings, tables: Sequence[Table]) -> Sequence[Claim]:
    found = []
    for table in tables:
        found += [_local_claim(table), _scalar_claim(table)]
    return found


def _local_claim(table: Table) -> Claim:
    most, least = table["most"]["elsewhere"], table["least"]["pair"]
    return Claim(
        f"Introduction and Section IV, Fig. 3, {WHERE[table['regularizer']]}",
        "learning is local: a synapse's change depends on its two neurons, its own weight, the cumulative "
        "activity of the neuron it serves, and at most one scalar shared by all",
        "all other activities, weights and cumulative activities redrawn, the scalar kept; "
        "as a control, the sign of one of the two activities",
        f"new weight changes by at most {most:.0e} (relative); control: at least {least:.2g}",
        verdict(most < NOTHING and least > 1e-3),
        quote="a weight update of each synapse depends on the activity of only its pre- and postsynaptic "
        "neurons",
    )


def _scalar_claim(table: Table) -> Claim:
    needed = SCALAR[table["regularizer"]]
    sensitive = [what for what in ("input power", "output power") if table["least"][what] > 1e-6]
    deaf = [what for what in ("input power", "output power") if table["most"][what] < NOTHING]
    words = {
        "scale-dependent": "no shared scalar is needed",
        "input-output": "one new scalar is needed: the summed power of the inputs",
        "squared-output": "one new scalar is needed: the summed power of the outputs",
    }
    return Claim(
        f"Section IV, Fig. 3, {WHERE[table['regularizer']]}",
        words[table["regularizer"]],
        "all other inputs, then all other outputs, made twice as strong",
        f"weights react to: {', '.join(sensitive) or 'neither'}; not to: {', '.join(deaf) or 'neither'}",
        verdict(set(sensitive) == set(needed) and len(deaf) == 2 - len(needed)),
        quote=QUOTE[table["regularizer"]],
    )
