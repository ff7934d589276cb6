"""Times of the rows of many keys: each key has a clock of its own, as if its rows came alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .times import OPEN, Clock, Times


class KeyedClock:
    """A `Clock` per key; all of them read times in one format.

    Rows of one key stay in order. A row that waits for later rows of its key lets rows of other keys pass:
    rows leave in the order in which they are decided on, which does not depend on how many come at once.

    Examples
    --------
    >>> clock = KeyedClock()
    >>> codes = clock.judge(np.array([7.0, 8.0, 9.0, 1.0, 2.0, 3.0]), list("aaabbb"), final=True)
    >>> codes.tolist()
    [0, 0, 0, 0, 0, 0]
    """

    def __init__(self, format: str | None = None) -> None:
        self._any, self._clocks = Clock(format), dict[str, Clock]()
        """Reader of all times, and the judge of each key's."""
        self._held: list[str] = []
        """Keys of the rows that no verdict has been given on, in the order in which they came."""
        self.decided_at: NDArray[np.intp] = np.zeros(0, np.intp)
        """Of the rows that were judged last: the one that each was decided on with."""

    @property
    def taken(self) -> str | None:
        """Format of the times in words; None until it is detected."""
        return self._any.taken

    def read(self, texts: Sequence[str]) -> Times:
        """Parse times to seconds, NaN where a text is not a time."""
        return self._any.read(texts)

    def judge(self, times: Times, keys: Sequence[str], *, final: bool = False) -> NDArray[np.int64]:
        """Return verdicts on the rows that were held and on these; ``final``: no more come."""
        before, own = len(self._held), dict[str, list[int]]()
        for i, key in enumerate([*self._held, *keys]):
            own.setdefault(key, []).append(i)
        codes = np.full(before + len(times), OPEN)
        self.decided_at = np.arange(len(codes))
        for key, numbers in own.items():
            if numbers[-1] < before and not final:
                continue  # nothing has come that could decide on what is held
            clock, rows = self._clocks.setdefault(key, Clock(self._any.format)), np.array(numbers)
            codes[rows] = clock.judge(times[rows[rows >= before] - before], final=final)
            self.decided_at[rows] = np.append(rows, len(codes))[clock.decided_at]
        self._held = [key for key, code in zip([*self._held, *keys], codes, strict=True) if code == OPEN]
        return codes

    def restart(self) -> None:
        """Begin all clocks anew in the same format."""
        self._clocks = {}

    def place(self) -> list[Any]:
        """Return the format and what is known of the order of each key, for a position."""
        return [self._any.format, {key: clock.place()[1:] for key, clock in self._clocks.items()}]

    def go_to(self, place: Any, held: Sequence[float] = (), keys: Sequence[str] = ()) -> None:
        """Continue from what `place` returned, with the times and keys of the rows that were held then."""
        # Before there was a clock per key, a position held the one clock of all rows.
        format, clocks = place if len(place) == 2 else (place[0], {})
        self._any, self._held = Clock(format), list(keys)
        of_key = dict[str, list[float]]()
        for key, time in zip(keys, held, strict=True):
            of_key.setdefault(key, []).append(time)
        self._clocks = {key: Clock(format) for key in {**clocks, **of_key}}
        for key, clock in self._clocks.items():
            clock.go_to([format, *clocks.get(key, (0, 0.0, 0.0))], of_key.get(key, ()))
