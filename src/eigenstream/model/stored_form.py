"""The stored form of a tracker: named arrays and a document of plain values, checked when read."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import fields, replace
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners.arrays import host
from ..learners.learner import Steps
from ..learners.stored import LARGEST, LARGEST_VALUE, stored_array
from ..rank import Rule, rule_of
from ..rank.decision import Decision, Memory
from ..rank.standing import Last, Standing
from ..regularizers import REGULARIZERS
from .events import RankChange, Tally
from .history import BESIDE, LIMIT, History
from .outliers import Usual
from .pace import EvenPace, StreamClock
from .parameters import LARGEST_WEIGHT
from .plan import BLOCK, DEVICE_BLOCK, LEARNERS, Plan
from .reading import Reading
from .tracker import CHANGES, Tracker

Arrays = Mapping[str, NDArray[Any]]


def stored(tracker: Tracker) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and document from which `restored` makes the same tracker."""
    look, blocks = tracker.last_look, tracker.blocks
    waiting, steps = blocks.waiting.first(blocks.waiting.number)
    arrays = {
        "waiting": host(waiting),
        "waiting_steps": np.array(_columns(steps)),
        "first": host(blocks.inputs.first),
        "varies": host(blocks.inputs.varies),
        "unseen": blocks.unseen,
        "kept": look.kept,
        "history": np.array(tracker.history.moments).reshape(-1, BESIDE + tracker.plan.k),
    }
    if look.early is not None:
        names = ("mean", "axes", "variances", "scale")
        early = {f"early.{name}": getattr(look.early, name) for name in names}
        arrays |= {name: host(array) for name, array in early.items() if array is not None}
    if tracker.recent is not None:
        arrays["recent"] = tracker.recent
    if blocks.time is not None:
        arrays |= {f"time.{name}": array for name, array in blocks.time.arrays().items()}
    arrays |= {f"learner.{name}": array for name, array in tracker.learner.arrays().items()}
    plan = values_of(tracker.plan)
    alpha = tracker.plan.alpha
    plan |= {
        "kind": tracker.plan.kind.name,
        "alpha": str(alpha) if isinstance(alpha, Rule) else alpha,
        "dtype": np.dtype(tracker.plan.dtype).name,
    }
    document = {
        "plan": plan,
        "time": tracker.time,
        "look_at": tracker.look_at,
        "decision": [*tracker.decision[:3], [float(number) for number in tracker.decision.memory]],
        "standing": _written_standing(tracker.decision.standing),
        "changes": [list(change) for change in tracker.changes],
        "stride": tracker.history.stride,
        "tally": values_of(tracker.tally),
        "rest": look.rest,
        "usual": list(blocks.usual),
        "has_gaps": blocks.has_gaps,
        "idle": blocks.idle,
        "in_time": blocks.time is not None,
        "clock": [tracker.clock.latest, tracker.clock.learnt, *tracker.clock.pace],
        "early": look.early and [look.early.total_variance, look.early.count],
    }
    return arrays, document


def values_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass by name; unlike `dataclasses.asdict` it copies none of them."""
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def restored(arrays: Arrays, document: Mapping[str, Any]) -> Tracker:
    """The tracker that `stored` wrote; a ValueError, KeyError or TypeError where it cannot be one."""
    plan = _restored_plan(document["plan"], arrays)
    tracker = Tracker(plan)
    look, blocks = tracker.last_look, tracker.blocks
    tracker.time = whole(document, "time")
    tracker.look_at = whole(document, "look_at", least=tracker.time + 1)
    decision = _restored_decision(document["decision"], plan.k)
    look.decision = decision._replace(standing=_restored_standing(document["standing"]))
    look.kept = stored_array(arrays, "kept", (look.decision.rank,), least=0.0)
    look.rest = _real("rest", document["rest"])
    blocks.usual = Usual(*(_real("usual distance", number) for number in document["usual"]))
    changes = (RankChange(*map(index, change)) for change in document["changes"])
    tracker.changes = deque(changes, CHANGES)
    tally = {field.name: whole(document["tally"], field.name) for field in fields(Tally)}
    blocks.tally, blocks.has_gaps = Tally(**tally), bool(document["has_gaps"])
    largest = LARGEST_VALUE[plan.dtype]
    first = stored_array(arrays, "first", (plan.n,), plan.dtype, most=largest, gaps=True)
    blocks.inputs.set(first, stored_array(arrays, "varies", (plan.n,), np.bool_))
    blocks.unseen, blocks.idle = stored_array(arrays, "unseen", (plan.n,), np.bool_), whole(document, "idle")
    if "recent" in arrays:
        shape = plan.lags, plan.width
        tracker.recent = stored_array(arrays, "recent", shape, plan.dtype, most=largest, gaps=True)
    tracker.clock = _restored_clock(document["clock"])
    tracker.history = _restored_history(arrays, document, plan)
    tracker.learner.restore(_part(arrays, "learner."))
    if document["in_time"]:
        if tracker.learner.block == 1:
            raise ValueError("its network follows the past of inputs, which no network does")
        blocks.begin_time().restore(_part(arrays, "time."))
    if not (np.abs(tracker.learner.seen(0).mean) < largest).all():
        raise ValueError(f"its mean is beyond what rows of {document['plan']['dtype']} can have")
    _restore_waiting(tracker, arrays)
    if document["early"] is not None:
        look.early = _restored_first_look(tracker, arrays, document["early"])
    return tracker


def _part(arrays: Arrays, prefix: str) -> dict[str, NDArray[Any]]:
    """Arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _restored_first_look(tracker: Tracker, arrays: Arrays, totals: Any) -> Reading:
    n, decision = tracker.plan.n, tracker.decision
    axes = stored_array(arrays, "early.axes", (None, n))
    variances = stored_array(arrays, "early.variances", (len(axes),), least=0.0)
    mean = stored_array(arrays, "early.mean", (n,), most=LARGEST_VALUE[tracker.plan.dtype])
    if decision.rank > len(axes):
        raise ValueError(f"its rank is {decision.rank}, but it has {len(axes)} axes")
    scale = stored_array(arrays, "early.scale", (n,), least=0.0) if tracker.plan.standardize else None
    if scale is not None and not (scale > 0).all():
        raise ValueError("its first look has inputs of scale 0")
    total, count = (_real("first look", number) for number in totals)
    reading = Reading(mean, axes, variances, decision.rank, decision.threshold, decision.alpha, total, count)
    return replace(reading, scale=scale)


def _restored_clock(written: Any) -> StreamClock:
    latest, learnt, total, squares = written
    for stamp in (latest, learnt):
        if stamp is not None and not (isinstance(stamp, int | float) and math.isfinite(stamp)):
            raise ValueError(f"its last rows came at {stamp!r}")
    if learnt is not None and not (latest is not None and learnt <= latest):
        raise ValueError(f"its last row came at {latest!r}, but it has learnt one of {learnt!r}")
    return StreamClock(latest, learnt, EvenPace(_real("pace", total), _real("pace", squares)))


def _restored_decision(written: Any, capacity: int) -> Decision:
    alpha, threshold, rank, (samples, since, doubt, asked) = written
    sign = -1.0 if doubt < 0 else 1.0
    samples, since, asked = _real("samples", samples), _real("since", since), _real("asked", asked)
    memory = Memory(samples, since, sign * _real("doubt", abs(doubt)), asked)
    decision = Decision(_real("alpha", alpha), _real("threshold", threshold), index(rank), memory)
    if not 0 <= decision.rank <= capacity:
        raise ValueError(f"its rank is {rank}, expected at least 0 and at most {capacity}")
    if not memory.asked <= capacity:
        raise ValueError(f"the rank asked for is {asked}, expected at least 0 and at most {capacity}")
    return decision


def _written_standing(standing: Standing) -> list[Any]:
    *parts, last = standing
    written = [list(part) if isinstance(part, tuple) else part for part in parts]
    return [*written, None if last is None else [*last[:-1], list(last.kept)]]


def _restored_standing(written: Any) -> Standing:
    *parts, noise, persistence, glances, room, spectrum, unit, margin, last = written
    lines, kept, tau, variances = (
        tuple(_real("line", line) for line in part) for part in (*parts, persistence, spectrum)
    )
    number = whole({"number of glances": glances}, "number of glances")
    if not (lines or not (kept or tau)) or (lines and len(kept) != len(lines) - 1):
        raise ValueError(f"its {len(lines)} lines and {len(kept)} components do not fit together")
    if last is not None:
        samples, rest, spread = (_real("moment", each) for each in last[:3])
        last = Last(samples, rest, spread, tuple(_real("moment", each) for each in last[3]))
        if not (last.rest > 0 and last.samples > 0 and len(last.kept) == len(kept)):
            raise ValueError("the moments of its last glance do not fit together")
    if variances and not (min(variances) > 0 and _real("unit", unit) > 0):
        raise ValueError("the variances of its last look at everything are not all positive")
    standing = Standing(lines, kept, _real("noise", noise), tau, number, _real("room", room), last=last)
    return standing._replace(spectrum=variances, unit=_real("unit", unit), margin=_real("margin", margin))


def _columns(steps: Steps) -> tuple[NDArray[np.float64], ...]:
    return steps.weight, steps.discount, steps.extra, steps.passed


def _restore_waiting(tracker: Tracker, arrays: Arrays) -> None:
    plan, block, waiting = tracker.plan, tracker.learner.block, tracker.blocks.waiting
    rows = stored_array(
        arrays,
        "waiting",
        (None, plan.n),
        plan.dtype,
        most=LARGEST_VALUE[plan.dtype],
        gaps=tracker.blocks.has_gaps,
    )
    weight, discount, extra, passed = stored_array(arrays, "waiting_steps", (4, len(rows)), least=0.0)
    if not ((weight <= LARGEST_WEIGHT) & (discount <= 1)).all():
        raise ValueError("rows that wait have weights or discounts that no row can have")
    if len(rows) != (tracker.time % block if block > 1 else 0):
        raise ValueError(f"{len(rows)} rows wait after {tracker.time} rows in blocks of {block}")
    waiting.write(rows, Steps(weight, discount, extra, passed))
    waiting.number = len(rows)


def _restored_plan(written: Mapping[str, Any], arrays: Arrays) -> Plan:
    """The plan, if its numbers make sense and the arrays are of its size."""
    expected = {field.name for field in fields(Plan)}
    if set(written) != expected:
        raise ValueError(f"its plan has the entries {sorted(written)}, expected {sorted(expected)}")
    if written["dtype"] not in ("float32", "float64") or not isinstance(written["center"], bool):
        raise ValueError(f"its numbers are of type {written['dtype']!r}, its center is {written['center']!r}")
    if written["longest_block"] not in (BLOCK, DEVICE_BLOCK):
        raise ValueError(f"its blocks have {written['longest_block']!r} rows")
    for name in ("cap_outliers", "standardize"):
        if not isinstance(written[name], bool):
            raise ValueError(f"its {name} is {written[name]!r}")
    if written["solver"] not in LEARNERS:
        raise ValueError(f"its solver is {written['solver']!r}")
    n, k = whole(written, "n", least=1), whole(written, "k", least=1)
    # Before anything of this size is made: a small file cannot ask for much memory.
    if arrays["first"].shape != (n,) or k > n:
        raise ValueError(f"its plan is for {n} inputs and {k} components")
    numbers: dict[str, Any] = {name: _real(name, written[name]) for name in ("beta", "spontaneous")}
    alpha, factor = written["alpha"], written["consolidation"]
    numbers["alpha"] = rule_of(alpha) if isinstance(alpha, str) else _real("alpha", alpha)
    numbers["consolidation"] = None if factor is None else _real("consolidation", factor)
    if not 0 < numbers["beta"] <= 1 or (numbers["consolidation"] or 2) <= 1:
        raise ValueError(f"its plan has beta {numbers['beta']} and consolidation {numbers['consolidation']}")
    if written["solver"] == "network" and (written["standardize"] or written["seconds"] is not None):
        raise ValueError("its network standardizes or forgets by the clock, which no network does")
    if written["seconds"] is not None and not _real("half-life", written["seconds"]) > 0:
        raise ValueError("its half-life is 0")
    numbers["lags"] = whole(written, "lags", most=n - 1)
    if n % (numbers["lags"] + 1):
        raise ValueError(f"its {n} inputs are not {numbers['lags'] + 1} times as many as those of a row")
    numbers["init_samples"] = whole(written, "init_samples", most=math.inf)
    numbers["seed"] = whole(written, "seed", most=2**63 - 1)
    kind, dtype = REGULARIZERS[written["kind"]], np.dtype(written["dtype"]).type
    return Plan(**{**written, **numbers, "kind": kind, "dtype": dtype})


def _restored_history(arrays: Arrays, document: Mapping[str, Any], plan: Plan) -> History:
    moments = stored_array(arrays, "history", (None, BESIDE + plan.k))
    if len(moments) > LIMIT:
        raise ValueError(f"its history has {len(moments)} moments, expected at most {LIMIT}")
    return History(plan.k, whole(document, "stride", least=1), list(moments))


# Far beyond what anybody counts, and far enough below what files and arrays hold that counting can go on.
MOST_COUNTED = 2**60
"""Largest count of a file."""


def whole(document: Mapping[str, Any], name: str, *, least: int = 0, most: float = MOST_COUNTED) -> int:
    """A whole number of the document, if it lies within its bounds."""
    number = index(document[name])
    if not least <= number <= most:
        raise ValueError(f"its {name} is {number}, expected at least {least} and at most {most}")
    return number


def _real(name: str, number: Any) -> float:
    """A number >= 0, if it is one."""
    if not isinstance(number, int | float) or not 0 <= number < LARGEST[np.float64]:
        raise ValueError(f"its {name} is {number!r}, expected a number >= 0")
    return float(number)
