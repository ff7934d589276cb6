"""Gross values: a model refuses them with a sentence, or stays one that can be used.

One bad sensor, one unit mistaken for another, one overflow upstream: whatever came, everything that a model
says can be read, it can be saved, and the file goes on to the same bits.
"""

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import OnlineAdaptivePCA, load
from eigenstream.cli import main


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
