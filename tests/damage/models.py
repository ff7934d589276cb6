"""Damaged bytes of model files, and the check that they give an error or the same model."""

import numpy as np
import pandas as pd

from eigenstream import OnlineAdaptivePCA, StreamMonitor, load
from eigenstream.io import checkpoint
from tests.damage.command_line import command
from tests.damage.ways import damaged

ROWS = np.random.default_rng(1).standard_normal((300, 5)) * [5, 3, 1, 1, 1]
MODELS = ["plain", "forgetful", "young", "named", "subspace", "network", "lagged", "monitor"]


def prepare_models(folder):
    """Save models of every kind."""
    made = {
        "young": OnlineAdaptivePCA(random_state=0).partial_fit(ROWS[:30]),
        "plain": OnlineAdaptivePCA(max_components=3, random_state=0).fit(ROWS),
        "forgetful": OnlineAdaptivePCA(
            regularizer="squared-output",
            alpha=0.1,
            max_components=2,
            half_life=50,
            missing="impute",
            random_state=3,
        ).partial_fit(ROWS[:251].astype(np.float32)),
        "named": OnlineAdaptivePCA(max_components=3, scores="projected", random_state=0).fit(
            pd.DataFrame(ROWS, columns=list("abcde"))
        ),
        "subspace": OnlineAdaptivePCA(
            max_components=3, solver="subspace", standardize=True, half_life="100s", random_state=0
        ).partial_fit(ROWS[:291], timestamps=np.arange(291.0)),
        "network": OnlineAdaptivePCA(max_components=3, solver="network", random_state=0).fit(ROWS),
        "lagged": OnlineAdaptivePCA(max_components=3, lags=1, outliers="cap", random_state=0).fit(ROWS),
        "monitor": StreamMonitor(OnlineAdaptivePCA(max_components=3, random_state=0)).fit(ROWS),
    }
    for name, model in made.items():
        model.save(folder / name, position={"source": {"row": 5}, "output": None, "recipe": {}})


def said(model, rows):
    """What a model says about rows."""
    return model.score_samples(rows) if isinstance(model, StreamMonitor) else model.transform(rows)


def check_model(number, folder):
    """A model file with damaged bytes: if it is read at all, nothing in it has changed."""
    rng, name = np.random.default_rng([2, number]), MODELS[number % len(MODELS)]
    good = (folder / name).read_bytes()
    content = damaged(rng, good, 8 + int.from_bytes(good[:8], "little"))
    path = folder / "x"
    path.write_bytes(content)
    if number % 8 == 0:
        command(model_commands(path, folder)[number // 8 % 3])
    model = load(path)
    original, (arrays, document), (found, read) = (
        load(folder / name),
        checkpoint.read(folder / name),
        checkpoint.read(path),
    )
    assert document == read
    assert arrays.keys() == found.keys()
    assert all(arrays[key].tobytes() == found[key].tobytes() for key in arrays)
    np.testing.assert_array_equal(said(model, as_known(model)), said(original, as_known(model)))
    return "the same model"


def model_commands(path, folder):
    np.save(folder / "rows.npy", ROWS[:20])
    return [
        ["inspect", path, "--json"],
        ["transform", path, folder / "rows.npy", "--output", folder / "out.csv", "--overwrite"],
        ["merge", path, path, "--save", folder / "merged", "--overwrite"],
    ]


def as_known(model):
    """Rows with the names the model knows."""
    names = getattr(model, "feature_names_in_", None)
    return ROWS[:60] if names is None else pd.DataFrame(ROWS[:60], columns=names)
