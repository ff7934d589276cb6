"""Acknowledged alarms and shelved inputs of a monitor, as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Handled(NamedTuple):
    """Alarms that were acknowledged and inputs that are shelved."""

    acknowledged: Mapping[int, float] = {}
    """Seconds since 1970 when somebody did so, by the first row of the alarm."""
    shelved: Mapping[str, str] = {}
    """Until when nobody is told of an input, in words, by its name."""
    times: Mapping[str, str] = {}
    """Times for which an input may be shelved, and their names."""
