"""The reproducibility note: what its template asks for is there, and numbers come from the report alone."""

import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest

from eigenstream.paper.items import ITEMS

pytest.importorskip("markdown_it", reason="the oldest Rich comes without it")
ROOT = Path(__file__).parents[1]
note = runpy.run_path(str(ROOT / "paper" / "note.py"))
tables = runpy.run_path(str(ROOT / "docs" / "report_tables.py"))
TEMPLATE = (ROOT / "paper" / "note.template.md").read_text("utf-8")
TEXTS = tomllib.loads((ROOT / "src/eigenstream/paper/items/texts.toml").read_text("utf-8"))
PAGE = "<p>Python 3.11.0, eigenstream 1.2.3, numpy 2.0.</p>"


@pytest.fixture
def items():
    claim = {"where": "ours: a, Fig. 1", "verdict": "holds", "reason": "", "value": "0.125", "name": "size"}
    other = {**claim, "where": "Section I, Fig. 1", "value": "0.5"}
    other |= {"verdict": "holds with a correction", "reason": "B < A"}
    only = {**claim, "value": "7", "name": "age"}
    sheet = {"title": "Sizes: all", "columns": ["a|b", "c"], "rows": [["1", "2"]], "note": "n"}
    return {"toy": {"item": "toy", "seed": 7, "claims": [claim, other, only], "sheets": [sheet]}}


def test_every_sentence_and_table_that_the_template_asks_for_exists():
    sources = "\n".join(
        path.read_text("utf-8") for path in (ROOT / "src/eigenstream/paper/items").rglob("*.py")
    )
    asked = [found.strip() for found in re.findall(r"\{\{([^{}]+)\}\}", TEMPLATE)]
    assert len(asked) > 30
    for what in asked:
        if what.startswith("sheet:"):
            item, title = (part.strip() for part in what.removeprefix("sheet:").split(":", 1))
            assert item in ITEMS
            assert title.split(":")[0] in sources, title
        elif "." in what:
            item, sentence, *_ = what.split(".")
            assert item in ITEMS
            assert sentence in TEXTS[item], what
    assert {item for items in note["PARTS"].values() for item in items} == set(ITEMS)


def test_no_measured_number_stands_in_the_template():
    """What is left without the braces has section numbers, years and settings only."""
    words = re.sub(r"\{\{[^{}]*\}\}", "", TEMPLATE)
    assert re.findall(r"\d+\.\d+|\d+ ?%", words) == ["1612.03480"]


def test_fields_tables_and_counts_are_filled_in(items):
    text = "{{toy.age.value}} {{toy.size.2.verdict}} {{number}} {{ours_number}} {{seed}} {{version}}\n"
    text += "{{corrections}}"
    found = note["filled"](text, items, PAGE)
    assert found == "7 holds with a correction 3 2 7 1.2.3\n- Section I, Fig. 1: B < A."
    table = note["filled"]("{{sheet: toy: Sizes: all}}", items, PAGE)
    assert table.splitlines()[:3] == ["| a\\|b | c |", "| --- | --- |", "| 1 | 2 |"]


def test_claims_of_one_name_are_all_told_with_what_each_is_about(items):
    """Never one regularizer's number in a sentence about several."""
    found = note["filled"]("{{toy.size.all.value}}", items, PAGE)
    assert found == "*a*: 0.125; *Section I*: 0.5"
    items["toy"]["claims"][1]["where"] = "ours: a, Fig. 1"
    with pytest.raises(SystemExit, match="cannot be told apart"):
        note["filled"]("{{toy.size.all.value}}", items, PAGE)


@pytest.mark.parametrize("file", ["note.template.md", "note.md"])
def test_no_python_stands_in_the_note(file):
    text = (ROOT / "paper" / file).read_text("utf-8")
    assert not re.findall(r"\[\(|\(\d+,\)|\barray\(|\bnp\.|\bNone\b|\bTrue\b|\bFalse\b|\bnan\b", text)


@pytest.mark.parametrize(
    "asked",
    [
        *("toy.height.value", "toy.size.3.value", "other.size.value", "sheet: toy: None"),
        *("toy.size.value", "toy.age.all.value"),
    ],
)
def test_what_the_report_does_not_have_is_named(items, asked):
    with pytest.raises(SystemExit, match="the template asks for"):
        note["filled"]("{{" + asked + "}}", items, PAGE)


def test_without_a_report_it_says_how_to_make_one(tmp_path):
    with pytest.raises(SystemExit, match="eigenstream reproduce --out"):
        note["read"](tmp_path)
    (tmp_path / "numbers").mkdir()
    (tmp_path / "numbers" / "toy.json").write_text(json.dumps({"item": "toy"}))
    assert note["read"](tmp_path) == {"toy": {"item": "toy"}}


# --- the report's tables in the documentation ------------------------------------------------------------

PLACES = "".join(
    f"<!-- report: {item}: {title} -->\nold {title}\n<!-- end of report -->\n"
    for item, title in (("toy", "Sizes: all"), ("toy", "Sizes: none"), ("other", "Ages"))
)


def write_report(folder, **sheets):
    (folder / "numbers").mkdir()
    for item, titles in sheets.items():
        made = [{"title": title, "columns": ["a"], "rows": [["1"]], "note": "n"} for title in titles]
        (folder / "numbers" / f"{item}.json").write_text(json.dumps({"sheets": made}))


def test_tables_that_a_report_lacks_stay_with_all_others_of_their_item(tmp_path):
    """A made-up plant's table must not stand beside a real plant's figure."""
    write_report(tmp_path, toy=["Sizes: all"], other=["Ages"])
    text, missing = tables["filled"](PLACES, tmp_path)
    assert missing == [("toy", "Sizes: none")]
    assert ("old Sizes: all" in text, "old Sizes: none" in text, "old Ages" in text) == (True, True, False)
    assert "| a |" in text


def test_pages_are_left_alone_and_what_is_missing_is_said(tmp_path, capsys, monkeypatch):
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "page.md"
    page.write_text("<!-- report: toy: Rank: Tennessee Eastman -->\nold\n<!-- end of report -->\n")
    write_report(tmp_path, toy=["Rank: stand-in plant"])
    monkeypatch.setitem(tables["main"].__globals__, "ROOT", tmp_path)
    tables["main"](tmp_path)
    assert "old" in page.read_text()
    assert "EIGENSTREAM_DATA" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no report in"):
        tables["main"](tmp_path / "nothing")
