"""The stored form of a monitor, beside that of its tracker; checked when read."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners.stored import stored_array
from ..model import Tracker
from ..model.stored_form import whole
from .events import REMEMBERED, Alarm
from .history import WIDTH, Stretches
from .limits import Limits, Tail
from .monitor import Monitor
from .reference import STATISTICS, Reference
from .settings import MonitorSettings
from .verdicts import Counts

Arrays = Mapping[str, NDArray[Any]]
REFERENCES = ("reference", "origin")


def stored(monitor: Monitor) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and document from which `restored` makes the same monitor of the same tracker."""
    limits, watch, plan = monitor.limits, monitor.watch, monitor.tracker.plan
    statistics = len(STATISTICS)
    arrays: dict[str, NDArray[Any]] = {
        "tail": limits.tail.counts,
        "limits": np.array([limits.theory, limits.factors, limits.edges]),
        "told": limits.told,
        "together": limits.together,
        "pending": np.concatenate([np.zeros((0, statistics)), *monitor.pending]),
        "held": np.reshape(watch.held, (-1, statistics + 1)),
        "history": monitor.stretches.table,
        "recent": np.array(list(monitor.recent), plan.dtype).reshape(-1, plan.width),
    }
    document: dict[str, Any] = {
        "settings": asdict(monitor.settings),
        "frozen": monitor.frozen,
        "counts": asdict(monitor.counts),
        "renewals": [monitor.renew_at, monitor.soonest, monitor.looked],
        "correct_at": monitor.correct_at,
        "counted": monitor.counted,
        "stretch": monitor.stretches.length,
        "allowance": [watch.allowance.left, watch.allowance.at],
        "hits": list(watch.hits),
        "past": [asdict(alarm) for alarm in watch.past],
        "on": None if watch.on is None else asdict(watch.on),
    }
    for name in REFERENCES:
        reference: Reference | None = getattr(monitor, name)
        document[name] = None
        if reference is not None:
            document[name] = [reference.rank, reference.rest, reference.effective]
            arrays |= {f"{name}.{part}": getattr(reference, part) for part in ("mean", "axes", "variances")}
            if reference.scale is not None:
                arrays[f"{name}.scale"] = reference.scale
    return {f"monitor.{name}": array for name, array in arrays.items()}, document


def restored(arrays: Arrays, document: Mapping[str, Any], tracker: Tracker, names: list[str]) -> Monitor:
    """The monitor that `stored` wrote; a ValueError, KeyError or TypeError where it cannot be one."""
    prefix = "monitor."
    arrays = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    written = document["settings"]
    settings = MonitorSettings(**written)
    monitor = Monitor(tracker, settings, names, bool(document["frozen"]))
    monitor.counts = Counts(**{name: whole(document["counts"], name) for name in asdict(Counts())})
    monitor.correct_at = whole(document, "correct_at")
    monitor.renew_at, monitor.soonest, monitor.looked = map(index, document["renewals"])
    monitor.counted = whole(document, "counted")
    for name in REFERENCES:
        setattr(monitor, name, _restored_reference(arrays, name, document[name], tracker.plan.n))
    _restore_limits(monitor.limits, arrays, monitor.reference)
    pending = stored_array(arrays, "pending", (None, len(STATISTICS)), gaps=True)
    monitor.pending = [pending] if len(pending) else []
    recent = stored_array(arrays, "recent", (None, tracker.plan.width), tracker.plan.dtype, gaps=True)
    monitor.recent.extend(recent)
    # Not `stored_array`: limits are infinite where there is none.
    table = np.array(arrays["history"], dtype=np.float64).reshape(-1, WIDTH)
    monitor.stretches = Stretches(max(whole(document, "stretch"), 1), table)
    rows = np.append(table[:, 0], monitor.counts.came)
    if (rows[:-1] % monitor.stretches.length).any() or not (np.diff(rows, prepend=-1) > 0).all():
        raise ValueError("its control charts are damaged: their rows must ascend in steps of a stretch")
    _restore_watch(monitor, arrays, document)
    if monitor.rows_until_due(fills=False) < 1:
        raise ValueError("its counts are damaged: a correction or a look is due before its last row")
    return monitor


def _restore_limits(limits: Limits, arrays: Arrays, reference: Reference | None) -> None:
    limits.tail = Tail(stored_array(arrays, "tail", limits.tail.counts.shape, least=0.0))
    if reference is not None:
        limits.refer(reference)
    _, limits.factors, limits.edges = np.array(arrays["limits"], dtype=np.float64).reshape(3, len(STATISTICS))
    if not ((limits.factors > 0) & np.isfinite(limits.factors) & (limits.edges >= 0)).all():
        raise ValueError("its limits are damaged: factors must be finite and above 0")
    limits.told = stored_array(arrays, "told", (len(STATISTICS),), np.bool_)
    limits.together = stored_array(arrays, "together", (2,), least=0.0)


def _restore_watch(monitor: Monitor, arrays: Arrays, document: Mapping[str, Any]) -> None:
    watch = monitor.watch
    watch.held = list(stored_array(arrays, "held", (None, len(STATISTICS) + 1), gaps=True))
    watch.hits.extend(map(int, document["hits"]))
    left, at = document["allowance"]
    watch.allowance.left, watch.allowance.at = float(left), int(at)
    watch.past = deque(map(_restored_alarm, document["past"]), REMEMBERED)
    if document["on"] is not None:
        watch.on = _restored_alarm(document["on"])
        if watch.past and watch.past[-1].began == watch.on.began:
            watch.past[-1] = watch.on  # one alarm, which goes on in both places


def _restored_alarm(written: Mapping[str, Any]) -> Alarm:
    contributors = tuple((str(name), float(share)) for name, share in written["contributors"])
    return Alarm(**{**written, "contributors": contributors})


def _restored_reference(arrays: Arrays, name: str, written: Any, n: int) -> Reference | None:
    if written is None:
        return None
    rank, rest, effective = written
    axes = stored_array(arrays, f"{name}.axes", (None, n))
    scale = stored_array(arrays, f"{name}.scale", (n,), least=0.0) if f"{name}.scale" in arrays else None
    variances = stored_array(arrays, f"{name}.variances", (len(axes),), least=0.0)
    if not 0 <= int(rank) <= len(axes) or not effective > 0 or not rest >= 0:
        raise ValueError(f"the {name} that rows are judged by has rank {rank} of {len(axes)} axes")
    if not (variances[: int(rank)] > 0).all():
        raise ValueError(f"the {name} that rows are judged by keeps axes without variance")
    mean = stored_array(arrays, f"{name}.mean", (n,))
    return Reference(mean, scale, axes, variances, int(rank), float(rest), float(effective))
