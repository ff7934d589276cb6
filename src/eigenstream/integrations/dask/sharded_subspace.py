"""The subspace learner with its features in shards, and rows as it takes them.

All that is held here of the features are futures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import dask
import dask.array as da
import numpy as np
from distributed import Client, Future, wait
from numpy.typing import NDArray

from ...learners.knowledge import Knowledge, Profile, Vector
from ...learners.learner import Seen, Steps
from ...learners.marks import Marked
from ...model.plan import Plan
from ...rank import ParallelAnalysis, Rule
from . import shard as worker
from .partitions import few

APART = (
    "a model with its features in shards is not saved or merged: all of it would have to come to one place; "
    "use eigenstream.integrations.dask.fit_partitions where rows fit a worker"
)


class Stretch(NamedTuple):
    """Rows of a chunk from ``start`` to ``stop``: one array per shard, in the memory of the workers."""

    pieces: Sequence[Future]
    start: int
    stop: int


class ShardedRows:
    """Rows in the memory of workers, with the operations that a tracker asks of rows.

    Parameters
    ----------
    dtype
        Their type.
    stretches
        Where they lie, in order.
    """

    device = "workers"
    """The place of the rows: not the host."""

    def __init__(self, dtype: Any, stretches: Sequence[Stretch] = ()) -> None:
        self.dtype = np.dtype(dtype)
        self.stretches = tuple(stretches)

    def __len__(self) -> int:
        return sum(stretch.stop - stretch.start for stretch in self.stretches)

    def __getitem__(self, rows: slice) -> ShardedRows:
        first, last, _ = rows.indices(len(self))
        found = []
        for pieces, start, stop in self.stretches:
            part = range(start, stop)[max(first, 0) : max(last, 0)]
            if part:
                found.append(Stretch(pieces, part.start, part.stop))
            first, last = first - (stop - start), last - (stop - start)
        return ShardedRows(self.dtype, found)

    def __setitem__(self, place: slice, rows: ShardedRows) -> None:
        """Put rows at a place; what was there and behind it goes."""
        self.stretches = (*self[: place.start or 0].stretches, *rows.stretches)

    def copy(self) -> ShardedRows:
        return self[:]

    def of_shard(self, s: int) -> list[Future]:
        """The arrays of one shard that the rows lie in, in the order of `bounds`."""
        return [stretch.pieces[s] for stretch in self.stretches]

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """First row and end of the rows in each of these arrays."""
        return [(stretch.start, stretch.stop) for stretch in self.stretches]


class ShardedSubspace(Marked):
    """A `Subspace` whose columns stay with workers; a tracker drives it with `ShardedRows`.

    Nothing is changed in place: a mark, or a copy, holds the futures of before.

    Parameters
    ----------
    plan
        The task.
    widths
        Number of columns in each shard.
    client
        The cluster. Shard s stays with worker s, as long as that lives.
    """

    LEARNT = ("shards", "lead", "started", "aligned", "room")

    def __init__(self, plan: Plan, widths: tuple[int, ...], client: Client) -> None:
        self.plan, self.widths, self.client, self.block = plan, widths, client, plan.block
        self.addresses = self._workers()
        self.lead: Future = self._anywhere(_no_lead, plan)
        """The part of the state that needs no features, a `worker.Lead`."""
        self.shards = [self._at(s, worker.nothing, plan, n) for s, n in enumerate(widths)]
        self.started = False
        self.aligned: int | None = None
        """Rank of the last look, for the next block; None: there has been a block since."""
        self.room = ShardedRows(plan.dtype)
        """Room for the rows that wait for their block."""
        self._fetched: tuple[str, worker.Lead] | None = None
        """Key and value of the last lead that came to this process."""

    def learn(self, rows: Any, steps: Steps, lacking: Any = None) -> None:
        plan, b, bounds = self.plan, len(rows), rows.bounds
        if lacking is not None or not _is_even(steps, plan.beta2):
            raise ValueError(
                "a model with its features in shards takes complete rows of weight 1 at an even pace"
            )
        shards = [
            self._at(s, worker.entered, shard, self.lead, rows.of_shard(s), bounds, plan)
            for s, shard in enumerate(self.shards)
        ]
        parts = few(
            self._at_each(worker.part_of, shards, b, plan),
            lambda some: self._anywhere(worker.added, *some),
        )
        lead = self._anywhere(worker.led, self.lead, parts, b, plan, self.aligned)
        if not self.started:
            entries = self._at_each(worker.largest, shards, lead)
            lead = self._anywhere(worker.signed, lead, *entries)
        self.lead, self.shards, self.started, self.aligned = lead, shards, True, None
        self.room = ShardedRows(plan.dtype)

    def known(self, *, axes: bool = True) -> Knowledge:
        """As of any learner. Of the features, only parallel analysis needs a number each, others a sample."""
        lead, inputs, profile = self._lead(), None, None
        if isinstance(self.plan.alpha, ParallelAnalysis):
            inputs = np.concatenate(self._from_each(worker.input_sums_of))
        elif isinstance(self.plan.alpha, Rule):
            parts = self._from_each(worker.profile_of, self.lead, self.plan)
            profile = Profile(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))
        lam, count, varying = lead.core.lam, lead.core.count, max(lead.varying, 1)
        U, mean = np.zeros((len(lam), 0)), np.zeros(0)
        if axes:
            U, mean = self._in_shards(worker.axes_of, (len(lam),), self.lead), self._in_shards(worker.mean_of)
        return Knowledge(
            *(lam, U, count, lead.trace, mean, inputs),
            profile=profile,
            n_inputs=varying,
            lags=lead.core.lags,
        )

    def align(self, rank: int, alpha: float) -> Vector:
        self.aligned = rank
        return self._lead().core.lam[:rank]

    def seen(self, rank: int) -> Seen:
        known = self.known()
        return Seen(known.mean, known.U[:rank])

    def restart(self, known: Knowledge, time: int, alpha: float) -> None:
        raise NotImplementedError(APART)

    def copy(self) -> Self:
        return copy(self)

    def arrays(self) -> dict[str, NDArray[Any]]:
        raise NotImplementedError(APART)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        raise NotImplementedError(APART)

    def chunks(self, X: da.Array) -> Iterator[ShardedRows]:
        """The rows of an array, a chunk at a time in the memory of workers; once it is learnt, the next."""
        self._replace_lost_workers()
        X = X.rechunk({1: self.widths})
        for i, number in enumerate(X.chunks[0]):
            pieces = [
                self.client.compute(X.blocks[i, s].to_delayed().item(), **self._where(s))
                for s in range(len(self.widths))
            ]
            yield ShardedRows(self.plan.dtype, [Stretch(pieces, 0, number)])
            wait(self.shards)
        self._lead()  # raises what a worker has raised
        self._tidy()

    def _tidy(self) -> None:
        """Let go of chunks: keep only those of their rows that wait."""
        room, number = self.room, len(self.room)
        if number:
            kept = [
                self._at(s, worker.rows_of, room.of_shard(s), room.bounds, self.plan.dtype)
                for s in range(len(self.widths))
            ]
            wait(kept)
            for future in kept:
                if future.status == "error":
                    future.result()  # raises
            room[:] = ShardedRows(room.dtype, [Stretch(kept, 0, number)])

    def pin(self) -> None:
        """Put everything that is known back where it is, as data without a history; a shard at a time."""
        turned = self._at_each(worker.turned, self.shards, self.lead)
        shards = [self._pinned(s, future.result()) for s, future in enumerate(turned)]
        self.lead, self.shards = self._pinned(0, self._lead()._replace(P=None)), shards
        pinned = [
            stretch._replace(
                pieces=[self._pinned(s, piece.result()) for s, piece in enumerate(stretch.pieces)]
            )
            for stretch in self.room.stretches
        ]
        self.room[:] = ShardedRows(self.room.dtype, pinned)

    def _lead(self) -> worker.Lead:
        """The lead, fetched once."""
        if self._fetched is None or self._fetched[0] != self.lead.key:
            self._fetched = self.lead.key, self.lead.result()
        return self._fetched[1]

    def _in_shards(self, function: Callable[..., Any], shape: tuple[int, ...] = (), *more: Any) -> Any:
        """Results of each shard side by side, as a Dask array: nothing is computed yet."""
        parts = [
            da.from_delayed(dask.delayed(function)(shard, *more), (*shape, n), dtype=np.float64)
            for shard, n in zip(self.shards, self.widths, strict=True)
        ]
        return da.concatenate(parts, axis=-1)

    def _at_each(self, function: Callable[..., Any], shards: Sequence[Future], *more: Any) -> list[Future]:
        """Call a function of each shard where that is."""
        return [self._at(s, function, shard, *more) for s, shard in enumerate(shards)]

    def _from_each(self, function: Callable[..., Any], *more: Any) -> list[Any]:
        """Results of each shard, fetched."""
        return list(self.client.gather(self._at_each(function, self.shards, *more)))

    def _at(self, s: int, function: Callable[..., Any], *given: Any) -> Future:
        """Call a function where shard s is."""
        return self.client.submit(function, *given, pure=False, **self._where(s))

    def _anywhere(self, function: Callable[..., Any], *given: Any) -> Future:
        return self.client.submit(function, *given, pure=False)

    def _pinned(self, s: int, value: Any) -> Future:
        return self.client.scatter(value, workers=self._where(s).get("workers"), hash=False)

    def _where(self, s: int) -> dict[str, Any]:
        if not self.addresses:
            return {}  # where the first worker will be
        return {"workers": [self.addresses[s % len(self.addresses)]], "allow_other_workers": True}

    def _workers(self) -> list[str]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"])

    def _replace_lost_workers(self) -> None:
        """Leave shards where they are; those of workers that are gone go to new ones."""
        alive = self._workers()
        new = [address for address in alive if address not in self.addresses]
        kept = [address if address in alive else new.pop(0) if new else None for address in self.addresses]
        self.addresses = [address for address in kept if address] or alive


def _no_lead(plan: Plan) -> worker.Lead:
    return worker.Lead(worker.subspace(plan, 0))


def _is_even(steps: Steps, discount: float) -> bool:
    """True for rows of weight 1 at an even pace, nothing filled in."""
    return bool((steps.weight == 1).all() and (steps.discount == discount).all() and not steps.extra.any())
