"""A call that learns happens whole or not at all, whoever interrupts it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Within this, Ctrl-C waits: `KeyboardInterrupt` is raised at the end.

    For what takes milliseconds. Where Python delivers no signals, or somebody else handles them, nothing is
    changed.
    """
    ours = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours:
        yield
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
