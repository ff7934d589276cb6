"""Checks that any streaming estimator should pass, in the manner of scikit-learn's and river's batteries.

Each check takes a function that makes a fresh estimator with ``partial_fit``, ``fit`` and ``transform``, and
raises `AssertionError` where it falls short, or `unittest.SkipTest` with the reason where it does not apply.
Run them on your own class:

    for check in streaming_checks():
        check(lambda: MyEstimator(random_state=0))
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from typing import Any
from unittest import SkipTest

import numpy as np
from numpy.typing import NDArray

Maker = Callable[[], Any]
Check = Callable[[Maker], None]

TOLERANCE = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-4}


def streaming_checks() -> list[Check]:
    """All checks of this module."""
    return [value for name, value in globals().items() if name.startswith("check_")]


def sample_stream(rows: int = 700, width: int = 12, dtype: Any = np.float64) -> NDArray[Any]:
    """Three components in white noise, off centre: what the checks feed."""
    rng = np.random.default_rng(7)
    deviations = np.sqrt(np.r_[9.0, 6.0, 4.0, np.full(width - 3, 0.2)])
    rotation = np.linalg.qr(rng.standard_normal((width, width)))[0]
    return np.asarray((rng.standard_normal((rows, width)) * deviations) @ rotation + 3, dtype=dtype)


def check_chunking(make: Maker) -> None:
    """Any way of cutting the stream gives the answer of one pass."""
    for dtype in TOLERANCE:
        X = sample_stream(dtype=dtype)
        whole = make().partial_fit(X)
        for cuts in ([1, 2, 3], [33], [64, 199, 200, 201], list(range(50, 700, 50))):
            parts = make()
            for chunk in np.split(X, cuts):
                parts.partial_fit(chunk)
            _assert_same(parts, whole, X, f"chunks cut at {cuts}")


def check_row_by_row(make: Maker) -> None:
    """One row at a time gives the answer of one batch."""
    X = sample_stream(300)
    whole, single = make().partial_fit(X), make()
    for row in X:
        single.partial_fit(row[None])
    _assert_same(single, whole, X, "rows one by one")


def check_learn_one(make: Maker) -> None:
    """`learn_one` learns what `partial_fit` does, and its answers know nothing of what comes later."""
    if not hasattr(make(), "learn_one"):
        raise SkipTest("the estimator has no learn_one")
    X = sample_stream(300)
    many, one, other = make().partial_fit(X), make(), make()
    later = np.vstack((X[:200], -3 * X[200:]))
    answers = [one.learn_one(row) for row in X]
    _assert_same(one, many, X, "learn_one")
    for t, row in enumerate(later[:201]):
        answer = other.learn_one(row)
        if t < 200:
            np.testing.assert_array_equal(answer, answers[t], err_msg=f"score of row {t}")


def check_learn_many(make: Maker) -> None:
    """`learn_many` gives the scores of `learn_one`, bit for bit, however rows are cut into calls."""
    if not hasattr(make(), "learn_one") or not hasattr(make(), "learn_many"):
        raise SkipTest("the estimator has no learn_one and learn_many")
    X = sample_stream(300)
    one, many = make(), make()
    expected = np.array([one.learn_one(row) for row in X])
    scores = np.vstack([many.learn_many(chunk) for chunk in np.split(X, [1, 20, 64, 65, 200])])
    np.testing.assert_array_equal(scores, expected)


def check_pickling_midstream(make: Maker) -> None:
    """A copy made in mid-stream goes on as if nothing had happened."""
    X = sample_stream()
    for cut in (1, 10, 150, 333):
        whole = make().partial_fit(X[:cut]).partial_fit(X[cut:])
        copied = pickle.loads(pickle.dumps(make().partial_fit(X[:cut]))).partial_fit(X[cut:])
        _assert_same(copied, whole, X, f"pickled after {cut} rows")


def check_saving_midstream(make: Maker) -> None:
    """Check that a file holds the state, too.

    For estimators that can ``save`` and whose class, module or package has ``load``.
    """
    if not hasattr(make(), "save"):
        raise SkipTest("the estimator has no save")
    load = _load_beside(type(make()))
    X = sample_stream()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        for cut in (1, 10, 150, 333):
            model = make().partial_fit(X[:cut])
            model.save(path)
            whole = model.partial_fit(X[cut:])
            _assert_same(load(path).partial_fit(X[cut:]), whole, X, f"saved after {cut} rows")


def _load_beside(kind: type) -> Callable[[str], Any]:
    """The function that reads what ``save`` of this class wrote."""
    if hasattr(kind, "load"):
        return kind.load  # type: ignore[no-any-return]
    name = kind.__module__
    while name:
        module = sys.modules.get(name)
        if module is not None and kind.__name__ in dir(module) and hasattr(module, "load"):
            return module.load  # type: ignore[no-any-return]
        name = name.rpartition(".")[0]
    raise SkipTest(f"there is no load beside {kind.__name__}")


def check_input_is_left_alone(make: Maker) -> None:
    """Rows are neither changed nor kept: changing them afterwards changes nothing."""
    X = sample_stream()
    given, model, other = X.copy(), make(), make().partial_fit(X[:90]).partial_fit(X[90:])
    for chunk in np.split(given, [90]):
        model.partial_fit(chunk)
        chunk *= -5
    model.transform(X)
    _assert_same(model, other, X, "input overwritten after the call")


def check_memory_layouts(make: Maker) -> None:
    """Read-only, Fortran-ordered, strided, integer and half-precision input is fine."""
    X = sample_stream()
    whole = make().partial_fit(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    for name, rows in {
        "read-only": frozen,
        "Fortran": np.asfortranarray(X),
        "strided": wide[::2, ::3],
    }.items():
        _assert_same(make().partial_fit(rows), whole, X, f"{name} input")
    for dtype in (np.int64, np.float16):
        rows = np.round(X).astype(dtype)
        _assert_same(
            make().partial_fit(rows), make().partial_fit(rows.astype(np.float64)), X, f"{dtype} input"
        )


def check_bounded_memory(make: Maker) -> None:
    """Memory does not grow with the stream."""
    X = sample_stream(4000)
    model = make().partial_fit(X)
    early = len(pickle.dumps(model))
    for _ in range(5):
        model.partial_fit(X)
    late = len(pickle.dumps(model))
    assert late <= 1.5 * early, f"the model grew from {early} to {late} bytes"


def check_refitting_forgets(make: Maker) -> None:
    """`fit` starts afresh."""
    X = sample_stream()
    fresh = make().fit(X)
    again = make().fit(-7 * X[::-1, ::-1]).fit(X)
    _assert_same(again, fresh, X, "refitted")


def _assert_same(one: Any, other: Any, X: NDArray[Any], what: str) -> None:
    a, b = one.transform(X), other.transform(X)
    scale = float(np.abs(b).max()) or 1.0
    np.testing.assert_allclose(a, b, atol=TOLERANCE[X.dtype] * scale, err_msg=what)
