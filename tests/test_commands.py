"""The commands beside `run`, their help, and what a person sees of a job."""

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import eigenstream
from eigenstream import OnlineAdaptivePCA, streams
from eigenstream.cli import main
from eigenstream.cli.sections import Section
from eigenstream.io.example_files import contents


@pytest.fixture(scope="module")
def X():
    return np.vstack(list(streams.changing_rank(3000, ranks={0: 2}, n_features=8, random_state=0)))


@pytest.fixture(scope="module")
def files(X, tmp_path_factory):
    """The files that the examples of the help texts name."""
    path = tmp_path_factory.mktemp("files")
    np.savetxt(path / "sensors.csv", X, delimiter=",", header="a,b,c,d,e,f,g,h", comments="")
    for name, rows in (("sensors", X), ("monday", X[:1500]), ("tuesday", X[1500:])):
        OnlineAdaptivePCA(random_state=0, missing="impute").fit(rows).save(path / f"{name}.model")
    (path / "times.csv").write_text("time,a\n09:00,1.5\n09:01,2.5\n")
    (path / "titles.csv").write_text("a,b\n")
    return path


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """A folder with those files."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments, code=0, **options):
    result = CliRunner().invoke(main, list(map(str, arguments)), **options)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


EXAMPLES = {
    name: re.search(r"Example: eigenstream (.*)", command.epilog)[1]
    for name, command in main.commands.items()
}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "reproduce"])
def test_the_example_of_each_help_text_works(folder, name):
    if name == "run":  # which makes the model that the other examples start from
        (folder / "sensors.model").unlink()
    assert EXAMPLES[name].startswith(name)
    call(*shlex.split(EXAMPLES[name]))


def test_help_is_there_for_every_command_and_option():
    assert set(main.commands) == {
        "run", "watch", "fill", "forecast", "transform", "inspect", "export", "calibrate", "merge",
        "reproduce", "example", "completion",
    }  # fmt: skip
    assert "..." not in call("--help").replace("[ARGS]...", ""), "a description is cut short"
    for name, command in main.commands.items():
        assert name in call("--help")
        shown = call(name, "--help")
        for option in command.params:
            if option.param_type_name == "option":
                assert option.help, f"{name} {option.name}"
                assert option.opts[0] in shown


def test_the_example_files_are_named_and_nothing_is_replaced_unasked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = contents()
    assert call("example").splitlines() == [f"wrote {name}" for name in files]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    Path("today.csv").write_text("mine")
    assert "exists: choose another name (--overwrite replaces it)" in call("example", code=1)
    assert Path("today.csv").read_text() == "mine"
    call("example", "--overwrite")
    assert Path("today.csv").read_bytes() == files["today.csv"]
    assert "wrote a/b/plant.db" in call("example", "a/b")


def sections_in(shown):
    """The options under each heading of a help text, by their first names."""
    blocks = (block.partition("\n") for block in shown.split("\n\n"))
    return {
        heading: re.findall(r"^  (?:-h, )?(--[\w-]+)", listed, re.MULTILINE)
        for heading, _, listed in blocks
        if re.fullmatch(r"[A-Z].*:", heading)
    }


@pytest.mark.parametrize("name", [*main.commands])
def test_every_option_stands_under_one_heading(name):
    options = [one for one in main.commands[name].params if one.param_type_name == "option"]
    found = sections_in(call(name, "--help"))
    assert all(found.values()), "a heading without options"
    assert sorted(chain(*found.values())) == sorted(["--help", *(option.opts[0] for option in options)])
    if len(options) > 12:
        assert len(found) > 3, "a list so long needs sections: use SectionedCommand"
        assert found["Other:"] == ["--help"], "an option without a section"


def test_sections_come_in_their_order():
    watch = [*sections_in(call("watch", "--help"))]
    assert watch == [f"{section}:" for section in Section]
    run, transform = ([*sections_in(call(name, "--help"))] for name in ("run", "transform"))
    of_watch = ("What to watch for:", "Whom to tell:")
    assert run == [heading for heading in watch if heading not in of_watch]
    assert transform == [heading for heading in run if heading in transform]


def test_run_takes_every_parameter_of_the_estimator():
    ours = {option.name for option in main.commands["run"].params}
    assert set(OnlineAdaptivePCA().get_params()) - {"on_rank_change"} <= ours


def test_run_without_a_source_shows_the_built_in_stream(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = call("run", "--rate", "1e9")
    assert "10,000 rows of 64 numbers" in shown
    assert "rank 2" in shown
    assert "rows/s" not in shown  # so short a time would be mostly that of the start
    story = shown.splitlines()[-1]
    assert story.startswith("In 64 noisy inputs it found 3 components, then 5 from row 3,")
    assert ", then 2 from row " in story
    assert story.endswith("It takes a while to forget components that have gone.")
    assert (tmp_path / "eigenstream.png").stat().st_size > 10_000


def test_transform_is_the_model_s_transform(folder, X):
    model = eigenstream.load("sensors.model")
    call("transform", "sensors.model", "sensors.csv", "--output", "scores.npy")
    np.testing.assert_allclose(np.load("scores.npy"), model.transform(X), atol=1e-9)
    lines = call("transform", "sensors.model", "sensors.csv", "--rows", "10:12").splitlines()
    assert [line.split(",")[0] for line in lines] == ["row", "10", "11"]
    assert eigenstream.load("sensors.model").n_samples_seen_ == 3000


def test_transform_finds_columns_by_their_names(folder, X):
    call("run", "sensors.csv", "--save", "named.model", "--columns", "c,a,e", "--quiet")
    np.savetxt("shuffled.csv", X[:, ::-1], delimiter=",", header="h,g,f,e,d,c,b,a", comments="")
    call("transform", "named.model", "sensors.csv", "--output", "one.npy")
    call("transform", "named.model", "shuffled.csv", "--output", "two.npy")
    np.testing.assert_allclose(np.load("one.npy"), np.load("two.npy"), atol=1e-12)


def test_transform_takes_its_own_policy_for_gaps(folder):
    lines = (folder / "sensors.csv").read_text().splitlines()
    lines[3] = "," + lines[3].partition(",")[2]
    (folder / "gaps.csv").write_text("\n".join(lines))
    call("run", "sensors.csv", "--save", "strict.model", "--quiet")
    assert "--missing impute fills it in" in call(
        "transform", "strict.model", "gaps.csv", "--output", "a.npy", code=1
    )
    call("transform", "strict.model", "gaps.csv", "--output", "b.npy", "--missing", "impute")
    assert np.isfinite(np.load("b.npy")).all()


def test_a_model_that_takes_no_gaps_is_not_told_to_fill_them(folder):
    lines = (folder / "sensors.csv").read_text().splitlines()
    lines[3] = "," + lines[3].partition(",")[2]
    (folder / "gaps.csv").write_text("\n".join(lines))
    call("run", "sensors.csv", "--save", "strict.model", "--quiet")
    said = call("run", "gaps.csv", "--model", "strict.model", code=1)
    assert "(--on-bad-row skip leaves such rows out" in said
    assert "--missing" not in said
    call("run", "gaps.csv", "--model", "strict.model", "--on-bad-row", "skip")


def test_transform_says_what_does_not_fit(folder):
    wrong = call("transform", "sensors.model", "sensors.csv", "--columns", "0:3", code=1)
    assert "has 3 columns where the model has 8 (--columns chooses some of them)" in wrong
    call("transform", "sensors.model", "sensors.csv", "--output", "scores.csv")
    assert "exists" in call("transform", "sensors.model", "sensors.csv", "--output", "scores.csv", code=1)


def test_inspect_tells_what_a_model_is(folder):
    shown = call("inspect", "sensors.model", "--picture", "picture.svg")
    assert "a model of 3,000 samples of 8 numbers" in shown
    assert "rank 2" in shown
    assert re.search(r"--components +auto", shown), "options have the names by which they are given"
    assert re.search(r"--seed +0", shown)
    assert "random_state" not in shown
    assert "None" not in shown, "all rows were read"
    assert "<svg" in (folder / "picture.svg").read_text()
    facts = json.loads(call("inspect", "sensors.model", "--json"))
    assert facts["rank"] == 2
    assert facts["samples"] == 3000
    np.testing.assert_allclose(facts["spectrum"], eigenstream.load("sensors.model").spectrum_)


def test_inspect_says_what_other_rules_would_find_and_what_became_of_rows(folder, X):
    shown = call("inspect", "sensors.model")
    facts = json.loads(call("inspect", "sensors.model", "--json"))
    assert set(facts["other_ranks"]) == {"edge", "parallel", "95%"}
    for rule, rank in facts["other_ranks"].items():
        assert f"{rule} {rank}" in shown
    assert facts["tally"] == {"learnt": len(X), "imputed": 0, "skipped": 0, "capped": 0}
    assert f"rows: {len(X):,} learnt" in shown
    gappy = X.copy()
    gappy[3, 0], gappy[9] = np.nan, np.nan
    np.save("gappy.npy", gappy)
    done = call("run", "gappy.npy", "--missing", "impute")
    assert f"rows: {len(X) - 1:,} learnt, 1 of them with gaps filled, 1 skipped for their gaps" in done


def test_run_says_what_other_rules_would_keep_where_that_is_clearly_different(folder):
    """A share of the variance counts noise: that it alone keeps more is not worth a note."""
    from sklearn.datasets import load_digits

    np.save("digits.npy", load_digits().data)
    shown = call("run", "digits.npy", "--standardize", "--save", "digits.model")
    ranks = json.loads(call("inspect", "digits.model", "--json"))["other_ranks"]
    assert ranks["parallel"] >= 2 * ranks["edge"]
    assert (
        f"note: Other rules would keep: parallel analysis (--components parallel): {ranks['parallel']}; "
        f"95 % of the variance (--components 95%): {ranks['95%']}." in shown
    )
    assert "Other rules" not in call("inspect", "digits.model"), "inspect names the rank by each rule"
    assert "above the noise (--components auto): 4" in call(
        "run", "digits.npy", "--standardize", "--components", "parallel"
    )
    np.save("noisy.npy", np.vstack([*streams.changing_rank(2000, ranks={0: 3}, random_state=0)]))
    assert "Other rules" not in call("run", "noisy.npy", "--save", "noisy.model")
    ranks = json.loads(call("inspect", "noisy.model", "--json"))["other_ranks"]
    assert ranks["95%"] > 2 * ranks["edge"] == 2 * ranks["parallel"]


def test_other_rules_are_said_once(folder, rng):
    """Where the advice names them, and nowhere else."""
    np.save("noise.npy", rng.standard_normal((300, 12)))
    assert call("run", "noise.npy").count("ther rules") == 1


def test_inspect_refuses_what_is_not_a_model(folder):
    assert "is not a readable eigenstream model" in call("inspect", "sensors.csv", code=1)


def test_calibrate_gives_the_alpha_that_is_asked_for(folder, X):
    facts = json.loads(call("calibrate", "sensors.csv", "--components", "1", "--json"))
    for name, alpha in facts["alpha"].items():
        assert alpha == pytest.approx(eigenstream.calibrate_alpha(X, name, n_components=1))
    facts = json.loads(call("calibrate", "sensors.csv", "--threshold", "1.5", "--json"))
    assert facts["alpha"]["scale-dependent"] == 1.5
    np.testing.assert_allclose(facts["eigenvalues"], np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1])
    assert "either --components or --threshold" in call("calibrate", "sensors.csv", code=2)


def test_merge_is_the_merge(folder, X):
    assert "3,000 samples, rank 2" in call("merge", "monday.model", "tuesday.model", "--save", "both.model")
    merged = eigenstream.merge([eigenstream.load(f"{day}.model") for day in ("monday", "tuesday")])
    np.testing.assert_array_equal(eigenstream.load("both.model").components_, merged.components_)
    assert "exists" in call("merge", "monday.model", "--save", "both.model", code=1)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script(shell):
    assert "_EIGENSTREAM_COMPLETE" in call("completion", shell)


def test_completion_completes():
    done = subprocess.run(
        [sys.executable, "-c", "from eigenstream.cli import main; main(prog_name='eigenstream')"],
        env={"_EIGENSTREAM_COMPLETE": "bash_complete", "COMP_WORDS": "eigenstream ins", "COMP_CWORD": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "plain,inspect"


def test_events_for_programs(folder):
    lines = call("run", "sensors.csv", "--json", "--save", "new.model").splitlines()
    events = [json.loads(line) for line in lines]
    assert {event["event"] for event in events} >= {"rank", "saved", "end"}
    assert [event["after"] for event in events if event["event"] == "rank"][-1] == 2
    assert events[-1]["rank"] == 2
    assert events[-1]["rows"] == 3000


def test_without_a_terminal_a_line_now_and_then(folder, monkeypatch):
    monkeypatch.setattr("eigenstream.cli.display.SELDOM", 0.0)
    lines = call("run", "sensors.csv", "--batch-rows", "1000").splitlines()
    assert [line.split(" rows,")[0] for line in lines[:3]] == ["1,000", "2,000", "3,000"]
    assert "rank 2, threshold" in lines[0]


def test_on_a_terminal_the_display_is_kept_up_to_date(X):
    from rich.console import Console

    from eigenstream.cli.display import Display
    from eigenstream.io.sources import Batch

    console = Console(force_terminal=True, record=True, width=100, file=io.StringIO())
    model = OnlineAdaptivePCA(random_state=0).fit(X)
    with eigenstream.sources.open(None) as source, Display(source, console) as display:
        display.rank_changed(model.rank_history_[-1])
        display._shown_at = 0.0
        display.learnt(model, Batch(X, np.arange(3000), 3000, 2, dict))
    shown = console.export_text()
    for part in ("built-in stream", "3,000 rows", "2 left out", "rank 2", "spectrum", "rank 0 → 2"):
        assert part in shown


def test_quiet_says_nothing(folder):
    assert call("run", "sensors.csv", "--quiet") == ""


def test_a_bad_row_names_file_line_and_column(folder):
    lines = (folder / "sensors.csv").read_text().splitlines()
    lines[41] = lines[41].replace(",", ",oops,", 1).rpartition(",")[0]
    (folder / "bad.csv").write_text("\n".join(lines))
    failed = call("run", "bad.csv", code=1)
    assert "bad.csv, line 42, column 1 (b): 'oops' is not a number" in failed
    assert "--on-bad-row skip" in failed
    assert "rows left out: 1" in call("run", "bad.csv", "--on-bad-row", "skip")


def test_missing_values_follow_the_policy(folder):
    lines = (folder / "sensors.csv").read_text().splitlines()
    fields = lines[100].split(",")
    fields[3] = ""
    lines[100] = ",".join(fields)
    (folder / "gaps.csv").write_text("\n".join(lines))
    failed = call("run", "gaps.csv", code=1)
    assert "gaps.csv, line 101, column 3 (d)" in failed
    assert "--missing" in failed
    for policy, learnt in (("skip", 2999), ("impute", 3000)):
        call("run", "gaps.csv", "--missing", policy, "--save", f"{policy}.model", "--output", f"{policy}.npy")
        assert eigenstream.load(f"{policy}.model").n_samples_seen_ == learnt
        scores = np.load(f"{policy}.npy")[99]
        assert np.isnan(scores).all() == (policy == "skip"), "before the model starts, no row has scores"


def test_rows_that_were_not_learnt_from_are_told(folder):
    lines = (folder / "sensors.csv").read_text().splitlines()
    head, *rows = lines
    (folder / "empty.csv").write_text("\n".join([head, *("," + row.partition(",")[2] for row in rows)]))
    shown = call("run", "empty.csv", "--missing", "skip", code=4)
    assert "3,000 of 3,000 rows lack values and were not learnt from: choose other --columns" in shown
    *_, end, error = call("run", "empty.csv", "--missing", "skip", "--json", code=4).splitlines()
    assert (json.loads(end)["rows"], json.loads(end)["learnt"]) == (3000, 0)
    assert error.startswith("Error: empty.csv: of 3,000 rows none was of use")
    assert "lack values" not in call("run", "sensors.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "there is no file 'nothing.csv'"),
        (["sensors.csv", "--columns", "a,zzz"], "there is no column 'zzz'; there are a, b"),
        (["sensors.csv", "--output", "scores.xls"], "must end in .csv, .jsonl, .npy or .parquet"),
        (["sensors.csv", "--output", "nowhere/scores.csv"], "cannot be written"),
        (["sensors.csv", "--save", "nowhere/model"], "cannot be written"),
        (["sensors.csv", "--max-components", "99"], "max_components must be"),
        (["sensors.csv", "--half-life", "-3"], "-3 is not a number of samples above 0"),
        (["sensors.csv", "--picture", "a.jpg"], "must end in .png or .svg"),
        (["sensors.csv", "--picture", "nowhere/a.png"], "there is no folder"),
        (["sensors.csv", "--idle", "3"], "it needs --follow"),
        (
            ["times.csv"],
            "column 0 (time): '09:00' is not a number (--columns chooses the columns",
        ),
        (["titles.csv", "--save", "new.model"], "titles.csv has no rows to learn from"),
        (["times.csv", "--on-bad-row", "skip", "--save", "new.model"], "times.csv has no rows to learn from"),
        (["sensors.model"], "sensors.model"),
        (["sensors.csv", "--quiet", "--json"], "exclude each other"),
        (["sensors.csv", "--resume"], "--resume needs --save"),
        (["sensors.csv", "--save", "new.model", "--output", "-"], "cannot be cut back"),
        (["sensors.csv", "--rows", "9:3"], "not a range of rows"),
        (["sensors.csv", "--components", "much"], "is neither a number of components"),
        (["sensors.csv", "--components", "3", "--alpha", "0.5"], "give one of them"),
        (["sensors.csv", "--picture", "sensors.png", "--save", "sensors.png"], "are the same file"),
        (["sensors.csv", "--save", "sensors.model", "--resume"], "was not saved by eigenstream run"),
        (["sensors.csv", "--rows", "5000:"], "no rows"),
    ],
)
def test_what_is_wrong_is_said(folder, arguments, message):
    result = CliRunner().invoke(main, ["run", *arguments])
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert isinstance(result.exception, SystemExit)


def test_several_sources_are_one(folder, X):
    lines = (folder / "sensors.csv").read_text().splitlines(keepends=True)
    for name, part in (("1.csv", lines[:1000]), ("2.csv", [lines[0], *lines[1000:]])):
        (folder / name).write_text("".join(part))
    call("run", "1.csv", "2.csv", "--save", "two.model", "--quiet")
    call("run", "sensors.csv", "--save", "one.model", "--quiet")
    one, two = eigenstream.load("one.model"), eigenstream.load("two.model")
    np.testing.assert_array_equal(one.components_, two.components_)
    call("transform", "two.model", "1.csv", "2.csv", "--output", "scores.npy")
    assert len(np.load("scores.npy")) == len(X)


def test_what_was_noticed_about_a_source_is_said(folder, X):
    import pandas as pd

    pd.DataFrame(X, columns=list("abcdefgh")).to_csv("indexed.csv")
    assert "counts rows" in call("run", "indexed.csv").replace("\n", " ")


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"a;b\n1.5;2\n1,5;2,5\n", [], "(--decimal , reads it as a number)"),
        (b"a,b\n# x\n1,2\n", [], "(--comment '#' passes over lines that begin with it)"),
        (b"a,b\n1,2\n3,Bad Input\n", [], "(--na 'Bad Input' reads it as a missing value; --on-bad-row skip"),
        (b"x y\na,b\n1,2\n", [], "(--skip-lines says how many lines stand before the names)"),
        (b"a,b\n1,2\n3,\n", [], "(--missing impute fills it in, --missing skip leaves such rows out)"),
        (b"a,b\n1,2\n", ["--exclude", "z*"], "no column matches 'z*'"),
    ],
)
def test_the_flag_to_use_is_named(folder, content, arguments, message):
    (folder / "awkward.csv").write_bytes(content)
    assert message in call("run", "awkward.csv", *arguments, code=1)


def test_monitors_are_not_merged_and_told_so(tmp_path, X, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", X)
    call("watch", "rows.npy", "--save", "a.mon", "--quiet")
    call("run", "rows.npy", "--save", "b.model", "--quiet")
    for given in (("a.mon", "a.mon"), ("b.model", "a.mon")):
        said = call("merge", *given, "--save", "c.model", code=2)
        assert "a.mon is a monitor, and monitors are not merged" in " ".join(said.split())
    assert not Path("c.model").exists()


def test_models_of_the_same_columns_in_another_order_are_told_so(folder):
    for name, columns in (("one", "a,b,c"), ("other", "c,b,a")):
        call("run", "sensors.csv", "--columns", columns, "--save", f"{name}.model", "--quiet")
    said = call("merge", "one.model", "other.model", "--save", "both.model", code=1)
    assert "the same columns in another order" in said
    assert "--columns in the order of the first" in said
    call("run", "sensors.csv", "--columns", "c,b,d", "--save", "third.model", "--quiet")
    assert "other columns: a, b, c; c, b, d" in call(
        "merge", "one.model", "third.model", "--save", "both.model", code=1
    )


def test_transform_at_rank_0_says_that_all_scores_are_0(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("noise.npy", np.random.default_rng(0).standard_normal((400, 5)))
    call("run", "noise.npy", "--save", "noise.model", "--quiet")
    said = call("transform", "noise.model", "noise.npy", "--output", "scores.csv")
    assert "note: all scores are 0: noise.model keeps no component (rank 0)" in said


@pytest.mark.parametrize(
    "text",
    ['[{"a":1,"b":2},{"a":3,"b":5}]\n', '[\n{"a":1,"b":2},\n{"a":3,"b":5}\n]\n', '[{"a":1},\n{"a":3}]\n'],
)
def test_a_json_array_of_rows_is_called_by_its_name(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    said = call("run", tmp_path / "x.json", code=1)
    assert "a JSON array of rows is not read" in said
    assert "jq -c '.[]'" in said


def test_a_picture_of_no_kind_is_refused(folder):
    call("run", "sensors.csv", "--save", "m.model", "--quiet")
    said = call("inspect", "m.model", "--picture", "foo=a.png", code=1)
    assert "there is no picture 'foo', expected time, spectrum, loadings, scores" in said
    assert not Path("foo=a.png").exists()
    call("inspect", "m.model", "--picture", "./foo=a.png")
    assert Path("foo=a.png").exists()
