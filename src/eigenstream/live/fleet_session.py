"""One browser that looks at a fleet: all keys in one list, and the charts of the one that is clicked."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.document import Document
from numpy.typing import NDArray

from .board import Shown, Snapshot
from .fleet import FleetSnapshot
from .process import PageSettings
from .session import NOTHING, Session, brief

if TYPE_CHECKING:
    from ..keyed.overview import KeysAtOnce


class FleetSession(Session):
    """Fills one document with a fleet.

    Parameters
    ----------
    document, shown, settings, pass_on
        As of `Session`.
    wish
        Called with the key that was clicked: its monitor is in the snapshots that follow.
    """

    def __init__(
        self,
        document: Document,
        shown: Shown,
        settings: PageSettings,
        pass_on: Callable[[dict[str, Any]], None],
        wish: Callable[[str], None],
    ) -> None:
        self._wish, self._fleet = wish, None if shown.snapshot is None else shown.snapshot
        self._keys = self._why = ()  # what the browser has
        super().__init__(document, shown, settings, pass_on)
        self._link.on_change("key", self._clicked_key)

    def _chart(self, snapshot: Any) -> dict[str, dict[str, Any]]:
        self._fleet = snapshot
        chosen = snapshot.chosen.get(self._link.key)
        return {} if chosen is None else self._charts.show(chosen)

    @property
    def _key(self) -> str | None:
        return str(self._link.key)

    def _clicked_key(self, attribute: str, old: str, new: str) -> None:
        self._charts.snapshot = None
        self._link.alarm, self._version, self._due = -1, 0, -math.inf
        self._wish(new)

    def _tiles(self, shown: Snapshot | None) -> dict[str, str]:
        fleet: Any = self._fleet
        seen = 0 if fleet is None else int(self._seen(fleet.glance).sum())
        return fleet_tiles(fleet, self._settings.lag_unit, self._settings.watching, seen)

    def _more(self) -> dict[str, Any]:
        fleet: Any = self._fleet
        if fleet is None:
            return {"fleet": None, "key": ""}
        glance, told = fleet.glance, dict[str, Any]()
        if glance.keys != self._keys:
            told["keys"] = [str(key) for key in glance.keys]
        if glance.why != self._why:
            told["why"] = list(glance.why)
        self._keys, self._why = glance.keys, glance.why
        return {
            "key": self._link.key if self._charts.snapshot is not None else "",
            "fleet": told
            | {
                "now": np.nan_to_num(glance.now, nan=-1.0),
                "on": glance.on.astype(np.uint8),
                "seen": self._seen(glance),
                "events": glance.events,
                "of": glance.of,
                "past": glance.past.ravel(),
                "points": glance.past.shape[1],
            },
        }

    def _seen(self, glance: KeysAtOnce) -> NDArray[np.uint8]:
        """1 for each key whose alarm is on and was acknowledged (K)."""
        marks = {} if self._handled is None else self._handled.acknowledged
        if not marks:
            return np.zeros(len(glance.keys), np.uint8)
        pairs = zip(glance.keys, glance.began.tolist(), strict=True)
        known = np.fromiter((pair in marks for pair in pairs), np.bool_, len(glance.keys))
        return (known & glance.on).astype(np.uint8)


def fleet_tiles(fleet: FleetSnapshot | None, lag_unit: str, watching: bool, seen: int = 0) -> dict[str, str]:
    """The numbers at the top of the page of a fleet, by their ids.

    Of the alarms that are on, ``seen`` are acknowledged.
    """
    own = "on-count" if watching else "ranks"
    names = ("samples", "key-count", own, "alarm-count", "rate", "lag", "lag-unit")
    if fleet is None:
        return dict.fromkeys(names, NOTHING)
    glance = fleet.glance
    ranks = glance.now[~np.isnan(glance.now)]
    said = f"{int(np.count_nonzero(glance.on)):,}"
    if not watching:
        said = f"{ranks.min():.0f} to {ranks.max():.0f}" if len(ranks) else NOTHING
    return {
        "samples": f"{fleet.samples:,}",
        **({"on-seen": f"keys; {seen:,} acknowledged" if seen else "keys, now"} if watching else {}),
        "key-count": f"{len(glance.keys):,}",
        "key-seen": f"{int(np.count_nonzero(glance.rows)):,} with rows in this job",
        own: said,
        "alarm-count": f"{int(glance.events.sum()):,}",
        "rate": brief(fleet.rows_per_second),
        "lag": brief(fleet.lag),
        "lag-unit": "not known" if math.isnan(fleet.lag) else f"{lag_unit} behind",
    }
