"""A saved model that goes on with the next source: as if all had been one, and each only once."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import eigenstream
from eigenstream import OnlineAdaptivePCA
from eigenstream.io.sources import ReadOptions, SourceError
from eigenstream.jobs import Request, prepare
from tests.jobs import Crash, Crashing, call
from tests.source_files import WRITERS

NAMES = ["p", "q", "r", "s"]
DAYS = ("mon", "tue", "wed")
X = np.random.default_rng(0).standard_normal((900, 4)) * [9, 3, 1, 1]


def write(name, rows, names=NAMES, columns=range(4), note=False):
    head = [*(["note"] if note else []), *(names[i] for i in columns)]
    lines = [[*(["x"] if note else []), *(repr(float(row[i])) for i in columns)] for row in rows]
    Path(name).write_text("".join(",".join(line) + "\n" for line in [head, *lines]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three days, and all of them in one file."""
    monkeypatch.chdir(tmp_path)
    for i, day in enumerate(DAYS):
        write(f"{day}.csv", X[300 * i : 300 * (i + 1)])
    write("all.csv", X)
    return tmp_path


@pytest.fixture(params=["exact", "subspace", "network"])
def options(request):
    return ["--solver", request.param, "--half-life", "200", "--max-components", "3", "--quiet"]


def state(name):
    """All that a model knows, without where it stands."""
    arrays, document = eigenstream.io.checkpoint.read(name)
    return {key: value.tobytes() for key, value in arrays.items()}, document["tracker"]


def learnt(name):
    return eigenstream.load(name).n_samples_seen_


def test_day_after_day_is_as_good_as_all_at_once(folder, options):
    call("run", "all.csv", "--save", "calm", *options)
    call("run", "mon.csv", "--save", "m", *options)
    call("run", "tue.csv", "--model", "m", "--save", "m", "--quiet")
    call("run", "wed.csv", "--model", "m", "--save", "week", "--output", "wed.npy", "--quiet")
    assert state("week") == state("calm")
    assert learnt("m") == 600
    assert len(np.load("wed.npy")) == 300
    assert json.loads(call("inspect", "week", "--json"))["sources"] == ["mon.csv", "tue.csv", "wed.csv"]


def test_a_source_is_not_learnt_twice_in_silence(folder):
    call("run", "mon.csv", "--save", "m", "--quiet")
    said = call("run", "mon.csv", "--model", "m", "--save", "m", code=1)
    assert "mon.csv was learnt before: it would be counted twice (--resume reads only" in said
    shutil.copy("mon.csv", "copy.csv")
    assert "copy.csv was learnt before as mon.csv" in call("run", "copy.csv", "--model", "m", code=1)
    call("run", "tue.csv", "--model", "m", "--save", "m", "--quiet")
    for day in ("mon.csv", "tue.csv"):
        assert f"{day} was learnt before" in call("run", day, "--model", "m", "--save", "m", code=1)
    assert learnt("m") == 600
    call("run", "mon.csv", "--model", "m", "--save", "m", "--relearn", "--quiet")
    assert learnt("m") == 900
    assert "was learnt before" in call("run", "mon.csv", "--model", "m", "--save", "m", code=1)


def test_the_same_command_may_be_given_again_with_resume(folder):
    call("run", "mon.csv", "--save", "m", "--quiet")
    command = ("run", "tue.csv", "--model", "m", "--save", "m", "--resume")
    call(*command)
    before = Path("m").read_bytes()
    assert "tue.csv: nothing new, it had been learnt to its end" in call(*command)
    assert Path("m").read_bytes() == before
    with open("tue.csv", "a") as file:
        file.write("1,2,3,4\n")
    call(*command)
    assert learnt("m") == 601


def test_a_file_that_has_grown_is_not_learnt_from_its_beginning(folder):
    call("run", "mon.csv", "--save", "m", "--quiet")
    with open("mon.csv", "a") as file:
        file.write("1,2,3,4\n")
    assert "mon.csv was learnt before" in call("run", "mon.csv", "--model", "m", "--save", "m", code=1)
    call("run", "mon.csv", "--save", "m", "--resume", "--quiet")
    assert learnt("m") == 301


def test_another_file_of_the_same_name_is_another_source(folder):
    shutil.copy("mon.csv", "today.csv")
    call("run", "today.csv", "--save", "m", "--quiet")
    shutil.copy("tue.csv", "today.csv")
    call("run", "today.csv", "--model", "m", "--save", "m", "--resume", "--quiet")
    assert learnt("m") == 600


def test_of_a_folder_only_new_files_are_learnt(folder):
    Path("days").mkdir()
    shutil.copy("mon.csv", "days/1.csv")
    Path("days/0.csv").write_text(",".join(NAMES) + "\n")  # a day without rows
    call("run", "days", "--save", "m", "--quiet")
    shutil.copy("tue.csv", "days/2.csv")
    shutil.copy("wed.csv", "days/3.csv")
    call("run", "days", "--model", "m", "--save", "m", "--quiet")
    call("run", "all.csv", "--save", "calm", "--quiet")
    assert state("m") == state("calm")
    assert "was learnt before" in call("run", "days", "--model", "m", "--save", "m", code=1)


@pytest.mark.parametrize("output", [(), ("--output", "s.csv")])
@pytest.mark.parametrize("later", [(), ("--model", "m")], ids=["own job", "going on"])
def test_a_folder_grows_from_one_file_to_two_to_many(folder, output, later):
    """The position in a folder of one file is one of that file, and is understood where others have come."""
    Path("days").mkdir()
    command = ("run", "days", "--save", "m", "--resume", *output)
    for i, day in enumerate(DAYS):
        shutil.copy(f"{day}.csv", f"days/{i}.csv")
        said = call(*command, *(later if i else ()))
        assert "300 rows of 4 numbers" in said
        assert "nothing new" in call(*command, *later)
    call("run", "all.csv", "--save", "calm", "--output", "calm.csv", "--quiet")
    assert state("m") == state("calm")
    if output:
        assert Path("s.csv").read_bytes() == Path("calm.csv").read_bytes()


def test_a_file_that_comes_between_those_of_a_folder_is_learnt_by_a_model_that_goes_on(folder):
    Path("days").mkdir()
    for day, name in zip(DAYS[:2], ("a", "c"), strict=True):
        shutil.copy(f"{day}.csv", f"days/{name}.csv")
    call("run", "days", "--save", "m", "--resume", "--quiet")
    shutil.copy("wed.csv", "days/b.csv")
    assert "--model m goes on with what it has not" in call("run", "days", "--save", "m", "--resume", code=1)
    command = ("run", "days", "--model", "m", "--save", "m", "--resume")
    assert "b.csv: 300 rows" in call(*command)
    before = Path("m").read_bytes()
    assert "nothing new" in call(*command)
    assert Path("m").read_bytes() == before
    call("run", "all.csv", "--save", "calm", "--quiet")
    assert state("m") == state("calm")
    with open("days/a.csv", "a") as file:
        file.write("1,2,3,4\n")
    assert "a.csv was learnt before and has grown since" in call(*command, code=1)


def test_with_resume_a_file_that_was_not_learnt_last_holds_nothing_new(folder):
    """It is not refused with the advice to use --resume; what was added to it is not passed over."""
    call("run", "mon.csv", "--save", "m", "--quiet")
    call("run", "tue.csv", "--model", "m", "--save", "m", "--quiet")
    before, command = Path("m").read_bytes(), ("run", "mon.csv", "--model", "m", "--save", "m", "--resume")
    assert "mon.csv: nothing new, it had been learnt to its end" in call(*command)
    assert Path("m").read_bytes() == before
    with open("mon.csv", "a") as file:
        file.write("1,2,3,4\n")
    said = call(*command, code=1)
    assert "mon.csv was learnt before, and others after it" in said
    assert "--resume" not in said
    call("run", "all.csv", "--rows", ":100", "--save", "part", "--quiet")
    call("run", "tue.csv", "--model", "part", "--save", "part", "--quiet")
    said = call("run", "all.csv", "--model", "part", "--save", "part", "--resume", code=1)
    assert "all.csv was learnt before, and others after it" in said


def test_parts_of_a_file_are_learnt_one_after_the_other(folder):
    call("run", "all.csv", "--rows", ":300", "--save", "m", "--quiet")
    assert "was learnt before" in call("run", "all.csv", "--rows", "299:600", "--model", "m", code=1)
    call("run", "all.csv", "--rows", "300:", "--model", "m", "--save", "m", "--quiet")
    call("run", "all.csv", "--save", "calm", "--quiet")
    assert state("m") == state("calm")


@pytest.mark.parametrize("after", [1, 2, 3])
@pytest.mark.parametrize("save", ["m", "n"])
@pytest.mark.parametrize("output", [None, "out.parquet", "out.csv"])
def test_killed_while_going_on_it_ends_as_if_nothing_had_happened(folder, after, save, output):
    def job(save, output, **options):
        asked = Request("tue.csv", output, ReadOptions(batch_rows=100))
        return prepare(asked, start="m" if save == "n" else save, save=save, every_rows=200, **options)

    call("run", "mon.csv", "--save", "m", "--output", "mon.csv.npy", "--quiet")
    shutil.copy("m", "calm")
    calm = None if output is None else "calm" + output[3:]
    with job("calm", calm) as prepared:
        prepared.run()
    with job(save, output) as prepared:
        prepared.watchers = (Crashing(after),)
        with pytest.raises(Crash):
            prepared.run()
    if after == 1:
        assert learnt("m") == 300
    with job(save, output, resume=True) as prepared:
        prepared.run()
    with job(save, output, resume=True) as prepared:
        assert prepared.run().rows == 0
    assert state(save) == state("calm")
    if output is not None and Path(output).is_file():
        assert Path(output).read_bytes() == Path(calm).read_bytes()


def test_a_model_in_the_middle_of_its_source_is_finished_first(folder):
    with prepare(
        Request("mon.csv", reading=ReadOptions(batch_rows=100)), save="m", every_rows=100
    ) as prepared:
        prepared.watchers = (Crashing(3),)
        with pytest.raises(Crash):
            prepared.run()
    said = call("run", "tue.csv", "--model", "m", "--save", "m", code=1)
    assert "m stands in the middle of mon.csv, after row 200" in said
    assert "--relearn goes on without the rest" in said
    said = call("run", "tue.csv", "--save", "m", "--resume", code=1)
    assert "the model had been learning from mon.csv" in said
    call("run", "tue.csv", "--model", "m", "--save", "n", "--relearn", "--quiet")
    assert learnt("n") == 500
    call("run", "mon.csv", "--save", "m", "--resume", "--quiet")
    call("run", "tue.csv", "--model", "m", "--save", "m", "--quiet")
    assert learnt("m") == 600


def test_settings_are_the_model_s_own(folder):
    call("run", "mon.csv", "--half-life", "200", "--components", "parallel", "--save", "m", "--quiet")
    said = call("run", "tue.csv", "--model", "m", "--half-life", "100", code=1)
    assert (
        "m was made with --half-life 200.0, not with --half-life 100.0: a model goes on with its own" in said
    )
    call("run", "tue.csv", "--model", "m", "--save", "m", "--half-life", "200", "--quiet")
    facts = json.loads(call("inspect", "m", "--json"))
    assert (facts["parameters"]["half_life"], facts["parameters"]["n_components"]) == (200.0, "parallel")
    assert "can go on with any source: name one" in call("run", "--model", "m", code=1)
    assert "--relearn needs --model" in call("run", "mon.csv", "--relearn", code=2)


def test_columns_are_found_by_name_whatever_their_order(folder):
    write("mon.csv", X[:300], note=True)
    call("run", "mon.csv", "--columns", "1:", "--save", "m", "--quiet")
    write("tue.csv", X[300:600], columns=[3, 1, 0, 2], note=True)
    call("run", "tue.csv", "--model", "m", "--save", "m", "--quiet")
    call("run", "all.csv", "--rows", ":600", "--save", "calm", "--quiet")
    assert state("m") == state("calm")
    call("transform", "m", "tue.csv", "--output", "one.npy")
    call("transform", "calm", "all.csv", "--rows", "300:600", "--output", "two.npy")
    np.testing.assert_array_equal(np.load("one.npy"), np.load("two.npy"))
    write("wed.csv", X[600:], names=["p", "q", "r", "t"])
    said = call("run", "wed.csv", "--model", "m", code=1)
    assert "wed.csv: there is no column 's'; there are p, q, r, t" in said
    assert "there is no column 's'" in call("transform", "m", "wed.csv", code=1)
    said = call("run", "wed.csv", "--model", "m", "--columns", "0:4", code=1)
    assert "the columns chosen are not the model's: p, q, r, s" in said
    np.savetxt("bare.csv", X[600:], delimiter=",")
    said = call("run", "bare.csv", "--model", "m", code=1)
    assert "has 3 columns where the model has 4" in said
    call("run", "bare.csv", "--model", "m", "--save", "m", "--columns", "0:4", "--quiet")
    assert learnt("m") == 900


def test_options_of_reading_are_the_model_s_own(folder):
    for day in ("mon", "tue"):
        text = Path(f"{day}.csv").read_text().replace(",", ";").replace(".", ",")
        Path(f"{day}.csv").write_text("# by hand\n" + text)
    call("run", "mon.csv", "--decimal", ",", "--comment", "#", "--save", "m", "--quiet")
    call("run", "tue.csv", "--model", "m", "--save", "m", "--quiet")
    assert learnt("m") == 600
    call("run", "wed.csv", "--model", "m", "--save", "m", "--decimal", ".", "--quiet")
    assert learnt("m") == 900


def test_a_merged_model_remembers_how_its_files_were_read(folder):
    for day in DAYS:
        write(f"{day}.csv", X[:300] if day == "mon" else X[300:600], note=True)
    for day in ("mon", "tue"):
        call("run", f"{day}.csv", "--columns", "1:", "--save", day, "--quiet")
    call("merge", "mon", "tue", "--save", "both")
    write("wed.csv", X[600:], columns=[3, 1, 0, 2], note=True)
    call("transform", "both", "wed.csv", "--output", "scores.npy")
    assert "mon.csv was learnt before" in call("run", "mon.csv", "--model", "both", code=1)
    said = call("run", "--save", "both", "--resume", code=1)
    assert "has no position in a source (--model both goes on" in said
    call("run", "wed.csv", "--model", "both", "--save", "both", "--quiet")
    assert learnt("both") == 900
    assert "mon.csv was learnt by mon and by another" in call("merge", "mon", "mon", "--save", "twice")
    write("other.csv", X[:300], names=["a", "b", "c", "d"])
    call("run", "other.csv", "--save", "other", "--quiet")
    said = call("merge", "mon", "other", "--save", "none", code=1)
    assert "mon and other have learnt from other columns: p, q, r, s; a, b, c, d" in said


def test_a_model_from_python_goes_on(folder):
    OnlineAdaptivePCA(random_state=0).fit(X[:300]).save("m")
    call("run", "tue.csv", "--model", "m", "--save", "m", "--quiet")
    call("run", "all.csv", "--rows", ":600", "--save", "calm", "--quiet")
    assert state("m") == state("calm")


def test_what_cannot_be_opened_changes_nothing(folder):
    call("run", "mon.csv", "--save", "m", "--quiet")
    before = Path("m").read_bytes()
    with pytest.raises(SourceError, match="there is no file"):
        prepare(Request("nowhere.csv"), start="m", save="m")
    assert "are the same file" in call("run", "mon.csv", "--model", "mon.csv", "--save", "n", code=1)
    assert Path("m").read_bytes() == before
    assert "is not a readable eigenstream model; expected" in call(
        "run", "mon.csv", "--model", "tue.csv", code=1
    )


@pytest.mark.parametrize("kind", ["gzip", "JSON objects", "NPY", "NPZ", "Parquet", "Parquet folder", "Zarr"])
def test_a_source_of_any_kind_is_recognised(folder, kind):
    first, second = X[:300, :4], X[300:600, :4]
    for name, rows in (("one", first), ("two", second)):
        WRITERS[kind](folder / name, rows)
    call("run", "one", "--save", "m", "--quiet")
    assert "one was learnt before" in call("run", "one", "--model", "m", "--save", "m", code=1).replace(
        " (rows)", ""
    )
    call("run", "two", "--model", "m", "--save", "m", "--quiet")
    assert learnt("m") == 600
    assert "was learnt before" in call("run", "one", "--model", "m", "--save", "m", code=1)
    said = call("run", "two", "--model", "m", "--save", "m", "--resume")
    assert "nothing new" in said
    call("run", "one", "--model", "m", "--save", "m", "--relearn", "--quiet")
    assert learnt("m") == 900


def test_the_last_thousand_sources_are_remembered(folder):
    from eigenstream.jobs.record import MOST_SOURCES, Record

    many = [{"name": str(i), "bytes": i, "sha256": "x"} for i in range(MOST_SOURCES)]
    record = Record(
        Request(None), {}, None, None, learnt=many, ended=[{"name": "last", "bytes": 1, "sha256": "y"}]
    )
    assert len(record.sources) == MOST_SOURCES
    assert [one["name"] for one in record.sources[-2:]] == ["999", "last"]
    assert Record.from_document(json.loads(json.dumps(record.document()))) == record


@pytest.mark.parametrize(
    "changes",
    [{"learnt": 5}, {"learnt": [{}]}, {"ended": [{"name": "x"}]}, {"times": [[1]]}, {"times": "x"},
     {"ended": [{"name": "x", "bytes": -1, "sha256": "y"}]}],
    ids=str,
)  # fmt: skip
def test_what_a_model_remembers_is_checked(folder, changes):
    call("run", "mon.csv", "--save", "m", "--quiet")
    arrays, document = eigenstream.io.checkpoint.read("m")
    document["position"] |= changes
    eigenstream.io.checkpoint.write("m", arrays, document)
    assert "m cannot be resumed: the stored" in call("run", "--save", "m", "--resume", code=1)
