"""Metrics of a running job for Prometheus. Needs the extra ``metrics`` (prometheus-client).

After every batch the learning thread leaves a handful of plain numbers, which it has at hand. HTTP requests
are answered from these by a thread of their own. Neither waits for the other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from threading import Thread
from typing import TYPE_CHECKING, Any

from ..io.serving import is_own, listen, own_names
from ..keyed import Bank, MonitorBank
from ..monitoring import KINDS, STATISTICS
from .watcher import AlarmEvent, Watcher

if TYPE_CHECKING:
    from ..io.sources import Batch, Source
    from ..keyed.bank_file import Key
    from ..monitoring import Alarm, Monitor, Verdicts
    from .notices import Notices
    from .stage import Model

MOST_CONNECTIONS = 16
"""Connections at a time: Prometheus needs one, and each costs the job a file descriptor."""
SECONDS = 5.0
"""Seconds in which a connection must have asked and taken its answer, however many bytes it still sends."""
LARGEST_REQUEST = 2**13
"""Bytes; Prometheus and browsers send less, and more would only fill memory."""
MEANINGS = {
    "rows_read": ("counter", "Rows that came."),
    "rows_learnt": ("counter", "Rows learnt from."),
    "rows_skipped": ("counter", "Rows left out: unreadable, or with gaps."),
    "rank": ("gauge", "Components kept, at the last look."),
    "threshold": ("gauge", "Least variance kept, at the last look."),
    "last_checkpoint_timestamp_seconds": ("gauge", "When the model was saved last, in seconds since 1970."),
    "rows_alarmed": ("counter", "Rows that alarmed."),
    "alarms": ("counter", "Alarms that began to count."),
    "accepted": ("counter", "New normals accepted."),
    "statistic": ("gauge", "Of the last row."),
    "limit": ("gauge", "Of each statistic; +Inf where there is none yet."),
    "severity": ("gauge", "Largest ratio of the last row to a limit."),
    "alarm_on": ("gauge", "1 while an alarm is on, else 0."),
    "drift": ("gauge", "Distance from the anchor: of level, spread, directions and limits."),
    "inputs_out_of_order": ("gauge", "Inputs that are flat, lively or gone."),
    "drift_on": ("gauge", "1 while only the anchor sees most rows, else 0."),
    "keys": ("gauge", "Keys that have a model."),
    "keys_alarmed": ("gauge", "Keys with an alarm on, of those with rows since this job was started."),
    "notices_told": ("counter", "Notices of alarms that reached a command or a web server."),
    "notices_failed": ("counter", "Notices of alarms that reached nobody."),
}
"""Kind and meaning of each number."""


class MetricsServer:
    """Answers GET and HEAD, whatever their path, in a thread of its own, until it is closed.

    Its connections are few, short and small, whoever makes them: a job must not run out of descriptors,
    threads or memory because somebody looks on.

    Parameters
    ----------
    answer
        Returns the content type and the content, given the Accept header.
    """

    def __init__(self, answer: Callable[[str], tuple[str, bytes]], host: str, port: int) -> None:
        self._answer, self._names, self._open = answer, own_names(host), 0
        self._socket = listen(host, port, "metrics", MOST_CONNECTIONS)
        self.address = self._socket.getsockname()
        self._loop, self._ended = asyncio.new_event_loop(), asyncio.Event()
        self._loop.set_exception_handler(lambda loop, context: None)  # a broken connection is not our concern
        self._thread = Thread(target=self._run, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving; connections are cut."""
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        limit, backlog = LARGEST_REQUEST, MOST_CONNECTIONS
        server = await asyncio.start_server(self._connected, sock=self._socket, limit=limit, backlog=backlog)
        await self._ended.wait()
        server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= MOST_CONNECTIONS:
                with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                    async with asyncio.timeout(SECONDS):
                        writer.transport.set_write_buffer_limits(0)  # drain waits until all has been sent
                        writer.write(await self._response(reader))
                        await writer.drain()
        finally:
            self._open -= 1
            writer.transport.abort()

    async def _response(self, reader: asyncio.StreamReader) -> bytes:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return _reply(431)
        request, *lines = head.decode("latin-1").split("\r\n")
        parts, fields = request.split(" "), (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        try:
            own = is_own(headers.get("host", ""), self._names)
        except ValueError:
            return _reply(400)
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            return _reply(400)
        if not own:
            return _reply(403)
        if parts[0] not in ("GET", "HEAD"):
            return _reply(405)
        return _reply(200, *self._answer(headers.get("accept", "")), body=parts[0] == "GET")


def _reply(status: int, kind: str = "text/plain", content: bytes | None = None, body: bool = True) -> bytes:
    """An answer; without its body, as HEAD asks for, it says how long that would be."""
    reason = HTTPStatus(status).phrase
    content = f"{reason}\n".encode() if content is None else content
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}"
    return f"{head}\r\nConnection: close\r\n\r\n".encode() + content * body


class Metrics(Watcher):
    """Serves numbers of a job at ``/metrics`` until it is closed.

    Parameters
    ----------
    source
        The source of the job.
    host, port
        The address to listen on; port 0 is any that is free.
    notices
        Notices of alarms, whose counts are served too.

    Raises
    ------
    ImportError
        If prometheus-client is not installed.
    OSError
        If nothing can listen there.
    """

    def __init__(
        self, source: Source, host: str = "127.0.0.1", port: int = 0, notices: Notices | None = None
    ) -> None:
        try:
            from prometheus_client import CollectorRegistry
            from prometheus_client.exposition import choose_encoder
        except ImportError:
            raise ImportError(
                "metrics need prometheus-client: pip install 'eigenstream[metrics]'", name="prometheus_client"
            ) from None
        self._source, self._notices = source, notices
        self._numbers: dict[str, float | dict[str, float]] = {}
        self._saved: dict[str, float] = {}
        self._last: dict[str, float] = {}
        self._drift: tuple[Any, dict[str, float]] = (None, {})
        self._alarmed: set[Any] = set()
        registry = CollectorRegistry()
        registry.register(self)

        def answer(accept: str) -> tuple[str, bytes]:
            encode, kind = choose_encoder(accept)
            return kind, encode(registry)

        self._server = MetricsServer(answer, host, port)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.address[1]}/metrics"

    def close(self) -> None:
        """Stop serving."""
        self._server.close()

    def judged(self, verdicts: Verdicts) -> None:
        names = (*STATISTICS, *(f"{name}_limit" for name in STATISTICS), "severity")
        self._last = {name: float(getattr(verdicts, name)[-1]) for name in names}

    def judged_keys(self, keys: Any, severity: Any, on: Mapping[Key, Alarm]) -> None:
        self._alarmed |= on.keys()

    def alarmed(self, event: AlarmEvent) -> None:
        if event.key is not None and event.state == "began":
            self._alarmed.add(event.key)
        elif event.key is not None and event.state != "lasts":
            self._alarmed.discard(event.key)

    def learnt(self, model: Model | Bank | MonitorBank, batch: Batch) -> None:
        if isinstance(model, Bank | MonitorBank):
            self._numbers = self._of_keys(model, batch)
            return
        tracker = model.fitted()
        monitor: Monitor | None = getattr(model, "monitor", None)
        numbers = {
            "rows_read": batch.count,
            "rows_learnt": tracker.tally.learnt,
            "rows_skipped": batch.skipped + tracker.tally.skipped,
            "rank": tracker.decision.rank,
            "threshold": tracker.decision.threshold,
        }
        self._numbers = numbers | ({} if monitor is None else self._watched(monitor))

    def _of_keys(self, bank: Bank | MonitorBank, batch: Batch) -> dict[str, Any]:
        """Numbers of a bank: of all its keys together, since there may be thousands."""
        numbers = {"rows_read": batch.count, "rows_skipped": batch.skipped, "keys": len(bank)}
        if isinstance(bank, Bank):
            return numbers
        return numbers | {"alarms": bank.alarms, "keys_alarmed": len(self._alarmed)}

    def saved(self, samples: int) -> None:
        self._saved = {"last_checkpoint_timestamp_seconds": time.time()}

    def _watched(self, monitor: Monitor) -> dict[str, Any]:
        counts, last = monitor.counts, self._last
        return {
            "rows_alarmed": counts.alarmed,
            "alarms": counts.alarms,
            "accepted": counts.accepted,
            "statistic": {name: last[name] for name in STATISTICS},
            "limit": {name: last[f"{name}_limit"] for name in STATISTICS},
            "severity": last["severity"],
            "alarm_on": float(monitor.watch.counts),
            "drift": self._moved(monitor),
            "inputs_out_of_order": {
                kind: float(sum(number == i for number, _ in monitor.inputs.on))
                for i, kind in enumerate(KINDS)
            },
            "drift_on": float(monitor.watch.drift is not None),
        }

    def _moved(self, monitor: Monitor) -> dict[str, float]:
        """The drift of the reference that rows are judged by, found once for each; limits always anew."""
        reference = monitor.reference
        if reference is not self._drift[0]:
            self._drift = reference, monitor.drift_of(reference)._asdict()
        return self._drift[1] | ({} if reference is None else {"limits": monitor.limits_risen(reference)})

    def describe(self) -> list[Any]:
        """For the registry: nothing is known before `collect`."""
        return []

    def collect(self) -> Iterator[Any]:
        """For the registry, in a thread of the server."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        families = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}
        counts = {} if self._notices is None else self._notices.counts
        told: dict[str, Any] = {f"notices_{name}": counts[name] for name in ("told", "failed") if counts}
        for name, value in (self._numbers | self._saved | told).items():
            (kind, meaning), labelled = MEANINGS[name], isinstance(value, dict)
            family = families[kind](
                f"eigenstream_{name}", meaning, labels=["statistic"] if labelled else None
            )
            for label, number in value.items() if isinstance(value, dict) else [("", value)]:
                family.add_metric([label] if labelled else [], number)
            yield family
