"""Reader of Redis streams: one row per entry, continued exactly by the entry's id."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import index
from typing import Any, NamedTuple

import numpy as np

from .batch import BadValue, Chunk, Place, Reader, SourceError, texts_of
from .lines import is_text, shortened
from .options import MISSING, ReadOptions
from .patience import ask_again

BEGINNING = "0-0"
PATIENCE = 30.0
"""Seconds to ask a server again that does not answer: long enough for it to restart."""
BLOCK = 1000
"""Milliseconds to wait for entries per question: so often Ctrl-C and ``idle`` are noticed."""

PASSWORD = "EIGENSTREAM_REDIS_PASSWORD"
"""Variable of the environment with the password of the server, where the address has none."""

Entry = tuple[str, dict[str, str]]


class StreamExtract(NamedTuple):
    """A stream at one moment."""

    last: Entry | None
    """The entry read last, if it is still there."""
    coming: list[Entry]
    """The entries behind it, as many as were asked for."""
    length: int
    added: int | None
    """Number of entries that were ever added; None if the server, older than Redis 7, does not count them."""
    deleted: str
    """The largest id that was deleted."""
    newest: str
    """The id that was given last."""


class RedisStream(Reader):
    """Entries of a stream; the fields of the first entry are the columns.

    The position is the id of the last entry read. The caller keeps it, not the server: a consumer group would
    count an entry as read before its row has been learnt and saved. Entries that were removed before they
    were read, and a stream that was emptied and filled anew, show in the server's counts and are refused.

    Parameters
    ----------
    client
        Client of ``redis`` that does not decode responses: a value need not be text.
    stream
        Name of the stream.
    options
        Fields to read, and how long to wait for more entries.
    gaps
        True reads on where entries are missing, with a note.
    """

    kind = "Redis stream"
    unit = "entries"
    names: list[str]

    def __init__(self, client: Any, stream: str, options: ReadOptions, *, gaps: bool = False) -> None:
        self.client, self.stream, self.name = client, stream, f"Redis stream {stream!r}"
        self.live, self.idle, self.gaps = options.follow, options.idle, gaps
        self._last = BEGINNING
        """Id of the last entry taken."""
        self._print = ""
        """Hash of the last entry taken."""
        self._waiting: list[Entry] = []
        self._notes: list[str] = []
        self._passed = self._removed_before()
        """Number of entries of the stream up to the last one taken, those included that had been removed."""
        if not self._fetch(1, None):
            raise SourceError(f"{self.name} is empty: there is nothing to learn from")
        titles, values = list(self._waiting[0][1]), list(self._waiting[0][1].values())
        self.full = len(titles)

        def without_numbers() -> list[int]:
            return [i for i, value in enumerate(values) if _number(value) is None]

        chosen, kept = options.choose(titles, self.full, self.name, without_numbers)
        self.unknown = options.unknown(titles, self.full, self.name, without_numbers)
        for i in (*chosen, *kept):
            if not is_text(titles[i]):
                raise SourceError(f"{self.name}: the name of field {i} is not text in UTF-8; exclude it")
        self.names, self.kept = [titles[i] for i in chosen], [titles[i] for i in kept]
        self.width = len(self.names)
        self._ids: list[str] = []

    def take(self, count: int) -> Chunk | None:
        entries = self._taken(count)
        if not entries:
            return None
        rows, bad = np.zeros((len(entries), self.width)), []
        for i, (entry, fields) in enumerate(entries):
            wrong = self._unreadable(fields)
            if wrong is not None:
                name, what = wrong
                bad.append(
                    BadValue(i, f"{self.name}, entry {entry}, {name!r}", f"{_cut(fields[name])} {what}")
                )
            else:
                rows[i] = [_number(fields.get(name, "")) for name in self.names]
        numbers = np.arange(self.row - len(entries), self.row)
        texts = [[fields.get(name, "") for name in self.kept] for _, fields in entries]
        return Chunk(rows, numbers, bad, texts_of(texts, len(self.kept)) if self.kept else None)

    def records(self) -> Iterator[Mapping[str, str]]:
        while entries := self._taken(1024):
            for _, fields in entries:
                yield fields

    def _taken(self, count: int) -> list[Entry]:
        """Take the next entries, ``count`` at most; none at the end."""
        if not self._fetch(count, None):
            return []
        entries, self._waiting = self._waiting[:count], self._waiting[count:]
        self._ids = [entry[0] for entry in entries]
        self.row, self._passed = self.row + len(entries), self._passed + len(entries)
        self._last, self._print = self._ids[-1], _print(entries[-1])
        return entries

    def _unreadable(self, fields: dict[str, str]) -> tuple[str, str] | None:
        """Return the first field that is not what it should be, and why; fields that are not read may be."""
        for name in self.names:
            if _number(fields.get(name, "")) is None:
                return name, "is not a number"
        return next(((name, "is not text") for name in self.kept if not is_text(fields.get(name, ""))), None)

    def ready(self, seconds: float) -> bool:
        return self._fetch(1, seconds)

    def place(self) -> Callable[[], Place]:
        at = {"row": self.row, "id": self._last, "passed": self._passed, "fingerprint": self._print}
        return lambda: at

    def go_to(self, place: Place) -> None:
        row, passed, last = index(place["row"]), index(place["passed"]), str(place["id"])
        if not 0 <= row <= passed or not re.fullmatch(r"\d{1,20}-\d{1,20}", last):
            raise ValueError(f"row {row} of {passed}, entry {last!r}")
        self.row, self._last, self._passed = row, last, passed
        self._print, self._waiting = str(place["fingerprint"]), []
        self._refuse_loss(self._snapshot(1), 1)

    def notes(self) -> list[str]:
        return super().notes() + self._notes

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
            found = self._snapshot(count)
            self._refuse_loss(found, count)
            self._waiting = found.coming
            if self._waiting or not self.live:
                break
            left = BLOCK if until is None else min(int(1000 * (until - time.monotonic())), BLOCK)
            if left <= 0:
                break
            self._asked(partial(self.client.xread, {self.stream: self._last}, 1, left))
        return bool(self._waiting)

    def _removed_before(self) -> int:
        """Return the number of entries that had been removed before the first was read: they are no loss."""
        found = self._snapshot(1)
        return 0 if found.added is None else max(found.added - found.length, 0)

    def _snapshot(self, count: int) -> StreamExtract:
        """Ask for entries and for the state of the stream at one moment."""
        import redis

        def ask() -> list[Any]:
            with self.client.pipeline(transaction=True) as questions:
                questions.xrange(self.stream, self._last, self._last)
                questions.xrange(self.stream, f"({self._last}", "+", count)
                questions.xinfo_stream(self.stream)
                answers: list[Any] = questions.execute(raise_on_error=False)
                return answers

        answers = self._asked(ask)
        error = next((one for one in answers if isinstance(one, Exception)), None)
        if isinstance(error, redis.ResponseError) and "no such key" in str(error):
            return StreamExtract(None, [], 0, 0, BEGINNING, BEGINNING)
        if error is not None:
            raise SourceError(f"{self.name} cannot be read: {error}")
        last, coming, state = answers
        added = state.get("entries-added")
        return StreamExtract(
            _entry(last[0]) if last else None,
            list(map(_entry, coming)),
            int(state["length"]),
            None if added is None else int(added),
            _text(state.get("max-deleted-entry-id", BEGINNING)),
            _text(state["last-generated-id"]),
        )

    def _refuse_loss(self, found: StreamExtract, count: int) -> None:
        """Raise if the stream is not the one that was read, or has lost entries that were not."""
        why = self._loss(found, count)
        if why is None:
            return
        if not self.gaps:
            raise SourceError(
                f"{self.name}: {why}; give the same stream and let it keep more entries, start afresh "
                "without resuming, or read on as it is with &gaps=allow in the address"
            )
        self._notes.append(f"{self.name}: {why}; read on as it is")
        if _order(found.newest) < _order(self._last):  # its ids begin anew
            self._last, found = BEGINNING, found._replace(coming=[], last=None)
        drained = len(found.coming) < count and self._last != BEGINNING
        if found.added is not None:
            self._passed = found.added - (len(found.coming) if drained else found.length)
        self._print = "" if found.last is None else _print(found.last)

    def _loss(self, found: StreamExtract, count: int) -> str | None:
        """Return what has happened to the stream, if something has."""
        read, behind = self._passed, len(found.coming)
        if found.last is not None and self._print and _print(found.last) != self._print:
            return f"it does not begin as it did: entry {self._last} has changed"
        known = self._last != BEGINNING and self._print != ""
        if found.added is None:  # before Redis 7
            gone = f"entry {self._last}, read last, is gone, and perhaps others that were not read"
            return gone if known and found.last is None else None
        if found.added < read + behind:
            return (
                f"it was emptied or filled anew: {read:,} entries had been added up to {self._last}, the "
                f"last one read, and {found.added:,} are counted now"
            )
        removed = found.added - found.length
        lost = found.added - read - behind if behind < count else removed - read
        if lost > 0:
            return f"{lost:,} entries after {self._last} were removed before they were read"
        deleted = _order(found.deleted) >= _order(self._last)
        if known and found.last is None and removed < read and not deleted:
            return f"it was filled anew: entry {self._last}, the last one read, is not in it"
        return None

    def _asked(self, question: Callable[[], Any]) -> Any:
        return answer(self.name, question, PATIENCE)


def answer(name: str, question: Callable[[], Any], patience: float) -> Any:
    """Return the server's answer; ask again for ``patience`` seconds if there is none."""
    import redis

    def ask() -> Any:
        try:
            return question()
        except redis.AuthenticationError as error:
            raise SourceError(
                f"{name}: the server refuses the user or the password: {error}; the password stands in the "
                f"address (redis://:PASSWORD@HOST) or in the variable {PASSWORD} of the environment"
            ) from None

    def refusal(error: Exception) -> SourceError:
        return SourceError(f"{name}: the server does not answer: {error}")

    return ask_again(ask, (redis.ConnectionError, redis.TimeoutError), patience, refusal)


def _entry(found: Any) -> Entry:
    """Return an entry as text; bytes that are no text become lone surrogates, and so are no numbers."""
    entry, fields = found
    return _text(entry), {_text(name): _text(value) for name, value in (fields or {}).items()}


def _text(word: Any) -> str:
    return word.decode(errors="surrogateescape") if isinstance(word, bytes) else str(word)


def _cut(word: str) -> str:
    return shortened(word.encode(errors="surrogateescape").decode(errors="replace"))


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
    content = repr((entry[0], sorted(entry[1].items())))
    return hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest()
