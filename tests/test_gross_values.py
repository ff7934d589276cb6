"""Gross values, from 1e-300 to 1e300: a model refuses them with a sentence, or stays one that can be used.

One bad sensor, one unit mistaken for another, one overflow upstream: whatever came, everything that a model
says can be read, it can be saved, and the file goes on to the same bits.
"""

import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import OnlineAdaptivePCA, StreamMonitor, load
from eigenstream.cli import main
from tests.marks import slow

SOLVERS = ("exact", "subspace", "network")
ATTRIBUTES = (
    *("n_components_", "components_", "explained_variance_", "explained_variance_ratio_", "alpha_", "beta_"),
    *(
        "singular_values_",
        "spectrum_",
        "output_variance_",
        "threshold_",
        "noise_variance_",
        "mean_",
        "scale_",
    ),
    *("advice_", "other_ranks_", "rank_history_", "spectrum_history_", "tally_", "n_samples_seen_"),
)


def one_of(rng, *values):
    return values[rng.integers(len(values))]


def usual_rows(rng, rows, width):
    strong = rng.standard_normal((rows, min(width, 3))) * [9, 5, 3][: min(width, 3)]
    return strong @ rng.standard_normal((min(width, 3), width)) + rng.standard_normal((rows, width))


def gross(rng, X):
    """Rows with values of any size, put there in one of the ways in which they come."""
    T, n = X.shape
    size = 10.0 ** rng.uniform(-300, 300) if rng.random() < 0.3 else 10.0 ** rng.uniform(-80, 66)
    at, wide = int(rng.integers(T)), int(rng.integers(n))
    match rng.integers(9):
        case 0:
            X[at, wide] = size
        case 1:  # two inputs, one after the other
            X[at, wide], X[min(at + 1, T - 1), (wide + 1) % n] = size, -size
        case 2:
            X[at : at + int(rng.integers(1, 80))] *= size
        case 3:
            X[:, wide] = size
        case 4:
            X[:, wide] = size * (-1.0) ** np.arange(T)
        case 5:
            X += size
        case 6:
            X *= size
        case 7:
            X[rng.random(X.shape) < 0.01] *= size
        case 8:
            X[:] = size
    return X


def parameters_of(rng, solver, n):
    timed = solver != "network" and rng.random() < 0.2
    return {
        "solver": solver,
        **one_of(rng, {}, {}, {"alpha": 0.1}, {"n_components": 2}, {"n_components": 0.9}),
        "regularizer": one_of(rng, "input-output", "squared-output", "scale-dependent"),
        "max_components": int(rng.integers(1, n + 1)) if rng.random() < 0.5 else None,
        "half_life": "20s" if timed else one_of(rng, None, None, 3, 40),
        "center": bool(rng.random() < 0.8),
        "standardize": bool(solver != "network" and rng.random() < 0.4),
        "outliers": "keep" if solver == "network" else one_of(rng, "keep", "cap"),
        "lags": int(one_of(rng, 0, 0, 0, 1)),
        "missing": one_of(rng, "raise", "skip", "impute"),
        "scores": one_of(rng, "shrunk", "projected", "whitened"),
        "random_state": 0,
    }


def drawn(seed, solver):
    """Parameters of a model, rows, times, weights."""
    rng = np.random.default_rng(seed)
    n = int(one_of(rng, 1, 2, 4, 4, 20, 100))
    parameters = parameters_of(rng, solver, n)
    if parameters.get("n_components") == 2:
        parameters["max_components"] = None
        parameters["n_components"] = min(2, n)
    X = usual_rows(rng, int(rng.integers(2, 400)), n)
    for _ in range(int(rng.integers(1, 4))):
        with np.errstate(all="ignore"):
            X = gross(rng, X)
    if parameters["missing"] != "raise":
        X[rng.random(X.shape) < one_of(rng, 0.0, 0.02, 0.3)] = np.nan
    if rng.random() < 0.3:
        with np.errstate(all="ignore"):
            X = X.astype(np.float32)
    times = np.cumsum(rng.exponential(size=len(X))) if isinstance(parameters["half_life"], str) else None
    if times is not None and rng.random() < 0.3:
        times[len(X) // 2 :] += 10.0 ** rng.uniform(0, 9)
    weights = None
    if rng.random() < 0.2:
        weights = 10.0 ** rng.uniform(-9, 9, len(X)) * (rng.random(len(X)) < 0.9)
    return parameters, X, times, weights


def read(model, X):
    """Ask for everything that a model says; numbers are finite."""
    for name in ATTRIBUTES:
        found = getattr(model, name)
        if isinstance(found, float | np.ndarray):
            assert np.isfinite(found).all(), f"{name} is {found}"
    finite = usual_rows(np.random.default_rng(1), 3, X.shape[1]).astype(X.dtype)
    assert not np.isnan(model.transform(finite)).any()
    assert not np.isnan(model.squared_residuals(finite)).any()
    model.score_samples(finite)
    finite[0, 0] = np.nan
    assert not np.isnan(model.impute(finite)[:, 1:]).any()
    repr(model)


def gone_through(parameters, X, times, weights, folder, monitored):
    """Learn rows chunk by chunk; where a chunk is accepted, everything can be done with the model."""
    model = OnlineAdaptivePCA(**parameters)
    if monitored:
        model = StreamMonitor(model, false_alarm_rate=0.05, accept_after=64)
    refused = 0
    for chunk in np.array_split(np.arange(len(X)), 6):
        if not len(chunk):
            continue
        options = {} if times is None else {"timestamps": times[chunk]}
        if weights is not None and not monitored:
            options["sample_weight"] = weights[chunk]
        try:
            model.partial_fit(X[chunk], **options)
        except ValueError as error:
            sentence = str(error)
            assert "too large" in sentence or "too small" in sentence or "infinity" in sentence, sentence
            refused += 1
            continue
        read(model.model_ if monitored else model, X)
        model.save(folder / "between")
        other = load(folder / "between")
        other.save(folder / "again")
        assert (folder / "between").read_bytes() == (folder / "again").read_bytes()
        if refused % 2:
            model = other
    return refused


def complaint(seed, solver, folder, monitored=False):
    parameters, X, times, weights = drawn(seed, solver)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # about ranks and gaps
        try:
            gone_through(parameters, X, times, weights, folder, monitored)
        except Exception as error:
            return f"seed {seed}: {error!r} of {parameters}, {X.shape}, {X.dtype}"
    return None


def four_components(rows, width):
    rng = np.random.default_rng(0)
    strong = rng.standard_normal((rows, 4)) @ rng.standard_normal((4, width)) * 3
    return strong + rng.standard_normal((rows, width))


@pytest.mark.parametrize(("width", "solver"), [(20, "exact"), (20, "subspace"), (300, "subspace")])
def test_two_gross_values_leave_a_model_that_can_be_used(width, solver, tmp_path):
    """Two values of 1e12 hide all components but two in rounding, while the last look has kept four."""
    X = four_components(2200, width)
    X[2050, 2] = X[2051, 3] = 1e12
    model = OnlineAdaptivePCA(solver=solver, random_state=0)
    for row in X[:2040]:
        model.learn_one(row)
    for chunk in np.array_split(X[2040:], 16):
        assert model.learn_many(chunk).shape[1] == model.max_components_
        assert len(model.components_) == model.n_components_ <= 4
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").transform(X[:9]), model.transform(X[:9]))
    other = OnlineAdaptivePCA(solver=solver, random_state=0).partial_fit(X)
    other.save(tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == (tmp_path / "model").read_bytes()


def test_commands_on_a_model_of_gross_values(tmp_path):
    X = four_components(2100, 20)
    X[2050, 2] = X[2051, 3] = 1e12
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",")
    data, model = str(tmp_path / "rows.csv"), str(tmp_path / "model")
    for command in (
        ["run", data, "--no-header", "--save", model],
        ["inspect", model],
        ["transform", model, data, "--no-header", "--output", str(tmp_path / "scores.csv")],
        ["export", model, str(tmp_path / "exported.npz")],
        ["watch", data, "--no-header", "--model", model, "--relearn", "--save", str(tmp_path / "watch")],
    ):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, (command, result.output, result.exception)


@pytest.mark.parametrize("seed", range(12))
def test_capped_models_can_be_saved(seed, tmp_path):
    """The usual distance of rows from the axes is a mean of squares: rounding must not make it negative."""
    X = np.random.default_rng(seed).standard_normal((150, 1))
    model = OnlineAdaptivePCA(outliers="cap").fit(X)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").n_samples_seen_ == 150


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seeds", [(*range(8), 1311, 1428, 1512), slow(range(1000, 2000))], ids=len)
def test_a_model_of_gross_values_can_be_used(seeds, solver, tmp_path):
    assert [complaint(seed, solver, tmp_path) for seed in seeds] == [None] * len(seeds)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seeds", [(0, 1, 1015, 1024, 1098, 1104, 1134), slow(range(1000, 1500))], ids=len)
def test_a_monitor_of_gross_values_can_be_used(seeds, solver, tmp_path):
    assert [complaint(seed, solver, tmp_path, True) for seed in seeds] == [None] * len(seeds)


@pytest.mark.parametrize("seeds", [(*range(4), 1036), slow(range(1000, 1300))], ids=len)
def test_run_ends_with_a_sentence_or_a_result(seeds, tmp_path):
    """CSV files of gross values by the command line: exit status 0, or 1 and an error in words."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        parameters, X, _, _ = drawn(seed, one_of(rng, "exact", "subspace", "network"))
        np.savetxt(tmp_path / "rows.csv", X, delimiter=",")
        options = ["--missing", "impute"] if parameters["missing"] != "raise" else []
        options += ["--solver", parameters["solver"]]
        options += ["--standardize"] if parameters["standardize"] else []
        command = one_of(rng, "run", "watch")
        files = ["--save", str(tmp_path / "model"), "--output", str(tmp_path / "out.csv"), "--overwrite"]
        result = CliRunner().invoke(
            main, [command, str(tmp_path / "rows.csv"), "--no-header", *options, *files]
        )
        said = seed, result.output, result.exception
        assert result.exit_code in (0, 1), said
        assert isinstance(result.exception, SystemExit | None), said
        if result.exit_code:
            assert "Error: " in result.output, said
        else:
            assert CliRunner().invoke(main, ["inspect", str(tmp_path / "model")]).exit_code == 0, said
