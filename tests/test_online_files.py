"""Models as files and other copies; every solver."""

import copy
import json
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import safetensors.numpy

from eigenstream import SquaredOutput, load
from eigenstream.io import checkpoint
from eigenstream.model import StreamModel
from eigenstream.monitoring import MonitoredModel
from tests.marks import slow
from tests.online_model import paper, stored

pytestmark = pytest.mark.filterwarnings("ignore:the rank has reached max_components:UserWarning")


def test_files_continue_exactly_and_carry_everything(online, tmp_path):
    frame = pd.DataFrame(paper(900), columns=[f"sensor{i}" for i in range(64)])
    model = online(
        regularizer=SquaredOutput(0.1),
        half_life=300,
        missing="impute",
        random_state=np.random.RandomState(1),
    )
    model.partial_fit(frame[:500])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.regularizer == SquaredOutput(0.1)
    assert list(again.feature_names_in_) == list(frame.columns)
    for one in (model, again):
        one.partial_fit(frame[500:])
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    assert again.rank_history_ == model.rank_history_
    assert stored(again)[:2] == stored(model)[:2]


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy, "joblib"])
def test_other_copies_work_too(online, copied, tmp_path):
    X = paper(600)
    model = online(random_state=0).partial_fit(X[:301])
    if copied == "joblib":
        joblib.dump(model, tmp_path / "model.joblib")
        again = joblib.load(tmp_path / "model.joblib")
    else:
        again = copied(model)
        again = pickle.loads(again) if isinstance(again, bytes) else again
    np.testing.assert_array_equal(
        again.partial_fit(X[301:]).transform(X), model.partial_fit(X[301:]).transform(X)
    )


def test_saving_replaces_all_or_nothing(online, tmp_path, monkeypatch):
    model = online(random_state=0).fit(paper(300))
    path = tmp_path / "model"
    model.save(path)
    good = path.read_bytes()

    def disk_full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", disk_full)
    with pytest.raises(OSError, match="No space"):
        model.partial_fit(paper(10)).save(path)
    assert path.read_bytes() == good
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_no_pickle_on_the_load_path(online, tmp_path, monkeypatch):
    model = online(random_state=0).fit(paper(300))
    model.save(tmp_path / "model")

    def refuse(*_, **__):
        raise AssertionError("pickle was used")

    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "load", refuse)
    assert load(tmp_path / "model").n_components_ == 4


def test_damaged_and_foreign_files_are_refused(online, tmp_path):
    path = tmp_path / "model"
    online(random_state=0).fit(paper(300)).save(path)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    cases = [b"", b"hello", good[:10], good[: len(good) // 2], good[:-1], good + b"x", rng.bytes(5000)]
    flipped = bytearray(good)
    flipped[-100] ^= 1
    cases.append(bytes(flipped))
    cases += [
        good.replace(rb"\"version\": 1", rb"\"version\": 9"),
        good.replace(b"eigenstream", b"eigenstraem", 1),
    ]
    for content in cases:
        path.write_bytes(content)
        with pytest.raises(ValueError, match="eigenstream"):
            load(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize("part", ["header", "anywhere"])
def test_mutated_files_give_an_error(online, tmp_path, part):
    path = tmp_path / "model"
    online(max_components=3, random_state=0).fit(paper(250)[:, :8]).save(path)
    good = path.read_bytes()
    header = 8 + int.from_bytes(good[:8], "little")
    rng = np.random.default_rng(0)
    for _ in range(500):
        mutated = bytearray(good)
        for position in rng.integers(0, header if part == "header" else len(good), rng.integers(1, 4)):
            mutated[position] = rng.integers(256)
        path.write_bytes(bytes(mutated))
        if bytes(mutated) != good:
            with pytest.raises(ValueError, match="eigenstream"):
                load(path)


def test_a_position_is_saved_with_the_model(online, tmp_path):
    model = online(random_state=0).fit(np.eye(4))
    position = {"rows": 4, "place": [1, "two", None]}
    model.save(tmp_path / "model", position=position)
    assert model.position_ is None  # saving changes nothing
    assert load(tmp_path / "model").position_ == position
    with pytest.raises(TypeError, match="JSON"):
        model.save(tmp_path / "model", position={1, 2})
    assert load(tmp_path / "model").position_ == position
    assert load(tmp_path / "model").fit(np.eye(4)).position_ is None


@pytest.mark.parametrize(
    "options", [{}, {"half_life": 60}, slow({"half_life": 60, "regularizer": "scale-dependent"})]
)
@pytest.mark.parametrize("cut", [5, slow(40), 64, slow(100), 575, slow(576), slow(700)])
def test_a_loaded_model_saves_the_same_bytes(online, options, cut, tmp_path):
    """At once, and after going on: nothing changes its type or its last digit on the way through a file."""
    X = paper(900)
    model = online(random_state=0, **options).fit(X[:cut])
    model.save(tmp_path / "first")
    again = load(tmp_path / "first")
    again.save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    model.partial_fit(X[cut:]).save(tmp_path / "first")
    again.partial_fit(X[cut:]).save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_a_model_as_bytes_is_the_content_of_its_file(tmp_path):
    for model in (StreamModel(random_state=0), MonitoredModel(random_state=0)):
        model.learn_many(paper(100))
        model.save(tmp_path / "model", {"order": 3})
        content = model.to_bytes({"order": 3})
        assert (tmp_path / "model").read_bytes() == content
        assert type(model).from_bytes(content).to_bytes({"order": 3}) == content
        with pytest.raises(ValueError, match="'sensor' is not a readable eigenstream model"):
            type(model).from_bytes(content[: len(content) // 2], "sensor")


def test_files_are_the_bytes_that_safetensors_writes():
    arrays = {
        "b.x": np.arange(3.0), "a": np.zeros((2, 0)), "mode 1.z": np.ones((2, 3), np.float32),
        "t": np.array([True]), "i": np.arange(4), "j": np.arange(4, dtype=np.int32),
    }  # fmt: skip
    packed = checkpoint.packed(arrays, {"name": 'ä"\\', "numbers": [1.5, None]})
    size = int.from_bytes(packed[:8], "little")
    metadata = json.loads(packed[8 : 8 + size])["__metadata__"]
    assert packed == safetensors.numpy.save(arrays, metadata=metadata)
    found, document = checkpoint.unpacked(packed, "packed")
    assert document == {"name": 'ä"\\', "numbers": [1.5, None]}
    assert {name: (array.dtype, array.tolist()) for name, array in found.items()} == {
        name: (array.dtype, array.tolist()) for name, array in arrays.items()
    }
