"""Reader of Redis streams: one row per entry, continued exactly by the entry's id."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from operator import index
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np

from .batch import BadValue, Chunk, Place, Reader, SourceError, texts_of
from .options import MISSING, ReadOptions

BEGINNING = "0-0"
PATIENCE = 30.0
"""Seconds to ask a server again that does not answer: long enough for it to restart."""
FIRST_PATIENCE = 5.0
"""The same before the first entry: the address may be wrong, and a person waits."""
PAUSE = 0.2
"""Seconds between two questions to a server that does not answer."""
BLOCK = 1000
"""Milliseconds to wait for entries per question: so often Ctrl-C and ``idle`` are noticed."""

Entry = tuple[str, dict[str, str]]


class RedisStream(Reader):
    """Entries of a stream; the fields of the first entry are the columns.

    The position is the id of the last entry read. The caller keeps it, not the server: a consumer group would
    count an entry as read before its row has been learnt and saved.

    Parameters
    ----------
    client
        Client of ``redis`` that decodes responses.
    stream
        Name of the stream.
    options
        Fields to read, and how long to wait for more entries.
    """

    kind = "Redis stream"
    unit = "entries"
    names: list[str]

    def __init__(self, client: Any, stream: str, options: ReadOptions) -> None:
        self.client, self.stream, self.name = client, stream, f"Redis stream {stream!r}"
        self.live, self.idle = options.follow, options.idle
        self._last = BEGINNING
        """Id of the last entry taken."""
        self._print = ""
        """Hash of the last entry taken."""
        self._waiting: list[Entry] = []
        self._removed = self._state()["removed"]
        """Number of entries removed from the stream before the first was read."""
        if not self._fetch(1, None):
            raise SourceError(f"{self.name} is empty: there is nothing to learn from")
        titles = list(self._waiting[0][1])
        values = list(self._waiting[0][1].values())
        self.full = len(titles)
        chosen, kept = options.choose(
            titles,
            self.full,
            self.name,
            lambda: [i for i, value in enumerate(values) if _number(value) is None],
        )
        self.names, self.kept = [titles[i] for i in chosen], [titles[i] for i in kept]
        self.width = len(self.names)
        self._ids: list[str] = []

    def take(self, count: int) -> Chunk | None:
        if not self._fetch(count, None):
            return None
        entries, self._waiting = self._waiting[:count], self._waiting[count:]
        self._ids = [entry[0] for entry in entries]
        rows, bad = np.zeros((len(entries), self.width)), []
        for i, (_, fields) in enumerate(entries):
            for j, name in enumerate(self.names):
                value = _number(fields.get(name, ""))
                if value is None:
                    what = f"{fields[name]!r} is not a number"
                    bad.append(BadValue(i, f"{self.name}, entry {self._ids[i]}, {name!r}", what))
                    break
                rows[i, j] = value
        numbers = np.arange(self.row, self.row + len(entries))
        self.row += len(entries)
        self._last, self._print = self._ids[-1], _print(entries[-1])
        texts = [[fields.get(name, "") for name in self.kept] for _, fields in entries]
        return Chunk(rows, numbers, bad, texts_of(texts, len(self.kept)) if self.kept else None)

    def ready(self, seconds: float) -> bool:
        return self._fetch(1, seconds)

    def place(self) -> Callable[[], Place]:
        at = {"row": self.row, "id": self._last, "removed": self._removed, "fingerprint": self._print}
        return lambda: at

    def go_to(self, place: Place) -> None:
        row, removed, last = index(place["row"]), index(place["removed"]), str(place["id"])
        if row < 0 or removed < 0:
            raise ValueError(f"row {row}, {removed} removed")
        state = self._state()
        if _order(state["last"]) < _order(last):
            raise SourceError(f"{self.name} ends before {last}, the last entry read: it is another stream")
        found = self._asked("xrange", self.stream, last, last)
        if found and _print(found[0]) != place["fingerprint"]:
            raise SourceError(
                f"{self.name} does not begin as it did: entry {last} has changed; give the same stream, or "
                "start afresh without resuming"
            )
        self.row, self._last, self._removed = row, last, removed
        self._print, self._waiting = str(place["fingerprint"]), []
        self._refuse_gap(state)

    def where(self, chunk: Chunk, row: int, column: int) -> str:
        return f"{self.where_row(chunk, row)}, {self.names[column]!r}"

    def where_row(self, chunk: Chunk, row: int) -> str:
        return f"{self.name}, entry {self._ids[row]}"

    def close(self) -> None:
        self.client.close()

    def _fetch(self, count: int, seconds: float | None) -> bool:
        """Fetch entries; with ``follow``, wait ``seconds`` or `idle` at most. Return True if some came."""
        limit = self.idle if seconds is None else seconds
        until = None if limit is None else time.monotonic() + limit
        while not self._waiting:
            self._waiting = self._asked("xrange", self.stream, f"({self._last}", "+", count)
            self._refuse_gap(self._state())
            if self._waiting or not self.live:
                break
            left = BLOCK if until is None else min(int(1000 * (until - time.monotonic())), BLOCK)
            if left <= 0:
                break
            self._asked("xread", {self.stream: self._last}, 1, left)
        return bool(self._waiting)

    def _state(self) -> dict[str, Any]:
        """Return the number of entries removed and the last id; zeros if there is no stream."""
        import redis

        try:
            found = self._asked("xinfo_stream", self.stream)
        except redis.ResponseError as error:
            if "no such key" in str(error):
                return {"removed": 0, "last": BEGINNING}
            raise SourceError(f"{self.name} cannot be read: {error}") from None
        removed = int(found.get("entries-added", found["length"])) - int(found["length"])
        return {"removed": removed, "last": found["last-generated-id"]}

    def _refuse_gap(self, state: dict[str, Any]) -> None:
        """Raise if entries have been removed before they were read."""
        lost = state["removed"] - self._removed - self.row - len(self._waiting)
        if lost > 0:
            raise SourceError(
                f"{self.name}: {lost:,} entries after {self._last} were removed before they were read; "
                "let the stream grow longer, or start afresh without resuming"
            )

    def _asked(self, command: str, *arguments: Any) -> Any:
        return _answer(self.name, lambda: getattr(self.client, command)(*arguments), PATIENCE)


def _answer(name: str, question: Callable[[], Any], patience: float) -> Any:
    """Return the server's answer; ask again for ``patience`` seconds if there is none."""
    import redis

    until = time.monotonic() + patience
    while True:
        try:
            return question()
        except (redis.ConnectionError, redis.TimeoutError) as error:
            if time.monotonic() >= until:
                raise SourceError(f"{name}: the server does not answer: {error}") from None
            time.sleep(PAUSE)


def open_redis(address: str, options: ReadOptions) -> RedisStream:
    """Open the stream at an address such as ``redis://127.0.0.1:6379/0?stream=sensors``."""
    try:
        import redis
    except ImportError:
        raise SourceError(f"{address}: to read Redis, pip install 'eigenstream[redis]'") from None
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query))
    stream = query.pop("stream", "")
    if not stream:
        raise SourceError(f"{address} does not say which stream to read: add ?stream=NAME")
    try:
        client = redis.Redis.from_url(
            urlunsplit(parts._replace(query=urlencode(query))), decode_responses=True
        )
        _answer(address, client.ping, FIRST_PATIENCE)
    except SourceError:
        raise
    except (redis.RedisError, ValueError) as error:
        raise SourceError(f"{address} cannot be read: {error}") from None
    try:
        return RedisStream(client, stream, options)
    except BaseException:
        client.close()
        raise


def _number(word: str) -> float | None:
    """Parse a number; None if it is not one."""
    word = word.strip()
    if word.lower() in MISSING:
        return float("nan")
    try:
        return None if "_" in word else float(word)
    except ValueError:
        return None


def _order(entry: str) -> tuple[int, ...]:
    return tuple(int(part) for part in entry.split("-"))


def _print(entry: Entry) -> str:
    return hashlib.sha256(repr((entry[0], sorted(entry[1].items()))).encode()).hexdigest()
