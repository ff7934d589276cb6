"""Requests to stop: Ctrl-C (SIGINT) and SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, Self


class WaitEnded(BaseException):
    """A request to stop came while the program was only waiting."""


class StopRequest:
    """Context manager that records SIGINT and SIGTERM instead of raising: poll `asked`.

    Outside the main thread, where Python delivers no signals, it records none.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.signal: int | None = None
        """The first signal that came, if any has."""
        self._waiting = False
        self._before: dict[signal.Signals, Any] = {}

    def asked(self) -> bool:
        return self.signal is not None

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
        self.signal = self.signal or number
        if self._waiting:
            raise WaitEnded
