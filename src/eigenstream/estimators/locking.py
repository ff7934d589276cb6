"""One thread at a time may learn with a model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

SHARED = (
    "another thread is learning with this model: models are not shared between threads; use one model per "
    "thread and merge them, or a lock around each call"
)


class Lock:
    """A lock that copies of a model do not share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


@contextmanager
def alone(lock: Lock) -> Iterator[None]:
    """Within this no other thread learns: others are told so, since their rows would be lost."""
    if not lock.acquire(blocking=False):
        raise RuntimeError(SHARED)
    try:
        yield
    finally:
        lock.release()
