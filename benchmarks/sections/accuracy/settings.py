"""Data, axes and seeds; how long to expect on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Settings:
    data: Mapping[str, float] = field(
        default_factory=lambda: {
            "digits": 5.0,
            "breast cancer": 3.0,
            "wine": 1.0,
            "china patches": 11.0,
            "MNIST subset": 36.0,
            "Tennessee Eastman": 18.0,
        }
    )
    """Names, and seconds to expect."""
    capacities: tuple[int, ...] = (4, 10, 20)
    """Numbers of components m that are asked for; those with m < n."""
    seeds: int = 3
    """Each shuffles the rows anew."""


def settings(quick: bool) -> Settings:
    return Settings({"digits": 0.5, "wine": 0.5}, (4,), 1) if quick else Settings()


def tops(m: int) -> tuple[int, ...]:
    """How many of the m axes are read off, the largest first."""
    return 1, m // 2, m
