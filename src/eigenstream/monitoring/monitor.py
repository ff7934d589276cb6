"""A model that watches its own stream.

Every row is judged by what was known before it, and learnt if it does not exceed a limit. As in a `Tracker`,
everything happens at absolute row counts, so that how a stream is cut into calls cannot matter:

- the *reference* that rows are judged by is renewed as the model looks at its spectrum, at first more often,
- the *limits* are corrected on a grid of row counts by the rows seen since,
- an alarm that has lasted for ``accept_after`` rows is taken for the new normal: the model starts anew from
  its last rows, and limits are told again when there is a basis for them.

What a monitor holds is bounded, however long a stream or an alarm lasts: of the alarm that is on the ratios
of its first 64 rows (`events.HELD`) and its last 256 rows as they came (`RESTART`), the ratios of 4,096 rows
that wait to be counted (`MOST_PENDING`), 1,000 alarms (`events.REMEMBERED`), 512 stretches (`history.LIMIT`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Floats, Matrix, Vector
from ..learners.marks import Mark, Marked
from ..learners.threads import threads_for
from ..model import RankChange, Tracker
from ..model.blocks import Missing
from ..model.reading import Reading
from .events import Alarm, Contributors, Followed, Watch
from .history import Stretches
from .limits import Limits
from .reference import STATISTICS, Reference, contributors, per_input
from .settings import MonitorSettings
from .verdicts import Counts, Findings, Verdicts

# Corrections of the same relative size at all times; one per row would cost more than judging it.
FIRST_CORRECTION = 16
"""Rows between corrections of the limits at first; later a sixteenth of the rows so far."""

# Guards against copying and weighting all axes every few rows.
CLOSEST = 16
"""Fewest rows between two references."""

# Bounds the ratios that wait to be counted to 100 kB.
MOST_PENDING = 4096
"""Most rows between corrections."""

# Rows that raise them may be those of a fault.
RISE = 1.05
"""Largest factor by which a correction raises limits while an alarm is on."""

# Enough rows for a model of some dozens of inputs, few enough to hold the new normal alone.
RESTART = 256
"""Number of last rows of an accepted alarm that the new normal starts from."""


@dataclass
class Monitor(Marked):
    """A tracker whose rows are judged before it learns them."""

    LEARNT = (
        *("tracker", "frozen", "limits", "reference", "origin", "renew_at", "soonest", "looked"),
        *("correct_at", "counted"),
    )

    tracker: Tracker
    settings: MonitorSettings
    names: Sequence[str] = ()
    """Names of the inputs, if they have names."""
    frozen: bool = False
    limits: Limits = field(init=False)
    watch: Watch = field(init=False)
    counts: Counts = field(default_factory=Counts)
    stretches: Stretches = field(default_factory=Stretches)
    """The control charts so far."""
    reference: Reference | None = None
    """Reference that rows are judged by; None before the first look."""
    origin: Reference | None = None
    """Reference when limits were first told: the angle that the model has turned since is its drift."""
    renew_at: int = 1 << 62
    """Number of rows learnt at which the reference is renewed, whether or not the model looks then."""
    soonest: int = 0
    """Number of rows learnt before which it is not renewed again."""
    looked: int = field(init=False)
    """Row of the model's next look as of the last renewal: if it has changed, the model has looked since."""
    correct_at: int = FIRST_CORRECTION
    """Number of rows come at which the limits are corrected."""
    pending: list[Matrix] = field(default_factory=list)
    """Ratios that the limits have not counted yet."""
    counted: int = 0
    """Number of rows that they have counted since the last new start."""
    recent: deque[Floats] = field(init=False)
    """The last rows of the alarm that is on."""

    def __post_init__(self) -> None:
        settings = self.settings
        self.looked = self.tracker.look_at
        self.limits = Limits(settings.false_alarm_rate)
        self.watch = Watch(settings.false_alarm_rate, settings.confirm)
        self.recent = deque(maxlen=min(RESTART, settings.accept_after))

    def mark(self) -> Mark:
        """The present state of monitor and tracker, for `revert`; copies no array."""
        parts = self.tracker.mark(), self.limits.mark(), self.watch.mark(), self.counts.mark()
        pending = self.pending, len(self.pending)
        return *parts, self.stretches.mark(), pending, self.recent.copy(), super().mark()

    def revert(self, mark: Mark) -> None:
        """Go back to the last mark, to the bit."""
        tracker, limits, watch, counts, stretches, pending, recent, others = mark
        super().revert(others)
        self.tracker.revert(tracker)
        self.limits.revert(limits)
        self.watch.revert(watch)
        self.counts.revert(counts)
        self.stretches.revert(stretches)
        self.pending, number = pending
        del self.pending[number:]
        self.recent = recent

    def follow(
        self, rows: Floats, missing: Missing = "raise", times: Vector | None = None, *, blame: bool = False
    ) -> Findings:
        """Judge rows, then learn those that do not exceed a limit; parameters as of `Tracker.follow`.

        With ``blame``, the inputs to blame are named for each row that alarms.
        """
        parts: list[Verdicts] = []
        alarms: list[Alarm] = []
        changes: list[RankChange] = []
        contributors: list[Contributors] = []
        start = 0
        with threads_for(self.tracker.plan.n):
            while start < len(rows):
                part = slice(start, start + self.rows_until_due(fills=missing == "impute"))
                found = self._take(rows[part], missing, None if times is None else times[part], blame)
                parts.append(found.verdicts)
                alarms += found.alarms
                changes += found.rank_changes
                contributors += found.contributors
                start = part.stop
        return Findings(Verdicts.joined(parts), alarms, changes, contributors)

    def judge(self, rows: Floats, missing: Missing = "raise") -> Verdicts:
        """Verdicts on rows by everything learnt so far; nothing changes. They are a stretch of their own."""
        rows = self.tracker.prepared(rows, missing)
        limits, statistics = self.limits_now(), self._statistics(self._reference_now(), rows, 0)
        severity = limits.severities(limits.ratios(statistics))
        nothing = np.full(len(rows), -1)
        return Verdicts.of(0, statistics, limits.values, severity, severity > 1, nothing)

    def severity_of(self, rows: Floats, missing: Missing = "raise") -> Vector:
        """The severity of each row as `follow` would find it if it came next; nothing changes."""
        judged = self.tracker.prepared(rows, missing, self.tracker.recent)
        statistics = self._statistics(self.reference, judged, self.counts.came)
        return self.limits.severities(self.limits.ratios(statistics))

    def go_on_with(self, tracker: Tracker) -> None:
        """Go on with a tracker that knows something else; limits are told when there is a basis for them.

        Nothing is left of the reference before: if the tracker knows too little to judge by, there is none.
        """
        self.tracker, self.reference, self.origin = tracker, None, None
        self.limits = Limits(self.settings.false_alarm_rate)
        self.correct_at = self.counts.came + FIRST_CORRECTION
        self.counted, self.pending = 0, []
        self.recent.clear()
        self._renew()

    def contributions(self, rows: Floats, missing: Missing = "raise") -> dict[str, Matrix]:
        """Parts of each input in each statistic, by everything learnt so far (T, n)."""
        reference, plan = self._reference_now(), self.tracker.plan
        rows = self.tracker.prepared(rows, missing)
        if reference is None:
            return {name: np.full((len(rows), plan.width), np.nan) for name in STATISTICS}
        return {name: per_input(added, plan.width) for name, added in reference.contributions(rows).items()}

    def begin(self) -> None:
        """Judge rows by what the tracker knows already."""
        self._renew()

    def freeze(self) -> None:
        """Judge rows from now on by what is known now, and learn nothing."""
        if self.reference is not None:
            self._correct()
            self._renew(self.tracker.reading())
        self.frozen = True

    @property
    def drift(self) -> float:
        """Number of components that the model has turned away from since limits were first told."""
        now = self._reference_now()
        return 0.0 if self.origin is None or now is None else self.origin.turned(now)

    def rows_until_due(self, *, fills: bool) -> int:
        """Number of rows that can be judged before the model, the limits or an alarm may change.

        If gaps are filled, that is by the last block of the model. After a block the model may also look when
        no look is due: if a pause has made it forget everything, or a gross value has hidden axes.
        """
        if self.frozen:
            return MOST_PENDING
        tracker, longest = self.tracker, self.settings.accept_after
        on = self.watch.on
        until_accepted = longest if on is None else on.began + longest - self.counts.came
        until_renewed = min(self._look_to_follow(), self.renew_at) - tracker.time
        by_blocks = fills or tracker.plan.seconds is not None or tracker.plan.solver == "subspace"
        until_block = tracker.rows_until_due() if by_blocks else MOST_PENDING
        return min(self.correct_at - self.counts.came, until_renewed, until_accepted, until_block)

    def _look_to_follow(self) -> int:
        """Number of rows learnt at which a look of the model is followed: at once, but not too often."""
        looked = self.tracker.look_at != self.looked
        return max(self.tracker.time if looked else self.tracker.look_at, self.soonest)

    def _take(self, rows: Floats, missing: Missing, times: Vector | None, blame: bool) -> Findings:
        """Judge and learn at most `rows_until_due` rows."""
        first = self.counts.came
        judged = self.tracker.prepared(rows, missing, self.tracker.recent)
        statistics = self._statistics(self.reference, judged, first)
        ratios, limits = self.limits.ratios(statistics), self.limits.values
        severity = self.limits.severities(ratios)
        exceeds = severity > 1
        followed = self.watch.follow(first, exceeds, np.column_stack((ratios, severity)))
        self._blame(followed, judged, ratios, severity, exceeds)
        self._keep_recent(rows, followed.since)
        alarm = exceeds & followed.counting(first)
        contributors = self._contributors_of(judged, ratios, alarm) if blame else []
        self.stretches.add(first, statistics, limits, severity, alarm)
        self.counts.came += len(rows)
        # Without any limit, nothing can exceed one.
        unjudged = np.isnan(statistics[:, -1]) | ~np.isfinite(limits).any()
        self.counts.unjudged += int(np.count_nonzero(unjudged))
        self.counts.alarmed += int(np.count_nonzero(alarm))
        self.counts.alarms += len(followed.begun)
        changes = self._learn(rows, missing, times, exceeds | followed.dense)
        if not self.frozen:
            self.pending += (
                [ratios] if self.settings.learn_from_alarms else [fed[:, :-1] for fed in followed.fed]
            )
            self._bring_up_to_date(followed, missing)
        verdicts = Verdicts.of(first, statistics, limits, severity, alarm, followed.since)
        begun = [replace(alarm, ended=None, accepted=False) for alarm in followed.begun]
        return Findings(verdicts, begun + [replace(alarm) for alarm in followed.ended], changes, contributors)

    def _keep_recent(self, rows: Floats, since: NDArray[np.int64]) -> None:
        """Keep the last rows of the alarm that is on, if it can be accepted, and of no other."""
        on = self.watch.on
        if on is None or on.began >= self.counts.came:
            self.recent.clear()
        if on is not None and not self.frozen:
            self.recent.extend(rows[since == on.began])

    def _learn(
        self, rows: Floats, missing: Missing, times: Vector | None, unusual: NDArray[np.bool_]
    ) -> list[RankChange]:
        """Learn all other rows; a model that is frozen only sees them pass."""
        left_out: Any = None
        if self.frozen:
            left_out = np.ones(len(rows), dtype=bool)
        elif unusual.any() and not self.settings.learn_from_alarms:
            left_out = unusual
        return self.tracker.follow(rows, None, missing, None, times, left_out)[1]

    def _bring_up_to_date(self, followed: Followed, missing: Missing) -> None:
        """Correct the limits, renew the reference and accept a new normal, where that is due."""
        came = self.counts.came
        if came >= self.correct_at:
            self._correct()
            window = 1 / max(1 - self.tracker.beta2, 1e-9)
            step = min(self.counted // 16, window / 8, MOST_PENDING)
            self.correct_at = came + max(int(step), FIRST_CORRECTION)
        if self.tracker.time >= min(self._look_to_follow(), self.renew_at):
            self._renew()
        on = self.watch.on
        if on is not None and came - on.began >= self.settings.accept_after:
            self._accept(followed, missing)

    def _renew(self, reading: Reading | None = None) -> None:
        """Renew the reference; the rank is that of the last look unless a reading is given."""
        time, n = self.tracker.time, self.tracker.plan.n
        self.soonest, self.looked = time + CLOSEST, self.tracker.look_at
        self.renew_at = time + max(time // 8, CLOSEST) if time < 8 * n else 1 << 62
        reading = reading or self.tracker.reading_as_decided()
        if reading.count > 1:
            self.reference = Reference.of(reading)
            self.limits.refer(self.reference)
            if self.origin is None and self.limits.told.any():
                self.origin = self.reference

    def _correct(self) -> None:
        """Correct the limits by what has been seen since the last time."""
        ratios = np.concatenate((np.zeros((0, len(STATISTICS))), *self.pending))
        if self.reference is None:  # for ever, where every row has gaps and is skipped
            self.pending = [ratios[-MOST_PENDING:]]
            return
        self.pending = []
        most = math.inf if self.watch.on is None else RISE
        self.limits.correct(ratios, self._discount(len(ratios)), most)
        self.counted += len(ratios)

    def _discount(self, rows: int) -> float:
        """Factor on everything counted before: as the model forgets, and so small that rows count less the
        earlier they came, since the model that judged them knew less."""
        earlier = self.counted / (self.counted + rows) if self.counted else 1.0
        return float(self.tracker.beta2**rows * earlier)

    def _accept(self, followed: Followed, missing: Missing) -> None:
        """Accept the rows of the alarm as the new normal: start anew from its last rows."""
        self.watch.end(self.counts.came, followed, accepted=True)
        self.counts.accepted += 1
        # These few rows count alike: their times were not kept.
        tracker = Tracker(replace(self.tracker.plan, seconds=None))
        tracker.follow(np.stack(self.recent), None, "impute" if missing == "impute" else "skip")
        self.tracker.restart(tracker.known(), self.tracker.time)
        self.go_on_with(self.tracker)

    def _reference_now(self) -> Reference | None:
        """The reference that everything learnt so far gives; None before there is enough of it."""
        if self.frozen:
            return self.reference
        reading = self.tracker.reading()
        return Reference.of(reading) if reading.count > 1 else None

    def limits_now(self) -> Limits:
        """The limits for that reference."""
        reference = self._reference_now()
        if self.frozen or reference is None:
            return self.limits
        limits = Limits(self.settings.false_alarm_rate)
        limits.tail, limits.factors = self.limits.tail, self.limits.factors
        limits.refer(reference)
        return limits

    def _statistics(self, reference: Reference | None, rows: Floats, first: int) -> Matrix:
        """The statistics of rows; NaN where there is no reference, or where a row has gaps."""
        if reference is None:
            return np.full((len(rows), len(STATISTICS)), np.nan)
        return reference.judge(rows, first)

    def _blame(
        self, followed: Followed, rows: Floats, ratios: Matrix, severity: Vector, exceeds: Any
    ) -> None:
        """Note the peak of each alarm, and which inputs it is due to."""
        first = self.counts.came
        for alarm in followed.touched:
            inside = np.where(exceeds & (followed.since == alarm.began), severity, 0.0)
            at = int(np.argmax(inside))
            if inside[at] > alarm.peak:
                alarm.peak, alarm.peak_row = float(inside[at]), first + at
                alarm.statistic = self.limits.largest(ratios[at])
                alarm.contributors = self._contributors(rows[at], alarm.statistic)

    def _contributors_of(self, rows: Floats, ratios: Matrix, alarm: NDArray[np.bool_]) -> list[Contributors]:
        """Inputs to blame for each row: one by one, so that bits do not depend on which come together."""
        found: list[Contributors] = [()] * len(rows)
        for i in np.flatnonzero(alarm):
            found[i] = self._contributors(rows[i], self.limits.largest(ratios[i]))
        return found

    def _contributors(self, row: Floats, statistic: str) -> Contributors:
        assert self.reference is not None
        return contributors(self.reference, row, statistic, self.names, self.tracker.plan.width)
