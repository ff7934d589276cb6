"""A model as a file, and back: translation between an estimator and `eigenstream.checkpoint`."""

from __future__ import annotations

import math
import os
from collections import deque
from dataclasses import asdict, fields
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
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
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
    plan = _read_plan(document["plan"])
    tracker = Tracker(plan)
    written = document["tracker"]
    tracker.set_alpha(float(written["alpha"]))
    tracker.time, tracker.look_at = int(written["time"]), int(written["look_at"])
    due = written["consolidate_at"]
    tracker.consolidate_at = math.inf if due is None else int(due)
    tracker.history = deque((RankChange(*map(int, change)) for change in written["history"]), maxlen=HISTORY)
    tracker.rows = _array(arrays, "rows", (None, plan.n), plan.dtype)
    tracker.weights = _array(arrays, "weights", (len(tracker.rows), 2), np.float64)
    tracker.first = _array(arrays, "first", (plan.n,), plan.dtype)
    tracker.varies = _array(arrays, "varies", (plan.n,), np.bool_)
    tracker.all_vary = bool(tracker.varies.all())
    tracker.recording = _read_recording(arrays, written, plan)
    tracker.state = _read_state(arrays, plan)
    tracker.view = _read_view(arrays, document["view"], plan)
    model._tracker, model._told_capacity = tracker, bool(written["told_capacity"])
    model.n_features_in_ = plan.n
    model.position_ = document["position"]
    if document["features"]:
        model.feature_names_in_ = np.array(document["features"], dtype=object)
    return model


def _read_plan(written: dict[str, Any]) -> Plan:
    if set(written) != {field.name for field in fields(Plan)}:
        raise ValueError("its plan has other entries than expected")
    if written["dtype"] not in ("float32", "float64"):
        raise ValueError(f"its numbers are of type {written['dtype']!r}")
    return Plan(
        **{**written, "kind": REGULARIZERS[written["kind"]], "dtype": np.dtype(written["dtype"]).type}
    )


def _read_state(arrays: dict[str, Any], plan: Plan) -> State | None:
    if "state.N" not in arrays:
        return None
    k, n = plan.k, plan.n
    N = _array(arrays, "state.N", (k, n), np.float64)
    return State(
        N=N,
        F=N if plan.dtype == np.float64 else _array(arrays, "state.F", (k, n), plan.dtype),
        S=_array(arrays, "state.S", (k, k), np.float64),
        X_recent=_array(arrays, "state.X_recent", (RECENT, n), plan.dtype),
        Y_recent=_array(arrays, "state.Y_recent", (RECENT, k), plan.dtype),
        mean=_array(arrays, "state.mean", (n,), np.float64),
        numbers=_array(arrays, "state.numbers", (5,), np.float64),
        clock=_array(arrays, "state.clock", (2,), np.int64),
    ).copy()


def _read_recording(arrays: dict[str, Any], written: dict[str, Any], plan: Plan) -> Recording:
    moments = _array(arrays, "recording", (None, 3 + plan.k), np.float64)
    stride = int(written["stride"])
    if len(moments) > LIMIT or stride < 1:
        raise ValueError(f"its recording has {len(moments)} moments and stride {stride}")
    return Recording(plan.k, stride, list(moments))


def _read_view(arrays: dict[str, Any], written: dict[str, Any], plan: Plan) -> View:
    axes = _array(arrays, "view.axes", (None, plan.n), np.float64)
    rank = int(written["rank"])
    if not 0 <= rank <= len(axes) <= plan.k:
        raise ValueError(f"its rank {rank} does not fit its {len(axes)} axes")
    return View(
        time=int(written["time"]),
        axes=axes,
        variances=_array(arrays, "view.variances", (len(axes),), np.float64),
        mean=_array(arrays, "view.mean", (plan.n,), np.float64),
        total=float(written["total"]),
        effective=float(written["effective"]),
        threshold=float(written["threshold"]),
        rank=rank,
        gains=_array(arrays, "view.gains", (rank,), np.float64),
    )


def _array(arrays: dict[str, Any], name: str, shape: tuple[int | None, ...], dtype: Any) -> Any:
    """One array of the file, if it is what it should be."""
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        w is None or w == g for w, g in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != dtype:
        raise ValueError(f"array {name!r} has shape {array.shape} and type {array.dtype}")
    return np.array(array)
