"""Many exact trackers advanced together: the same bits as each by itself, in a fraction of the time.

A tracker spends most of its time in Python, about a microsecond per array that it touches. Here the arrays
of all trackers are stacked, so that one call serves many of them: rows are scored and wait together, complete
blocks are centered and multiplied together, scatter matrices are decomposed together, and ranks are decided
together. What comes rarely is left to each tracker itself, which shares its memory with the stack.

Only what the exact learner needs is here: rows without gaps or time stamps, each of weight 1, outliers kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners.axes import matched_overlap
from ..learners.knowledge import Floats, Knowledge, Profile
from ..learners.lags import are_alike, block_sums, persistence, projections_on, stride_at
from ..learners.learner import Steps, center_block
from ..learners.marks import Mark
from ..learners.scatter import Scatter
from ..learners.symmetric import WIDE, add_products
from ..model.events import RankChange
from ..model.plan import Plan
from ..model.reading import SCORES
from ..model.tracker import Tracker
from ..offline import fixed_signs
from ..rank import Evidence, Judgement, Rule
from ..rank.decision import Decision, Memory, decide
from ..rank.stacked_decisions import Decisions, Memories, decide_together
from ..rank.standing import standing_of
from .stacks import Stacks

Slots = NDArray[np.intp]
TOGETHER = 128
"""Blocks that are learnt in one go: their rows stay in the processor's cache."""


def fits(tracker: Tracker) -> bool:
    """True if a tracker can be in a fleet."""
    plan, learner, waiting = tracker.plan, tracker.learner, tracker.blocks.waiting
    return (
        isinstance(learner, Scatter)
        and plan.plain
        and not plan.standardize
        and not plan.cap_outliers
        and not tracker.blocks.has_gaps
        and tracker.blocks.time is None
        and learner.extra == 0
        and bool((waiting.first(waiting.number)[1].weight == 1).all())
    )


class Fleet:
    """Trackers with one plan, each in a slot of its own.

    Parameters
    ----------
    plan
        What all of them do.
    scores
        How rows are scored, a name in `eigenstream.model.reading.SCORES`.
    """

    def __init__(self, plan: Plan, scores: str) -> None:
        self.plan, self.how = plan, scores
        self._even = Steps.even(plan.block, plan.beta2)
        self.trackers: list[Tracker | None] = []
        self._free: list[int] = []
        self.stacks = Stacks.of(plan, 0)
        self._before: list[tuple[Slots, list[NDArray[Any]], list[Mark]]] = []
        """Slots, their entries of the stacks and the marks of their trackers from before they changed."""
        self.mark(np.zeros(0, np.intp))

    def mark(self, slots: Slots) -> None:
        """Note the present state of these trackers, for `revert`.

        Rows that only wait change nothing but the time. What a block or a look changes is copied before.
        """
        self._before, self._time_before = [], (slots, self.stacks.time[slots])
        self._untouched = np.ones(len(self.trackers), np.bool_)
        """Slots that have only let rows wait since then."""

    def revert(self) -> None:
        """Go back to the last mark, to the bit."""
        for slots, entries, marks in self._before:
            self.stacks.put_back(slots, entries)
            for slot, mark in zip(slots, marks, strict=True):
                self._tracker_in(slot).revert(mark)
        slots, time = self._time_before
        self.stacks.time[slots] = time

    def repair(self, used: Iterable[int]) -> None:
        """Make whole what an exception may have left half done: only these slots are taken."""
        taken = set(used)
        self.trackers += [None] * (len(self.stacks.time) - len(self.trackers))
        self.trackers = [tracker if slot in taken else None for slot, tracker in enumerate(self.trackers)]
        self._free = [slot for slot, tracker in enumerate(self.trackers) if tracker is None]
        for slot in taken:
            self._bind(slot)

    def _keep(self, slots: Slots) -> None:
        """Copy what these were at the last mark, before they change."""
        new = slots[self._untouched[slots]]
        if len(new):
            marks = [self._tracker_in(slot).mark() for slot in new]
            self._before.append((new, self.stacks.entries(new), marks))
            self._untouched[new] = False

    def _tracker_in(self, slot: int) -> Tracker:
        tracker = self.trackers[slot]
        assert tracker is not None
        return tracker

    def add(self, tracker: Tracker) -> int:
        """Take a tracker in; returns its slot. From now on `tracker` has to bring it up to date."""
        if not self._free:
            self._grow()
        slot = self._free.pop()
        self.trackers[slot] = tracker
        stacks, learner, blocks = self.stacks, _scatter(tracker), tracker.blocks
        stacks.waiting[slot], stacks.C[slot] = blocks.waiting.rows, learner.C
        stacks.count[slot] = learner.count
        stacks.take_lags(slot, learner.lags)
        stacks.origin[slot], stacks.offset[slot] = learner.origin, learner.offset
        stacks.time[slot], stacks.all_vary[slot] = tracker.time, blocks.inputs.all_vary
        blocks.waiting.steps = self._even.part(slice(None))
        self._bind(slot)
        self._see(slot)
        return slot

    def tracker(self, slot: int) -> Tracker:
        """The tracker in this slot, up to date; it shares memory with the fleet."""
        tracker = self._tracker_in(slot)
        stacks, learner, block = self.stacks, _scatter(tracker), self.plan.block
        before, time = tracker.time, int(stacks.time[slot])
        if before == time:
            return tracker
        moved = before // block != time // block
        tracker.advance(time, moved=moved)
        if moved:
            origin, offset = stacks.origin[slot].copy(), stacks.offset[slot].copy()
            learner.follow(origin, offset, float(stacks.count[slot]), stacks.lags(slot))
        return tracker

    def taken_out(self, slot: int) -> Tracker:
        """The tracker in this slot with memory of its own; the slot can be freed."""
        tracker, stacks = self.tracker(slot), self.stacks
        tracker.blocks.waiting.rows = stacks.waiting[slot].copy()
        _scatter(tracker).C = stacks.C[slot].copy()
        return tracker

    def free(self, slot: int) -> None:
        """Let go of the tracker in this slot."""
        self.trackers[slot] = None
        self._free.append(slot)

    def learn(
        self,
        slots: Slots,
        counts: NDArray[np.intp],
        rows: Floats,
        scores: Floats,
        *,
        blank: bool = False,
    ) -> list[tuple[int, RankChange]]:
        """Learn from rows; returns what changed, and where.

        Parameters
        ----------
        slots, counts
            Which trackers the rows belong to, and how many of them to each.
        rows
            Those of the first slot in order, then those of the second, and so on; no NaN.
        scores
            Zeros, of as many rows; takes each row's score from before it was learnt from.
        blank
            True leaves NaN for rows that came before their tracker had started.
        """
        # A tracker starts with its first look or its first block.
        start = min(self.plan.next_look(0, self.plan.window), self.plan.block) if blank else 0
        changes: list[tuple[int, RankChange]] = []
        ends = np.cumsum(counts)
        starts = ends - counts
        while len(slots):
            time = self.stacks.time[slots]
            until_due = np.minimum(
                self.stacks.look_at[slots] - time, self.plan.block - time % self.plan.block
            )
            taken = np.minimum(ends - starts, until_due)
            for count in np.flatnonzero(np.bincount(taken)):
                alike = taken == count
                early = alike & (time < start)
                scores[starts[early, None] + np.arange(count)] = np.nan
                self._wait(slots[alike], starts[alike, None] + np.arange(count), rows, scores)
            changes += self._come_due(slots[taken == until_due])
            starts += taken
            left = starts < ends
            slots, starts, ends = slots[left], starts[left], ends[left]
        return changes

    def _wait(self, slots: Slots, source: Slots, rows: Floats, scores: Floats) -> None:
        """Score rows, as many for each slot, and let them wait for their block."""
        X = rows[source]
        self._see_what_varies(slots, X)
        ranks = self.stacks.rank[slots]
        for rank in np.flatnonzero(np.bincount(ranks)):
            if rank:  # scores by the last block and look; their bits depend on how many axes are multiplied
                of = np.flatnonzero(ranks == rank)
                whose = slots[of]
                centered = X[of] - self.stacks.mean[whose, None]
                axes = self.stacks.axes[whose, None, :rank].transpose(0, 1, 3, 2)
                projections = np.matmul(centered[:, :, None], axes)[:, :, 0]
                scores[source[of], :rank] = projections * self.stacks.factors[whose, None, :rank]
        place = self.stacks.time[slots, None] % self.plan.block + np.arange(X.shape[1])
        self.stacks.waiting[slots[:, None], place] = X
        self.stacks.time[slots] += X.shape[1]

    def _see_what_varies(self, slots: Slots, X: Floats) -> None:
        for i in np.flatnonzero(~self.stacks.all_vary[slots]):
            self._keep(slots[i : i + 1])
            inputs = self._tracker_in(slots[i]).blocks.inputs
            inputs.see(X[i])
            self.stacks.all_vary[slots[i]] = inputs.all_vary

    def _come_due(self, slots: Slots) -> list[tuple[int, RankChange]]:
        """Learn complete blocks; then look where a look is due."""
        self._keep(slots)
        full = slots[self.stacks.time[slots] % self.plan.block == 0]
        for start in range(0, len(full), TOGETHER):
            self._learn_blocks(full[start : start + TOGETHER])
        looking = slots[self.stacks.time[slots] >= self.stacks.look_at[slots]]
        young = self.stacks.count[looking] == 0
        changes, looking = self._look_at_each(looking[young]), looking[~young]
        for time in np.unique(self.stacks.time[looking]):
            alike = looking[self.stacks.time[looking] == time]
            for start in range(0, len(alike), TOGETHER):
                changes += self._look(alike[start : start + TOGETHER])
        return changes

    def _learn_blocks(self, slots: Slots) -> None:
        """``C <- D C + R'R`` for each of them; see `eigenstream.learners.scatter`."""
        fresh = slots[self.stacks.count[slots] == 0]
        if self.plan.center:
            self.stacks.origin[fresh] = self.stacks.waiting[fresh, 0]
        R = np.subtract(self.stacks.waiting[slots], self.stacks.origin[slots, None], dtype=np.float64)
        count = self.stacks.count[slots, None]
        block = center_block(R, self._even, self.stacks.offset[slots], count, center=self.plan.center)
        for slot, rows in zip(slots, R, strict=True):
            add_products(self.stacks.C[slot], rows, block.decay)
        self.stacks.offset[slots] += block.shift
        self.stacks.count[slots] = np.asarray(block.effective)[:, 0]
        self.stacks.mean[slots] = self.stacks.origin[slots] + self.stacks.offset[slots]
        self._compare_neighbours(slots, R)

    def _compare_neighbours(self, slots: Slots, R: Floats) -> None:
        """`Scatter` says what this does; here for many at once that have all axes."""
        stacks, decay = self.stacks, self._even.fading.decay
        alike = are_alike(stacks.lag_sums[slots], stacks.lag_pairs[slots])
        ages = zip(stacks.lag_blocks[slots].tolist(), alike.tolist(), strict=True)
        strides = np.array([stride_at(blocks, decay, are) for blocks, are in ages])
        due = stacks.lag_blocks[slots] % strides == 0
        passed = slots[~due]
        stacks.lag_blocks[passed] += 1
        stacks.lag_faded[passed] *= decay
        number, n_axes = stacks.lag_sums.shape[-1] - 1, stacks.n_axes[slots]
        together = due & (n_axes == self.plan.k)
        for i in np.flatnonzero(due & ~together):
            learner = _scatter(self.tracker(int(slots[i])))
            learner.compare_neighbours(R[i], self._even)
            stacks.take_lags(int(slots[i]), learner.lags)
        whose, R, strides = slots[together], R[together], strides[together]
        if not len(whose):
            return
        Y = projections_on(R, stacks.axes_before[whose], number)
        begins = ~stacks.lag_sums[whose, 0, 1:].any(axis=-1)
        sums, pairs, inputs, moves = block_sums(None, Y, R, self._even.fading.scales, alike[together])
        faded = np.where(begins, 0.0, stacks.lag_faded[whose] * decay)
        before, mine, new = stacks.lag_pairs[whose], faded[:, None, None], strides[:, None, None]
        stacks.lag_sums[whose] = mine * stacks.lag_sums[whose] + new * sums
        stacks.lag_inputs[whose] = mine * stacks.lag_inputs[whose] + new * inputs
        stacks.lag_pairs[whose] = faded[:, None] * before + strides[:, None] * pairs
        earlier = stacks.moves(whose)
        if moves is not None:
            stacks.take_moves(whose, earlier.after(faded, strides, moves))
        elif earlier.known.any():
            stacks.take_moves(whose, earlier.faded(faded))
        stacks.lag_blocks[whose] += 1
        stacks.lag_faded[whose] = 1.0

    def _look(self, slots: Slots) -> list[tuple[int, RankChange]]:
        """A look at each of them, all of the same age; `Tracker.look` for the few that are special."""
        if self.plan.n >= WIDE:  # a learner by itself finds the eigenpairs of these in another way
            return self._look_at_each(slots)
        slots = slots[[not self._stands(slot) for slot in slots.tolist()]]
        n, k, C, count = self.plan.n, self.plan.k, self.stacks.C[slots], self.stacks.count[slots]
        lam, V = np.linalg.eigh(C)
        whole = lam[:, 0] > n * np.finfo(np.float64).eps * np.maximum(lam[:, -1], 0.0)
        usual = whole & self.stacks.all_vary[slots] & np.isin(self.stacks.n_axes[slots], (0, k))
        changes = self._look_at_each(slots[~usual])
        slots, lam, V, C, count = slots[usual], lam[usual, ::-1], V[usual], C[usual], count[usual]
        if not len(slots):
            return changes
        trackers = [self.tracker(slot) for slot in slots.tolist()]
        traces = np.trace(C, axis1=1, axis2=2)
        inputs, axes = np.diagonal(C, axis1=1, axis2=2), V.transpose(0, 2, 1)[:, ::-1][:, :k]
        profile = Profile(inputs, np.square(np.sqrt(lam[:, :k, None]) * axes), np.ones(n))
        evidence = Evidence(
            lam / count[:, None],
            traces / count,
            k,
            n,
            trackers[0].time - self.plan.center,
            self.plan.beta2,
            inputs / count[:, None],
            rounding=float(np.finfo(self.plan.dtype).eps),
            profile=profile,
            persistence=persistence(
                *(self.stacks.lag_sums[slots], self.stacks.lag_pairs[slots]),
                *(self.stacks.lag_inputs[slots], profile.held),
            ),
            moves=self.stacks.moves(slots),
        )
        decisions = self._decisions(trackers, evidence)
        U = fixed_signs(axes.reshape(-1, n)).reshape(-1, k, n)
        overlap = U @ self.stacks.axes_before[slots].transpose(0, 2, 1)
        for i, (slot, tracker, decision) in enumerate(zip(slots.tolist(), trackers, decisions, strict=True)):
            learner, first, rank = _scatter(tracker), lam[i, :k], decision.rank
            order, signs = matched_overlap(overlap[i, :, : len(learner.axes)], first, rank, np.ones(k))
            learner.adopt(U[i, order] * signs[:, None], rank)
            known = Knowledge(lam[i], U[i], float(count[i]), float(traces[i]), self.stacks.mean[slot])
            found = tracker.note(known, decision, first[order[:rank]] / known.effective)
            changes += [(slot, change) for change in found]
            self._see(slot)
        return changes

    def _stands(self, slot: int) -> bool:
        """`Tracker.stands`, of the tracker in this slot."""
        tracker = self.tracker(slot)
        seen = tracker.last_look.kept
        if not tracker.stands():
            return False
        if tracker.last_look.kept is seen:  # nothing has moved
            self.stacks.look_at[slot] = tracker.look_at
        else:
            self._see(slot)
        return True

    def _decisions(self, trackers: list[Tracker], evidence: Evidence) -> list[Decision]:
        rule, before = self.plan.alpha, [tracker.decision for tracker in trackers]
        if not isinstance(rule, Rule):
            streams = zip(evidence.variances, np.asarray(evidence.total).tolist(), before, strict=True)
            return [
                decide(self.plan.kind, rule, evidence._replace(variances=lam, total=total), one)
                for lam, total, one in streams
            ]
        alpha, threshold, rank, memory, _ = zip(*before, strict=True)
        held = Decisions(np.array(alpha), np.array(threshold), np.array(rank), Memories(*np.array(memory).T))
        made, judgement = decide_together(self.plan.kind, rule, evidence, held)
        memories = zip(*(column.tolist() for column in made.memory), strict=True)
        columns = (
            made.alpha.tolist(),
            made.threshold.tolist(),
            made.rank.tolist(),
            map(Memory._make, memories),
        )
        decisions = [Decision(*row) for row in zip(*columns, strict=True)]
        if not self.plan.glances:
            return decisions
        return [
            one._replace(standing=standing_of(rule, Judgement(*judged), about, one.rank, one.threshold))
            for one, about, *judged in zip(decisions, evidence.each(), *judgement, strict=True)
        ]

    def _look_at_each(self, slots: Slots) -> list[tuple[int, RankChange]]:
        changes = []
        for slot in slots.tolist():
            changes += [(slot, change) for change in self.tracker(slot).look()]
            self._see(slot)
        return changes

    def _see(self, slot: int) -> None:
        """Take over what scores rest on."""
        tracker = self._tracker_in(slot)
        look = tracker.last_look
        rank = look.decision.rank
        self.stacks.look_at[slot], self.stacks.rank[slot] = tracker.look_at, rank
        seen = look.seen()
        self.stacks.mean[slot], self.stacks.axes[slot, :rank] = seen.mean, seen.axes
        aligned, moves = _scatter(tracker).axes, _scatter(tracker).lags.moves
        if self.stacks.moves_totals[slot, 0] > 0:  # a look turns them with the axes
            self.stacks.take_moves(slot, moves)
        self.stacks.axes_before[slot, : len(aligned)], self.stacks.n_axes[slot] = aligned, len(aligned)
        self.stacks.factors[slot, :rank] = SCORES[self.how](look.kept, look.decision.threshold)

    def _bind(self, slot: int) -> None:
        tracker = self.trackers[slot]
        if tracker is not None:
            tracker.blocks.waiting.rows, _scatter(tracker).C = self.stacks.waiting[slot], self.stacks.C[slot]

    def _grow(self) -> None:
        """Twice as many slots."""
        before, stacks = len(self.trackers), self.stacks
        slots = max(2 * before, 16)
        self.stacks = Stacks.of(self.plan, slots)
        self.stacks.take_over(stacks)
        self._free += range(slots - 1, before - 1, -1)
        self.trackers += [None] * (slots - before)
        for slot in range(before):
            self._bind(slot)


def _scatter(tracker: Tracker) -> Scatter:
    assert isinstance(tracker.learner, Scatter)
    return tracker.learner
