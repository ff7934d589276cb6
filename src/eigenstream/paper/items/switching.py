"""The switching stream: when the input's variance doubles and returns, and spectra of the latest samples."""

from __future__ import annotations

from collections.abc import Sequence

from . import experiment
from .drawing import Axes
from .experiment import Array

DOUBLED, RESTORED = 1000, 6000
"""The samples from which on the variance is twice as large, and as before."""
# As long as the paper's first stretch, so that after as many samples nothing of the old input is in it.
WINDOW = 1000
"""Latest samples whose spectra are followed."""


def recent_eigenvalues(Z: Array, times: Sequence[int]) -> list[list[float]]:
    """The top eigenvalues of the second moment of the last min(T, 1000) rows, for each T."""
    sums = experiment.scatter_sums(Z, times)
    recent = ((sums[T] - sums[max(T - WINDOW, 0)]) / min(T, WINDOW) for T in times)
    return [experiment.eigenvalues(moment)[: experiment.LINES].tolist() for moment in recent]


def mark_changes(axis: Axes) -> None:
    """Dotted lines where the variance changes, with what it is multiplied by from there on."""
    for change, label in ((DOUBLED, r"$\times 2$"), (RESTORED, r"$\times 1$")):
        axis.axvline(change, color="0.3", lw=0.8, ls=":", zorder=1)
        axis.text(change + 80, 0.98, label, fontsize=7, va="top", transform=axis.get_xaxis_transform())
