"""Waiting for input: a thread reads ahead, and a request to stop (Ctrl-C, SIGTERM) ends the wait."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread, current_thread, main_thread
from types import FrameType
from typing import Any, Generic, Self, TypeVar

Item = TypeVar("Item")

STEPS = 2
"""Most items made ahead: one waits while the next is read; more would only take memory."""


# Seconds. Five are promised from the signal to the end of the process; the last two are for making durable
# what has been written, and for saying how the job went.
GRACE = 3.0
"""Time after a signal within which a save may still begin to write another model."""


# Seconds. A fifth of what is promised; waking up as often costs nothing that could be measured.
DEAF = 1.0
"""Longest time for which a signal may go unheard while the program waits for input."""


class WaitEnded(BaseException):
    """A request to stop came while the program was only waiting."""


class StopRequest:
    """Context manager that records SIGINT and SIGTERM instead of raising: poll `asked`.

    Outside the main thread, where Python delivers no signals, it records none.

    Parameters
    ----------
    heard
        Called when the first signal comes, whatever the program is doing: it may set values, not more.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, heard: Callable[[], object] = lambda: None) -> None:
        self.signal: int | None = None
        """The first signal that came, if any has."""
        self._heard, self._moment = heard, 0.0
        self._waiting = False
        self._before: dict[signal.Signals, Any] = {}

    def asked(self) -> bool:
        return self.signal is not None

    def is_late(self) -> bool:
        """True once `GRACE` seconds have passed since the first signal."""
        return self.asked() and time.monotonic() - self._moment >= GRACE

    @property
    def exit_code(self) -> int:
        """128 plus the signal, as shells count, or 0."""
        return 0 if self.signal is None else 128 + self.signal

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Within this, a signal raises `WaitEnded` at once: nothing is lost by not finishing."""
        self._waiting = True
        try:
            if self.asked():
                raise WaitEnded
            yield
        finally:
            self._waiting = False

    def __enter__(self) -> Self:
        if current_thread() is main_thread():
            self._before = {number: signal.signal(number, self._record) for number in self.SIGNALS}
        return self

    def __exit__(self, *failure: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _record(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal, self._moment = number, time.monotonic()
            self._heard()
        if self._waiting:
            raise WaitEnded


class ReadAhead(Generic[Item], Iterator[Item]):
    """The same items in the same order, `STEPS` ahead; errors are raised where they would have been."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._ready: SimpleQueue[Item | BaseException] = SimpleQueue()
        self._room = Semaphore(STEPS)
        # A daemon: it may be waiting for input that never comes.
        Thread(target=self._work, args=(items,), name="reading ahead", daemon=True).start()

    def __next__(self) -> Item:
        item = self._next()
        if isinstance(item, BaseException):
            self._ready.put(item)  # for whoever asks again
            raise item
        self._room.release()
        return item

    def _next(self) -> Item | BaseException:
        """The next item, however long it takes.

        A signal that comes just before the thread falls asleep does not wake it: it looks up now and then.
        """
        while True:
            try:
                return self._ready.get(timeout=DEAF)
            except Empty:
                continue

    def _work(self, items: Iterable[Item]) -> None:
        try:
            for item in items:
                self._room.acquire()
                self._ready.put(item)
        except BaseException as error:
            self._ready.put(error)
        else:
            self._ready.put(StopIteration())
