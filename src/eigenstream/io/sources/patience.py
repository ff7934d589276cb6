"""Asking a server again that does not answer: it may restart, and the job goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from .batch import SourceError

Found = TypeVar("Found")

# Seconds. A server that restarts takes several; nobody notices one fifth of a second.
PAUSE = 0.2
"""Seconds between two questions to a server that does not answer."""


def ask_again(
    question: Callable[[], Found],
    unanswered: tuple[type[Exception], ...],
    patience: float,
    refusal: Callable[[Exception], SourceError],
) -> Found:
    """Return the answer to a question; ask again for ``patience`` seconds where there is none.

    Parameters
    ----------
    question
        Asks, and returns the answer.
    unanswered
        Errors that say that a server did not answer; all others are raised at once.
    patience
        Seconds.
    refusal
        The error to raise when patience is at its end, for the last of these errors.
    """
    until = time.monotonic() + patience
    while True:
        try:
            return question()
        except unanswered as error:
            if time.monotonic() >= until:
                raise refusal(error) from None
        time.sleep(PAUSE)
