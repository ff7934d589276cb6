"""Read ahead: a thread makes the next items while the last one is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Generic, TypeVar

Item = TypeVar("Item")

STEPS = 2
"""Most items made ahead: one waits while the next is read; more would only take memory."""


class ReadAhead(Generic[Item], Iterator[Item]):
    """The same items in the same order, `STEPS` ahead; errors are raised where they would have been."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._ready: SimpleQueue[Item | BaseException] = SimpleQueue()
        self._room = Semaphore(STEPS)
        # A daemon: it may be waiting for input that never comes.
        Thread(target=self._work, args=(items,), name="reading ahead", daemon=True).start()

    def __next__(self) -> Item:
        item = self._ready.get()
        if isinstance(item, BaseException):
            self._ready.put(item)  # for whoever asks again
            raise item
        self._room.release()
        return item

    def _work(self, items: Iterable[Item]) -> None:
        try:
            for item in items:
                self._room.acquire()
                self._ready.put(item)
        except BaseException as error:
            self._ready.put(error)
        else:
            self._ready.put(StopIteration())
