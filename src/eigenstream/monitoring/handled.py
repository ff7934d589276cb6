"""Acknowledged alarms, and shelved inputs and keys, of a monitor or a fleet, as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Acknowledged = tuple[str | None, int]
"""An alarm: the key of its rows, None with one monitor, and its first row, by the monitor's count."""


class Subject(NamedTuple):
    """Subject of a shelf: an input, an input of a key, or a key with all its inputs."""

    name: str
    """The input; empty: all of them, and drifts."""
    key: str | None = None
    """The key; None: of all keys, or there is one monitor."""

    def __str__(self) -> str:
        """The subject in words.

        Examples
        --------
        >>> str(Subject("valve")), str(Subject("valve", "unit 7")), str(Subject("", "unit 7"))
        ('valve', 'valve of unit 7', 'unit 7')
        """
        if self.key is None:
            return self.name
        return f"{self.name} of {self.key}" if self.name else self.key


class Handled(NamedTuple):
    """Alarms that were acknowledged, and what is shelved."""

    acknowledged: Mapping[Acknowledged, float] = {}
    """Seconds since 1970 when somebody did so."""
    shelved: Mapping[Subject, str] = {}
    """Until when nobody is told of it, in words."""
    times: Mapping[str, str] = {}
    """Times for which something may be shelved, and their names."""
