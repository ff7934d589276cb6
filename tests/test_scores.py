"""The estimators' scores are the outputs of the family's networks: soft, hard threshold and equalizing."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eigenstream import (
    AdaptivePCA,
    EqualizingNetwork,
    HardThresholdNetwork,
    HebbianNetwork,
    OnlineAdaptivePCA,
    offline,
    streams,
)
from eigenstream.model import StreamModel
from eigenstream.regularizers import InputOutput, ScaleDependent, SquaredOutput
from tests.jobs import call

SPECTRUM = np.r_[6.0, 5.0, 4.0, 2.0, np.full(60, 0.1)]
THRESHOLD, K = 3.0, 6
KINDS = [ScaleDependent, InputOutput]
APART = {"shrunk": 0.15, "projected": 0.05, "whitened": 0.15}
"""How far a network may be from the scores after 2,000 samples, relatively; the soft one starts at random."""


def gamma(regularizer, X):
    """What gives the equalizing network's outputs variance 1, per unit that the regularizer measures by."""
    return 1 / np.mean(np.sum(X**2, axis=1)) if regularizer.increment[1] else 1.0


def closed_form(scores, regularizer, X):
    if scores == "shrunk":
        return offline.solve(X, regularizer, K).Y
    if scores == "projected":
        return offline.solve_hard(X, regularizer, K).Y
    return offline.solve_equalizing(X, regularizer, gamma(regularizer, X), K).Y


def network(scores, regularizer, X):
    options = {"settling": "gauss-seidel", "random_state": 0}
    if scores == "shrunk":
        return HebbianNetwork(X.shape[1], K, regularizer, **options)
    if scores == "projected":
        made = HardThresholdNetwork(X.shape[1], K, regularizer, **options)
    else:
        made = EqualizingNetwork(X.shape[1], K, regularizer, gamma(regularizer, X), **options)
    return made.start_from(X[:200], 0)


def stream(n_samples):
    return np.vstack(list(streams.paper_stream(n_samples, random_state=0)))


def difference(Y, Z):
    """Of similarities, relatively: axes and signs are arbitrary."""
    return np.linalg.norm(Y @ Y.T - Z @ Z.T) / np.linalg.norm(Z @ Z.T)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", APART)
@pytest.mark.parametrize("make", [AdaptivePCA, OnlineAdaptivePCA])
def test_scores_are_the_closed_form_of_their_network(make, scores, kind):
    X, regularizer = stream(500), kind.for_threshold(SPECTRUM, THRESHOLD)
    parameters = {"regularizer": kind.name, "alpha": regularizer.alpha, "max_components": K}
    model = make(**parameters, scores=scores, center=False).fit(X)
    assert model.n_components_ == 3
    assert difference(model.transform(X), closed_form(scores, regularizer, X)) < 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", APART)
def test_the_network_learns_them_sample_by_sample(scores, kind):
    X, regularizer = stream(2000), kind.for_threshold(SPECTRUM, THRESHOLD)
    model = OnlineAdaptivePCA(
        regularizer=kind.name, alpha=regularizer.alpha, max_components=K, scores=scores, center=False
    ).fit(X)
    learner = network(scores, regularizer, X)
    learner.run(X if scores == "shrunk" else X[200:])
    Y = X @ learner.filter.T
    gap = difference(Y, model.transform(X))
    assert gap < APART[scores]
    others = [difference(Y, closed_form(other, regularizer, X)) for other in APART if other != scores]
    assert min(others) > 2 * gap


def test_measured_by_the_output_the_hard_network_has_a_threshold_of_its_own():
    """It transmits more than the soft one, so the same alpha puts its threshold higher."""
    X, alpha = stream(500), 0.1
    soft, hard = offline.solve(X, SquaredOutput(alpha), K), offline.solve_hard(X, SquaredOutput(alpha), K)
    assert hard.threshold > 1.2 * soft.threshold


def test_transform_takes_other_scores_and_the_model_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((300, 6)) * [5, 3, 1, 1, 1, 1]
    np.save("s.npy", X)
    call("run", "s.npy", "--save", "m", "--quiet")
    for scores in ("shrunk", "projected", "whitened"):
        call("transform", "m", "s.npy", "--scores", scores, "--output", f"{scores}.npy")
        model = StreamModel.load("m")
        model.parameters["scores"] = scores
        np.testing.assert_array_equal(np.load(f"{scores}.npy"), model.transform(X))
    call("transform", "s.npy", "--model", "m", "--output", "named.npy")
    np.testing.assert_array_equal(np.load("named.npy"), np.load("shrunk.npy"))
    assert "leave out --scores" in call(
        "transform", "m", "s.npy", "--scores", "projected", "--respond", "jacobi", code=2
    )
    for given, lacking in (((), "MODEL and SOURCE"), (("m",), "SOURCE"), (("--model", "m"), "SOURCE")):
        assert f"missing {lacking}: eigenstream transform MODEL SOURCE" in call("transform", *given, code=2)
    assert "does not exist" in call("transform", "nothing", "s.npy", code=2)


def test_transform_of_a_bank_takes_other_scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((400, 4)) * [5, 1, 1, 1]
    lines = [f"{'ab'[i % 2]},{','.join(map(repr, row))}" for i, row in enumerate(X.tolist())]
    Path("s.csv").write_text("\n".join(["unit,p,q,r,s", *lines]))
    call("run", "s.csv", "--key", "unit", "--save", "b", "--quiet")
    for scores in ("shrunk", "whitened"):
        call("transform", "b", "s.csv", "--scores", scores, "--output", f"{scores}.npy")
    assert np.std(np.load("whitened.npy")[:, 0]) == pytest.approx(1, abs=0.1)
    assert np.std(np.load("shrunk.npy")[:, 0]) > 2


def test_transform_names_columns_that_the_model_does_not_know(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((100, 3)), columns=["p", "q", "new"])
    table[["p", "q"]].to_csv("s.csv", index=False)
    call("run", "s.csv", "--save", "m", "--quiet")
    table.to_csv("t.csv", index=False)
    table.to_json("t.jsonl", orient="records", lines=True)
    if importlib.util.find_spec("pyarrow"):
        table.to_parquet("t.parquet")
    for name in sorted(path.name for path in tmp_path.glob("t.*")):
        told = call("transform", "m", name, "--output", f"{name}.npy")
        assert f"note: {name}: not read, column that the model does not know: new" in told
