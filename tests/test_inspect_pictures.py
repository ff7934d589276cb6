"""What `inspect` draws and writes of a model: scores, loadings, spectrum, time; loadings as a table."""

import csv
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import OnlineAdaptivePCA, load, plotting
from eigenstream.cli import main
from tests.plant_files import write_plant

matplotlib.use("Agg")


def call(*words, code=0):
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_plant(tmp_path / "plant.csv", 700)
    lines = Path("plant.csv").read_text().splitlines()
    keyed = [f"u{i % 2},{line}" for i, line in enumerate(lines[1:])]
    Path("fleet.csv").write_text("\n".join([f"unit,{lines[0]}", *keyed]) + "\n")
    call("watch", "plant.csv", "--exclude", "text", "--save", "m", "--quiet")
    return tmp_path


def test_each_kind_of_picture_is_drawn(folder):
    for kind in ("scores", "loadings", "spectrum", "time"):
        call("inspect", "m", "--picture", kind)
        assert Path(f"{kind}.png").read_bytes().startswith(b"\x89PNG")
        assert "exists" in call("inspect", "m", "--picture", kind, code=1)
    call("inspect", "m", "--picture", "scores=other.svg", "--source", "plant.csv")
    assert "must end in .png or .svg" in call("inspect", "m", "--picture", "scores=x.pdf", code=2)
    Path("plant.csv").unlink()
    assert "there is no file 'plant.csv'" in call("inspect", "m", "--picture", "scores=3.png", code=1)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_all_loadings_are_written_as_a_table(folder, suffix):
    name = f"loadings.{suffix}"
    call("inspect", "m", "--loadings", name)
    if suffix == "csv":
        with open(name, newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(name).to_pylist()
    model = load("m").model_
    assert [row["input"] for row in rows] == list(model.feature_names_in_)
    for i, row in enumerate(rows):
        found = [float(row[f"component_{j}"]) for j in range(model.n_components_)]
        np.testing.assert_array_equal(found, model.components_[:, i])
        assert (float(row["mean"]), float(row["scale"])) == (model.mean_[i], model.scale_[i])
    assert "must end in .csv or .parquet" in call("inspect", "m", "--loadings", "x.txt", code=2)


def test_of_a_bank_all_keys_are_written_and_one_is_drawn(folder):
    call("run", "fleet.csv", "--key", "unit", "--exclude", "text", "--save", "fleet", "--quiet")
    call("inspect", "fleet", "--loadings", "all.csv")
    with open("all.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["key"] for row in rows] == ["u0"] * 8 + ["u1"] * 8
    call("inspect", "fleet", "--key", "u1", "--picture", "scores", "--loadings", "one.csv")
    with open("one.csv", newline="") as file:
        own = [row["component_0"] for row in csv.DictReader(file)]
    assert own == [row["component_0"] for row in rows[8:]]
    assert "name it with --key KEY" in call("inspect", "fleet", "--picture", "scores=other.png", code=2)


def test_the_plane_shows_what_the_model_says():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 6)) * 5 + rng.standard_normal((500, 6))
    model = OnlineAdaptivePCA(scores="projected").fit(X)
    assert model.n_components_ == 2
    axis = plotting.plot_loadings(model)
    points = np.array([line.get_xydata()[0] for line in axis.get_lines() if line.get_marker() == "o"])
    np.testing.assert_allclose(sorted(points[:, 1]), sorted(model.components_[1]))
    scores = model.transform(X)
    axis = plotting.plot_scores(model, scores, components=(1, 0), limit=9.0)
    np.testing.assert_array_equal(axis.collections[0].get_offsets(), scores[:, [1, 0]])
    (ellipse,) = axis.get_lines()
    assert ellipse.get_xdata().max() == pytest.approx(3 * np.sqrt(model.explained_variance_[1]))
    with pytest.raises(ValueError, match="two numbers from 0 to 1, got"):
        plotting.plot_loadings(model, components=(0, 2))
    flat = OnlineAdaptivePCA().fit(rng.standard_normal((300, 6)))
    for draw in (plotting.plot_loadings, lambda model: plotting.plot_scores(model, scores)):
        with pytest.raises(ValueError, match="keeps no component"):
            draw(flat)
    one = OnlineAdaptivePCA(n_components=1).fit(X)
    assert "component 0" in plotting.plot_loadings(one).get_ylabel()
    assert "component 0" in plotting.plot_scores(one, one.transform(X)).get_ylabel()
