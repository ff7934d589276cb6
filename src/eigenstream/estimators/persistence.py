"""A model as a file, and back: translation between an estimator and `eigenstream.checkpoint`."""

from __future__ import annotations

import math
import os
from collections import deque
from dataclasses import asdict, fields
from operator import index
from typing import Any

import numpy as np

from .. import checkpoint
from ..engine.state import RECENT, State
from ..recording import LIMIT, Recording
from ..regularizers import REGULARIZERS, Regularizer
from ..tracking import HISTORY, Plan, RankChange, Tracker, View
from .online_adaptive_pca import OnlineAdaptivePCA


def save(model: OnlineAdaptivePCA, path: str | os.PathLike[str], position: Any = None) -> None:
    """Write a fitted model and its position; `load` continues from it bit for bit."""
    tracker = model._tracker
    arrays: dict[str, Any] = {
        "rows": tracker.rows,
        "weights": tracker.weights,
        "first": tracker.first,
        "varies": tracker.varies,
        "recording": np.array(tracker.recording.moments).reshape(-1, 3 + tracker.plan.k),
    }
    if tracker.state is not None:
        arrays |= {f"state.{name}": a for name, a in zip(State._fields, tracker.state, strict=True)}
        if tracker.state.F is tracker.state.N:
            del arrays["state.F"]
    view = tracker.view._asdict()
    arrays |= {f"view.{name}": value for name, value in view.items() if isinstance(value, np.ndarray)}
    document = {
        "parameters": _written_parameters(model),
        "features": [str(name) for name in getattr(model, "feature_names_in_", ())],
        "plan": asdict(tracker.plan)
        | {"kind": tracker.plan.kind.name, "dtype": np.dtype(tracker.plan.dtype).name},
        "tracker": {
            "alpha": tracker.alpha,
            "time": tracker.time,
            "look_at": tracker.look_at,
            "consolidate_at": None if tracker.consolidate_at == math.inf else tracker.consolidate_at,
            "history": [list(change) for change in tracker.history],
            "stride": tracker.recording.stride,
            "told_capacity": model._told_capacity,
        },
        "view": {name: value for name, value in view.items() if not isinstance(value, np.ndarray)},
        "position": position,
    }
    checkpoint.write(path, arrays, document)


def load(path: str | os.PathLike[str]) -> OnlineAdaptivePCA:
    """The model that `OnlineAdaptivePCA.save` wrote; it continues exactly where it was.

    Nothing in the file is executed. A ``on_rank_change`` callback is not part of it: set it again.

    Raises
    ------
    ValueError
        If the file is not a model, damaged, or written by a newer version.
    """
    arrays, document = checkpoint.read(path)
    try:
        return _rebuilt(arrays, document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"{os.fspath(path)!r} is a damaged eigenstream model: {error!r}") from None


def _written_parameters(model: OnlineAdaptivePCA) -> dict[str, Any]:
    parameters = model.get_params(deep=False)
    del parameters["on_rank_change"]
    regularizer = parameters["regularizer"]
    if isinstance(regularizer, Regularizer):
        parameters["regularizer"] = {"name": regularizer.name, "alpha": float(regularizer.alpha)}
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = model._tracker.plan.seed
    return {
        name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()
    }


def _rebuilt(arrays: dict[str, Any], document: dict[str, Any]) -> OnlineAdaptivePCA:
    parameters = dict(document["parameters"])
    if isinstance(parameters["regularizer"], dict):
        named = parameters["regularizer"]
        parameters["regularizer"] = REGULARIZERS[named["name"]](named["alpha"])
    model = OnlineAdaptivePCA(**parameters)
    if model.missing not in ("raise", "skip", "impute") or model.scores not in ("shrunk", "projected"):
        raise ValueError(f"missing={model.missing!r} and scores={model.scores!r} do not exist")
    plan = _read_plan(document["plan"], arrays)
    tracker = Tracker(plan)
    written = document["tracker"]
    tracker.set_alpha(_real(written, "alpha"))
    tracker.time = _whole(written, "time")
    tracker.look_at = _whole(written, "look_at", least=tracker.time + 1)
    if written["consolidate_at"] is not None:
        tracker.consolidate_at = _whole(written, "consolidate_at", least=tracker.time + 1, most=math.inf)
    tracker.history = deque((RankChange(*map(index, change)) for change in written["history"]), HISTORY)
    tracker.rows = _array(arrays, "rows", (None, plan.n), plan.dtype, most=_largest_value(plan))
    tracker.weights = _array(arrays, "weights", (len(tracker.rows), 2), np.float64, least=0.0)
    tracker.first = _array(arrays, "first", (plan.n,), plan.dtype, missing=True)
    tracker.varies = _array(arrays, "varies", (plan.n,), np.bool_)
    tracker.all_vary = bool(tracker.varies.all())
    tracker.recording = _read_recording(arrays, written, plan)
    tracker.state = _read_state(arrays, plan)
    if tracker.state is None and tracker.consolidate_at < math.inf:
        raise ValueError("it is to consolidate what has not started")
    tracker.view = _read_view(arrays, document["view"], plan)
    model._tracker, model._told_capacity = tracker, bool(written["told_capacity"])
    model.n_features_in_ = plan.n
    model.position_ = document["position"]
    features = document["features"]
    if features:
        if len(features) != plan.n or not all(isinstance(name, str) for name in features):
            raise ValueError(f"its {plan.n} features have other names than {features!r}")
        model.feature_names_in_ = np.array(features, dtype=object)
    return model


def _read_plan(written: dict[str, Any], arrays: dict[str, Any]) -> Plan:
    """The plan, if its numbers make sense and the arrays are of its size."""
    if set(written) != {field.name for field in fields(Plan)}:
        raise ValueError("its plan has other entries than expected")
    if written["dtype"] not in ("float32", "float64") or not isinstance(written["center"], bool):
        raise ValueError(f"its numbers are of type {written['dtype']!r}, its center is {written['center']!r}")
    n, k = _whole(written, "n", least=1), _whole(written, "k", least=1)
    # Before anything of this size is made: a small file cannot ask for much memory.
    if arrays["first"].shape != (n,) or k > n:
        raise ValueError(f"its plan is for {n} inputs and {k} components")
    numbers: dict[str, Any] = {name: _real(written, name) for name in ("beta", "noise")}
    for name in ("alpha", "consolidation"):
        numbers[name] = None if written[name] is None else _real(written, name)
    if numbers["beta"] > 1 or (numbers["consolidation"] or 2) <= 1:
        raise ValueError(f"its plan has beta {numbers['beta']} and consolidation {numbers['consolidation']}")
    numbers["init_samples"] = _whole(written, "init_samples", most=math.inf)
    numbers["seed"] = _whole(written, "seed", most=2**63 - 1)
    kind, dtype = REGULARIZERS[written["kind"]], np.dtype(written["dtype"]).type
    return Plan(**{**written, **numbers, "kind": kind, "dtype": dtype})


def _read_state(arrays: dict[str, Any], plan: Plan) -> State | None:
    if not any(name.startswith("state.") for name in arrays):
        return None
    k, n = plan.k, plan.n
    time, waiting = _array(arrays, "state.clock", (2,), np.int64, least=0)
    if waiting > time % RECENT:  # the compiled code would write beyond its arrays
        raise ValueError(f"{waiting} samples wait at time {time}")
    N = _array(arrays, "state.N", (k, n), np.float64)
    return State(
        N=N,
        F=N if plan.dtype == np.float64 else _array(arrays, "state.F", (k, n), plan.dtype),
        S=_array(arrays, "state.S", (k, k), np.float64),
        X_recent=_array(arrays, "state.X_recent", (RECENT, n), plan.dtype, most=_largest_value(plan)),
        Y_recent=_array(arrays, "state.Y_recent", (RECENT, k), plan.dtype),
        mean=_array(arrays, "state.mean", (n,), np.float64, most=_largest_value(plan)),
        numbers=_array(arrays, "state.numbers", (5,), np.float64, least=0.0),
        clock=_array(arrays, "state.clock", (2,), np.int64),
    ).copy()


def _read_recording(arrays: dict[str, Any], written: dict[str, Any], plan: Plan) -> Recording:
    moments = _array(arrays, "recording", (None, 3 + plan.k), np.float64)
    stride = _whole(written, "stride", least=1)
    if len(moments) > LIMIT:
        raise ValueError(f"its recording has {len(moments)} moments")
    return Recording(plan.k, stride, list(moments))


def _read_view(arrays: dict[str, Any], written: dict[str, Any], plan: Plan) -> View:
    axes = _array(arrays, "view.axes", (None, plan.n), np.float64)
    variances = _array(arrays, "view.variances", (len(axes),), np.float64, least=0.0)
    rank, threshold = _whole(written, "rank"), _real(written, "threshold")
    if not rank <= len(axes) <= plan.k or not (variances[:rank] > threshold).all():
        raise ValueError(f"its rank {rank} does not fit its {len(axes)} axes")
    return View(
        time=_whole(written, "time"),
        axes=axes,
        variances=variances,
        mean=_array(arrays, "view.mean", (plan.n,), np.float64, most=_largest_value(plan)),
        total=_real(written, "total"),
        effective=_real(written, "effective"),
        threshold=threshold,
        rank=rank,
        gains=_array(arrays, "view.gains", (rank,), np.float64, least=0.0),
    )


LARGEST: dict[Any, float] = {np.float64: 1e150, np.float32: 1e38}
"""No sum of squares over any stream that can be learnt comes near; squares of sums stay finite in float64."""


def _largest_value(plan: Plan) -> float:
    """Of the input: its squares are summed."""
    return math.sqrt(LARGEST[plan.dtype])


def _whole(written: dict[str, Any], name: str, *, least: int = 0, most: float = 2**62) -> int:
    """A whole number of the document, if it is one that can be."""
    number = index(written[name])
    if not least <= number <= most:
        raise ValueError(f"its {name} is {number}")
    return number


def _real(written: dict[str, Any], name: str) -> float:
    """A number >= 0 of the document."""
    number = written[name]
    if not isinstance(number, int | float) or not 0 <= number < LARGEST[np.float64]:
        raise ValueError(f"its {name} is {number!r}")
    return float(number)


def _array(
    arrays: dict[str, Any],
    name: str,
    shape: tuple[int | None, ...],
    dtype: Any,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    missing: bool = False,
) -> Any:
    """One array of the file, if it is what it should be; ``missing``: or nothing but NaN."""
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        w is None or w == g for w, g in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != dtype:
        raise ValueError(f"array {name!r} has shape {array.shape} and type {array.dtype}")
    limit = min(most, LARGEST.get(dtype, math.inf))
    fits = ((array >= least) & (np.abs(array) < limit)).all() or (missing and np.isnan(array).all())
    if not fits:
        raise ValueError(f"array {name!r} holds numbers that cannot be")
    return np.array(array)
