"""The short paper: what its template asks for is there, and numbers come from results alone."""

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("markdown_it", reason="the oldest Rich comes without it")
ROOT = Path(__file__).parents[1]
article = runpy.run_path(str(ROOT / "paper" / "article.py"))
TEMPLATE = (ROOT / "paper" / "article.template.md").read_text("utf-8")


def row(anchor, ours, rival, better="smaller"):
    values, ratio = {"eigenstream": ours, "A": rival}, rival / ours
    winner = "eigenstream" if ratio > 1 else "A" if ratio < 1 else "tie"
    return {"anchor": anchor, "case": "a case", "measure": "error", "better": better, "values": values} | {
        "best rival": "A",
        "ratio": ratio,
        "winner": winner,
    }


ROWS = {one["anchor"]: one for one in (row("x/1", 0.5, 1.0), row("x/2", 4.0, 1.0), row("x/3", 1.0, 1.0))}
TARGETS = [
    {"question": "x", "target": "small enough", "measured": "0.5", "met": True},
    {"question": "x", "target": "fast enough", "measured": "no", "met": False},
]


def test_the_paper_is_that_of_the_last_evaluation():
    """Everything that the template asks for is in the results."""
    text = article["filled"](TEMPLATE, *article["read"]())
    assert (ROOT / "paper" / "article.md").read_text("utf-8") == text, "run python paper/article.py"
    assert "{{" not in text
    assert (ROOT / "paper" / "article.pdf").read_bytes().startswith(b"%PDF")


def test_no_measured_number_stands_in_the_template():
    """What is left without the braces are settings: of energy, outliers, rates, strengths and persistence."""
    words = re.sub(r"\{\{[^{}]*\}\}", "", TEMPLATE)
    assert set(re.findall(r"\d+\.\d+|\d+ ?%", words)) == {"95 %", "1.5", "0.99", "1 %", "90 %"}


def test_fields_are_filled_in():
    text = "{{value: x/2: eigenstream}} {{share: x/1: eigenstream}} {{words: x/2}} {{rival: x/1}} "
    text += "{{counts: x}} {{target: x: small}} {{met}}"
    filled = article["filled"](text, ROWS, TARGETS)
    assert filled == "4 50% 4 times worse A 1 won, 1 lost, 1 even 0.5 1"
    assert article["filled"]("{{missed}}", ROWS, TARGETS) == "- (x) fast enough: no."
    assert "won / lost / even" in article["filled"]("{{evaluation}}", ROWS, TARGETS)


@pytest.mark.parametrize("asked", ["words: y/1", "target: x: tall", "height", "size: x/1"])
def test_what_the_results_do_not_have_is_named(asked):
    with pytest.raises(SystemExit, match="the template asks for"):
        article["filled"]("{{" + asked + "}}", ROWS, TARGETS)
