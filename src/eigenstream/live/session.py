"""One browser: its own charts and words, filled from the latest snapshot at the browser's own pace."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from time import monotonic
from typing import Any

import numpy as np
from bokeh.core import properties as bokeh
from bokeh.core.templates import get_env
from bokeh.document import Document
from bokeh.events import DoubleTap
from bokeh.model import DataModel
from bokeh.models import CustomJS
from jinja2 import Template

from ..io.durations import is_date, when
from ..model.expectation import row_in_words
from ..model.history import STATISTIC_NAMES
from ..monitoring import Alarm
from ..monitoring.handled import Acknowledged, Handled
from .board import MOST_COMPONENTS, REFRESH, Shown, Snapshot, Watching
from .charts import Charts, ChartSet, ControlCharts
from .figures import COMPONENTS, INKS
from .process import PageSettings

PAINTING = 0.2
"""Largest share of the time, about, that a browser spends on painting: the rest is for its user."""
RAREST = 2.0
"""Most seconds between two pictures in a browser that is awake."""
MEANINGS = {
    "t2": "how far off within the usual pattern",
    "spe": "how far off the pattern",
    "distance": "how far off in any direction",
    "extreme": "how far off the input that is farthest off",
    "average": "the distance of the last rows together",
    "pair": "the same of a row and the one before",
}
"""Meaning of each statistic, in a few words."""
FIELDS = ("acknowledge", "shelve", "time", "unshelve", "key")
"""Fields of a message from the buttons."""
LONGEST_NAME = 10_000
"""Characters of a name in such a message; a browser may send anything, and the job reads it line by line."""
NOTHING = "\N{EN DASH}"
"""In the place of a number that is not known."""


class Link(DataModel):
    """The messages between browser and server; page.js is at the other end."""

    values: Any = bokeh.Dict(bokeh.String, bokeh.Any)
    """From the server: the numbers, the events, the state."""
    shown: Any = bokeh.Int(default=0)
    """From the browser: the version it has painted."""
    paused: Any = bokeh.Bool(default=False)
    stretch: Any = bokeh.String(default="whole")
    """The part of the stream to show: "whole", "recent", or "own" after zooming by hand."""
    log: Any = bokeh.Bool(default=True)
    alarm: Any = bokeh.Int(default=-1)
    """First row of the alarm that was clicked; -1: none was."""
    clicked: Any = bokeh.Dict(bokeh.String, bokeh.Any)
    """The message of a button, with a number: ``{"shelve": "valve", "time": "2h", "number": 3}``."""
    key: Any = bokeh.String(default="")
    """The key of a fleet that was clicked; empty: none was."""


class Session:
    """Fills one document as long as its browser looks at it.

    Parameters
    ----------
    document
        The document of a new session, empty.
    shown
        The snapshot to show: it changes as news come in.
    settings
        PageSettings of the page.
    pass_on
        Called with what somebody has asked for by a button, as plain values; None: there are no buttons.
    """

    def __init__(
        self,
        document: Document,
        shown: Shown,
        settings: PageSettings,
        pass_on: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self._shown, self._settings, self._link = shown, settings, Link(name="link")
        self._pass_on, self._handled = pass_on, shown.handled
        names, unit, timed = settings.feature_names, settings.lag_unit, settings.timed
        self._charts: ChartSet = ControlCharts(timed) if settings.watching else Charts(names, unit, timed)
        self._version, self._state = 0, ""
        self._sent = 0
        self._sent_at = self._due = -math.inf
        self._listen()  # first: a document counts its parts anew whenever one of them changes
        self._fill(document)
        self.refresh()
        document.add_periodic_callback(self.refresh, int(1000 * REFRESH))

    def refresh(self) -> None:
        """Show the latest snapshot, unless paused or the browser is still busy with the last."""
        link = self._link
        if link.shown < self._sent or monotonic() < self._due:
            return
        snapshot, state = self._shown.snapshot, "paused" if link.paused else self._shown.state
        if snapshot is not None and snapshot.version != self._version and not link.paused:
            self._version = snapshot.version
            self._tell(state, self._chart(snapshot))
        elif state != self._state or self._handled != self._shown.handled:
            self._tell(state, {})

    def _chart(self, snapshot: Snapshot) -> dict[str, dict[str, Any]]:
        """Columns of the charts for a new snapshot."""
        return self._charts.show(snapshot)

    def _tell(self, state: str, columns: dict[str, dict[str, Any]]) -> None:
        """Send everything in one message; the browser reports back when it has painted."""
        shown, self._handled = self._charts.snapshot, self._shown.handled
        self._state, self._sent, self._sent_at = state, self._sent + 1, monotonic()
        told = {
            "version": self._sent,
            "tiles": self._tiles(shown),
            "events": [] if shown is None else list(reversed(shown.events)),
            "alarms": self._alarms(shown),
            "state": state,
            "message": self._shown.message if state == "finished" else "",
            "columns": columns,
            "ranges": self._charts.frame(self._link.stretch),
            "traces": [],
            "handled": handled_entry(self._handled),
        }
        more = self._traced(self._charts, told) if isinstance(self._charts, ControlCharts) else {}
        self._link.values = told | more | self._more()

    def _tiles(self, shown: Snapshot | None) -> dict[str, str]:
        """The numbers at the top of the page, by their ids."""
        return tiles(shown, self._settings.lag_unit)

    def _more(self) -> dict[str, Any]:
        """More that the browser is told."""
        return {}

    def _traced(self, charts: ControlCharts, told: dict[str, Any]) -> dict[str, Any]:
        """The traces of the alarm that is clicked, or of the latest, beside what is told."""
        trace = charts.trace_of(self._link.alarm)
        columns, ranges = charts.traced(trace)
        return {
            "columns": told["columns"] | columns,
            "ranges": told["ranges"] | ranges,
            "traces": [] if trace is None else trace.names,
        }

    def _clicked_button(self, attribute: str, old: dict[str, Any], new: dict[str, Any]) -> None:
        """Pass on what was asked for, if it can be: whatever else a browser sends stays here."""
        message = {name: value for name, value in new.items() if name in FIELDS}
        texts = [value for value in message.values() if isinstance(value, str)]
        sound = all(type(value) in (str, int) for value in message.values())
        if self._pass_on is not None and sound and all(len(text) <= LONGEST_NAME for text in texts):
            self._due = -math.inf  # who clicks wants to see it now
            self._pass_on(message)

    def _clicked_alarm(self, attribute: str, old: int, new: int) -> None:
        """Show the inputs of an alarm, and zoom to it."""
        if not isinstance(self._charts, ControlCharts):
            return
        stretch = self._charts.around(new)
        if stretch is not None:
            self._charts.samples.update(start=stretch[0], end=stretch[1])
        self._tell(self._state, {})

    def _alarms(self, shown: Snapshot | None) -> list[dict[str, Any]]:
        """Alarms for the list, the latest first."""
        if shown is None or shown.watching is None:
            return []
        charts, rows = self._charts, shown.watching.source_rows
        times = charts.at_rows([alarm.began for alarm in shown.watching.alarms])
        if charts.dated is None or not len(shown.times):
            times[:] = np.nan
        pairs = zip(shown.watching.alarms, (times / (1e3 if charts.dated else 1)).tolist(), strict=True)
        seen: Mapping[Acknowledged, float] = {} if self._handled is None else self._handled.acknowledged
        return [
            alarm_entry(alarm, time, rows.get(alarm.began), seen.get((self._key, alarm.began)))
            for alarm, time in pairs
        ][::-1]

    @property
    def _key(self) -> str | None:
        """The key whose alarms are listed; None: there is one monitor."""
        return None

    def _painted(self, attribute: str, old: int, new: int) -> None:
        """Send less to a browser that takes long, or whose computer is busy learning."""
        if old > 0:  # the first time it had to load the page
            self._due = self._sent_at + min((monotonic() - self._sent_at) / PAINTING, RAREST)

    def _clicked_pause(self, attribute: str, old: bool, new: bool) -> None:
        self._due = -math.inf  # who clicks wants to see it now
        self.refresh()

    def _clicked_stretch(self, attribute: str, old: str, new: str) -> None:
        if new != "own":
            self._tell(self._state, {})

    def _fill(self, document: Document) -> None:
        title, watching = self._settings.title, self._settings.watching
        document.title = f"{title} · eigenstream"
        document.template = _template()
        document.template_variables.update(
            name=title,
            style=_read("page.css"),
            colors=COMPONENTS,
            watching=watching,
            fleet=self._settings.fleet,
            statistics={name: (title, MEANINGS.get(name, "")) for name, title in STATISTIC_NAMES.items()},
        )
        document.config.notify_connection_status = False  # page.js says so in its own way
        self._charts.figures[-1].tags = [self._link]  # attached as a tag so that Bokeh sends it
        charts = self._charts
        with document.models.freeze():
            for figure in charts.figures:
                document.add_root(figure)
        known = {"link": self._link, "sources": charts.sources, "ranges": charts.ranges}
        known |= {"figures": charts.figures, "inks": INKS}
        code = _read("page.js") + (_read("fleet.js") if self._settings.fleet else "")
        document.js_on_event("document_ready", CustomJS(args=known, code=code))

    def _listen(self) -> None:
        link, charts = self._link, self._charts
        link.on_change("shown", self._painted)
        link.on_change("paused", self._clicked_pause)
        link.on_change("log", lambda attr, old, new: charts.scale(link.log))
        link.on_change("stretch", self._clicked_stretch)
        link.on_change("alarm", self._clicked_alarm)
        link.on_change("clicked", self._clicked_button)
        click_whole = CustomJS(args={"link": link}, code="link.stretch = 'whole'")
        for figure in charts.over_samples:
            figure.js_on_event(DoubleTap, click_whole)
        charts.figures[-1].on_event(DoubleTap, lambda _: charts.whole())


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    return get_env().from_string("{% extends base %}\n" + _read("page.html"))


def brief(value: float) -> str:
    """Three digits, and a letter for thousands and millions.

    Examples
    --------
    >>> [brief(x) for x in (0.01234, 3.0, 812.4, 999_900.0, 1_234_567.0)]
    ['0.0123', '3', '812', '1 M', '1.23 M']
    """
    if not math.isfinite(value):
        return NOTHING
    for unit, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= 0.9995 * unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def tiles(snapshot: Snapshot | None, lag_unit: str) -> dict[str, str]:
    """The numbers at the top of the page, by their ids."""
    if snapshot is None:
        return dict.fromkeys(("samples", "rank", "rate", "lag", "lag-unit"), NOTHING)
    now, watching = snapshot.now, snapshot.watching
    return {
        "samples": f"{now.sample:,}",
        "rank": str(now.rank),
        "capacity": f"of at most {snapshot.capacity}",
        "rate": brief(now.rows_per_second),
        "lag": brief(now.lag),
        "lag-unit": "not known" if math.isnan(now.lag) else f"{lag_unit} behind",
        **(_of_model(snapshot) if watching is None else _of_monitor(watching)),
    }


def _of_model(snapshot: Snapshot) -> dict[str, str]:
    return {
        "threshold": brief(snapshot.now.threshold),
        "explained": f"{100 * snapshot.explained:.1f} %",
        "worth": f"worth about {snapshot.independent:,.0f} independent ones",
        "leading": leading(snapshot.now.rank),
    }


def _of_monitor(watching: Watching) -> dict[str, str]:
    severity = watching.history.severity
    on = any(alarm.ended is None for alarm in watching.alarms)
    return {
        "severity": brief(float(severity[-1])) if len(severity) else NOTHING,
        "alarm-count": f"{watching.number:,}",
        "alarm-now": ("one is on" if on else f"{watching.alarmed:,} rows in all") + watching.notices,
    }


def handled_entry(handled: Handled | None) -> dict[str, Any] | None:
    """Shelved inputs and keys, and what may be done, as the page shows it; None if nothing can be done."""
    if handled is None:
        return None
    shelved = [
        {"name": what.name, "key": what.key, "words": str(what), "until": until}
        for what, until in handled.shelved.items()
    ]
    return {"shelved": shelved, "times": [*handled.times.items()]}


def alarm_entry(
    alarm: Alarm,
    time: float = math.nan,
    source_row: int | None = None,
    acknowledged: float | None = None,
) -> dict[str, Any]:
    """An alarm as the list shows it; with time and row of the source at which it began, if they are known.

    ``acknowledged`` is the time at which somebody has said to have seen it, in seconds since 1970.

    Examples
    --------
    >>> alarm = Alarm(1200, 1244, 31, ended=1245, peak=3.21, statistic="spe", contributors=(("valve", 0.6),))
    >>> alarm_entry(alarm)["when"], alarm_entry(alarm, 1.7e9)["when"], alarm_entry(alarm, 12.5, 3260)["when"]
    ('1,200', '2023-11-14 22:13:20', 'time 12.5')
    >>> alarm_entry(alarm)["where"], alarm_entry(alarm, 12.5, 3260)["where"]
    ('row 1,200', 'row 3,260 (its own row 1,200), time 12.5')
    """
    began, where = (
        f"{alarm.began if source_row is None else source_row:,}",
        row_in_words(alarm.began, source_row),
    )
    if not math.isnan(time):
        began = when(round(time) if is_date(time) else float(f"{time:.6g}"))
        where += f", {began}"
    state = "on" if alarm.ended is None else "accepted" if alarm.accepted else "ended"
    return {
        "key": alarm.began,
        "when": began,
        "where": where,
        "rows": f"{alarm.rows:,}",
        "peak": brief(alarm.peak),
        "statistic": STATISTIC_NAMES[alarm.statistic],
        "state": state,
        "contributors": [[name, round(100 * share)] for name, share in alarm.contributors],
        "acknowledged": "" if acknowledged is None else f"{when(round(acknowledged))} UTC",
    }


def leading(rank: int) -> str:
    """Caption that says which of the components are shown.

    Examples
    --------
    >>> leading(0), leading(1), leading(9)
    ('nothing above the threshold', 'the only one', 'first 6 of 9')
    """
    if rank <= 1:
        return "the only one" if rank else "nothing above the threshold"
    return f"all {rank}" if rank <= MOST_COMPONENTS else f"first {MOST_COMPONENTS} of {rank}"
