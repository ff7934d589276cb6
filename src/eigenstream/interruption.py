"""Being asked to end: Ctrl-C, or a polite kill."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self


class Stopped(BaseException):
    """The request came while nothing but waiting was going on."""


class Interruption:
    """Within its block a signal is noted, not raised, so that nothing is torn: ask when convenient."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.signal: int | None = None
        """What came first, if anything has."""
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
        """Within this, a signal raises `Stopped` at once: nothing is lost by not finishing."""
        self._waiting = True
        try:
            if self.asked():
                raise Stopped
            yield
        finally:
            self._waiting = False

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._note) for number in self.SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = self.signal or number
        if self._waiting:
            raise Stopped
