"""The live page as the learning thread sees it."""

from __future__ import annotations

import logging
import secrets
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..io.files import shown
from ..io.serving import EVERYWHERE
from .board import Board, Desk
from .fleet import FleetBoard, PlacesOf, TracesOf
from .process import PageSettings, ServerProcess

if TYPE_CHECKING:
    from ..keyed import Bank, MonitorBank
    from ..keyed.overview import Overview
    from ..model.attributes import TrackedAttributes
    from ..model.expectation import Trace


class Page:
    """A page in the browser that follows a model while it learns.

    Parameters
    ----------
    title
        The name of the stream, such as that of a file.
    feature_names
        Names of the inputs; ``x0, x1, ...`` if None.
    address
        The address to listen on. By default only this computer can reach the page. On any address it lies
        under a path that cannot be guessed.
    port
        0 is any free one.
    lag_unit
        The unit of ``lag``.
    timed
        True if `update` is given the times of samples: charts then show times instead of sample counts.
    watching
        True if the model is a `eigenstream.monitoring.MonitoredModel`: the page then shows control charts,
        alarms, and the inputs to blame for the alarm that is clicked.
    fleet
        True for a bank of models or, if ``watching``, of monitors (`update_fleet`): the page then shows all
        keys, and the charts of the one that is clicked.
    desk
        Of monitors: whoever is told when somebody acknowledges an alarm, or shelves an input or a key, such
        as ``handling`` of a job. None: the page has no buttons for it.

    Attributes
    ----------
    path : str
        The secret part of the address; everything lies below it.
    url : str or None
        The whole address of the page while it is up.

    Examples
    --------
    >>> from eigenstream import OnlineAdaptivePCA, streams
    >>> model, page = OnlineAdaptivePCA(random_state=0), Page("a stream")
    >>> url = page.start()
    >>> for batch in streams.paper_stream(2000, random_state=0):
    ...     page.update(model.partial_fit(batch), rows_per_second=1e5)
    >>> page.finish("2,000 rows")
    >>> url.startswith("http://127.0.0.1:")
    True
    >>> page.stop()
    """

    def __init__(
        self,
        title: str = "stream",
        feature_names: Sequence[str] | None = None,
        address: str = "127.0.0.1",
        port: int = 0,
        lag_unit: str = "rows",
        timed: bool = False,
        watching: bool = False,
        fleet: bool = False,
        desk: Desk | None = None,
    ) -> None:
        names = None if feature_names is None else [shown(str(name)) for name in feature_names]
        self.address, self.path = address, "/" + secrets.token_urlsafe(16)
        self._settings = PageSettings(
            *(shown(title), names, lag_unit, timed, watching, fleet),
            *(address, port, self.path, _log_level()),
        )
        self.url: str | None = None
        self._board = FleetBoard(desk) if fleet else Board(desk)
        self._server: ServerProcess | None = None

    def start(self) -> str:
        """Start the server in a process of its own; returns the page's address.

        Raises
        ------
        ImportError
            If Bokeh is not installed.
        OSError
            If nothing can listen at the address.
        """
        if self.url is not None:
            return self.url
        self._server = ServerProcess(self._board, self._settings)
        self.url = f"http://{self._host()}:{self._server.port}{self.path}/"
        return self.url

    def update(
        self,
        model: TrackedAttributes,
        *,
        rows_per_second: float = float("nan"),
        lag: float | None = None,
        times: Sequence[Sequence[float]] = (),
        traces: Sequence[Trace] = (),
        source_rows: Mapping[int, int] | None = None,
    ) -> None:
        """Tell the page about a model, after every batch; returns at once.

        Parameters
        ----------
        model
            A fitted model. It is looked at here, a few times per second at most, and after a second without
            batches by a thread of the page.
        rows_per_second
            Rows learnt per second at present.
        lag
            Lag behind the source; None if it is not known.
        times
            Times of some samples: pairs of a sample count and seconds since 1970, in order.
        traces
            Of a monitor: the inputs to blame in the rows around alarms (`eigenstream.jobs.traces.Traces`).
        source_rows
            Of a monitor: the numbers that the first rows of its alarms have in their source, by their own.
        """
        self._board.update(model, rows_per_second, lag, times, tuple(traces), source_rows)

    def update_fleet(
        self,
        bank: Bank | MonitorBank,
        overview: Overview,
        *,
        rows_per_second: float = float("nan"),
        lag: float | None = None,
        traces: TracesOf | None = None,
        places: PlacesOf | None = None,
    ) -> None:
        """Tell the page about a bank of models or monitors, after every batch; returns at once.

        Parameters
        ----------
        bank
            Those of its models that somebody has clicked are looked at here, a few times per second at most.
        overview
            All keys at a glance; `eigenstream.jobs.fleet.FleetOverview` keeps one up to date.
        rows_per_second, lag
            As of `update`.
        traces
            Returns the traces of a key, given its monitor (`eigenstream.jobs.traces.FleetTraces.of`).
        places
            Returns ``times`` and ``source_rows`` of a key, as of `update`, given its monitor.
        """
        assert isinstance(self._board, FleetBoard), "make the page with fleet=True"
        self._board.update_fleet(bank, overview, rows_per_second, lag, traces, places)

    def hurry(self) -> None:
        """Show the last update at once: something has happened that must not wait for the next look."""
        self._board.look()
        if self._server is not None:
            self._server.hurry()

    def finish(self, message: str = "") -> None:
        """Say that the stream has ended; the page stays up and shows the last state."""
        self._board.message = message
        self.hurry()

    def stop(self) -> None:
        """End the server; browsers say that it has gone."""
        if self._server is not None:
            self._server.stop()
        self._server = self.url = None

    def __enter__(self) -> Page:
        self.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()

    def _host(self) -> str:
        """The name by which a browser finds this computer."""
        if self.address in EVERYWHERE:
            return socket.gethostname()
        return f"[{self.address}]" if ":" in self.address else self.address


def _log_level() -> int | None:
    """The level of the server's log; None, unless logging has been set up."""
    return logging.getLogger("bokeh").getEffectiveLevel() if logging.getLogger().handlers else None
