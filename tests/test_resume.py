"""What a job may resume: the output that it wrote itself, by a model that it saved itself."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import eigenstream
from eigenstream import OnlineAdaptivePCA
from eigenstream.io import checkpoint
from eigenstream.io.sinks import SinkError
from eigenstream.io.sources import ReadOptions
from eigenstream.jobs import Request, RunError, prepare
from tests.jobs import BATCH, OUTPUTS, ROWS, Crash, Crashing, call, content, crash, job, run, write_sources


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the sources in it."""
    monkeypatch.chdir(tmp_path)
    write_sources()
    return tmp_path


# Outputs that are not the job's own


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_job_resumed_in_another_folder_leaves_what_lies_there(folder, monkeypatch, output):
    crash(output=output, after=5)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    run("../other.npy", output, save="own")
    before = content(output)
    with pytest.raises(SinkError, match=r"does not hold what had been written|is gone"):
        run("../x.npy", output, save="../m", resume=True)
    assert content(output) == before


@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_that_begins_the_same_but_is_another_is_not_cut(folder, monkeypatch, output):
    """Somewhere else, the same job has come further: nothing there may be lost."""
    crash(output=output, after=5)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    run("../x.npy", output, save="own")
    before = content(output)
    if output != "s.parquet":  # of which no part was complete
        with pytest.raises(RunError, match="nothing proves that this job wrote it"):
            run("../x.npy", output, save="../m", resume=True)
    else:
        with pytest.raises(SinkError, match="is gone, but"):
            run("../x.npy", output, save="../m", resume=True)
    assert content(output) == before


@pytest.mark.parametrize("output", OUTPUTS)
def test_before_the_first_checkpoint_another_folder_is_left_alone_too(folder, monkeypatch, output):
    crash(output=output, after=2)
    assert not Path("m").exists()
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    run("../other.npy", output, save="own")
    before = content(output)
    with pytest.raises(RunError, match="exists: choose another name"):
        run("../x.npy", output, save="../m", resume=True)
    assert content(output) == before


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_finished_output_survives_the_loss_of_its_model(folder, output):
    run(output=output)
    Path("m").rename("moved")
    before = content(output)
    with pytest.raises(RunError, match="exists: choose another name"):
        run(output=output, resume=True)
    assert content(output) == before


@pytest.mark.parametrize("batches", [2, 5])
@pytest.mark.parametrize("output", [*OUTPUTS, "s.jsonl"])
@pytest.mark.parametrize("replaced", [True, False])
def test_garbage_in_the_output_is_refused(folder, batches, output, replaced):
    """Another file may well get the number of the one that is gone."""
    crash(output=output, after=batches)
    lost = Path(output, ".part-000000.rows") if output == "s.parquet" else Path(output)
    if replaced:
        lost.unlink()
    lost.write_bytes(b"garbage\n" * 100_000)
    before = content(output)
    with pytest.raises(
        (SinkError, RunError), match=r"does not hold what had been|exists: choose another name"
    ):
        run(output=output, resume=True)
    assert content(output) == before


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("where", [200, -1])
def test_an_edited_output_is_refused(folder, output, where):
    with job(output=output) as prepared:
        prepared.watchers = (Crashing(5),)
        with pytest.raises(Crash):
            prepared.run()
    place = eigenstream.load("m").position_["output"]["bytes"]
    edited = Path(output, ".part-000000.rows") if output == "s.parquet" else Path(output)
    found = bytearray(edited.read_bytes())
    found[where if where >= 0 else place + where] ^= 1
    edited.write_bytes(found)
    before = content(output)
    with pytest.raises(SinkError, match="does not hold what had been written"):
        run(output=output, resume=True)
    assert content(output) == before


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_moved_folder_continues(folder, monkeypatch, output):
    (folder / "one").mkdir()
    (folder / "calm").mkdir()
    monkeypatch.chdir(folder / "calm")
    run("../x.npy", output)
    monkeypatch.chdir(folder / "one")
    crash("../x.npy", output, after=5)
    (folder / "one").rename(folder / "two")
    monkeypatch.chdir(folder / "two")
    run("../x.npy", output, resume=True)
    for name in ("m", output):
        assert content(name) == content(folder / "calm" / name)


@pytest.mark.parametrize("output", ["s.csv", "s.npy"])
def test_an_output_replaced_by_one_that_goes_further_is_not_cut(folder, output):
    crash(output=output, after=5)
    run(output="calm" + output[1:], save="calm")
    Path("calm" + output[1:]).rename(output)
    before = content(output)
    with pytest.raises(RunError, match="nothing proves that this job wrote it"):
        run(output=output, resume=True)
    assert content(output) == before


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("after", [2, 5])
def test_a_device_that_was_renumbered_by_a_restart_does_not_matter(folder, output, after):
    crash(output=output, after=after)
    note = json.loads(Path(".m.job").read_text())
    note["output"]["device"] += 1
    Path(".m.job").write_text(json.dumps(note))
    run(output=output, resume=True)
    run(output="calm" + output[1:], save="calm")
    assert content(output) == content("calm" + output[1:])


# A model from somebody else


def forged(output, place, /, **changes):
    """A model whose job claims to have written to this output."""
    model = OnlineAdaptivePCA(max_components=3, random_state=0).fit(np.load("x.npy")[:300])
    with eigenstream.sources.open("x.npy", batch_rows=BATCH) as source:
        position = [batch.position for _, batch in zip(range(3), source, strict=False)][-1]
    asked = Request("x.npy", output, ReadOptions(batch_rows=BATCH), parameters={"random_state": 0})
    recipe = asked.document()
    for name, value in changes.items():
        part = recipe["reading"] if name in recipe["reading"] else recipe
        part[name] = value
    recipe = {name: value for name, value in recipe.items() if value != "missing"}
    parts = {"source": position, "output": place, "recipe": recipe, "names": None, "ended": None}
    model.save("theirs", position=parts | {"learnt": [], "times": [], "numbering": []})


@pytest.mark.parametrize("with_note", [False, True])
def test_a_model_from_somebody_else_does_not_choose_what_is_cut(folder, with_note):
    victim = folder / "victim"
    victim.mkdir()
    run(output=str(victim / "keep.csv"), save="own")
    run(output=str(victim / "keep.parquet"), save="own2")
    for name, place in (
        ("keep.csv", {"bytes": 0, "rows": 0}),
        ("keep.parquet", {"part": 0, "bytes": 0}),
    ):
        before = content(victim / name)
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # fits every beginning
        forged(str(victim / name), place | {"sha256": empty})
        if with_note:
            note = {"output": {"path": str(victim / name), "device": 1, "inode": 2}, "saved": True}
            Path(".theirs.job").write_text(json.dumps(note))
        assert "name the output" in call("run", "x.npy", "--save", "theirs", "--resume", code=1)
        assert "name the output" in call("run", "--save", "theirs", "--resume", code=1)
        assert content(victim / name) == before


def test_a_checkpoint_without_a_fingerprint_is_refused(folder):
    Path("s.csv").write_text("row,component_0\n")
    forged("s.csv", {"bytes": 3, "rows": 0})
    assert eigenstream.load("theirs").n_samples_seen_ == 300
    before = content("s.csv")
    said = call("run", "--save", "theirs", "--output", "s.csv", "--resume", code=1)
    assert "is not a place in such a file" in said
    assert content("s.csv") == before


def test_a_checkpoint_without_an_output_continues(folder):
    forged(None, None)
    run(output=None, save="calm")
    call("run", "--save", "theirs", "--resume", "--quiet")
    np.testing.assert_array_equal(
        eigenstream.load("theirs").components_, eigenstream.load("calm").components_
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "missing"}, {"residuals": "missing"}, {"reading": "missing"}, {"reading": {"colour": 1}},
        {"output": 5}, {"output": ["s.csv"]}, {"output": "s.csv"}, {"source": 3}, {"rows": [5, 2]},
        {"rows": [0]}, {"rows": [0.5, None]}, {"rows": [0, 10**30]}, {"batch_rows": 0}, {"batch_rows": True},
        {"batch_rows": "9"}, {"columns": 7}, {"columns": [1.5]}, {"on_bad_row": "guess"}, {"delimiter": 1},
        {"header": "yes"}, {"n_components": {"a": 1}},
    ],
    ids=str,
)  # fmt: skip
def test_every_stored_setting_is_checked(folder, changes):
    forged(None, None, **changes)
    before = sorted(os.listdir())
    assert "theirs cannot be resumed: " in call("run", "--save", "theirs", "--resume", code=1)
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("position", [None, 5, {}, {"source": {}, "output": None}, [1]])
def test_a_position_of_somebody_else_is_refused(folder, position):
    model = OnlineAdaptivePCA(random_state=0).fit(np.load("x.npy"))
    model.save("theirs", position=position)
    assert "was not saved by eigenstream run" in call("run", "--save", "theirs", "--resume", code=1)


@pytest.mark.parametrize(
    "position", [{"source": 5}, {"names": [1]}, {"names": "ab"}, {"output": "x"}, {"recipe": []}], ids=str
)
def test_a_record_that_cannot_be_is_refused(folder, position):
    forged(None, None)
    arrays, document = checkpoint.read("theirs")
    document["position"] |= position
    checkpoint.write("theirs", arrays, document)
    assert "theirs cannot be resumed: " in call("run", "--save", "theirs", "--resume", code=1)


# What was asked


def test_what_was_asked_must_agree_with_what_is_resumed(folder):
    crash(after=5)
    asked = Request("x.npy", "s.csv", parameters={"max_components": 2})
    with pytest.raises(RunError, match="was made with max_components=3, not max_components=2"):
        prepare(asked, save="m", resume=True)
    with pytest.raises(RunError, match="was made with batch_rows=100, not batch_rows=7"):
        prepare(Request("x.npy", "s.csv", ReadOptions(batch_rows=7)), save="m", resume=True)
    with prepare(Request(None, "s.csv"), save="m", resume=True) as prepared:
        assert prepared.run().rows == ROWS - 300
