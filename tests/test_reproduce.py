import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import wraps
from html import unescape
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from eigenstream.cli import main
from eigenstream.cli.reproduce import progress
from eigenstream.paper.items import ITEMS
from eigenstream.paper.reproduction import report
from eigenstream.paper.reproduction.cache import basis, keep
from eigenstream.paper.reproduction.item import ClaimVerdict, with_changes
from eigenstream.paper.reproduction.runner import JudgedItem, Reproduction

from . import paper_item
from .marks import slow

ROOT = Path(__file__).parent.parent
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def toy(tmp_path, monkeypatch):
    """The item in place, and its log: a line for every case computed."""
    monkeypatch.setitem(ITEMS, "toy", paper_item)
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture
def filled(tmp_path):
    """A cache that holds the toy item's tables, computed here and now."""
    for task in Reproduction([paper_item], quick=True, seed=0, folder=tmp_path / "cache").tasks:
        keep(task.file, json.dumps({"eigenvalues": [1.0, 2.0, task.case.place]}))


def reproduce(folder, *arguments, items=("toy",)):
    options = ["--quick", "--jobs", "1", "--out", str(folder / "out"), "--cache", str(folder / "cache")]
    return CliRunner().invoke(main, ["reproduce", *items, *options, *arguments])


def never(*_):
    raise AssertionError("nothing is to be drawn")


def computed(log):
    return sorted(log.read_text().split()) if log.exists() else []


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_same_bytes_whatever_the_number_of_jobs(tmp_path):
    first = reproduce(tmp_path / "one", "--jobs", "1")
    second = reproduce(tmp_path / "two", "--jobs", "2")
    assert (first.exit_code, second.exit_code) == (0, 0), first.output + second.output
    files = contents(tmp_path / "one" / "out")
    assert files == contents(tmp_path / "two" / "out")
    assert {str(name) for name in files} == {
        "index.html",
        "claims.csv",
        "claims.json",
        "figures/toy.pdf",
        "figures/toy.png",
        "figures/toy.svg",
        "numbers/toy.json",
    }
    numbers = json.loads(files[Path("numbers/toy.json")])
    assert [result["case"]["place"] for result in numbers["results"]] == [0, 1, 2]
    assert all(result["table"]["threads"] == ["1", "1"] for result in numbers["results"])
    assert numbers["settings"] == {"n_cases": 3, "size": 40, "scales": [1.0, 2.0]}
    assert numbers["changed"] == []


@pytest.mark.slow
def test_every_item_of_the_paper_has_the_same_bytes_whatever_the_number_of_jobs(tmp_path):
    """Numbers, claims, figures in three formats and the page: all of it, computed twice."""
    names = [name for name in ITEMS if name != "toy"]
    for jobs in ("1", "2"):
        done = reproduce(tmp_path / jobs, "--jobs", jobs, items=names)
        assert done.exit_code == 0, done.output
    one, two = (contents(tmp_path / jobs / "out") for jobs in ("1", "2"))
    assert len(one) == 4 * len(names) + 3
    assert [name for name in one | two if one.get(name) != two.get(name)] == []


def test_only_what_is_missing_is_computed(tmp_path, toy, monkeypatch):
    assert reproduce(tmp_path).exit_code == 0
    before = contents(tmp_path / "out")
    with monkeypatch.context() as without_drawing:
        without_drawing.setattr(paper_item, "draw", wraps(paper_item.draw)(never))
        assert reproduce(tmp_path).exit_code == 0
    assert computed(toy) == ["0", "1", "2"]
    assert contents(tmp_path / "out") == before

    damaged, torn, _ = sorted((tmp_path / "cache" / "toy").glob("*.json"))
    damaged.write_text(damaged.read_text().replace("1", "2"))
    torn.write_bytes(torn.read_bytes()[:100])
    assert reproduce(tmp_path).exit_code == 0
    assert len(computed(toy)) == 5
    assert contents(tmp_path / "out") == before

    assert reproduce(tmp_path, "--seed", "1").exit_code == 0
    assert len(computed(toy)) == 8
    assert contents(tmp_path / "out") != before


def test_without_cache_nothing_is_recalled_or_kept(tmp_path, toy, filled):
    before = contents(tmp_path / "cache")
    assert reproduce(tmp_path, "--no-cache").exit_code == 0
    assert computed(toy) == ["0", "1", "2"]
    assert contents(tmp_path / "cache") == before


def test_a_changed_source_is_another_basis(tmp_path):
    texts = {"package/a.py": "a", "package/b.py": "b", "package/below/c.py": "c"}
    changes = [{}, {"package/below/c.py": "changed"}, {"package/a.py": "b", "package/b.py": "a"}]
    found = []
    for i, change in enumerate(changes):
        for name, text in (texts | change).items():
            (tmp_path / str(i) / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / str(i) / name).write_text(text)
        found.append(basis((tmp_path / str(i) / "package",)))
    assert len(set(found)) == len(found)
    shutil.copytree(tmp_path / "0", tmp_path / "copy")
    assert basis((tmp_path / "copy" / "package",)) == found[0]


def test_an_unexpected_verdict_is_named(tmp_path, filled, monkeypatch):
    monkeypatch.setattr(paper_item, "VERDICT", ClaimVerdict.FAILS)
    result = reproduce(tmp_path)
    assert result.exit_code == 1
    assert f"toy, Section <0>: {paper_item.AWKWARD}: does not hold, expected: holds" in result.stderr
    assert "something" not in result.stderr  # it came out as expected
    assert "expected: holds" in (tmp_path / "out" / "index.html").read_text()


@pytest.mark.parametrize(
    ("trouble", "words"),
    [("fail", r"toy, Case\(place=[12], size=40, seed=0\): ArithmeticError"), ("die", "--jobs")],
)
def test_a_case_that_fails_ends_the_run_with_words(tmp_path, monkeypatch, trouble, words):
    monkeypatch.setenv("TOY_TROUBLE", trouble)
    result = reproduce(tmp_path)
    assert result.exit_code == 2
    assert re.search(words, result.stderr)  # whichever of the two that fail is the first to
    assert "Traceback" not in result.output
    kept = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert len(kept) <= 1  # the one that does not fail, if it came to its end


def test_a_figure_that_cannot_be_drawn_is_named(tmp_path, filled, monkeypatch):
    monkeypatch.setenv("TOY_TROUBLE", "no figure")
    result = reproduce(tmp_path)
    assert result.exit_code == 2
    assert "toy: its figure cannot be drawn: ArithmeticError: no such line" in result.stderr
    assert "Traceback" not in result.output


def test_mistakes_are_told_before_anything_is_computed(tmp_path, toy, monkeypatch):
    unknown = reproduce(tmp_path, items=("toy", "fig17"))
    assert unknown.exit_code == 2
    assert all(name in unknown.stderr for name in ("'fig17'", "table-1", "signal-to-noise", "toy"))

    (tmp_path / "file").touch()
    blocked = reproduce(tmp_path, "--out", str(tmp_path / "file" / "out"))
    assert blocked.exit_code == 2
    assert "--out: cannot write to" in blocked.stderr

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    bare = reproduce(tmp_path)
    assert bare.exit_code == 2
    assert "pip install 'eigenstream[plot]'" in bare.stderr
    assert computed(toy) == []


@pytest.mark.parametrize(
    ("name", "kind", "changes"),
    [
        ("toy", "QUICK", []),
        ("toy", "FULL", ["size=30", "scales=0.5,4"]),
        ("sudden-change", "FULL", ["beta=0.99", "k=6"]),
        ("sudden-change", "QUICK", ["other_thresholds=2.5"]),
    ],
)
def test_the_lines_under_a_figure_have_the_settings_that_made_it(name, kind, changes):
    item = ITEMS[name]
    settings = with_changes({item: getattr(item, kind)}, changes)[item]
    found = report._lines(JudgedItem(item, settings, 7, [], [], []))
    lines = unescape(found.split("<code>")[1].split("</code>")[0])
    assert "seed=7" in lines
    made = {}
    exec(lines.split("tables =")[0], made)
    assert made["settings"] == settings


def test_settings_can_be_changed_and_are_named(tmp_path, toy):
    result = reproduce(tmp_path, "--set", "size=30", "--set", "toy.scales=0.5, 4")
    assert result.exit_code == 0, result.output
    numbers = json.loads((tmp_path / "out" / "numbers" / "toy.json").read_text())
    assert numbers["settings"] == {"n_cases": 3, "size": 30, "scales": [0.5, 4.0]}
    assert numbers["changed"] == ["size=30", "toy.scales=0.5, 4"]
    assert len(numbers["results"][0]["table"]["eigenvalues"]) == 30
    page = (tmp_path / "out" / "index.html").read_text()
    assert "<code>size=30</code>" in page
    assert "size = 30" in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("size", "expected NAME=VALUE"),
        ("=3", "expected NAME=VALUE"),
        ("colour=red", "no chosen item has a setting 'colour'; there are n_cases, scales, size"),
        ("table-1.size=3", "no chosen item is called 'table-1'"),
        ("size=large", "expected a whole number like 40, got 'large'"),
        ("scales=1,x", "expected a number like 1.0, got 'x'"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_before_anything_is_computed(tmp_path, toy, change, words):
    result = reproduce(tmp_path, "--set", change)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert computed(toy) == []


def test_settings_within_settings_are_found():
    items = [ITEMS[name] for name in ("eigenvalue-tracking", "sudden-change", "phase-diagram")]
    changed = with_changes({item: item.QUICK for item in items}, ["k=6", "sudden-change.beta=0.99", "n1=3"])
    tracking, sudden, phases = changed.values()
    assert tracking.setup.k == sudden.setup.k == 6
    assert (sudden.beta, phases.n1, phases.n2) == (0.99, 3, 10)
    assert all(case.setup.k == 6 for case in items[0].cases(tracking, 0))
    with pytest.raises(ValueError, match="8,000"):
        items[1].cases(with_changes({items[1]: items[1].QUICK}, ["n_samples=2000"])[items[1]], 0)


class Page(HTMLParser):
    """Collects what a page shows, loads and links to."""

    def __init__(self):
        super().__init__()
        self.text, self.tags, self.loads, self.ids, self.links = "", [], [], [], []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        (self.links if tag == "a" else self.loads).extend(
            found[name] for name in ("src", "href", "srcset", "data", "poster") if name in found
        )

    def handle_data(self, data):
        self.text += data


def test_the_report_is_one_file_and_shows_everything(tmp_path, filled, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    result = reproduce(tmp_path, "--open", items=("toy", "table-1"))
    assert result.exit_code == 0, result.output
    file = tmp_path / "out" / "index.html"
    assert opened == [file.as_uri()]
    assert str(file) in result.stdout.replace("\n", "")

    page = Page()
    page.feed(file.read_text())
    assert all(address.startswith("data:") for address in page.loads)
    assert len([address for address in page.loads if address.startswith("data:image/svg+xml;base64,")]) == 2
    assert {"iframe", "object", "b>item"}.isdisjoint(page.tags)
    assert page.tags.count("script") == 1
    assert all(word not in file.read_text() for word in ("url(", "@import", "fetch(", "XMLHttp", "eval("))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    local = [link for link in page.links if not link.startswith(("#", "https:"))]
    assert {"claims.csv", "figures/toy.pdf", "numbers/toy.json"} <= set(local)
    assert all((tmp_path / "out" / link).is_file() for link in local)
    assert "blockquote" in page.tags

    claims = json.loads((tmp_path / "out" / "claims.json").read_text())
    assert {claim["item"] for claim in claims} == {"toy", "table-1"}
    for claim in claims:
        parts = ("where", "says", "value", "verdict", "reason", "quote", "stated")
        assert all(claim[part] in page.text for part in parts)
    assert "a/(n₁ a + n₂ b) ≥ α ≥ b/(n₁ a + n₂ b)" in page.text
    for words in (paper_item.TITLE, "Toy <table>", "a <note>", "A caption with a <tag>"):
        assert words in page.text
    with (tmp_path / "out" / "claims.csv").open(newline="") as table:
        assert list(csv.DictReader(table)) == claims


def start(folder):
    code = """
from eigenstream.cli import main
from eigenstream.paper.items import ITEMS
from tests import paper_item
ITEMS["toy"] = paper_item
main()
"""
    options = ["--quick", "--jobs", "2", "--out", str(folder / "out"), "--cache", str(folder / "cache")]
    return subprocess.Popen(
        [sys.executable, "-c", code, "reproduce", "toy", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def eventually(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def group_is_gone(leader):
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("number", "everyone", "code"),
    [(signal.SIGINT, True, 130), slow(signal.SIGTERM, False, 143), slow(signal.SIGKILL, False, -9)],
)
def test_interrupted_it_leaves_nothing_behind_but_results(tmp_path, toy, monkeypatch, number, everyone, code):
    gate = tmp_path / "gate"
    monkeypatch.setenv("TOY_TROUBLE", str(gate))
    process = start(tmp_path)
    eventually(lambda: list(tmp_path.glob("cache/toy/*.json")) and len(computed(toy)) == 3)
    (os.killpg if everyone else os.kill)(process.pid, number)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    eventually(lambda: group_is_gone(process.pid))
    assert len(list(tmp_path.glob("cache/toy/*.json"))) == 1
    if number == signal.SIGKILL:
        return
    assert "Traceback" not in output + errors
    assert "Interrupted with 1 of 3 cases done: the same command goes on from there." in errors

    gate.touch()
    assert reproduce(tmp_path).exit_code == 0
    assert computed(toy).count("0") == 1


def test_progress_is_a_bar_on_a_terminal_and_a_few_lines_elsewhere():
    for terminal, written in ((True, StringIO()), (False, StringIO())):
        console = Console(file=written, force_terminal=terminal, width=100)
        with progress("cases", 200, 50, console) as update:
            for done in range(51, 201):
                update(done)
        assert "200" in written.getvalue()
    lines = written.getvalue().splitlines()
    assert lines[0] == "cases: 50 of 200 done"
    assert lines[-1] == "cases: 200 of 200 done"
    assert len(lines) <= 11
