"""Messages of an MQTT broker as lines of JSON: one per message, or the last known values at even times."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple

from ..files import printable
from .batch import SourceError
from .mqtt_spool import IDENTITY, Out
from .patience import PAUSE, ask_again

PASSWORD = "EIGENSTREAM_MQTT_PASSWORD"
"""Variable of the environment with the password of the broker, where the address has none."""
TIME, TOPIC = "mqtt_time", "mqtt_topic"
"""Columns of each line besides those of the message: when it came, and under which topic."""
PATIENCE = 5.0
"""Seconds to wait for a broker at first: the address may be wrong, and a person waits."""
WAITING = 1000
"""Most messages that wait to be written; then the broker has to wait."""
LARGEST_MESSAGE = 1 << 20
"""Most bytes of a message; a longer one is a bad row."""
DISCOVERY = 2.0
"""Least seconds in which topics that come are columns, where they are not known: brokers send what they have
retained at once."""
MOST_TOPICS = 1 << 16
"""Most columns of sampled rows."""


class Broker(NamedTuple):
    """A broker, and what to ask of it."""

    name: str
    """For messages."""
    host: str
    port: int
    topics: list[str]
    """Filters of topics."""
    user: str | None = None
    password: str | None = None
    encrypted: bool = False


class Message(NamedTuple):
    """A message as it came."""

    topic: str
    payload: bytes
    packet: str
    """Number of its packet."""
    seen: str
    """Hash of topic and content."""
    again: bool
    """True if the broker has tried to deliver it before."""
    acknowledge: Callable[[], object]


class Recorder:
    """Receives messages and hands lines of JSON on, in threads of their own.

    Parameters
    ----------
    broker
        The broker.
    out
        The place for lines; a message is acknowledged when its line has been written.
    client
        Name of the session.
    lasting
        True lets the broker keep messages while nobody is connected.
    lines
        Makes lines of messages: see `Each` and `Sampled`.

    Raises
    ------
    SourceError
        If the broker does not answer, or refuses.
    """

    def __init__(self, broker: Broker, out: Out, client: str, lasting: bool, lines: Each | Sampled) -> None:
        self.broker, self.out, self.lines = broker, out, lines
        self.again, self.reconnected = 0, -1
        """Messages that came twice and were dropped; how often the broker came back."""
        self._queue: Queue[Message] = Queue(WAITING)
        self._ended, self._answered = Event(), Event()
        self._refusal: str | None = None
        self._failure: BaseException | None = None
        self.client = self._connected(client, lasting)
        self._writer = Thread(target=self._write, name="writing messages", daemon=True)
        self._writer.start()

    def _connected(self, name: str, lasting: bool) -> Any:
        """Return a client that is connected and has subscribed; it connects again by itself later."""
        from paho.mqtt import client as mqtt
        from paho.mqtt.enums import CallbackAPIVersion

        client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=name,
            clean_session=not lasting,
            protocol=mqtt.MQTTv311,
            manual_ack=True,
        )
        client.on_connect, client.on_message, client.on_subscribe = (
            self._welcome,
            self._take,
            self._subscribed,
        )
        client.reconnect_delay_set(min_delay=1, max_delay=10)
        client.username_pw_set(self.broker.user, self.broker.password)
        if self.broker.encrypted:
            client.tls_set()

        def refusal(error: Exception) -> SourceError:
            return SourceError(f"{self.broker.name}: the broker does not answer: {error}")

        connect = partial(client.connect, self.broker.host, self.broker.port)
        ask_again(connect, (OSError, ValueError), PATIENCE, refusal)
        client.loop_start()
        answered = self._answered.wait(PATIENCE)
        if not answered or self._refusal is not None:
            client.disconnect()
            client.loop_stop()
            why = self._refusal or "the broker does not answer"
            raise SourceError(f"{self.broker.name}: {why}")
        return client

    def _welcome(self, client: Any, _: Any, flags: Any, reason: Any, __: Any) -> None:
        if reason.is_failure:
            self._refusal = (
                f"the broker refuses the user or the password: {reason}; the password stands in the address "
                f"or in the variable {PASSWORD} of the environment"
            )
            self._answered.set()
            return
        self.reconnected += 1
        if flags.session_present:  # it knows what was subscribed to, and need not send again what it retains
            self._answered.set()
        else:
            client.subscribe([(topic, 1) for topic in self.broker.topics])

    def _subscribed(self, client: Any, _: Any, __: Any, reasons: Sequence[Any], ___: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._refusal = "the broker does not let this user subscribe"
        self._answered.set()

    def _take(self, client: Any, _: Any, found: Any) -> None:
        """Take a message that has come; wait where too many have."""
        number, qos, payload = found.mid, found.qos, bytes(found.payload)
        try:
            topic = str(found.topic)
        except UnicodeDecodeError:
            topic = "\N{REPLACEMENT CHARACTER}"
        seen = hashlib.sha256(topic.encode() + b"\0" + payload).hexdigest()[:16]
        message = Message(topic, payload, str(number), seen, bool(found.dup), lambda: client.ack(number, qos))
        while not self._ended.is_set():
            try:
                self._queue.put(message, timeout=PAUSE)
                return
            except Full:
                continue

    def _write(self) -> None:
        try:
            while not self._ended.is_set():
                self._write_some()
        except BaseException as error:
            self._failure = error

    def _write_some(self) -> None:
        """Write the messages that have come, or the row that is due, then acknowledge."""
        messages = list[Message]()
        try:
            messages.append(self._queue.get(timeout=min(PAUSE, self.lines.due())))
            while len(messages) < WAITING:
                messages.append(self._queue.get_nowait())
        except Empty:
            pass
        kept = []
        for message in messages:
            if message.again and self.out.packets.get(message.packet) == message.seen:
                self.again += 1
            else:
                kept.append(message)
                self.out.packets[message.packet] = message.seen
        lines = self.lines.of(kept)
        if lines:
            self.out.write(lines)
        for message in messages:
            message.acknowledge()

    def check(self) -> None:
        """Raise if messages cannot be written."""
        if self._failure is not None:
            raise SourceError(f"{self.broker.name}: messages cannot be kept: {self._failure}")

    def notes(self) -> list[str]:
        """Return remarks for a person."""
        said = []
        if self.again:
            said.append(f"{self.again:,} messages came twice, and are counted once")
        if self.reconnected > 0:
            said.append(f"the broker was away and came back {self.reconnected} times")
        return [f"{self.broker.name}: {one}" for one in [*said, *self.lines.notes()]]

    def close(self) -> None:
        """Disconnect; a session that lasts goes on at the broker."""
        self._ended.set()  # first: messages that wait are not acknowledged, and come again
        self.client.disconnect()
        self.client.loop_stop()
        self._writer.join()


class Each:
    """A line for each message: an object as it is, an array or a number under names of their own.

    Of a message that is none of these, the line is a text, which is a bad row; but before the first row,
    whose names are those of the columns, such messages are dropped and counted.
    """

    def __init__(self, *, begun: bool) -> None:
        self._begun, self._dropped = begun, 0

    def due(self) -> float:
        """Return the seconds until the next line without a message."""
        return math.inf

    def of(self, messages: Sequence[Message]) -> list[bytes]:
        """Return the lines of messages."""
        lines = []
        for line in map(_line, messages):
            self._begun = self._begun or line.startswith(b"{")
            self._dropped += not self._begun
            lines += [line] * self._begun
        return lines

    def notes(self) -> list[str]:
        """Return remarks for a person."""
        what = "messages before the first row are neither JSON nor numbers, and are not read"
        return [f"{self._dropped:,} {what}"] if self._dropped else []


def _line(message: Message) -> bytes:
    """Return a line of JSON."""
    found = _loaded(message.payload)
    if isinstance(found, list):
        found = {f"x{i}": value for i, value in enumerate(found)}
    elif isinstance(found, int | float) and not isinstance(found, bool):
        found = {"value": found}
    if not isinstance(found, dict):
        words = message.payload[:200].decode(errors="replace")
        return json.dumps(f"{message.topic[:200]}: {words}").encode() + b"\n"
    about = {TIME: _now(), TOPIC: message.topic, IDENTITY: f"{message.packet}-{message.seen}"}
    values = {name: value for name, value in found.items() if name not in about}
    return json.dumps(about | values).encode() + b"\n"


class Sampled:
    """A line at even times, with the last known value of each topic.

    Parameters
    ----------
    every
        Seconds between lines; these come at its multiples.
    columns
        Topics that are columns; if empty, those that come within the first seconds.
    missing
        Words for a missing value, in lower case.
    """

    def __init__(self, every: float, columns: Sequence[str], missing: Sequence[str]) -> None:
        self.every, self.columns, self._missing = every, list(columns), missing
        self.values: dict[str, float | None] = {}
        self._others, self._unreadable = set[str](), 0
        """Topics that came later; messages that are no numbers."""
        self._discovered = math.inf if not columns else 0.0
        self._next = self._after(time.time())

    def _after(self, moment: float) -> float:
        return (moment // self.every + 1) * self.every

    def due(self) -> float:
        """Return the seconds until the next line."""
        return max(self._next - time.time(), 0.0)

    def of(self, messages: Sequence[Message]) -> list[bytes]:
        """Take the values of messages; return the line that is due, if one is."""
        for message in messages:
            self._take(message)
        now = time.time()
        if now < self._next:
            return []
        moment, self._next = self._next, self._after(now)
        if now < self._discovered:
            return []
        self.columns = self.columns or sorted(self.values)
        row = {TIME: datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")}
        return [json.dumps(row | {name: self.values.get(name) for name in self.columns}).encode() + b"\n"]

    def _take(self, message: Message) -> None:
        found = _loaded(message.payload)
        values = {message.topic: found}
        if isinstance(found, dict):
            values = {f"{message.topic}/{name}": value for name, value in found.items()}
        for name, value in values.items():
            if isinstance(value, str) and value.strip().lower() in self._missing:
                value = None
            if isinstance(value, str | list | dict) or len(self.values) >= MOST_TOPICS:
                self._unreadable += 1
            elif not self.columns or name in self.columns:
                self.values[name] = None if value is None else float(value)
            elif len(self._others) < MOST_TOPICS:
                self._others.add(name)
        if self.values and self._discovered == math.inf:
            self._discovered = time.time() + max(DISCOVERY, self.every)

    def notes(self) -> list[str]:
        """Return remarks for a person."""
        said = []
        if self._unreadable:
            said.append(f"{self._unreadable:,} values are no numbers, and are not taken")
        if self._others:
            some = ", ".join(map(printable, sorted(self._others)[:3]))
            said.append(f"{len(self._others):,} topics came later and are no columns, such as {some}")
        return said


def _loaded(payload: bytes) -> Any:
    """Return what a message says: JSON, or else its text."""
    if len(payload) > LARGEST_MESSAGE:
        return ""
    words = payload.decode(errors="replace")
    try:
        return json.loads(words, parse_constant=lambda _: None, parse_int=_whole)
    except (ValueError, RecursionError):
        return words


def _whole(digits: str) -> float:
    """Return an integer as a float; NaN, which is a missing value, if it is too large for one."""
    number = float(digits)
    return number if math.isfinite(number) else math.nan


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Passing:
    """Lines of messages that are kept in memory alone, until they are read."""

    def __init__(self, name: str, idle: float | None) -> None:
        self.name, self.idle, self.packets = name, idle, dict[str, str]()
        self.recording: Recorder | None = None
        self._lines: Queue[bytes] = Queue(WAITING)
        self._ended = Event()

    def write(self, lines: Sequence[bytes]) -> None:
        for line in lines:
            while not self._ended.is_set():
                try:
                    self._lines.put(line, timeout=PAUSE)
                    break
                except Full:
                    continue

    def read(self, size: int) -> bytes:
        """Return lines that have come; with nothing new for ``idle`` seconds, none."""
        waited = 0.0
        while self._lines.empty():
            if self.recording is not None:
                self.recording.check()
            if self.idle is not None and waited >= self.idle:
                return b""
            time.sleep(PAUSE / 4)
            waited += PAUSE / 4
        return self._lines.get()

    def ready(self, seconds: float) -> bool:
        """Wait for a line, ``seconds`` at most; return True if there is one."""
        until = time.monotonic() + seconds
        while self._lines.empty():
            if time.monotonic() >= until:
                return False
            time.sleep(min(PAUSE / 4, seconds))
        return True

    def close(self) -> None:
        self._ended.set()
