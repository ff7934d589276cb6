"""Metrics of a running job for Prometheus. Needs the extra ``metrics`` (prometheus-client).

After every batch the learning thread leaves a handful of plain numbers, which it has at hand. HTTP requests
are answered from these by a thread of their own. Neither waits for the other.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from socketserver import ThreadingMixIn
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from ..monitoring import STATISTICS
from .watcher import Watcher

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from ..io.sources import Batch, Source
    from ..monitoring import Monitor, Verdicts
    from .stage import Model


class Number(NamedTuple):
    """One number, or one for each statistic of a monitor."""

    kind: str
    """``counter`` or ``gauge``."""
    name: str
    meaning: str
    value: float | dict[str, float]


class MetricsServer(ThreadingMixIn, WSGIServer):
    """Answers each connection in a thread of its own, if it names this computer.

    A web site whose name somebody points here (DNS rebinding) is refused: it would send its own name.
    """

    daemon_threads = True

    def __init__(self, answer: WSGIApplication, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._names = {host, "localhost", socket.gethostname()}
        try:
            super().__init__((host, port), MetricsHandler)
        except OSError as error:
            raise OSError(
                error.errno,
                f"cannot serve metrics on {host}, port {port} ({error.strerror}): choose another port, or 0 "
                "for any free one",
            ) from None
        self.set_app(self._guarded(answer))

    def _guarded(self, answer: WSGIApplication) -> WSGIApplication:
        def guarded(environment: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
            if self._is_here(environment.get("HTTP_HOST", "")):
                return answer(environment, start)
            start("403 Forbidden", [("Content-Type", "text/plain")])
            return [b"Host header not allowed\n"]

        return guarded

    def _is_here(self, host: str) -> bool:
        name = urlsplit(f"//{host}").hostname or ""
        try:
            ip_address(name)
        except ValueError:
            return name in self._names
        return True


class MetricsHandler(WSGIRequestHandler):
    """Logs nothing, and gives up on a request that takes longer than ten seconds to arrive."""

    timeout = 10

    def log_message(self, *said: object) -> None:
        pass


class Metrics(Watcher):
    """Serves numbers of a job at ``/metrics`` until it is closed.

    Parameters
    ----------
    source
        The source of the job.
    host, port
        The address to listen on; port 0 is any that is free.

    Raises
    ------
    ImportError
        If prometheus-client is not installed.
    OSError
        If nothing can listen there.
    """

    def __init__(self, source: Source, host: str = "127.0.0.1", port: int = 0) -> None:
        try:
            from prometheus_client import CollectorRegistry, make_wsgi_app
        except ImportError:
            raise ImportError(
                "metrics need prometheus-client: pip install 'eigenstream[metrics]'", name="prometheus_client"
            ) from None
        self._source = source
        self._numbers: list[Number] = []
        self._saved: list[Number] = []
        self._last: dict[str, float] = {}
        self._drift: tuple[Any, float] = (None, 0.0)
        registry = CollectorRegistry()
        registry.register(self)
        self._server = MetricsServer(make_wsgi_app(registry), host, port)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_port}/metrics"
        self._thread = Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def judged(self, verdicts: Verdicts) -> None:
        names = (*STATISTICS, *(f"{name}_limit" for name in STATISTICS), "severity")
        self._last = {name: float(getattr(verdicts, name)[-1]) for name in names}

    def learnt(self, model: Model, batch: Batch) -> None:
        tracker = model.fitted()
        skipped = batch.skipped + tracker.tally.skipped
        numbers = [
            Number("counter", "rows_read", "Rows that came.", batch.count),
            Number("counter", "rows_learnt", "Rows learnt from.", tracker.tally.learnt),
            Number("counter", "rows_skipped", "Rows left out: unreadable, or with gaps.", skipped),
            Number("gauge", "rank", "Components kept, at the last look.", tracker.decision.rank),
            Number(
                "gauge", "threshold", "Least variance kept, at the last look.", tracker.decision.threshold
            ),
        ]
        monitor = getattr(model, "monitor", None)
        self._numbers = numbers + ([] if monitor is None else self._watched(monitor))

    def saved(self, samples: int) -> None:
        meaning = "When the model was saved last, in seconds since 1970."
        self._saved = [Number("gauge", "last_checkpoint_timestamp_seconds", meaning, time.time())]

    def _watched(self, monitor: Monitor) -> list[Number]:
        counts, last = monitor.counts, self._last
        statistics = {name: last[name] for name in STATISTICS}
        limits = {name: last[f"{name}_limit"] for name in STATISTICS}
        return [
            Number("counter", "rows_alarmed", "Rows that alarmed.", counts.alarmed),
            Number("counter", "alarms", "Alarms that began to count.", counts.alarms),
            Number("counter", "accepted", "New normals accepted.", counts.accepted),
            Number("gauge", "statistic", "Of the last row.", statistics),
            Number("gauge", "limit", "Of each statistic; +Inf where there is none yet.", limits),
            Number("gauge", "severity", "Largest ratio of the last row to a limit.", last["severity"]),
            Number("gauge", "alarm_on", "1 while an alarm is on, else 0.", float(monitor.watch.counts)),
            Number(
                "gauge", "drift", "Components turned away from since limits were told.", self._turned(monitor)
            ),
        ]

    def _turned(self, monitor: Monitor) -> float:
        """The drift of the reference that rows are judged by, computed when that is a new one."""
        if monitor.reference is not self._drift[0]:
            origin, now = monitor.origin, monitor.reference
            self._drift = now, 0.0 if origin is None or now is None else origin.turned(now)
        return self._drift[1]

    def describe(self) -> list[Any]:
        """For the registry: nothing is known before `collect`."""
        return []

    def collect(self) -> Iterator[Any]:
        """For the registry, in a thread of the server."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        families = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}
        for kind, name, meaning, value in (*self._numbers, *self._saved):
            labelled = isinstance(value, dict)
            family = families[kind](
                f"eigenstream_{name}", meaning, labels=["statistic"] if labelled else None
            )
            for label, number in value.items() if isinstance(value, dict) else [("", value)]:
                family.add_metric([label] if labelled else [], number)
            yield family
