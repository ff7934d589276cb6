"""README and docs: their code runs, what they print is what they say, and their links lead somewhere."""

import json
import re
import runpy
from itertools import groupby

import pytest

from eigenstream.io import example_files
from tests.documents import DOCUMENTS, ROOT, blocks_of, tell, value_in

LINK = re.compile(
    r"(?<!\\)\]\((?P<target>[^()\s]+(?:\([^()]*\)[^()\s]*)?)\)|(?:src|href)=\"(?P<html>[^\"]+)\""
)
FENCED = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


LONG = {"scaling.md"}
"""Documents whose examples start processes of their own, a fifth of a minute of them."""


def stories():
    """The blocks of each document; those that need something special, apart."""
    for path in DOCUMENTS:
        blocks = sorted(blocks_of(path), key=lambda block: block.needs or "")
        for need, group in groupby(blocks, key=lambda block: block.needs):
            mine = list(group)
            if any(block.language in ("python", "sh") for block in mine):
                marks = [getattr(pytest.mark, need)] if need else []
                marks += [pytest.mark.slow] * (path.name in LONG)
                name = f"{path.relative_to(ROOT)}{f', {need}' if need else ''}"
                yield pytest.param(mine, marks=marks, id=name)


@pytest.fixture(scope="session")
def files():
    """The files that commands of the pages read."""
    return example_files.contents()


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
@pytest.mark.parametrize("blocks", list(stories()))
def test_its_code_runs(blocks, files, tmp_path, monkeypatch):
    if any(block.language == "python" and "river" in block.code for block in blocks):
        pytest.importorskip("river", reason="needs eigenstream[river]")
    if not any("eigenstream example" in block.code for block in blocks if block.language == "sh"):
        for name, content in files.items():  # a page that writes them itself has to do so
            (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    tell(blocks)


def test_a_comment_that_is_a_value_is_compared():
    assert value_in("  # 2") == 2
    assert value_in("# ['a', 'b']: two of them") == ["a", "b"]
    assert value_in("# what it is") is ...
    assert value_in("") is ...


def anchors(text):
    """What a code host and the site call the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub(lambda found: found[0].strip("`"), text), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_its_links_lead_somewhere(path):
    for found in LINK.finditer(FENCED.sub("", path.read_text())):
        target, _, anchor = (found["target"] or found["html"]).partition("#")
        if re.match(r"\w+:", target):
            continue
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), f"{path.name} links to {target}"
        assert not anchor or anchor in anchors(there.read_text()), f"{path.name} links to {target}#{anchor}"


def test_every_picture_says_which_command_makes_it():
    """A page that shows a picture of docs names the script that draws it, or the command of the Makefile."""
    makers = {"run.png": "make run"}
    for script in (ROOT / "docs").glob("*.py"):
        drawn = re.findall(r"[\w-]+\.png", script.read_text())
        as_module = "from evaluation" in script.read_text()  # which is found from the root only
        command = f"python -m docs.{script.stem}" if as_module else f"python docs/{script.name}"
        makers |= dict.fromkeys(drawn, command)
    pages = [path for path in DOCUMENTS if path.parent in (ROOT, ROOT / "docs")]
    for path in pages:
        text = path.read_text()
        for picture in re.findall(r"\]\((?:docs/)?([\w-]+\.png)\)", text):
            assert makers[picture] in text, f"{path.name} shows {picture}: by which command?"


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/measured.md"])
def test_its_results_are_those_of_the_evaluation(page):
    script = runpy.run_path(str(ROOT / "docs" / "readme_table.py"))
    assert list(script["PARTS"]).count(page) == 1
    assert (ROOT / page).read_text() == script["renewed"](page), "run python docs/readme_table.py"


def test_the_table_of_rules_is_that_of_the_benchmark():
    real = json.loads((ROOT / "benchmarks" / "results" / "rules.json").read_text())["real"]
    data = ("digits", "Tennessee Eastman (normal), standardized", "photograph (china)")
    text = (ROOT / "docs" / "choosing.md").read_text()
    for option, rule in {"edge": "default", "parallel": "parallel analysis", "95%": "95 %"}.items():
        ranks = [str(real[name]["ranks"][rule]) for name in data]
        assert f"| `{option}` | {' | '.join(ranks)} |" in text


def test_contributing_walks_through_files_that_exist():
    walks = (ROOT / "CONTRIBUTING.md").read_text().partition("## Three walks")[2].partition("\n## ")[0]
    steps = re.findall(r"`([a-z_/]+\.py)`", walks)
    assert len(steps) > 20
    assert [step for step in steps if not (ROOT / "src/eigenstream" / step).exists()] == []


def test_every_promise_of_security_names_its_test():
    """And the test is there; what is not promised has none."""
    promises = re.split(r"\n## ", (ROOT / "SECURITY.md").read_text())[1:]
    for section in promises:
        told = section.partition("Not promised")[0]
        for promise in re.split(r"\n- ", told)[1:]:
            named = re.findall(r"`(tests/\w+\.py)`", promise)
            assert named, promise
            assert [name for name in named if not (ROOT / name).exists()] == []
