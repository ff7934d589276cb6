"""The stored form of a monitor, beside that of its tracker; checked when read."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners.knowledge import Matrix
from ..learners.stored import stored_array
from ..model import Tracker
from ..model.stored_form import values_of, whole
from .anchor import Anchor
from .events import REMEMBERED, Alarm, Notice
from .history import WIDTH, Stretches
from .inputs import Inputs
from .likeness import Likeness
from .limits import Limits
from .monitor import Monitor
from .normals import MODES, Normal
from .reference import STATISTICS, Reference
from .settings import MonitorSettings
from .shared_limits import FleetEvidence
from .trail import TILE, Trail
from .verdicts import Counts

Arrays = Mapping[str, NDArray[Any]]


def stored(monitor: Monitor) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and document from which `restored` makes the same monitor of the same tracker."""
    watch, plan, anchor = monitor.watch, monitor.tracker.plan, monitor.anchor
    stretches = monitor.stretches.merged()
    arrays: dict[str, NDArray[Any]] = {
        "pending": np.concatenate([np.zeros((0, len(STATISTICS) + 1)), *monitor.pending]),
        "history": stretches.table,
        "recent": np.array(list(monitor.recent), plan.dtype).reshape(-1, plan.width),
        **_stored_limits("limits", monitor.limits),
        **{f"inputs.{name}": array for name, array in monitor.inputs.arrays().items()},
    }
    document: dict[str, Any] = {
        "settings": values_of(monitor.settings),
        "frozen": monitor.frozen,
        "counts": values_of(monitor.counts),
        "renewals": [monitor.renew_at, monitor.soonest, monitor.looked, monitor.renewed],
        "correct_at": monitor.correct_at,
        "corrected": monitor.corrected,
        "seen_by_anchor": None if anchor is None or math.isnan(anchor.seen) else anchor.seen,
        "usual_for_anchor": 1.0 if anchor is None else anchor.usual,
        "drifted": 0.0 if anchor is None else anchor.drifted,
        "counted": monitor.counted,
        "stretch": stretches.length,
        "line": [watch.line.above, watch.line.at],
        "density": [watch.density, watch.at, watch.held_from, watch.lately],
        "drift": [watch.anchored, watch.began_above, watch.anchored_at, watch.drifting, watch.drifting_at],
        "blamed_at": monitor.blaming.at,
        "known_to_blame": monitor.blaming.known,
        "blamed_first": monitor.blaming.told,
        "drift_began": None if watch.drift is None else watch.drift.began,
        "hits": list(watch.hits),
        "notices": [values_of(notice) for notice in monitor.notices],
        "past": [values_of(alarm) for alarm in watch.past],
        "on": None if watch.on is None else values_of(watch.on),
        "reference": _stored_reference("reference", monitor.reference, arrays),
        "modes": len(monitor.modes),
    }
    normals = {"anchor": None if anchor is None else anchor.normal} | {
        f"mode {i}": mode for i, mode in enumerate(monitor.modes)
    }
    for name, normal in normals.items():
        document[name] = _stored_reference(name, None if normal is None else normal.reference, arrays)
        if normal is not None:
            arrays |= _stored_limits(name, normal.limits)
    if monitor.likeness is not None:
        arrays |= _stored_likeness("now", monitor.likeness)
    if monitor.trail is not None:
        arrays |= {f"trail.{part}": array for part, array in monitor.trail._asdict().items()}
    if monitor.blaming.before is not None and monitor.blaming.rows is not None:
        arrays |= {"before": monitor.blaming.before, "blamed": monitor.blaming.rows}
    return {f"monitor.{name}": array for name, array in arrays.items()}, document


def _stored_reference(
    name: str, reference: Reference | None, arrays: dict[str, NDArray[Any]]
) -> list[float] | None:
    """Numbers of a reference; its arrays are put to the others."""
    if reference is None:
        return None
    arrays |= {f"{name}.{part}": getattr(reference, part) for part in ("mean", "axes", "variances", "growth")}
    arrays |= _stored_likeness(name, reference.likeness)
    if reference.scale is not None:
        arrays[f"{name}.scale"] = reference.scale
    return [reference.rank, reference.rest, reference.count]


def _stored_likeness(name: str, likeness: Likeness) -> dict[str, NDArray[Any]]:
    counted = np.array([likeness.counted])
    return {f"{name}.likeness": likeness.sums, f"{name}.reach": likeness.powers, f"{name}.alike": counted}


def _stored_limits(name: str, limits: Limits) -> dict[str, NDArray[Any]]:
    memory = limits.memory
    parts = {"sums": memory.sums, "pairs": memory.pairs, "last": memory.last}
    parts |= {
        "counts": limits.counts,
        "theory": limits.theory,
        "declared": np.array([limits.declared, limits.since]),
    }
    parts |= {"margin": np.array([limits.margin]), "based": limits.based}
    if limits.prior is not None:
        assert isinstance(limits.prior, FleetEvidence)
        parts |= {f"prior.{part}": array for part, array in limits.prior._asdict().items()}
    return {f"{name}.{part}": array for part, array in parts.items()}


def restored(arrays: Arrays, document: Mapping[str, Any], tracker: Tracker, names: list[str]) -> Monitor:
    """The monitor that `stored` wrote; a ValueError, KeyError or TypeError where it cannot be one."""
    prefix = "monitor."
    arrays = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    settings, n = MonitorSettings(**document["settings"]), tracker.plan.n
    monitor = Monitor(tracker, settings, names, bool(document["frozen"]))
    monitor.counts = Counts(**{name: whole(document["counts"], name) for name in values_of(Counts())})
    monitor.correct_at, monitor.corrected = whole(document, "correct_at"), whole(document, "corrected")
    monitor.renew_at, monitor.soonest, monitor.looked, monitor.renewed = map(index, document["renewals"])
    monitor.counted = whole(document, "counted")
    monitor.blaming.at = whole(document, "blamed_at")
    known = document.get("known_to_blame", {})  # files of earlier versions have none
    monitor.blaming.known = {str(name): int(row) for name, row in known.items()}
    monitor.blaming.told = str(document.get("blamed_first", ""))
    monitor.reference = _restored_reference(arrays, "reference", document["reference"], n)
    monitor.limits = _restored_limits(arrays, "limits", settings.false_alarm_rate)
    own = {
        name.removeprefix("inputs."): array for name, array in arrays.items() if name.startswith("inputs.")
    }
    monitor.inputs = Inputs.restored(own, tracker.plan.width, settings.false_alarm_rate)
    monitor.notices.extend(Notice(**notice) for notice in document["notices"])
    _restore_normals(monitor, arrays, document, n)
    _restore_trail(monitor, arrays)
    pending = stored_array(arrays, "pending", (None, len(STATISTICS) + 1), gaps=True)
    monitor.pending = [pending] if len(pending) else []
    recent = stored_array(arrays, "recent", (None, tracker.plan.width), tracker.plan.dtype, gaps=True)
    monitor.recent.extend(recent)
    # Not `stored_array`: limits are infinite where there is none.
    table = np.array(arrays["history"], dtype=np.float64).reshape(-1, WIDTH)
    monitor.stretches = Stretches(max(whole(document, "stretch"), 1), table)
    rows = np.append(table[:, 0], monitor.counts.came)
    if (
        not np.isfinite(rows).all()
        or (rows[:-1] % monitor.stretches.length).any()
        or not (np.diff(rows, prepend=-1) > 0).all()
    ):
        raise ValueError("its control charts are damaged: their rows must ascend in steps of a stretch")
    _restore_watch(monitor, document)
    if monitor.rows_until_due(fills=False) < 1:
        raise ValueError("its counts are damaged: a correction or a look is due before its last row")
    return monitor


def _restored_limits(arrays: Arrays, name: str, rate: float) -> Limits:
    declared = stored_array(arrays, f"{name}.declared", (2,), np.int64, least=0)
    limits = Limits(rate, int(declared[0]))
    limits.since = int(declared[1])
    limits.counts = stored_array(arrays, f"{name}.counts", limits.counts.shape, least=0.0)
    limits.theory = stored_array(arrays, f"{name}.theory", limits.theory.shape, least=1.0)
    limits.margin = float(stored_array(arrays, f"{name}.margin", (1,), least=0.0)[0])
    limits.based = stored_array(arrays, f"{name}.based", limits.based.shape, np.bool_)
    memory = limits.memory
    memory.sums = stored_array(arrays, f"{name}.sums", memory.sums.shape)
    memory.pairs = stored_array(arrays, f"{name}.pairs", memory.pairs.shape, least=0.0)
    memory.last = stored_array(arrays, f"{name}.last", memory.last.shape, gaps=True)
    if f"{name}.prior.counts" in arrays:
        shapes = {"counts": limits.counts.shape, "independent": limits.independent.shape}
        limits.prior = FleetEvidence(
            *(
                stored_array(arrays, f"{name}.prior.{part}", shape, least=0.0)
                for part, shape in shapes.items()
            )
        )
    limits.settle()
    return limits


def _restore_normals(monitor: Monitor, arrays: Arrays, document: Mapping[str, Any], n: int) -> None:
    number, rate = whole(document, "modes"), monitor.settings.false_alarm_rate
    if number > MODES:
        raise ValueError(f"it has {number} normals of before, expected at most {MODES}")
    found = []
    for name in ("anchor", *(f"mode {i}" for i in range(number))):
        reference = _restored_reference(arrays, name, document[name], n)
        if reference is not None:
            found.append(Normal(reference, _restored_limits(arrays, name, rate)))
    if document["anchor"] is not None:
        seen = document["seen_by_anchor"]
        usual, drifted = float(document["usual_for_anchor"]), float(document["drifted"])
        monitor.anchor = Anchor(found.pop(0), math.nan if seen is None else float(seen), usual, drifted)
    monitor.modes = tuple(found)


def _restore_trail(monitor: Monitor, arrays: Arrays) -> None:
    reference = monitor.reference
    if reference is None:
        return
    n = len(reference.mean)
    monitor.likeness = _restored_likeness(arrays, "now", reference.axes)
    if "before" in arrays:
        monitor.blaming.before = stored_array(arrays, "before", (n,))
        monitor.blaming.rows = stored_array(arrays, "blamed", (None, n))
    monitor.trail = _restored_trail(arrays, reference)


def _restored_trail(arrays: Arrays, reference: Reference) -> Trail | None:
    if "trail.start" not in arrays:
        return None
    width = reference.width
    shapes = [(None, width) if part == "open" else (width,) for part in Trail._fields]
    parts = zip(Trail._fields, shapes, strict=True)
    trail = Trail(*(stored_array(arrays, f"trail.{part}", shape) for part, shape in parts))
    if len(trail.open) >= TILE:
        raise ValueError(f"{len(trail.open)} rows wait for the average, expected fewer than {TILE}")
    return trail


def _restored_likeness(arrays: Arrays, name: str, axes: Matrix) -> Likeness:
    counted = stored_array(arrays, f"{name}.alike", (1,), least=0.0)
    sums = stored_array(arrays, f"{name}.likeness", (3, len(axes) + 1))
    powers = stored_array(arrays, f"{name}.reach", (2, axes.shape[1]), least=0.0)
    return Likeness(sums, powers, float(counted[0]))


def _restore_watch(monitor: Monitor, document: Mapping[str, Any]) -> None:
    watch = monitor.watch
    watch.hits.extend(map(int, document["hits"]))
    above, at = document["line"]
    watch.line.above, watch.line.at = float(above), None if at is None else int(at)
    density, at, held_from, lately = document["density"]
    watch.density, watch.at, watch.held_from = float(density), int(at), int(held_from)
    watch.lately = float(lately)
    anchored, above, last, drifting, at = document["drift"]
    watch.anchored, watch.began_above, watch.anchored_at = bool(anchored), float(above), int(last)
    watch.drifting, watch.drifting_at = float(drifting), int(at)
    began = document["drift_began"]
    watch.drift = None if began is None else Notice("drift", int(began))
    watch.past = deque(map(_restored_alarm, document["past"]), REMEMBERED)
    if document["on"] is not None:
        watch.on = _restored_alarm(document["on"])
        if watch.past and watch.past[-1].began == watch.on.began:
            watch.past[-1] = watch.on  # one alarm, which goes on in both places


def _restored_alarm(written: Mapping[str, Any]) -> Alarm:
    contributors = tuple((str(name), float(share)) for name, share in written["contributors"])
    readings = tuple((str(name), float(reads), float(should)) for name, reads, should in written["readings"])
    return Alarm(**{**written, "contributors": contributors, "readings": readings})


def _restored_reference(arrays: Arrays, name: str, written: Any, n: int) -> Reference | None:
    if written is None:
        return None
    rank, rest, count = written
    axes = stored_array(arrays, f"{name}.axes", (None, n))
    scale = stored_array(arrays, f"{name}.scale", (n,), least=0.0) if f"{name}.scale" in arrays else None
    variances = stored_array(arrays, f"{name}.variances", (len(axes),), least=0.0)
    if not 0 <= int(rank) <= len(axes) or not count > 0 or not rest >= 0:
        raise ValueError(f"the {name} that rows are judged by has rank {rank} of {len(axes)} axes")
    if not (variances[: int(rank)] > 0).all():
        raise ValueError(f"the {name} that rows are judged by keeps axes without variance")
    mean = stored_array(arrays, f"{name}.mean", (n,))
    likeness = _restored_likeness(arrays, name, axes)
    growth = stored_array(arrays, f"{name}.growth", (len(axes) + 1,), least=1.0)
    numbers = float(rest), float(count)
    return Reference(mean, scale, axes, variances, int(rank), *numbers, likeness, growth)
