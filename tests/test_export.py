"""A frozen model as JSON, read by the code block of docs/export.md."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.exceptions import NotFittedError

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, StreamMonitor, __version__, export_json, load
from eigenstream.cli import main
from eigenstream.model.reading import SCORES
from eigenstream.regularizers import REGULARIZERS

PAGE = (Path(__file__).parents[1] / "docs" / "export.md").read_text(encoding="utf-8")
BLOCK = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
SPACE = {}
exec(BLOCK, SPACE)
read_model = SPACE["read_model"]


@pytest.fixture
def rows(rng):
    mixing = rng.standard_normal((3, 10)) * [[6], [4], [3]]
    return rng.standard_normal((400, 3)) @ mixing + rng.standard_normal((400, 10)) + np.arange(10)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def assert_alike(model, path, rows):
    export_json(model, path)
    expected = model.transform(rows)
    found = read_model(path)(rows)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max()))
    return expected


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("kind", [AdaptivePCA, OnlineAdaptivePCA])
def test_the_reader_scores_as_the_model_does(kind, regularizer, scores, rows, path):
    model = kind(regularizer=regularizer, scores=scores, standardize=True, lags=2).fit(rows)
    assert model.n_components_ > 0
    assert np.abs(assert_alike(model, path, rows[50:90])).max() > 0.1


@pytest.mark.parametrize("solver", ["exact", "subspace", "network"])
@pytest.mark.parametrize(
    "more", [{}, {"center": False}, {"half_life": 100.0}, {"max_components": 4}], ids=str
)
def test_whatever_the_model_was_learnt_by(solver, more, rows, path):
    assert_alike(OnlineAdaptivePCA(solver=solver, random_state=0, **more).fit(rows), path, rows[:20])


def test_a_model_that_keeps_nothing(rng, path):
    model = OnlineAdaptivePCA().fit(rng.standard_normal((300, 5)))
    assert model.n_components_ == 0
    assert not assert_alike(model, path, rng.standard_normal((4, 5))).any()


def test_single_precision_agrees_to_seven_digits(rows, path):
    model = OnlineAdaptivePCA().fit(rows.astype(np.float32))
    export_json(model, path)
    scores = model.transform(rows[:30].astype(np.float32))
    np.testing.assert_allclose(read_model(path)(rows[:30]), scores, atol=1e-5 * np.abs(scores).max())


def test_what_is_in_it(rows, path):
    import pandas as pd

    names = ['a"b', "température", *"cdefghij"]
    model = OnlineAdaptivePCA(lags=1).fit(pd.DataFrame(rows, columns=names))
    export_json(model, path)
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["inputs"] == names
    assert written["eigenstream_version"] == __version__
    assert (written["lags"], written["width"], written["scale"]) == (1, model.max_components_, None)
    assert (written["samples"], written["threshold"]) == (400, model.threshold_)
    np.testing.assert_array_equal(written["axes"], model.components_)
    np.testing.assert_array_equal(written["variances"], model.explained_variance_)
    np.testing.assert_array_equal(written["mean"], model.mean_)
    for name in written:
        assert f"`{name}`" in PAGE


def test_of_a_monitor_its_model_is_exported(rows, path):
    monitor = StreamMonitor().fit(rows)
    export_json(monitor, path)
    np.testing.assert_allclose(read_model(path)(rows), monitor.model_.transform(rows), atol=1e-12)
    with pytest.raises(NotFittedError):
        export_json(StreamMonitor(), path)


def test_the_reader_refuses_what_it_does_not_know(path):
    path.write_text('{"format": "eigenstream frozen model", "format_version": 2}')
    with pytest.raises(ValueError, match="format 1"):
        read_model(path)


def test_the_page_shows_at_most_twenty_lines_of_reader():
    reader = BLOCK[BLOCK.index("def read_model") :]
    assert len([line for line in reader.splitlines() if line.strip()]) <= 20


def call(*arguments, code=0):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def test_the_command_names_inputs_as_the_source_did(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("x.csv", rows, delimiter=",", header=",".join("abcdefghij"), comments="", fmt="%.17g")
    call("run", "x.csv", "--columns", "c,a,e,b", "--save", "m", "--quiet")
    assert "components of 4 inputs" in call("export", "m", "m.json")
    assert json.loads(Path("m.json").read_text())["inputs"] == ["c", "a", "e", "b"]
    chosen = rows[:, [2, 0, 4, 1]]
    np.testing.assert_allclose(read_model("m.json")(chosen), load("m").transform(chosen), atol=1e-12)
    assert "exists" in call("export", "m", "m.json", code=1)
    call("export", "m", "m.json", "--overwrite")
    call("watch", "x.csv", "--save", "w", "--quiet")
    call("export", "w", "w.json")
    assert len(json.loads(Path("w.json").read_text())["scale"]) == 10
    assert "is one model" in call("export", "m", "n.json", "--key", "k", code=2)
    assert "same" in call("export", "m", "m", "--overwrite", code=1)


def test_the_command_exports_one_model_of_a_bank(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{'xy'[i % 2]},{','.join(map(repr, row))}" for i, row in enumerate(rows.tolist())]
    Path("x.csv").write_text("\n".join(["key,a,b,c,d,e,f,g,h,i,j", *lines]))
    call("run", "x.csv", "--key", "key", "--save", "bank", "--quiet")
    call("export", "bank", "m.json", "--key", "x")
    alone = OnlineAdaptivePCA().fit(rows[::2])
    np.testing.assert_allclose(read_model("m.json")(rows), alone.transform(rows), atol=1e-9)
