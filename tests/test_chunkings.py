"""Any chunking of a stream gives the same bits: random configurations, each cut in many random ways."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA, StreamMonitor, load
from tests.marks import slow

WAYS = 5
"""Chunkings of each configuration."""
SOLVERS = ("exact", "subspace", "network")


def one_of(rng, *values):
    return values[rng.integers(len(values))]


def configuration(rng, solver):
    """Parameters of a model, and what it learns from: rows, times and weights, or None."""
    T, n = int(rng.integers(20, 500)), int(one_of(rng, 1, 2, 3, 5, 8, 17, 40))
    missing = one_of(rng, "raise", "skip", "impute")
    timed = solver != "network" and rng.random() < 0.25
    parameters = {
        "solver": solver,
        "regularizer": one_of(rng, "input-output", "squared-output", "scale-dependent"),
        **one_of(rng, {}, {}, {"alpha": 0.1}),
        "max_components": int(rng.integers(1, n + 1)),
        "half_life": "20s" if timed else one_of(rng, None, 3, 40, 500),
        "center": bool(rng.random() < 0.8),
        "standardize": bool(solver != "network" and rng.random() < 0.3),
        "outliers": "keep" if solver == "network" else one_of(rng, "keep", "cap"),
        "lags": int(one_of(rng, 0, 0, 0, 2)),
        "missing": missing,
        "random_state": int(rng.integers(100)),
    }
    strong = rng.standard_normal((T, min(n, 3))) * [9, 5, 3][: min(n, 3)]
    X = strong @ rng.standard_normal((min(n, 3), n)) + rng.standard_normal((T, n)) + rng.normal(scale=10)
    X[rng.random(T) < 0.01] *= 1e3
    if missing != "raise":
        X[rng.random(X.shape) < one_of(rng, 0.0, 0.01, 0.2)] = np.nan
    X = X.astype(one_of(rng, np.float32, np.float64))
    times = np.cumsum(rng.exponential(size=T)) if timed else None
    weights = rng.exponential(size=T) * (rng.random(T) < 0.9) if rng.random() < 0.2 else None
    return parameters, X, times, weights


def chunks_of(rng, rows):
    """Random cuts: a few, many, or row by row."""
    if rng.random() < 0.1:
        return [slice(i, i + 1) for i in range(rows)]
    cuts = np.unique(rng.integers(0, rows + 1, int(rng.integers(1, one_of(rng, 4, 40)))))
    edges = np.unique(np.concatenate(([0], cuts, [rows])))
    return [slice(*edges[i : i + 2]) for i in range(len(edges) - 1)]


def fed(rng, model, X, times, weights, folder):
    """Learn rows in a random way; between chunks the model is read, copied, pickled, or saved and loaded."""
    for chunk in chunks_of(rng, len(X)):
        model = one_of(rng, *[untouched] * 6, read, copied, unpickled, through_a_file)(model, folder)
        stamps = {} if times is None else {"timestamps": times[chunk]}
        if weights is not None:
            model.partial_fit(X[chunk], sample_weight=weights[chunk], **stamps)
            continue
        match rng.integers(3):
            case 0:
                model.partial_fit(X[chunk], **stamps)
            case 1:
                model.learn_many(X[chunk], **stamps)
            case 2:
                for i in range(*chunk.indices(len(X))):
                    model.learn_one(X[i], **({} if times is None else {"timestamp": times[i]}))
    return model


def untouched(model, folder):
    return model


def read(model, folder):
    """Reading changes nothing."""
    known = getattr(model, "model_", model)
    if known.__sklearn_is_fitted__():
        known.n_components_, known.spectrum_, known.components_  # noqa: B018
    return model


def copied(model, folder):
    return copy.deepcopy(model)


def unpickled(model, folder):
    return pickle.loads(pickle.dumps(model))


def through_a_file(model, folder):
    if not model.__sklearn_is_fitted__():
        return model
    model.save(folder / "between")
    return load(folder / "between")


def stored(model, folder):
    model.save(folder / "end")
    return (folder / "end").read_bytes()


def all_ways(seed, made, configured, folder):
    """A stream in one piece, then cut in `WAYS`; a complaint where one of them gave other bits."""
    rng = np.random.default_rng(seed)
    parameters, X, times, weights = configured(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about ranks and gaps
        options = {} if times is None else {"timestamps": times}
        options |= {} if weights is None else {"sample_weight": weights}
        whole = stored(made(parameters).partial_fit(X, **options), folder)
        ways = [stored(fed(rng, made(parameters), X, times, weights, folder), folder) for _ in range(WAYS)]
    wrong = [number for number, way in enumerate(ways) if way != whole]
    return f"seed {seed}, ways {wrong}: {parameters}, {X.shape}, {X.dtype}" if wrong else None


def _seeds(few, many, *once):
    """A few seeds and those that differed ``once`` always, many in the slow suite; each is `WAYS` cuts."""
    return [[*range(few), *once], slow(range(1000, 1000 + many))]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seeds", _seeds(1, 80), ids=len)
def test_a_model_does_not_depend_on_chunks(seeds, solver, tmp_path):
    def configured(rng):
        return configuration(rng, solver)

    def made(parameters):
        return OnlineAdaptivePCA(**parameters)

    assert [all_ways(seed, made, configured, tmp_path) for seed in seeds] == [None] * len(seeds)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seeds", _seeds(1, 40, 1017, 1018, 1024), ids=len)
def test_a_monitor_does_not_depend_on_chunks(seeds, solver, tmp_path):
    def configured(rng):
        """With faults that end within a chunk, are accepted, or follow each other."""
        parameters, X, times, _ = configuration(rng, solver)
        gross = 1e8 if X.dtype == np.float64 else 1e4
        for _ in range(rng.integers(4)):
            begins = int(rng.integers(len(X)))
            X[begins : begins + int(one_of(rng, 1, 5, 40, 100))] += one_of(rng, 5, 50, gross)
        return parameters, X, times, None

    def made(parameters):
        learns = parameters["random_state"] % 3 == 0
        model = OnlineAdaptivePCA(**parameters)
        return StreamMonitor(model, false_alarm_rate=0.01, accept_after=64, learn_from_alarms=learns)

    assert [all_ways(seed, made, configured, tmp_path) for seed in seeds] == [None] * len(seeds)
