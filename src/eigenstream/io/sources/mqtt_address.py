"""Addresses of MQTT brokers: ``mqtt://HOST/TOPIC?spool=FILE``."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from ..durations import seconds
from ..files import shown, without_secret
from .batch import Place, SourceError
from .contents import Content
from .line_reader import LineReader
from .lines import Lines
from .mqtt import PASSWORD, TIME, TOPIC, Broker, Each, Passing, Recorder, Sampled
from .mqtt_spool import IDENTITY, Spool, SpoolFile
from .options import ReadOptions

OPTIONS = ("spool", "client")
PORTS = {"mqtt": 1883, "mqtts": 8883}


class MqttReader(LineReader):
    """Lines that a recorder writes while they are read."""

    unit = "bytes"

    def __init__(
        self, lines: Lines, content: Content, kind: str, options: ReadOptions, recorder: Recorder
    ) -> None:
        self.recorder = recorder
        super().__init__(lines, content, kind, options)

    def go_to(self, place: Place) -> None:
        if self.file is None:
            raise SourceError(
                f"{self.name}: messages that are not kept cannot be read again: add ?spool=FILE to the "
                "address, and start afresh without resuming"
            )
        super().go_to(place)

    def notes(self) -> list[str]:
        return super().notes() + self.recorder.notes()

    def close(self) -> None:
        if isinstance(self.content, Passing):
            self.content.close()  # the recorder may be waiting for room in it
        self.recorder.close()
        if isinstance(self.content, SpoolFile):
            self.content.spool.close()
        super().close()


def open_mqtt(address: str, options: ReadOptions) -> MqttReader:
    """Open the messages under topics at a broker."""
    try:
        import paho.mqtt.client  # noqa: F401
    except ImportError:
        raise SourceError(
            f"{shown(without_secret(address))}: to read MQTT, pip install 'eigenstream[mqtt]'"
        ) from None
    broker, given = _parsed(address)
    every = None if options.every is None else seconds(options.every)
    own = [TIME] if every is not None else [TIME, TOPIC, IDENTITY]
    exclude = options.exclude if options.exclude is not None else ()
    listed = exclude.split(",") if isinstance(exclude, str) else list(exclude)
    reading = replace(options, exclude=(*listed, *own), comment="#", follow=True)
    if "spool" not in given:
        passing = Passing(broker.name, options.idle)
        recorder = Recorder(broker, passing, "", False, _lines(every, options, b""))
        passing.recording = recorder
        lines = Lines(passing.read, broker.name, digest=True, ready=passing.ready)
        return _reader(lines, passing, reading, recorder, lasts=False)
    # What decides about the lines; the port and the user may change.
    about = {"address": f"mqtt://{broker.host}/{','.join(broker.topics)}", "every": every}
    spool = Spool(Path(given["spool"]), about, given.get("client"))
    try:
        made = _lines(every, options, spool.first_row())
        # Of samples, the next one says what matters: the broker need not keep messages meanwhile.
        recorder = Recorder(broker, spool, spool.client, every is None, made)
    except BaseException:
        spool.close()
        raise
    file = SpoolFile(spool, recorder, options.idle)
    lines = Lines(file.read, broker.name, growing=True, ready=file.ready)
    return _reader(lines, file, reading, recorder, lasts=True)


def _reader(
    lines: Lines, content: Content, options: ReadOptions, recorder: Recorder, *, lasts: bool
) -> MqttReader:
    reader = MqttReader(lines, content, "MQTT", options, recorder)
    reader.live, reader.lasts = True, lasts
    return reader


def _lines(every: float | None, options: ReadOptions, first: bytes) -> Each | Sampled:
    if every is None:
        return Each(begun=bool(first))
    known = list(json.loads(first))[1:] if first else list(options.names or ())
    return Sampled(every, known, options.missing)


def _parsed(address: str) -> tuple[Broker, dict[str, str]]:
    """Return the broker of an address, and the options in it."""
    name = shown(without_secret(address))
    # A topic may end in the sign for all topics below, which begins a fragment elsewhere.
    escaped = address.replace("#", "%23")
    try:
        parts = urlsplit(escaped)
        port, query = parts.port or PORTS[parts.scheme], parse_qsl(parts.query, keep_blank_values=True)
    except (ValueError, KeyError):  # its words may hold the password
        raise SourceError(f"{name} is not an address such as mqtt://HOST/plant/line1?spool=FILE") from None
    given = dict(query)
    unknown = sorted(set(given) - set(OPTIONS))
    if unknown or len(given) < len(query):
        what = repr(unknown[0]) if unknown else "the same option twice"
        raise SourceError(f"{name}: {what} is no option of an address; there are {', '.join(OPTIONS)}")
    topics = [topic for topic in unquote(parts.path.removeprefix("/")).split(",") if topic]
    if not parts.hostname or not topics or "" in given.values():
        raise SourceError(f"{name} does not say what to read: expected such as mqtt://HOST/plant/line1")
    password = os.environ.get(PASSWORD) if parts.password is None else unquote(parts.password)
    user = None if parts.username is None else unquote(parts.username)
    shown_topics = ", ".join(map(repr, topics))
    return (
        Broker(
            f"MQTT {shown_topics} of {parts.hostname}",
            parts.hostname,
            port,
            topics,
            user,
            password,
            parts.scheme == "mqtts",
        ),
        given,
    )
