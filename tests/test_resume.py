"""Which files a job may touch: what is named, what it wrote itself, and nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import eigenstream
from eigenstream import OnlineAdaptivePCA, checkpoint
from eigenstream.cli import main
from eigenstream.running import Request, RunError, Watcher, prepare
from eigenstream.sinks import SinkError

ROWS, WIDTH, BATCH = 1000, 4, 100
OUTPUTS = ["s.csv", "s.npy", "s.parquet"]


class Crash(BaseException):
    """Ends a job as a kill does: nothing more is written."""


class Crashing(Watcher):
    def __init__(self, batches):
        self.left = batches

    def learnt(self, model, batch):
        self.left -= 1
        if not self.left:
            raise Crash


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two sources, of which the second begins differently."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((ROWS, WIDTH)) * [9, 3, 1, 1]
    np.save("x.npy", X)
    np.save("other.npy", X[::-1])
    np.savetxt("x.csv", X, delimiter=",")
    return tmp_path


def job(source="x.npy", output="s.csv", *, save="m", every_rows=300, **options):
    parameters = {"max_components": 3, "random_state": 0}
    asked = Request(source, output, batch_rows=BATCH, parameters=parameters)
    return prepare(asked, save=save, every_rows=every_rows, **options)


def run(*arguments, **options):
    with job(*arguments, **options) as prepared:
        return prepared.run()


def crash(*arguments, after, **options):
    """A job that is gone after so many batches."""
    with job(*arguments, **options) as prepared:
        prepared.watchers = (Crashing(after),)
        with pytest.raises(Crash):
            prepared.run()


def content(path):
    path = Path(path)
    if not path.is_dir():
        return path.read_bytes()
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def call(*arguments, code=0):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit | None)
    return result.output


# The same file twice


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "x.csv", "--save", "x.csv", "--overwrite"],
        ["run", "x.csv", "--output", "x.csv", "--overwrite"],
        ["run", "x.csv", "--output", "linked.csv", "--overwrite"],
        ["run", "x.csv", "--save", "linked.csv", "--overwrite"],
        ["run", "x.csv", "--save", "b.csv", "--output", "b.csv"],
        ["run", "x.csv", "--save", "b.png", "--picture", "b.png"],
        ["run", "folder.parquet", "--output", "folder.parquet", "--overwrite"],
        ["run", "folder.parquet/part-000000.parquet", "--output", "folder.parquet", "--overwrite"],
        ["transform", "m", "x.csv", "--output", "x.csv", "--overwrite"],
        ["transform", "m.csv", "x.csv", "--output", "m.csv", "--overwrite"],
        ["transform", "m", "folder.parquet", "--output", "folder.parquet", "--overwrite"],
    ],
)
def test_source_model_and_output_must_be_different_files(folder, arguments):
    run(output="folder.parquet")
    Path("m.csv").write_bytes(Path("m").read_bytes())
    Path("linked.csv").symlink_to("x.csv")
    before = {name: content(name) for name in sorted(os.listdir())}
    assert "are the same file" in call(*arguments, code=1)
    assert {name: content(name) for name in sorted(os.listdir())} == before


def test_standard_input_that_is_the_output_is_refused(folder):
    before = content("x.csv")
    command = [sys.executable, "-m", "eigenstream", "run", "-", "--output", "x.csv", "--overwrite"]
    with open("x.csv") as piped:
        done = subprocess.run(command, stdin=piped, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "are the same file" in done.stderr
    assert content("x.csv") == before


# Outputs that are not the job's own


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_job_resumed_in_another_folder_leaves_what_lies_there(folder, monkeypatch, output):
    crash(output=output, after=5)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    run("../other.npy", output, save="own")
    before = content(output)
    with pytest.raises(SinkError, match=r"does not hold what had been written|is shorter than"):
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
        with pytest.raises(SinkError, match="is shorter than"):
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
def test_garbage_in_the_output_is_refused(folder, batches):
    crash(after=batches)
    Path("s.csv").unlink()
    Path("s.csv").write_bytes(b"garbage\n" * 100_000)
    before = content("s.csv")
    with pytest.raises(
        (SinkError, RunError), match=r"does not hold what had been|exists: choose another name"
    ):
        run(resume=True)
    assert content("s.csv") == before


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
    recipe = Request("x.npy", output, batch_rows=BATCH, parameters={"random_state": 0}).document() | changes
    recipe = {name: value for name, value in recipe.items() if value != "missing"}
    model.save("theirs", position={"source": position, "output": place, "recipe": recipe, "names": None})


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
    """The format from before: it loads, but nothing proves what its output is."""
    Path("s.csv").write_text("row,component_0\n")
    forged("s.csv", {"bytes": 3, "rows": 0})
    assert eigenstream.load("theirs").n_samples_seen_ == 300
    before = content("s.csv")
    assert "holds no fingerprint" in call("run", "--save", "theirs", "--output", "s.csv", "--resume", code=1)
    assert content("s.csv") == before


def test_a_checkpoint_of_the_format_from_before_continues_without_an_output(folder):
    forged(None, None)
    run(output=None, save="calm")
    call("run", "--save", "theirs", "--resume", "--quiet")
    np.testing.assert_array_equal(
        eigenstream.load("theirs").components_, eigenstream.load("calm").components_
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": "missing"}, {"rows": "missing"}, {"source": "missing"}, {"header": "missing"},
        {"output": 5}, {"output": ["s.csv"]}, {"output": "s.csv"}, {"source": 3}, {"rows": [5, 2]},
        {"rows": [0]}, {"rows": [0.5, None]}, {"rows": [0, 10**30]}, {"batch_rows": 0}, {"batch_rows": True},
        {"batch_rows": "9"}, {"columns": 7}, {"columns": [1.5]}, {"on_bad_row": "guess"}, {"delimiter": 1},
        {"header": "yes"}, {"alpha": {"a": 1}},
    ],
    ids=str,
)  # fmt: skip
def test_every_stored_setting_is_checked(folder, changes):
    forged(None, None, **changes)
    before = sorted(os.listdir())
    assert "theirs cannot be resumed: the stored" in call("run", "--save", "theirs", "--resume", code=1)
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


# Two at once


HOLDER = """
import sys
from tests.test_resume import *
class Waiting(Watcher):
    def learnt(self, model, batch):
        if batch.count == int(sys.argv[3]):
            print("at work", flush=True)
            sys.stdin.readline()
with job(output=sys.argv[1], save=sys.argv[2]) as prepared:
    prepared.watchers = (Waiting(),)
    prepared.run()
"""


class AtWork:
    """A job in another process that waits after so many rows until it is let go."""

    def __init__(self, output, save="first", rows=500):
        command = [sys.executable, "-c", HOLDER, str(output), str(save), str(rows)]
        path = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
        env = os.environ | {"PYTHONPATH": path}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )

    def __enter__(self):
        assert self.process.stdout.readline() == "at work\n"
        return self

    def __exit__(self, *failure):
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_second_job_on_one_output_is_refused_and_harms_nothing(folder, output):
    with AtWork(output):
        before = content(output)
        with pytest.raises(SinkError, match="another process is writing to"):
            run("other.npy", output, save="second", overwrite=True)
        assert content(output) == before
    run(output="calm" + output[1:], save="calm")
    assert content(output) == content("calm" + output[1:])


def test_merge_and_links_take_the_lock(folder):
    run(output=None, save="a")
    Path("link").symlink_to("first")
    with AtWork("s.csv", save="first"):
        for arguments in (
            ("merge", "a", "--save", "first", "--overwrite"),
            ("merge", "a", "--save", "link", "--overwrite"),
            ("run", "x.npy", "--save", "link", "--overwrite"),
        ):
            assert "another process is working on" in call(*arguments, code=1)
    assert Path("link").is_symlink()
    call("merge", "a", "--save", "link", "--overwrite")
    assert Path("link").is_symlink()
    assert content("first") != content("a")
    assert not [name for name in os.listdir() if name.endswith(".lock")]


def test_another_model_s_temporary_file_is_left_alone(folder):
    Path(".m.model.0123456789abcdef.tmp").write_text("being written")
    run(output=None, save="m")
    assert content(".m.model.0123456789abcdef.tmp") == b"being written"


# What is overwritten stays until there is something better


@pytest.mark.parametrize(
    "arguments",
    [
        ["--output", "bad.txt"],
        ["--output", "nowhere/s.csv"],
        ["--output", "s.csv", "--max-components", "100"],
        ["--output", "s.csv", "--columns", "99"],
        ["--output", "s.csv", "--rows", "90000:"],
    ],
)
def test_overwriting_deletes_nothing_before_it_has_learnt(folder, arguments):
    run()
    before = {name: content(name) for name in ("m", "s.csv", ".m.job")}
    call("run", "x.csv", "--save", "m", "--overwrite", *arguments, code=1)
    assert {name: content(name) for name in before} == before
    assert run(resume=True).rows == 0  # the old job can still be resumed


@pytest.mark.parametrize("output", [None, *OUTPUTS])
@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_an_overwriting_job_that_was_killed_begins_anew(folder, output, after):
    run("other.npy", output)
    crash("x.npy", output, after=after, overwrite=True)
    run("x.npy", output, resume=True)
    calm = None if output is None else "calm" + output[1:]
    run("x.npy", calm, save="calm")
    assert eigenstream.load("m").n_samples_seen_ == ROWS
    np.testing.assert_array_equal(eigenstream.load("m").components_, eigenstream.load("calm").components_)
    if output is not None:
        assert content(output) == content(calm)


def test_an_empty_output_is_nothing_to_lose(folder):
    Path("s.csv").touch()
    run()
    assert len(Path("s.csv").read_text().splitlines()) == 1 + ROWS


# For those who write Python


def test_the_user_s_callback_is_kept_and_called(folder):
    changes, seen = [], []

    class Listening(Watcher):
        def rank_changed(self, change):
            seen.append(change)

    model = OnlineAdaptivePCA(random_state=0, on_rank_change=changes.append)
    with prepare(Request("x.npy"), model=model) as prepared:
        prepared.watchers = (Listening(),)
        prepared.run()
    assert changes == seen == model.rank_history_ != []
    assert model.on_rank_change == changes.append


def test_a_job_runs_outside_the_main_thread(folder):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run, save=None, output=None).result().rows == ROWS


@pytest.mark.parametrize("rate", [0, -1, 1e-300, float("nan"), float("inf")])
def test_rates_that_make_no_sense_are_refused(folder, rate):
    with pytest.raises(ValueError, match="rate must be at least"):
        job(save=None, rate=rate)


def test_what_was_asked_must_agree_with_what_is_resumed(folder):
    crash(after=5)
    asked = Request("x.npy", "s.csv", parameters={"max_components": 2})
    with pytest.raises(RunError, match="was made with max_components=3, not max_components=2"):
        prepare(asked, save="m", resume=True)
    with pytest.raises(RunError, match="was made with batch_rows=100, not batch_rows=7"):
        prepare(Request("x.npy", "s.csv", batch_rows=7), save="m", resume=True)
    with prepare(Request(None, "s.csv"), save="m", resume=True) as prepared:
        assert prepared.run().rows == ROWS - 300


def test_the_output_of_transform_is_closed_when_something_goes_wrong(folder):
    from eigenstream import running, sinks, sources

    model = OnlineAdaptivePCA(random_state=0).fit(np.load("x.npy"))
    lines = Path("x.csv").read_text().splitlines()
    lines[500] = "oops,1,2,3"
    Path("bad.csv").write_text("\n".join(lines))
    opened = []

    def sink(layout):
        opened.append(sinks.open_sink("out.csv", layout))
        return opened[0]

    with (
        sources.open("bad.csv", batch_rows=BATCH) as source,
        pytest.raises(sources.SourceError, match="oops"),
    ):
        running.score(model, source, sink)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0].file.handle)
    assert len(Path("out.csv").read_text().splitlines()) == 1 + 500
