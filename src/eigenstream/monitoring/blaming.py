"""Inputs to blame for the alarm that is on, and others that fail while it lasts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Floats, Matrix, Vector
from ..learners.marks import Marked
from .blame import BLAMED, Blame, blame
from .events import AFTERMATH, HELD, Alarm, Contributors, Followed, Notice
from .limits import DISTANCE
from .reference import Reference

# Rows that exceed. As many as inputs are blamed by: each of them once.
BLAMED_AGAIN = HELD
"""Rows of a long alarm after which inputs are blamed again."""

# Inputs: as many again as an alarm names. A fault that has spread farther is not found by more names: without
# a bound, those of Tennessee Eastman gave up to 18 notices in 800 rows.
MOST_KNOWN = 2 * BLAMED
"""Inputs of an alarm that are told apart."""


class Blaming(Marked):
    """Inputs to blame, by the last rows of an alarm that exceeded.

    An alarm is told as it begins to count, with the inputs to blame by its rows up to there, however many
    come together. After `HELD` rows that exceeded, it is told again if another input explains most of it.

    An input that is off by more than a single direction may be, and did not explain the alarm at first, is a
    fault of its own: a notice tells of it (``"off"``) until the alarm ends.

    Parameters
    ----------
    names
        Names of the inputs; empty: x0, x1, and so on.
    width
        Number of inputs, lags not counted.
    rate
        The share of rows in control that alarm.
    """

    LEARNT = ("before", "rows", "at", "known", "told")

    def __init__(self, names: Sequence[str], width: int, rate: float) -> None:
        self.names, self.width, self.rate = names, width, rate
        self.before: Vector | None = None
        """The mean that was normal before the alarm that is on."""
        self.rows: Matrix | None = None
        """The last of its rows that exceeded, or of the last alarm."""
        self.at = 0
        """The last of these rows."""
        self.known: dict[str, int] = {}
        """Inputs known to explain it, with the row since which a notice is on; -1: from its first rows on."""
        self.told = ""
        """The input that explained most of it when it began to count."""

    def forget(self) -> None:
        """Forget the alarm: what was normal before it is no longer known."""
        self.before, self.rows, self.known, self.told = None, None, {}, ""

    def follow(
        self,
        followed: Followed,
        rows: Floats,
        limits: Matrix,
        reference: Reference,
        *,
        each: bool,
    ) -> list[Contributors]:
        """Blame inputs for alarms, and with ``each`` for each row; adds notices to those that are followed.

        Parameters
        ----------
        followed
            Alarms from following these rows.
        rows
            The rows, with their predecessors if the model has lags.
        limits
            Limit of each statistic at each row (T, 6).
        reference
            Reference that they were judged by.
        each
            True to name the inputs to blame for each row that alarms, too.
        """
        blamed: list[Contributors] = [()] * len(rows) if each else []
        hits = np.flatnonzero(followed.exceeds)
        for alarm in followed.touched:
            own = hits[followed.since[hits] == alarm.began]
            if len(own):
                if alarm.began >= followed.first:
                    self._begin(alarm, reference)
                self._blame(alarm, own, followed, rows, limits, reference)
                assert self.before is not None
                for i in own[followed.counting[own]] if each else ():
                    blamed[i] = self._blamed(reference, rows[i : i + 1]).contributors
            if alarm.ended is not None:
                followed.notices += self.end(alarm.ended)
        return blamed

    def end(self, row: int) -> list[Notice]:
        """End the notices of an alarm that has ended before this row."""
        ended = [Notice("off", began, row, name) for name, began in self.known.items() if began >= 0]
        self.known = {}
        return ended

    def _begin(self, alarm: Alarm, reference: Reference) -> None:
        """Begin with an alarm; one that follows another is compared with what came before the first."""
        if self.before is None or alarm.began - self.at > AFTERMATH:
            self.before = reference.mean
        self.rows, self.known, self.told = None, {}, ""

    def _blame(
        self,
        alarm: Alarm,
        own: NDArray[np.intp],
        followed: Followed,
        rows: Floats,
        limits: Matrix,
        reference: Reference,
    ) -> None:
        """Blame inputs for an alarm after some of its rows, given by their positions."""
        held = rows[own] if self.rows is None else np.vstack((self.rows, rows[own]))
        earlier = alarm.rows - len(own)
        told = {one.rows: one for one in followed.told if one.began == alarm.began}
        numbers = range(earlier + 1, alarm.rows + 1)
        moments = [number for number in numbers if _is_moment(number) or number in told]
        for number in moments:
            if number < HELD and number < moments[-1] and number not in told:
                continue  # nobody would hear of it
            until, i = len(held) - (alarm.rows - number), int(own[number - earlier - 1])
            said = self._blamed(reference, held[max(until - HELD, 0) : until])
            alarm.contributors, alarm.readings = said.contributors, said.readings
            if number in told:
                self._tell(told[number], said, followed)
            if number == HELD:
                self.known = {name: -1 for name, _ in said.contributors}
            elif number > HELD:
                limit = self._limit_of_one(float(limits[i, DISTANCE]), reference)
                self._compare(said, limit, followed, followed.first + i)
        self.rows, self.at = np.array(held[-HELD:], dtype=np.float64), followed.first + int(own[-1])

    def _tell(self, alarm: Alarm, said: Blame, followed: Followed) -> None:
        """Tell an alarm with the inputs to blame; not again if the first of them was told before."""
        alarm.contributors, alarm.readings = said.contributors, said.readings
        first = said.contributors[0][0]
        if alarm.state == "lasts" and first == self.told:
            followed.told = [one for one in followed.told if one is not alarm]
        self.told = first

    def _compare(self, said: Blame, limit: float, followed: Followed, row: int) -> None:
        """Tell of inputs that take more than a limit away from each row, and did not before."""
        failed = [name for name, share in said.contributors if share * said.distance > limit]
        new = [name for name in failed if name not in self.known][: max(MOST_KNOWN - len(self.known), 0)]
        self.known = self.known | dict.fromkeys(new, row)
        followed.notices += [Notice("off", row, None, name) for name in new]

    def _limit_of_one(self, limit: float, reference: Reference) -> float:
        """Limit of the square along one direction: as far above theory as that of the distance."""
        from scipy.special import chdtri  # here, because jobs that watch nothing load this module too

        p = max(float(reference.degrees[DISTANCE]), 1.0)
        return limit * float(chdtri(1.0, self.rate / self.width) / chdtri(p, self.rate))

    def _blamed(self, reference: Reference, rows: Floats) -> Blame:
        assert self.before is not None
        return blame(reference, rows, self.before, self.names, self.width)


def _is_moment(rows: int) -> bool:
    """True at the rows of an alarm after which inputs are blamed: 1, 2, 4 and so on, then an even grid."""
    return rows % BLAMED_AGAIN == 0 if rows >= BLAMED_AGAIN else rows & (rows - 1) == 0
