"""A model that watches its own stream.

Every row is judged by what was known before it. As in a `Tracker`, everything happens at absolute row counts,
so that how a stream is cut into calls cannot matter:

- the *reference* that rows are judged by is renewed as the model looks at its spectrum, at first more often,
- the *limits* are corrected on a grid of row counts by the rows seen since.

Rows that are declared normal are all learnt, and so are the first of a stream, until there are limits. Then
a row that exceeds a limit counts as much less as it exceeds it, and rows of a fault (`Watch.held`) are not
learnt at all, nor do limits count them: an alarm ends only if rows are calm by what was known before it. One
that has lasted for ``accept_after`` rows is taken for the new normal, and so are faults that come again and
again for as many rows in all (`Watch.lately`): what was learnt first was then a part of the normal only. The
model starts anew from the last rows, and limits are told again when there is a basis for them.

What a monitor holds is bounded, however long a stream or an alarm lasts: while an alarm is on the last 256
rows as they came (`RESTART`), the values of 4,096 rows that wait to be counted (`MOST_PENDING`), 1,000 alarms
(`events.REMEMBERED`), 512 stretches (`history.LIMIT`).
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
from .anchor import Anchor
from .blame import blame
from .blaming import Blaming
from .contributions import contributions, per_input
from .drift import Drift
from .events import LOWEST, REMEMBERED, Alarm, Contributors, Followed, Notice, Watch
from .first_learning import first_learning
from .history import Stretches
from .inputs import Inputs
from .judging import Judged, judge
from .likeness import Likeness
from .limits import DISTANCE, Limits
from .normals import ANCHORED, Normal, by_modes, with_mode
from .reference import ALONE, STATISTICS, Reference
from .settings import MonitorSettings
from .shared_limits import SharedLimits
from .trail import Trail
from .verdicts import Counts, Findings, Verdicts

# Corrections of the same relative size at all times; one per row would cost more than judging it.
STEPS = 8
"""Corrections of the limits, and new references, in as many rows as are remembered."""

# Rows. As many as limits leave out (`LATE`): earlier, a correction would have none to count.
FIRST_CORRECTION = 16
"""Rows between corrections of the limits at first."""

# Guards against copying and weighting all axes every few rows.
CLOSEST = 16
"""Fewest rows between two references."""

# Bounds the ratios that wait to be counted to 100 kB.
MOST_PENDING = 4096
"""Most rows between corrections."""

# 32 MiB of them: the rows that are put beside their predecessors, if the model has lags.
MOST_JUDGED = 1 << 22
"""Most numbers between corrections."""

# 512 kB of them, and as much for their squares: they stay in the processor's cache. A frozen monitor of 30
# inputs takes 1.1 us a row instead of 1.7, one of 64 takes 2.1, not 3.1. Each time costs .3 ms besides: at
# 128 and 256 inputs, 1,024 rows took less time than 512 and than 4,096.
AT_ONCE, LEAST_AT_ONCE = 1 << 16, 1024
"""Most numbers that are judged at a time, and least number of rows."""

# As many as it takes to tell a fault from chance (`events.DENSE`), and more.
LATE = 16
"""Number of last rows that the limits do not count yet: they may turn out to be those of a fault."""

# Logarithms: a twentieth, and a quarter of a surprise. Rows that exceed raise limits that are too low, step
# by step. With a factor of two, a gross value in each 300 rows raised a limit of 34 to 600, now to 100;
# without any, a rate of 0.01 became 0.014 on white noise.
EXCESS, EXCESS_OF_WHOLE = 0.05, 0.25
"""Distance beyond its limit with which a statistic counts for the limits, at most, and the whole."""

# In units of the line. Zero is kept for rows that could not be judged.
LEAST_SEVERITY = 0.01
"""Severity of rows like most."""

# Enough rows for a model of some dozens of inputs, few enough to hold the new normal alone.
RESTART = 256
"""Number of last rows, when an alarm is accepted, that the new normal starts from."""


@dataclass
class Monitor(Marked):
    """A tracker whose rows are judged before it learns them."""

    LEARNT = (
        *("tracker", "frozen", "limits", "reference", "renew_at", "soonest", "looked", "correct_at"),
        *("corrected", "counted", "trail", "likeness", "renewed", "anchor", "modes", "notices", "inputs"),
    )

    tracker: Tracker
    settings: MonitorSettings
    names: Sequence[str] = ()
    """Names of the inputs, if they have names."""
    frozen: bool = False
    shared: SharedLimits | None = None
    """Evidence that like streams share; not a part of the stored form."""
    limits: Limits = field(init=False)
    watch: Watch = field(init=False)
    counts: Counts = field(default_factory=Counts)
    stretches: Stretches = field(default_factory=Stretches)
    """The control charts so far."""
    reference: Reference | None = None
    """Reference that rows are judged by; None before the first look."""
    anchor: Anchor | None = None
    """The first normal, which stands still; None before it is known."""
    modes: tuple[Normal, ...] = ()
    """Normals before those that were accepted."""
    trail: Trail | None = None
    """The rows before the next one; None before the first that was judged."""
    likeness: Likeness | None = None
    """Likeness of rows to those before, along the axes of the reference, up to the last row."""
    renewed: int = 0
    """Number of rows learnt when the reference was renewed last."""
    renew_at: int = field(init=False)
    """Number of rows learnt at which the reference is renewed."""
    soonest: int = 0
    """Number of rows learnt before which it is not renewed again, whatever happens."""
    looked: int = field(init=False)
    """Row of the model's next look as of the last renewal: if it has changed, the model has looked since."""
    correct_at: int = FIRST_CORRECTION
    """Number of rows come at which the limits are corrected, at the latest."""
    corrected: int = 0
    """Number of rows come when they were corrected last."""
    pending: list[Matrix] = field(default_factory=list)
    """Values of the last rows, which the limits have not counted yet."""
    counted: int = 0
    """Number of rows that they have counted since the last new start."""
    notices: deque[Notice] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    """The last drifts and inputs out of order."""
    recent: deque[Floats] = field(init=False)
    """The last rows since an alarm or faults have been on."""
    blaming: Blaming = field(init=False)
    """Inputs to blame for the alarm that is on."""
    inputs: Inputs = field(init=False)
    """Each input for itself."""
    limits_last: tuple[float, object, Reference, Matrix] | None = None
    """The last limits with the line, tails and reference that they are for; not a part of the stored form."""
    most_last: tuple[object, Reference, Vector] | None = None
    """The same of the values up to which rows count."""

    def __post_init__(self) -> None:
        settings = self.settings
        self.looked = self.renew_at = self.tracker.look_at
        if self.shared is not None:  # there may be limits long before the model looks
            self.renew_at = min(self.renew_at, CLOSEST)
        self.limits = Limits(settings.false_alarm_rate)
        keeps = not settings.learn_from_alarms
        self.watch = Watch(
            settings.false_alarm_rate,
            settings.confirm,
            settings.end_after,
            settings.accept_after,
            keeps=keeps,
        )
        self.inputs = Inputs(self.tracker.plan.width, settings.false_alarm_rate)
        self.blaming = Blaming(self.names, self.tracker.plan.width, settings.false_alarm_rate)
        self.recent = deque(maxlen=min(RESTART, settings.accept_after))

    def mark(self) -> Mark:
        """The present state of monitor and tracker, for `revert`; copies no array."""
        parts = self.tracker.mark(), self.limits.mark(), self.watch.mark(), self.counts.mark()
        others = self.stretches.mark(), self.inputs.mark(), self.blaming.mark()
        pending = self.pending, len(self.pending)
        return *parts, *others, pending, self.recent.copy(), super().mark()

    def revert(self, mark: Mark) -> None:
        """Go back to the last mark, to the bit."""
        tracker, limits, watch, counts, stretches, inputs, blaming, pending, recent, others = mark
        super().revert(others)
        self.tracker.revert(tracker)
        self.limits.revert(limits)
        self.watch.revert(watch)
        self.counts.revert(counts)
        self.stretches.revert(stretches)
        self.inputs.revert(inputs)
        self.blaming.revert(blaming)
        self.pending, number = pending
        del self.pending[number:]
        self.recent = recent

    def follow(
        self,
        rows: Floats,
        missing: Missing = "raise",
        times: Vector | None = None,
        *,
        blame: bool = False,
    ) -> Findings:
        """Judge rows, then learn them; parameters as of `Tracker.follow`.

        With ``blame``, the inputs to blame are named for each row that alarms.
        """
        parts: list[Verdicts] = []
        alarms: list[Alarm] = []
        changes: list[RankChange] = []
        contributors: list[Contributors] = []
        notices: list[Notice] = []
        start = 0
        with threads_for(self.tracker.plan.n):
            while start < len(rows):
                part = slice(start, start + self.rows_until_due(fills=missing == "impute"))
                found = self._take(rows[part], missing, None if times is None else times[part], blame)
                parts.append(found.verdicts)
                alarms += found.alarms
                changes += found.rank_changes
                contributors += found.contributors
                notices += found.notices
                start = part.stop
        return Findings(Verdicts.joined(parts), alarms, changes, contributors, notices)

    def judge(self, rows: Floats, missing: Missing = "raise", *, alone: bool = False) -> Verdicts:
        """Verdicts on rows by everything learnt so far; nothing changes.

        They are a stretch of their own. With ``alone`` each row is: then averages and pairs say nothing.
        """
        rows = self.tracker.prepared(rows, missing)
        reference = self._reference_now()
        statistics = np.full((len(rows), len(STATISTICS)), np.nan)
        nothing = np.full(len(rows), -1)
        if reference is None:
            limits, severity = np.full(statistics.shape, np.inf), np.zeros(len(rows))
        else:
            statistics = judge(reference, rows, 0, gross=self.limits.gross(reference)).statistics
            if alone:
                statistics[:, len(ALONE) :] = np.nan
            lines = np.full(len(rows), self._line_now())
            limits, severity = (
                self.limits.limits_at(lines, reference),
                self._severities(statistics, reference),
            )
        return Verdicts.of(0, statistics, limits, severity, np.zeros(len(rows)), severity > 1, nothing)

    def severity_of(self, rows: Floats, missing: Missing = "raise") -> Vector:
        """The severity of each row as `follow` would find it if it came next; nothing changes."""
        judged = self.tracker.prepared(rows, missing, self.tracker.recent)
        if self.reference is None:
            return np.zeros(len(rows))
        gross = self.limits.gross(self.reference)
        statistics = judge(self.reference, judged, self.counts.came, self.trail, gross=gross).statistics
        return self._severities(statistics, self.reference)

    def _severities(self, statistics: Matrix, reference: Reference) -> Vector:
        surprises = self.limits.of_whole(self.limits.largest(self.limits.values_of(statistics, reference))[0])
        return _severity(surprises, self._line_now())

    def _line_now(self) -> float:
        """The line that the next row would be judged by."""
        line = self.limits.line
        return line + self.watch.line.now(self.counts.came, line)

    def go_on_with(self, tracker: Tracker) -> None:
        """Go on with a tracker that knows something else; limits are told when there is a basis for them.

        Nothing is left of the reference before: if the tracker knows too little to judge by, there is none.
        """
        self.tracker, self.reference, self.anchor = tracker, None, None
        self.trail, self.likeness = None, None
        self.limits = Limits(self.settings.false_alarm_rate)
        self.corrected, self.correct_at = self.counts.came, self.counts.came + FIRST_CORRECTION
        self.counted, self.pending, self.modes = 0, [], ()
        self.blaming.forget()
        if self.inputs.width != tracker.plan.width:
            self.inputs = Inputs(tracker.plan.width, self.settings.false_alarm_rate)
            self.blaming = Blaming(self.names, tracker.plan.width, self.settings.false_alarm_rate)
        self.watch.line.rest(0, 0.0)
        self.recent.clear()
        self._renew()

    def contributions(self, rows: Floats, missing: Missing = "raise") -> dict[str, Matrix]:
        """Parts of each input in each statistic, by everything learnt so far (T, n)."""
        reference, plan = self._reference_now(), self.tracker.plan
        rows = self.tracker.prepared(rows, missing)
        if reference is None:
            return {name: np.full((len(rows), plan.width), np.nan) for name in STATISTICS}
        added = contributions(reference, rows, self.limits.gross(reference))
        return {name: per_input(parts, plan.width) for name, parts in added.items()}

    def blame(self, rows: Floats, missing: Missing = "raise") -> Contributors:
        """Inputs to blame for rows that share a fault, compared with the mean; none if nothing is known."""
        reference, rows = self._reference_now(), self.tracker.prepared(rows, missing)
        usable = rows[~np.isnan(rows).any(axis=1)]
        if reference is None or not len(usable):
            return ()
        return blame(reference, usable, reference.mean, self.names, self.tracker.plan.width).contributors

    def begin(self) -> None:
        """Judge rows by what the tracker knows already."""
        self._renew()

    def learn_normal(self, rows: Floats, missing: Missing, times: Vector | None) -> list[RankChange]:
        """Learn first rows, all of which are declared normal; limits come from blocks of them left out."""
        tracker = self.tracker
        changes = tracker.follow(rows, None, missing, None, times)[1]
        self.counts.came += len(rows)
        self.inputs.learn_normal(rows)
        reading = tracker.reading()
        if reading.count > 1:
            learnt = tracker.prepared(rows, missing)
            first = first_learning(
                learnt, tracker.plan, missing, Reference.of(reading), self.settings.false_alarm_rate
            )
            self.reference, self.trail, self.limits, statistics = first
            self.likeness, self.renewed = self.reference.likeness, self.tracker.time
            self.counted = len(statistics)
            limits = np.repeat(self.limits_now()[None], len(statistics), axis=0)
            severity = self._severities(statistics, self.reference)
            self.stretches.add(0, statistics, limits, severity, np.zeros(len(statistics), dtype=bool))
        self.corrected, self.correct_at = self.counts.came, self.counts.came + FIRST_CORRECTION
        # With another rank than that of the last look, axes are found anew: kept ones come first.
        self._renew(reading if reading.rank == tracker.decision.rank else None)
        self._steer()
        self._anchor()
        return changes

    def freeze(self) -> None:
        """Judge rows from now on by what is known now, and learn nothing."""
        if self.frozen:
            return
        if self.reference is not None:
            self._correct(0)
            self._renew(self.tracker.reading())
        self.watch.line.rest(self.counts.came, self.limits.line, self.limits.margin)
        self._anchor()
        self.frozen = True

    @property
    def drift(self) -> Drift:
        """Distance of the model from its anchor."""
        return self.drift_of(self._reference_now())

    def drift_of(self, now: Reference | None) -> Drift:
        """Distance of a reference from the anchor."""
        if self.anchor is None or now is None:
            return Drift(0.0, 1.0, 0.0, 1.0)
        return Drift.between(self.anchor.normal.reference, now, self.limits_risen(now))

    def limits_risen(self, now: Reference) -> float:
        """The factor by which the limit of distances has risen since the anchor; 1 if that is not known."""
        if self.anchor is None:
            return 1.0
        reference, limits = self.anchor.normal
        first = _limit_in_units(limits, limits.line, reference)
        present = _limit_in_units(self.limits, self._line_now(), now)
        return present / first if first < math.inf and present < math.inf else 1.0

    def rows_until_due(self, *, fills: bool) -> int:
        """Number of rows that can be judged before the model, the limits or an alarm may change.

        If gaps are filled, that is by the last block of the model. After a block the model may also look when
        no look is due: if a pause has made it forget everything.
        """
        tracker, longest = self.tracker, self.settings.accept_after
        n = tracker.plan.n
        most = max(min(max(AT_ONCE // n, LEAST_AT_ONCE), MOST_JUDGED // n, MOST_PENDING), 1)
        if self.frozen:
            return most
        on = self.watch.on
        until_accepted = max(math.ceil(longest - self.watch.lately), 1)
        if on is not None:
            until_accepted = min(until_accepted, on.began + longest - self.counts.came)
        by_blocks = fills or tracker.plan.seconds is not None
        until_block = tracker.rows_until_due() if by_blocks else MOST_PENDING
        until_renewed = self._renewed_at() - tracker.time
        return min(self.correct_at - self.counts.came, until_renewed, until_accepted, until_block, most)

    def _renewed_at(self) -> int:
        """Number of rows learnt at which the reference is renewed."""
        looked = self.tracker.plan.seconds is not None and self.tracker.look_at != self.looked
        return max(self.tracker.time, self.soonest) if looked else self.renew_at

    def _take(self, rows: Floats, missing: Missing, times: Vector | None, blame: bool) -> Findings:
        """Judge and learn at most `rows_until_due` rows."""
        first = self.counts.came
        judged = self.tracker.prepared(rows, missing, self.tracker.recent)
        statistics = np.full((len(rows), len(STATISTICS)), np.nan)
        found = None
        if self.reference is not None:
            gross = self.limits.gross(self.reference)
            found = judge(self.reference, judged, first, self.trail, gross=gross)
            statistics, self.trail = found.statistics, found.trail
        values, largest, which = self._surprises(statistics)
        line, surprises = self.limits.line, self.limits.of_whole(largest)
        surprises, elsewhere = by_modes(self.modes, judged, surprises, (1 - LOWEST) * line)
        excess = usual = drift = nothing = np.full(len(rows), np.nan)
        if self.anchor is not None and self.reference is not None and found is not None and not self.frozen:
            self.anchor, (excess, usual, drift) = self.anchor.after(found, self.reference, first)
        followed = self.watch.follow(first, surprises, line, excess, usual, drift)
        exceeds, alarm = followed.exceeds, followed.exceeds & followed.counting
        limits = self._limits_at(followed.lines)
        severity = _severity(surprises, followed.lines)
        if excess is not nothing:
            severity[followed.prolonged] = np.maximum(severity, excess)[followed.prolonged]
        self._note_peaks(followed, severity, which)
        blamed: list[Contributors] = [()] * len(rows) if blame else []
        if self.reference is not None:
            blamed = self.blaming.follow(followed, judged, limits, self.reference, each=blame)
        self._keep_recent(rows, (followed.since >= 0) | (followed.lately > 0))
        self.stretches.add(first, statistics, limits, severity, alarm)
        self.counts.came += len(rows)
        # Without a limit of the whole row's distance, most that is unusual exceeds nothing.
        unjudged = np.isnan(statistics[:, DISTANCE]) | ~(limits[:, DISTANCE] < np.inf)
        self.counts.unjudged += int(np.count_nonzero(unjudged))
        self.counts.alarmed += int(np.count_nonzero(alarm))
        self.counts.alarms += sum(alarm.state == "began" for alarm in followed.told)
        ratio = self._excess(statistics, limits, exceeds)
        changes = self._learn(rows, missing, times, followed, ratio, elsewhere)
        if not self.frozen:
            values[elsewhere] = largest[elsewhere] = np.nan
            self._note(found, values, largest, limits, followed)
            self._bring_up_to_date(followed, missing)
        verdicts = Verdicts.of(first, statistics, limits, severity, _or_zero(drift), alarm, followed.since)
        alarms = followed.told + [replace(alarm) for alarm in followed.ended]
        followed.notices += self.inputs.follow(rows, followed.faulty, self.names, learn=not self.frozen)
        followed.notices.sort(key=lambda notice: notice.told)  # as if rows came one by one
        self._remember(followed.notices)
        return Findings(verdicts, alarms, changes, blamed, followed.notices)

    def _remember(self, notices: list[Notice]) -> None:
        """Remember notices, those that have ended instead of those that began."""
        for notice in notices:
            known = (one for one in self.notices if _name(one) != _name(notice))
            self.notices = deque((*known, notice), REMEMBERED)

    def _surprises(self, statistics: Matrix) -> tuple[Matrix, Vector, NDArray[np.intp]]:
        """Values for the limits to count, the largest surprise of each row, and whose it is."""
        if self.reference is None:
            return np.full(statistics.shape, np.nan), np.full(len(statistics), np.nan), np.zeros(0, np.intp)
        values = self.limits.values_of(statistics, self.reference)
        return values, *self.limits.largest(values)

    def _limits_at(self, lines: Vector) -> Matrix:
        if self.reference is None:
            return np.full((len(lines), len(STATISTICS)), np.inf)
        if lines[0] == lines[-1] and (lines == lines[0]).all():  # lines change seldom
            return np.repeat(self._limits_at_last(float(lines[0]), self.reference), len(lines), axis=0)
        starts = np.flatnonzero(np.diff(lines, prepend=np.nan))
        limits = self.limits.limits_at(lines[starts], self.reference)
        return np.repeat(limits, np.diff(starts, append=len(lines)), axis=0)

    def _limits_at_last(self, line: float, reference: Reference) -> Matrix:
        """The limits at one line (1, 5), computed anew where the line, tails or reference have changed."""
        last, settled = self.limits_last, self.limits.settled
        if last is None or last[0] != line or last[1] is not settled or last[2] is not reference:
            limits = self.limits.limits_at(np.array([line]), reference)
            self.limits_last = last = line, settled, reference, limits
        return last[3]

    def _excess(self, statistics: Matrix, limits: Matrix, exceeds: NDArray[np.bool_]) -> Vector:
        """The largest ratio of a statistic to its limit of rows that exceed; 1 for others."""
        ratio = np.ones(len(statistics))
        if exceeds.any():
            with np.errstate(over="ignore", invalid="ignore"):  # infinitely far off, and no limit to it
                each = np.nan_to_num(statistics[exceeds] / limits[exceeds])
            ratio[exceeds] = each.max(axis=1, initial=1.0)
        return ratio

    def _keep_recent(self, rows: Floats, out_of_order: NDArray[np.bool_]) -> None:
        """Keep the last rows since an alarm or faults have been on, if they can be accepted."""
        calm = np.flatnonzero(~out_of_order)
        if len(calm):
            self.recent.clear()
            rows = rows[calm[-1] + 1 :]
        if not self.frozen:
            self.recent.extend(rows)

    def _learn(
        self,
        rows: Floats,
        missing: Missing,
        times: Vector | None,
        followed: Followed,
        ratio: Vector,
        elsewhere: NDArray[np.bool_],
    ) -> list[RankChange]:
        """Learn rows: none of a fault or of another normal, others by as much less as they exceed.

        A frozen model learns none.
        """
        left_out: Any = None
        weights: Any = None
        if self.frozen:
            left_out = np.ones(len(rows), dtype=bool)
        elif not self.settings.learn_from_alarms and (followed.held.any() or elsewhere.any()):
            left_out = followed.held | elsewhere
            self.counts.held += int(np.count_nonzero(followed.held))
            self.counts.elsewhere += int(np.count_nonzero(elsewhere & ~followed.held))
        if not self.frozen and not self.settings.learn_from_alarms and (ratio > 1).any():
            weights = 1 / ratio
            self.counts.capped += int(np.count_nonzero((ratio > 1) & ~followed.held))
        return self.tracker.follow(rows, weights, missing, None, times, left_out)[1]

    def _note(
        self, found: Judged | None, values: Matrix, largest: Vector, limits: Matrix, followed: Followed
    ) -> None:
        """Let rows wait until the limits count them; those of a fault never do."""
        together, learns = np.column_stack((values, largest)), self.settings.learn_from_alarms
        if not learns and self.reference is not None:
            together = np.minimum(together, self._most_counted(self.reference))
        if not learns:
            together[followed.faulty] = np.nan
        if found is not None:
            assert self.likeness is not None
            odd, first = (followed.exceeds | followed.faulty)[found.usable], 0
            leaves_out = not learns and odd.any()
            for seen in found.seen:
                usual = ~odd[first : first + len(seen.rows)]
                first += len(usual)
                self.likeness = self.likeness.after(
                    seen.at(usual) if leaves_out and not usual.all() else seen
                )
        self.pending.append(together)
        for began, known in followed.faults:
            self._forget_pending(began, known)

    def _most_counted(self, reference: Reference) -> Vector:
        """Values up to which rows count: a little beyond the limits, as they are where no line is lifted."""
        last, settled = self.most_last, self.limits.settled
        if last is None or last[0] is not settled or last[1] is not reference:
            line = np.array([self.limits.line])
            with np.errstate(divide="ignore", invalid="ignore"):
                most = np.log(self.limits.limits_at(line, reference)[0] / reference.expected) + EXCESS
            most = np.append(np.nan_to_num(most, nan=np.inf), self.limits.largest_at(line) + EXCESS_OF_WHOLE)
            self.most_last = last = settled, reference, most
        return last[2]

    def _forget_pending(self, began: int, known: int) -> None:
        """Take the first rows of a fault, up to the one that made it known, out of those that wait."""
        pending = np.concatenate(self.pending)
        first = self.counts.came - len(pending)
        pending[max(began - first, 0) : max(known + 1 - first, 0)] = np.nan
        self.pending = [pending]

    def _bring_up_to_date(self, followed: Followed, missing: Missing) -> None:
        """Correct the limits, renew the reference and accept a new normal, where that is due."""
        came = self.counts.came
        renews = self.tracker.time >= self._renewed_at()
        if came >= self.correct_at or (renews and 4 * came >= 3 * self.corrected + self.correct_at):
            self._correct(LATE)
            window = 1 / max(1 - self.tracker.beta2, 1e-9)
            # With a new reference, for which rows are not judged together either; at twice the step if none.
            step = min(2 * self.counted / STEPS, 2 * window / STEPS, MOST_PENDING)
            self.corrected, self.correct_at = came, came + max(int(step), FIRST_CORRECTION)
        if renews:
            self._renew()
        on = self.watch.on
        longest = self.settings.accept_after
        if on is not None and (came - on.began >= longest or self.watch.lately >= longest):
            self._accept(followed, missing)

    def _renew(self, reading: Reading | None = None) -> None:
        """Renew the reference; the rank is that of the last look unless a reading is given."""
        tracker, time = self.tracker, self.tracker.time
        window = tracker.plan.window if tracker.plan.seconds is None else tracker.pace.window
        self.soonest, self.looked = time + CLOSEST, tracker.look_at
        self.renew_at = time + max(time // STEPS, CLOSEST)
        if time >= STEPS * tracker.plan.n:  # with a look, as to find the axes is n^3
            # At half as many steps, the rate of a stream whose mean walks was five times the one asked for.
            soonest, self.renew_at = time + min(time, window) / STEPS, tracker.look_at
            while self.renew_at < soonest:
                self.renew_at = tracker.plan.next_look(self.renew_at, window)
        reading = reading or self.tracker.reading_as_decided()
        if reading.count <= 1:
            return
        before = self.reference
        if before is not None and self.likeness is not None:
            faded = self.tracker.beta2 ** (self.tracker.time - self.renewed)
            before = replace(before, likeness=self.likeness.discounted(faded))
        self.reference = Reference.of(reading, before)
        self.likeness, self.renewed = self.reference.likeness, self.tracker.time
        if before is None and self.shared is not None:
            self.limits.count(np.zeros((0, len(STATISTICS) + 1)), 1.0, self.reference)
            self.share()
        if before is not None and self.trail is not None:
            self.trail = self.trail.turned(before, self.reference)

    def _correct(self, late: int) -> None:
        """Correct the limits by what has been seen since the last time, but the latest rows."""
        values = np.concatenate((np.zeros((0, len(STATISTICS) + 1)), *self.pending))
        if self.reference is None:  # for ever, where every row has gaps and is skipped
            self.pending = [values[-MOST_PENDING:]]
            return
        waiting = max(len(values) - late, 0)
        self.pending = [values[waiting:]]
        counted = self._number_counted(values[:waiting])
        self.limits.since += counted
        added = self.limits.count(values[:waiting], self._discount(counted), self.reference)
        if self.shared is not None and added is not None:
            self.shared.add(self._age(), values[:waiting], self.reference.degrees, *added)
        self.counted += counted
        self.share()
        self._steer()
        if self.anchor is None and self.counted >= ANCHORED:
            self._anchor()

    def _number_counted(self, values: Matrix) -> int:
        """Number of these rows that make what was counted before count less.

        Once there are limits, rows of a fault do not: however long it lasts, limits rest on calm rows.
        """
        return int(np.count_nonzero(~np.isnan(values).all(axis=1))) if self.limits.told.any() else len(values)

    def _age(self) -> int:
        """Number of rows that the model knew when the first of those came that the limits count next."""
        return self.counted + (RESTART if self.counts.accepted else 0)

    def share(self) -> None:
        """Let the limits rest on what like streams have shown by now."""
        if self.shared is None or self.frozen or self.reference is None:
            return
        prior = self.shared.at(self._age() + LATE)
        if prior is not self.limits.prior:
            self.limits.rest_on(prior)

    def _anchor(self) -> None:
        """Take what is normal now for the anchor, if it can judge."""
        normal = self._normal()
        if normal is not None and normal.judges_averages:
            self.anchor = Anchor(normal)

    def _normal(self) -> Normal | None:
        """The present normal, as it stands; None if it cannot judge."""
        if self.reference is None or not self.limits.told.any():
            return None
        normal = Normal.of(self.reference, self.limits)
        return normal if normal.limits.told.any() else None

    def _steer(self) -> None:
        """Begin to steer the line, once there are limits."""
        if self.watch.line.at is None and self.limits.told.any() and not self.settings.learn_from_alarms:
            self.watch.line.steer(self.counts.came)

    def _discount(self, rows: int) -> float:
        """Factor on everything counted before: as the model forgets, and so small that rows count less the
        earlier they came, since the model that judged them knew less."""
        earlier = self.counted / (self.counted + rows) if self.counted else 1.0
        return float(self.tracker.beta2**rows * earlier)

    def _accept(self, followed: Followed, missing: Missing) -> None:
        """Accept the last rows as the new normal, beside that of before: start from them."""
        self.watch.end(self.counts.came, followed, accepted=True)
        followed.notices += self.blaming.end(self.counts.came)
        self.counts.accepted += 1
        before = self._normal() if self.anchor is None else self.anchor.normal
        modes = self.modes if before is None else with_mode(self.modes, before)
        # These few rows count alike: their times were not kept.
        tracker = Tracker(replace(self.tracker.plan, seconds=None))
        tracker.follow(np.stack(self.recent), None, "impute" if missing == "impute" else "skip")
        self.tracker.restart(tracker.known(), self.tracker.time)
        self.go_on_with(self.tracker)
        self.modes = modes

    def _reference_now(self) -> Reference | None:
        """The reference that everything learnt so far gives; None before there is enough of it."""
        if self.frozen:
            return self.reference
        reading = self.tracker.reading()
        if reading.count <= 1:
            return None
        before = self.reference
        if before is not None and self.likeness is not None:
            before = replace(before, likeness=self.likeness)
        return Reference.of(reading, before)

    def limits_now(self) -> Vector:
        """The limit of each statistic for that reference; infinity where there is no basis for one."""
        reference = self._reference_now()
        if reference is None:
            return np.full(len(STATISTICS), np.inf)
        return np.asarray(self.limits.limits_at(np.array([self._line_now()]), reference)[0])

    def _note_peaks(self, followed: Followed, severity: Vector, which: NDArray[np.intp]) -> None:
        """Note the peak of each alarm up to its last row."""
        first = self.counts.came
        for alarm in (*followed.told, *followed.touched):
            own = followed.exceeds & (followed.since == alarm.began) & (followed.rows <= alarm.last)
            inside = np.where(own, severity, 0.0)
            at = int(np.argmax(inside))
            if inside[at] > alarm.peak:
                alarm.peak, alarm.peak_row = float(inside[at]), first + at
                alarm.statistic = "average" if followed.prolonged[at] else STATISTICS[which[at]]


def _limit_in_units(limits: Limits, line: float, reference: Reference) -> float:
    """The limit of distances at this line, as a multiple of what is expected; infinite if there is none."""
    found = limits.limits_at(np.array([line]), reference)[0, DISTANCE]
    return float(found / reference.expected[DISTANCE]) if np.isfinite(found) else math.inf


def _severity(surprises: Vector, line: Vector | float) -> Vector:
    """Surprises in units of the line; 0 where there is none, and only there."""
    return _or_zero(np.maximum(surprises / line, LEAST_SEVERITY))


def _or_zero(values: Vector) -> Vector:
    """Values, and 0 where there is none."""
    return np.where(np.isnan(values), 0.0, values)


def _name(notice: Notice) -> tuple[str, str, int]:
    return notice.kind, notice.input, notice.began
