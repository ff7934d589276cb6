"""Data, axes and seeds; how long to expect on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Settings:
    data: Mapping[str, float] = field(
        default_factory=lambda: {
            "digits": 10.0,
            "breast cancer": 6.0,
            "wine": 4.0,
            "china patches": 17.0,
            "MNIST subset": 28.0,
        }
    )
    """Names, and seconds to expect."""
    axes: tuple[int, ...] = (3, 5, 10)
    """How many axes m are read off; those with m < n."""
    seeds: int = 5
    """Each shuffles the rows anew."""


def settings(quick: bool) -> Settings:
    return Settings({"digits": 0.5, "wine": 0.5}, (3,), 2) if quick else Settings()
