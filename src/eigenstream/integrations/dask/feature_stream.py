"""The driver's side of a model whose features are cut into shards: what happens when, and where.

It does what `tracking.Tracker` does, at the same sample counts: blocks start at multiples of the block size,
rows of an unfinished one wait, and looks decide about threshold and rank. All it holds of the features are
futures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import dask.array as da
import numpy as np
from distributed import Client, Future, wait

from ...learners.knowledge import Knowledge, Profile
from ...model.events import RankChange
from ...model.history import History
from ...model.looks import evidence_of, kept_first, spectrum_of
from ...model.pace import EvenPace
from ...model.plan import Plan
from ...model.reading import Reading
from ...rank import ParallelAnalysis, Rule
from ...rank.decision import Decision, decide
from . import shard as worker
from .trees import few


class Rows(NamedTuple):
    """Rows in the memory of the workers, from ``start`` on: one array per shard."""

    pieces: Sequence[Future]
    start: int
    stop: int


class Known(NamedTuple):
    """Futures of what is known: what needs no features, and each shard."""

    lead: Future
    shards: Sequence[Future]


@dataclass
class FeatureStream:
    """A model on a stream of rows whose features are spread over workers.

    Parameters
    ----------
    plan
        What is asked of the model.
    widths
        How many columns each shard has.
    client
        The cluster. Shard s stays with worker s, as long as that lives.
    """

    plan: Plan
    widths: tuple[int, ...]
    client: Client
    known: Known = field(init=False)
    learnt: int = 0
    """Rows of finished blocks."""
    time: int = 0
    """Rows that looks have seen."""
    waiting: list[Rows] = field(default_factory=list)
    look_at: int = field(init=False)
    aligned: int | None = None
    """Rank of the last look, for the next block; None: there has been a block since."""
    decision: Decision = field(init=False)
    history: History = field(init=False)
    changes: list[RankChange] = field(default_factory=list)

    def __post_init__(self) -> None:
        plan = self.plan
        self.addresses = self._workers()
        self.look_at = plan.next_look(0, plan.window)
        self.decision = Decision(0.0 if isinstance(plan.alpha, Rule) else plan.alpha, 0.0, 0)
        self.history = History(plan.k)
        self.known = self._nothing()

    def copy(self) -> Self:
        """The same stream; what the copy learns, this one does not."""
        twin = copy(self)
        twin.waiting, twin.changes = list(self.waiting), list(self.changes)
        twin.history = deepcopy(self.history)
        return twin

    def follow(self, X: da.Array) -> None:
        """Learn from rows in order; at most one chunk of rows at a time is in memory."""
        self._replace_lost_workers()
        for rows in self._chunks(X):
            self.waiting.append(rows)
            while self._is_due():
                self._advance()
            wait(self.known.shards)
        self._tidy()

    def pin(self) -> None:
        """Put everything that is known back where it is, as data without a history; a shard at a time."""
        lead, shards = self.known
        turned = [self._at(s, worker.turned, shard, lead) for s, shard in enumerate(shards)]
        kept = [self._pinned(s, future.result()) for s, future in enumerate(turned)]
        self.known = Known(self._pinned(0, lead.result()._replace(P=None)), kept)
        self.waiting = [
            rows._replace(pieces=[self._pinned(s, piece.result()) for s, piece in enumerate(rows.pieces)])
            for rows in self.waiting
        ]

    @property
    def queued(self) -> int:
        """Rows that wait for their block."""
        return sum(rows.stop - rows.start for rows in self.waiting)

    @property
    def n_samples(self) -> int:
        return self.learnt + self.queued

    def reading(self) -> Reading:
        """Reading of everything learnt so far, waiting rows too: axes and mean in shards."""
        known, plan = self._caught_up(self.queued), self.plan
        knowledge = self._knowledge(known)
        decision = self._decided(knowledge, known, self.n_samples)
        variances = knowledge.lam / knowledge.effective
        order = kept_first(variances[: plan.k], decision.threshold)
        axes = [
            self._at(s, worker.axes_of, shard, known.lead, order.tolist())
            for s, shard in enumerate(known.shards)
        ]
        means = [self._at(s, worker.mean_of, shard) for s, shard in enumerate(known.shards)]
        return Reading(
            da.concatenate([self._array(one, (n,)) for one, n in zip(means, self.widths, strict=True)]),
            da.concatenate(
                [self._array(one, (len(order), n)) for one, n in zip(axes, self.widths, strict=True)], axis=1
            ),
            variances[order],
            min(decision.rank, len(order)),
            decision.threshold,
            decision.alpha,
            knowledge.trace / knowledge.effective,
            knowledge.effective,
        )

    def _is_due(self) -> bool:
        return self.n_samples >= min(self.look_at, self.learnt + self.plan.block)

    def _advance(self) -> None:
        """Go on to the next block's end or look."""
        end = self.learnt + self.plan.block
        self.time = min(self.look_at, end)
        if self.time == end:
            first = not self.learnt
            self.known = self._stepped(self.known, self.plan.block, first=first)
            self._drop(self.plan.block)
            self.learnt, self.aligned = end, None
        if self.time == self.look_at:
            self._look()

    def _look(self) -> None:
        """Decide about threshold and rank, and note what has changed."""
        known, plan = self._caught_up(self.time - self.learnt), self.plan
        knowledge = self._knowledge(known)
        before, self.decision = self.decision.rank, self._decided(knowledge, known, self.time)
        rank, threshold = self.decision.rank, self.decision.threshold
        self.aligned = rank if self.learnt else None
        self.history.note(self.time, spectrum_of(knowledge, plan, rank), threshold, rank)
        self.look_at = plan.next_look(self.time, plan.window)
        if rank != before:
            self.changes.append(RankChange(self.time, before, rank))

    def _decided(self, knowledge: Knowledge, known: Known, time: int) -> Decision:
        plan = self.plan
        varying = max(known.lead.result().varying, 1)
        evidence = evidence_of(knowledge, plan, varying, time, EvenPace(), self.decision.threshold)
        return decide(plan.kind, plan.alpha, evidence, self.decision)

    def _knowledge(self, known: Known) -> Knowledge:
        """Evidence in what is known. Only parallel analysis needs a number per feature, others a sample."""
        lead = known.lead.result()
        inputs, profile = None, None
        if isinstance(self.plan.alpha, ParallelAnalysis):
            inputs = np.concatenate(self._from_each(known, worker.input_sums_of))
        elif isinstance(self.plan.alpha, Rule):
            parts = self._from_each(known, worker.profile_of, known.lead, self.plan)
            profile = Profile(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))
        lam, count = lead.core.lam, lead.core.count
        none = np.zeros((len(lam), 0))
        return Knowledge(lam, none, count, lead.trace, np.zeros(0), inputs, profile=profile)

    def _from_each(self, known: Known, what: Callable[..., Any], *more: Any) -> list[Any]:
        """Results of each shard, fetched."""
        said = [self._at(s, what, shard, *more) for s, shard in enumerate(known.shards)]
        return list(self.client.gather(said))

    def _caught_up(self, rows: int) -> Known:
        """Knowledge with this many of the waiting rows learnt; the state is left as it is."""
        if not rows:
            return self.known
        # Before the first block so few rows are known exactly by their own directions, as in a tracker.
        known = self.known if self.learnt else self._nothing(exact=True)
        return self._stepped(known, rows, first=not self.learnt)

    def _nothing(self, *, exact: bool = False) -> Known:
        plan = self.plan
        lead = self.client.submit(_no_lead, plan, exact, pure=False)
        shards = [self._at(s, worker.nothing, plan, n, exact=exact) for s, n in enumerate(self.widths)]
        return Known(lead, shards)

    def _stepped(self, known: Known, b: int, *, first: bool) -> Known:
        """The state after the next b waiting rows: one sum over all shards."""
        plan, shards = self.plan, []
        pieces, bounds = self._first(b)
        for s, shard in enumerate(known.shards):
            own = [piece[s] for piece in pieces]
            shards.append(self._at(s, worker.entered, shard, known.lead, own, bounds, plan))
        each = [self._at(s, worker.part_of, shard, b, plan) for s, shard in enumerate(shards)]
        parts = few(each, lambda some: self.client.submit(worker.added, *some, pure=False))
        lead = self.client.submit(worker.led, known.lead, parts, b, plan, self.aligned, pure=False)
        if first:
            entries = [self._at(s, worker.largest, shard, lead) for s, shard in enumerate(shards)]
            lead = self.client.submit(worker.signed, lead, *entries, pure=False)
        return Known(lead, shards)

    def _first(self, b: int) -> tuple[list[Sequence[Future]], list[tuple[int, int]]]:
        """Places of the next b waiting rows: chunks, and first and last row in each."""
        pieces, bounds = [], []
        for rows in self.waiting:
            stop = min(rows.stop, rows.start + b)
            if b > 0:
                pieces.append(rows.pieces)
                bounds.append((rows.start, stop))
            b -= stop - rows.start
        return pieces, bounds

    def _drop(self, b: int) -> None:
        """Forget the next b waiting rows."""
        left = []
        for rows in self.waiting:
            gone = min(b, rows.stop - rows.start)
            b -= gone
            if rows.start + gone < rows.stop:
                left.append(rows._replace(start=rows.start + gone))
        self.waiting = left

    def _tidy(self) -> None:
        """Let go of chunks: keep only those of their rows that wait."""
        number = self.queued
        if not number:
            return
        pieces, bounds = self._first(number)
        kept = [
            self._at(s, worker.rows_of, [piece[s] for piece in pieces], bounds, self.plan.dtype)
            for s in range(len(self.widths))
        ]
        wait(kept)
        self.waiting = [Rows(kept, 0, number)]

    def _chunks(self, X: da.Array) -> Iterator[Rows]:
        X = X.rechunk({1: self.widths})
        for i, number in enumerate(X.chunks[0]):
            pieces = [
                self.client.compute(X.blocks[i, s].to_delayed().item(), **self._where(s))
                for s in range(len(self.widths))
            ]
            yield Rows(pieces, 0, number)

    def _at(self, s: int, function: Callable[..., Any], *given: Any, **more: Any) -> Future:
        """Call a function where shard s is."""
        return self.client.submit(function, *given, pure=False, **self._where(s), **more)

    def _pinned(self, s: int, value: Any) -> Future:
        return self.client.scatter(value, workers=self._where(s).get("workers"), hash=False)

    def _where(self, s: int) -> dict[str, Any]:
        if not self.addresses:
            return {}  # where the first worker will be
        return {"workers": [self.addresses[s % len(self.addresses)]], "allow_other_workers": True}

    def _workers(self) -> list[str]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"])

    def _replace_lost_workers(self) -> None:
        """Shards stay where they are; those of workers that are gone go to new ones."""
        alive = self._workers()
        new = [address for address in alive if address not in self.addresses]
        kept = [address if address in alive else new.pop(0) if new else None for address in self.addresses]
        self.addresses = [address for address in kept if address] or alive

    def _array(self, future: Future, shape: tuple[int, ...]) -> da.Array:
        return da.from_delayed(future, shape, dtype=np.float64)


def _no_lead(plan: Plan, exact: bool) -> worker.Lead:
    return worker.Lead(worker.subspace(plan, 0, exact=exact))
