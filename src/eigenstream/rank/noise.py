"""The default rule: what stands out of the noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from .edges import edges_at, edges_of_noise
from .evidence import Evidence, Vector
from .moving import moving_ratios
from .rule import TINY, Judgement, Rule
from .unevenness import unevenness

# Eigenvalues. Components of one size, fewer than these, are not compared with each other; over more of them a
# smooth spectrum would fall by more than `STANDING_OUT`.
NEIGHBOURS = 8
"""Eigenvalues further down at which a component is compared with the spectrum; fewer if it is narrow."""

# Ratios. Noise whose variances fall by e^-3 over 50 directions exceeds what follows from eight places down by
# 1.6. The last is a compromise: without profiles, noise of 12 kinds is quiet in 96 % and factors are right in
# 75 % of 1,560 draws; with 1.7 in 92 and 81 %, with 4 in 99 and 60 %, and digits have no components (seeds
# from 860,000 on).
LEAST_STANDING_OUT, STANDING_OUT, CAUTIOUS = 1.2, 1.7, 2.0
"""Ratio to the edge that follows from there, with few samples and with plenty; the last where nothing is
known of single inputs."""

# Heavy-tailed inputs have a higher edge than the law says: standardized breast cancer 2.05 for 1.51.
INDEPENDENT = 1.2
"""Ratio to the edge of independent inputs with plenty of samples: tails may be heavy."""

# Three to five factors of 1.5 times the edge, 30 inputs, 60 rows: with full margins 68 % of the draws are
# right, with these 98 %, and noise of eight kinds is as quiet with either.
PLENTY = 8
"""Samples for each input from which on margins are full. Fewer spread the spectrum further than colour and
tails do, and margins grow in proportion to them."""

# Autoregressive noise of 0.9 with a half-life of 1,000: right 93 % of the time, at 1.0 88 %.
CORRECTED = 0.5
"""Most of the margins that the line by independent samples has: the line by rows has them all."""

# In units of the noise's mean, added to the edge. The second guards against a steep spectrum that hides
# everything: what exceeds the noise tenfold is a component, however even the fall to its neighbours. It
# decides where spectra are wide and smooth: handwriting has 52 components with it and 12 without, photographs
# 8 and 17, at half of it 79 and 35. The same 1,560 draws and power laws are as right without it or at twice.
UNEVEN, VERY_UNEVEN = 1.2, 9.3
"""Ratio by which noise may exceed the edge of white noise of its mean: where nothing is known of single
inputs, and where a component does not stand out from its neighbours."""

# A ratio. Spares the lines of uneven inputs, each of which costs a product of the profile: they lie above the
# line of even ones, so that what is this far below needs none. A judgement of 256 inputs with 32 axes takes
# 0.24 ms instead of 0.47; the same draws have the same ranks at 0, 0.35 and 1, and one loses a factor at 1.4.
DOUBTFUL = 0.7
"""Below this share of the lowest line that there may be, an eigenvalue is no component in any case."""

# Samples. Guards against components of a handful of rows, which any few rows have.
PER_COMPONENT = 4
"""Samples that there must be for each component; of independent ones as many again for what they leave."""

# Samples per input.
PER_INPUT = 2
"""Independent samples for each input in what a component leaves, from which on that is lively. Walks, whose
first component leaves a quarter of its variance to the second, stay below."""

# A ratio. Finds many components in little noise, where eight neighbours further down there are components,
# too; neighbours in the upper half of a spectrum of noise differ by less. A quarter of the directions, all as
# strong, is counted in 72 % of the draws; without it, or at 5, in 13 %. At 1.8 it is 92 %, but very uneven
# noise has components in 13 % instead of 5 %. Of standardized inputs the component before the gap has to
# exceed what independent ones could be: two factors in 8 of them, 1,500 rows, are counted in 88 % of 100
# draws, and in 48 % without that; three factors in 20 in 99 and 74 % (seeds from 700,000 on).
GAP = 2.5
"""A drop between two neighbours by this factor separates components from noise, wherever it is."""

# A ratio. Exponentially distributed variances of 50 inputs, 530 rows, have components in 3 % of forty draws
# at 2.5, and in none here; of ten inputs whose standard deviations are spread by a factor of e, 500 rows,
# 15 % of the draws have none at 2.5, 33 % here and 68 % at 5 (seeds from 770,000 on). At 5, three loud
# inputs of 4, 8 and 12 times the edge would not count, which whoever draws such components expects.
GAP_ALONE = 3.5
"""The same factor for a component that independent inputs could be, such as a single loud input."""


@dataclass(frozen=True)
class NoiseEdge(Rule):
    """Keep what stands out of the noise, whose variances may be uneven. The default, ``n_components="auto"``.

    A component has to pass two lines. Both follow from what the p components before it leave of the input.

    1. Above independent inputs: 1.2 times the largest eigenvalue that independent inputs would have whose
       variances are what is left of each input (`inputs_left`). Some inputs may be noisier than others.
    2. Above its neighbours: 1.7 times the edge that follows from the eigenvalue eight places further down (an
       eighth of the spectrum if that is less) by the shape of the Marchenko-Pastur law. To this line a smooth
       spectrum, such as that of photographs, is noise of some colour, but only up to ``noise (edge + 9.3)``,
       where noise is the mean of the eigenvalues behind, and ``edge`` that of white noise of variance 1.

    With fewer than eight samples for each input these factors come down in proportion, to 1 and to 1.2. Where
    rows are like those before, a component has to pass both lines once more, by the number of independent
    samples in what the components before it leave, with half of the margins. What is larger than a component
    that passes is one. A component that fails only this is one, too, if differences from row to row pass the
    lines of their own number of samples in all directions that the components up to it span
    (`moving_ratios`).

    Where more components than that are equally large, the gap behind the last of them decides. If independent
    inputs could be as large as that one, the gap has to be larger; standardized ones it tells nothing about.
    At most half of the directions are kept, and one for four samples: a spectrum that falls by a factor from
    each eigenvalue to the next has no floor of noise, and ends there. A single input that varies is one
    component: there is nothing else that could be noise. Where nothing is known of single inputs, the first
    line is ``noise (edge + 1.2)``, and the second twice that edge. A network does not know the eigenvalues
    that it does not keep: it has the first line only, at ``noise (2 edge + 1)``, and the noise includes the
    eigenvalue itself.

    Examples
    --------
    >>> lam = np.r_[6.0, 5.0, np.linspace(0.15, 0.05, 61)]
    >>> judgement = NoiseEdge().judge(Evidence(lam, lam.sum(), capacity=8, n_inputs=63, n_samples=900))
    >>> judgement.rank()
    2
    """

    name: ClassVar[str] = "edge"

    def judge(self, evidence: Evidence) -> Judgement:
        by_rows = self._judged(evidence._replace(persistence=None), 1.0)
        if evidence.persistence is None:
            return by_rows
        # Components only become fewer by counting independent samples. What is larger than one is one, too:
        # as long as slow components are left in the rows, these look slower than their noise is. By rows it
        # would find too many: noise whose variances fall by e^-3 over 12 directions shows components in all
        # draws of 500 rows instead of half, while of white noise with factors only 1 % more are right.
        alike = self._judged(evidence, CORRECTED)
        ratios = np.maximum.accumulate(alike.ratios[..., ::-1], axis=-1)[..., ::-1]
        known = np.minimum(ratios, by_rows.ratios)
        ratios = np.minimum(np.maximum(ratios, _moving(evidence, known, by_rows.ratios)), by_rows.ratios)
        return Judgement(ratios, np.maximum(alike.lines, by_rows.lines))

    judge_together = judge  # it takes a stack as it is

    def units(self, evidence: Evidence, number: int) -> Vector | float | None:
        by_rows = _even_line_by(evidence.n_inputs, evidence.n_rows)
        if evidence.persistence is None:
            return by_rows
        alike = _even_line(evidence.n_inputs, evidence.independent(number), CORRECTED)
        return np.asarray(np.maximum(by_rows, alike))

    def _judged(self, evidence: Evidence, largest: float) -> Judgement:
        """The opinion on each eigenvalue by itself, with this share of the margins at most."""
        lam, n = evidence.variances, evidence.n_inputs
        r = lam.shape[-1]
        samples = evidence.n_rows if evidence.persistence is None else evidence.independent(r + 1)
        if not r:
            return Judgement(lam, np.zeros((*lam.shape[:-1], 1)))
        above_inputs, above_neighbours = self._lines(evidence, samples, largest)
        ground = np.maximum(evidence.grounds, TINY)
        lines = np.maximum(above_inputs, ground)
        np.maximum(lines[..., :-1], above_neighbours, out=lines[..., :-1])
        ratios = lam / lines[..., :-1]
        most = min(r, int(min(n // 2, evidence.effective // PER_COMPONENT)) if n > 1 else 1)
        if r > 1 and most:
            last = min(most, r - 1)
            chance = self._chance(evidence, above_inputs, samples, largest)[..., :last]
            after = np.maximum(GAP * lam[..., 1 : last + 1], chance)
            gaps = (lam[..., :last] / np.maximum(after, ground))[..., ::-1]
            ratios[..., :last] = np.maximum(
                ratios[..., :last], np.maximum.accumulate(gaps, axis=-1)[..., ::-1]
            )
        ratios[..., most:] = 0.0
        if n > 1 and evidence.persistence is not None:
            worth = evidence.worth(r + 1)
            counts, needed = evidence.effective * worth, PER_COMPONENT * np.arange(2, r + 2)
            # A slow component makes rows alike: no reason to doubt where what it leaves is lively.
            lively = counts[..., 1:] >= np.maximum(PER_INPUT * n, needed)
            ratios[(worth[..., :-1] < 1) & (counts[..., :-1] < needed) & ~lively] = 0.0
        return Judgement(ratios, lines)

    def _chance(self, evidence: Evidence, lines: Vector, samples: Vector | float, largest: float) -> Vector:
        """Lines of independent inputs for the last component before a gap (one fewer than eigenvalues).

        Its line is the one behind it. A component below its own, without the margin, may be an input by
        itself. One that varies far more than all others is a component, too: the gap has to be larger. Where
        inputs are standardized that is no news: what components leave of an input that has little to do with
        others is large, and there is a gap behind it. There the line is its own.
        """
        behind = lines[..., 1:-1]
        if evidence.profile is None or not evidence.tells_below_threshold:
            return behind
        margin = np.minimum(samples / (PLENTY * evidence.n_inputs), largest)
        own = (lines / (1 + margin * (INDEPENDENT - 1)))[..., :-2]
        if evidence.standardized:
            return np.asarray(own)
        lam = evidence.variances
        alone = lam[..., :-1] <= own
        return np.where(alone, np.maximum(GAP_ALONE * lam[..., 1:], behind), behind)

    def _lines(self, evidence: Evidence, samples: Vector | float, largest: float) -> tuple[Vector, Vector]:
        """Lines of each eigenvalue above independent inputs (one more: none is left) and above neighbours.

        The number of samples is one for all, or one for each.
        """
        lam, n = evidence.variances, evidence.n_inputs
        neighbours = _neighbours(n)
        edge, spread, shape = edges_of_noise(n, samples, (neighbours + 0.5) / n)
        r, noise = lam.shape[-1], evidence.noise_left(lam)
        behind = np.concatenate((noise[..., 1:], noise[..., -1:]), axis=-1)
        if not evidence.tells_below_threshold:
            return (2 * edge + 1) * noise, np.zeros(lam.shape)
        above_neighbours = np.zeros(lam.shape)
        unknown = evidence.profile is None or n == 1
        margin = np.minimum(samples / (PLENTY * n), largest)
        rise = margin * (STANDING_OUT - LEAST_STANDING_OUT)
        shape = shape * (CAUTIOUS if unknown else LEAST_STANDING_OUT + rise)
        later = max(r - neighbours, 0)
        if later:
            shapes = shape if isinstance(samples, float) else shape[..., :later]
            above_neighbours[..., :later] = shapes * lam[..., neighbours:]
            widest = (edge + spread + VERY_UNEVEN) * behind
            np.minimum(above_neighbours, widest[..., :-1], out=above_neighbours)
        if evidence.profile is None or n == 1:  # one input alone is not uneven
            return (edge + spread + UNEVEN) * behind, above_neighbours
        # Even inputs have the lowest line: what stays far below that needs no other.
        even = (1 + margin * (INDEPENDENT - 1)) * (edge + spread) * noise
        doubtful = lam > DOUBTFUL * np.maximum(even[..., :-1], above_neighbours)
        doubtful[..., :-1] |= lam[..., :-1] > DOUBTFUL * GAP * lam[..., 1:]
        needed = r + 1 - doubtful[..., ::-1].argmax(axis=-1)
        needed = np.where(doubtful.any(axis=-1), needed, 1)
        return even * unevenness(evidence.profile, n, needed, r + 1, samples) / edge, above_neighbours


def _moving(evidence: Evidence, ratios: Vector, by_rows: Vector) -> Vector:
    """`moving_ratios` of each stream, beyond the components that it has by these ratios."""
    if evidence.moves is None:
        return np.zeros(ratios.shape)
    if ratios.ndim > 1:
        found = [_moving(*one) for one in zip(evidence.each(), ratios, by_rows, strict=True)]
        return np.array(found).reshape(ratios.shape)
    n, (least, most) = evidence.n_inputs, (Judgement(each, each).rank() for each in (ratios, by_rows))

    def margins(samples: float) -> tuple[float, float, float]:
        share = min(samples / (PLENTY * n), 1.0)
        rise = share * (STANDING_OUT - LEAST_STANDING_OUT)
        return 1 + share * (INDEPENDENT - 1), LEAST_STANDING_OUT + rise, VERY_UNEVEN

    return moving_ratios(evidence, margins, _neighbours(n), least, most)


def _neighbours(n: int) -> int:
    return min(max(n // 8, 3), NEIGHBOURS)


def _even_line(n: int, samples: Any, largest: float) -> Any:
    """Line of even noise of variance 1, by its number of samples, with this much of the margin at most."""
    edge, spread, _ = edges_at(n, samples, 0.0)
    return (1 + np.minimum(samples / (PLENTY * n), largest) * (INDEPENDENT - 1)) * (edge + spread)


@lru_cache(maxsize=1024)
def _even_line_by(n: int, rows: float) -> float:
    """`_even_line` of this number of rows, with all of the margin."""
    return float(_even_line(n, rows, 1.0))
