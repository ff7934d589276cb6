"""The choices that the paper leaves open, and the values tried instead of those taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..experiment import Setup

TAKEN = "as taken"
IN_TEXT = {"alpha": "α", "mu_0": "μ₀"}
IN_FIGURE = {
    "k": "$k$",
    "n": "$n$",
    "alpha": r"$\alpha$",
    "mu_0": r"$\mu_0$",
    "W_yx": "$W_{yx}$",
    "W_yy": "$W_{yy}$",
}
"""Symbols of the choices, where they are not written as they are named."""


@dataclass(frozen=True)
class Variation:
    """One choice, made otherwise."""

    choice: str
    otherwise: str
    setup: Setup
    network: str = "engine"
    lateral: float = 0.0
    n_noise: int = 60
    true_spectrum: bool = False
    """True if alpha is chosen from the noise eigenvalues drawn rather than from their mean."""
    shared_generator: bool = False


def variations(setup: Setup) -> list[Variation]:
    """The choices taken first, then one change each."""
    changed: list[tuple[str, str, dict[str, Any]]] = [
        ("k", "4", {"k": 4}),
        ("k", "8", {"k": 8}),
        ("k", "40", {"k": 40}),
        ("mu_0", "1", {"mu_0": 1.0}),
        ("mu_0", "100", {"mu_0": 100.0}),
        ("W_yx", "length 0.1", {"W_yx_length": 0.1}),
        ("W_yx", "length 0.3", {"W_yx_length": 0.3}),
        ("W_yx", "length 1", {"W_yx_length": 1.0}),
    ]
    return [
        Variation(TAKEN, "", setup),
        *(Variation(choice, label, replace(setup, **change)) for choice, label, change in changed),
        Variation("alpha", "from the spectrum drawn", setup, true_spectrum=True),
        Variation("n", "56 noise eigenvalues", setup, n_noise=56),
        Variation("generators", "one for both", setup, shared_generator=True),
        Variation(TAKEN, "", setup, network="printed"),
        Variation("tol", "1e-3", replace(setup, tol=1e-3), network="printed"),
        Variation("tol", "1e-7", replace(setup, tol=1e-7), network="printed"),
        Variation("W_yy", "random, spread 0.5", setup, network="printed", lateral=0.5),
    ]
