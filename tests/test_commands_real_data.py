"""``--standardize``, ``--lags`` and ``--half-life 10min`` on the command line."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import AdaptivePCA, calibrate_alpha, load
from eigenstream.cli import main
from eigenstream.io.sources import ReadOptions
from eigenstream.jobs import Request, Watcher, prepare
from eigenstream.model.delays import embedded
from tests.online_model import stored


@pytest.fixture
def X(rng, tmp_path, monkeypatch):
    """Eight inputs in very different units, also as a file."""
    monkeypatch.chdir(tmp_path)
    signs = np.where(rng.uniform(size=(2, 8)) < 0.5, -1.0, 1.0)
    rows = rng.standard_normal((2000, 2)) @ signs + 0.2 * rng.standard_normal((2000, 8)) + 3
    rows *= 10.0 ** np.linspace(-4, 4, 8)
    np.savetxt("plant.csv", rows, delimiter=",", header="a,b,c,d,e,f,g,h", comments="", fmt="%.17g")
    return rows


class Crashing(Watcher):
    """Ends a job in its thirteenth batch, as a kill does."""

    left = 13

    def learnt(self, model, batch):
        self.left -= 1
        if not self.left:
            raise RuntimeError("crash")


def call(*arguments, code=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def test_run_standardizes_and_embeds(X):
    call(
        "run",
        "plant.csv",
        "--standardize",
        "--lags",
        1,
        "--save",
        "plant.model",
        "--output",
        "s.npy",
        "--quiet",
    )
    model, offline = load("plant.model"), AdaptivePCA(standardize=True, lags=1).fit(X)
    assert model.standardize
    assert model.lags == 1
    assert model.n_components_ == offline.n_components_ == 4
    np.testing.assert_allclose(model.scale_, offline.scale_, rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, offline.explained_variance_, rtol=1e-9)
    assert np.load("s.npy").shape[0] == 2000
    call("transform", "plant.model", "plant.csv", "--output", "t.npy")
    np.testing.assert_allclose(np.load("t.npy"), model.transform(X), atol=1e-9)
    told = json.loads(call("inspect", "plant.model", "--json"))
    assert told["features"] == 8
    assert told["parameters"]["standardize"] is True
    assert "the other 12, mean" in call("inspect", "plant.model")


def test_a_job_that_crashed_ends_as_an_uninterrupted_one(X):
    """With rows that wait, scales and predecessors to remember."""
    options = {"standardize": True, "lags": 2, "half_life": 300.0, "random_state": 0}
    request = Request("plant.csv", "s.csv", ReadOptions(batch_rows=100), parameters=options)
    with prepare(request, save="part.model", every_rows=700) as job:
        job.watchers = (Crashing(),)
        with pytest.raises(RuntimeError, match="crash"):
            job.run()
    assert load("part.model").n_samples_seen_ == 700
    call("run", "plant.csv", "--output", "s.csv", "--save", "part.model", "--resume", "--quiet")
    with prepare(replace(request, output="whole.csv"), save="whole.model") as job:
        job.run()
    assert stored(load("part.model")) == stored(load("whole.model"))
    assert Path("s.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_a_note_says_what_to_do_about_units(X):
    assert "units, --standardize puts all inputs on the same scale" in call("run", "plant.csv")
    assert "same scale" not in call("run", "plant.csv", "--standardize")


def test_calibrate_by_standardized_and_embedded_rows(X):
    found = json.loads(
        call("calibrate", "plant.csv", "--components", 4, "--standardize", "--lags", 1, "--json")
    )
    E = embedded(X, 1)
    expected = calibrate_alpha((E - E.mean(axis=0)) / E.std(axis=0), "input-output", n_components=4)
    assert found["alpha"]["input-output"] == pytest.approx(expected, rel=1e-6)
    assert sum(found["eigenvalues"]) == pytest.approx(16)


def test_a_half_life_in_time_is_read_and_needs_times(X):
    assert "needs to know when each row was taken" in call("run", "plant.csv", "--half-life", "10min", code=1)
    message = call("run", "plant.csv", "--half-life", "10 parsecs", code=2)
    assert "'10 parsecs' is not a duration" in message
    assert "or a number of samples" in message
    for wrong in ("0", "nan", "inf"):
        assert f"{wrong} is not a number of samples above 0" in call(
            "run", "plant.csv", "--half-life", wrong, code=2
        )


def test_the_network_refuses(X):
    output = call("run", "plant.csv", "--solver", "network", "--standardize", code=1)
    assert "--standardize needs solver='exact' or 'subspace'" in output
