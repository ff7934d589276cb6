"""Docstrings and names of the package: plain first lines, and one class for one name."""

import ast
import re
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "eigenstream"
TREES = {path.relative_to(PACKAGE): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}

QUESTION = re.compile(r"(What|Whether|How|Where|Why|When|Who|Which)\b")
"""Words that a first line does not open with: a reader has to look for its noun."""

RIDDLES = re.compile(r"\bso many\b|\bcannot be(?=[.,;:\"']|$)", re.IGNORECASE | re.MULTILINE)
"""A number without a name, and a verb without an end."""

SHARED = {
    "StreamingPCA": "river and torch users find the same transformer under the same name",
    "Settings": "each item of the paper has its own settings",
    "Case": "each item of the paper has its own cases",
}
"""Names that several classes have, and why."""


def texts(tree):
    """Docstrings of modules, classes and functions, and the strings under constants and fields."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            text = getattr(getattr(statement, "value", None), "value", None)
            if isinstance(statement, ast.Expr) and isinstance(text, str):
                yield statement.lineno, text.strip()


def test_first_lines_are_noun_phrases_or_imperatives():
    found = [
        f"{path}:{line}: {text.splitlines()[0]}"
        for path, tree in TREES.items()
        for line, text in texts(tree)
        if QUESTION.match(text)
    ]
    assert not found, "\n".join(found)


def test_no_sentence_leaves_out_its_noun_or_its_verb():
    found = [
        f"{path}:{node.lineno}: {node.value.splitlines()[0]}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and RIDDLES.search(node.value)
    ]
    assert not found, "\n".join(found)


def test_no_two_classes_have_one_name():
    homes = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(f"{path}:{node.lineno}")
    twice = {name: places for name, places in homes.items() if len(places) > 1}
    assert twice.keys() == SHARED.keys(), {n: p for n, p in twice.items() if n not in SHARED}
