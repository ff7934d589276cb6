"""Write the short paper about the software, article.md and article.pdf, with every number read from results.

    python paper/article.py

In article.template.md stand, in double braces:

    value: ANCHOR: METHOD         what a method has reached in a row of docs/evaluation/results.json
    share: ANCHOR: METHOD         the same in per cent
    words: ANCHOR                 ours beside the best rival of that row, in words
    rival: ANCHOR                 the best rival of that row
    counts: LETTER                cases of a question that are won, lost and even
    target: LETTER: BEGINNING     what was measured for the target that begins so
    json: FILE: KEY/KEY           an entry of any other file of results
    evaluation                    the first table of the evaluation
    targets, met                  how many targets there are, and how many of them are met
    missed                        all others, each with what was measured

`make evaluate` and `make bench` write these results. The PDF is printed as the reproducibility note is.
"""

import json
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
sys.path[:0] = [str(FOLDER), str(ROOT)]

import note  # noqa: E402
from benchmarks.markdown import number  # noqa: E402
from evaluation.question import OURS, Row  # noqa: E402

EVALUATION = ROOT / "docs" / "evaluation"


def read():
    """The evaluation: rows by their anchors, and targets."""
    found = json.loads((EVALUATION / "results.json").read_text("utf-8"))
    return {row["anchor"]: row for row in found["rows"]}, found["targets"]


def filled(template, rows, targets):
    """The template with everything in double braces replaced."""
    counted = {
        "evaluation": table,
        "targets": lambda: str(len(targets)),
        "met": lambda: str(sum(one["met"] for one in targets)),
        "missed": lambda: missed(targets),
    }
    kinds = {
        "value": lambda anchor, method: number(of(rows, anchor)["values"][method]),
        "share": lambda anchor, method: f"{of(rows, anchor)['values'][method]:.0%}",
        "words": lambda anchor: judged(of(rows, anchor)).in_words,
        "rival": lambda anchor: of(rows, anchor)["best rival"],
        "counts": lambda letter: counts(rows, letter),
        "target": lambda letter, says: target(targets, letter, says)["measured"],
        "json": entry,
    }

    def replaced(found):
        kind, *parts = (part.strip() for part in found["what"].split(":", 2))
        if kind not in (kinds if parts else counted):
            known = ", ".join([*kinds, *counted])
            raise SystemExit(f"the template asks for {found['what']!r}: there are {known}")
        return kinds[kind](*parts) if parts else counted[kind]()

    return note.FIELD.sub(replaced, template)


def of(rows, anchor):
    """A row of the evaluation."""
    if anchor not in rows:
        raise SystemExit(f"the template asks for {anchor!r}, which the evaluation does not have")
    return rows[anchor]


def judged(row):
    """A row as the evaluation judges it."""
    floor = 1e-12 if row["ratio"] in (None, 0.0) else 0.0
    better = row["better"] == "smaller"
    values = {name: row["values"][name] for name in (OURS, row["best rival"])}
    return Row(row["anchor"], row["case"], row["measure"], values, better, floor)


def counts(rows, letter):
    """Cases of a question that are won, lost and even."""
    winners = [row["winner"] for anchor, row in rows.items() if anchor[0] == letter and row["winner"]]
    won, even = winners.count(OURS), winners.count("tie")
    return f"{won} won, {len(winners) - won - even} lost, {even} even"


def target(targets, letter, says):
    """The target of a question that begins with these words."""
    found = [one for one in targets if one["question"] == letter and one["target"].startswith(says)]
    if len(found) != 1:
        raise SystemExit(f"the template asks for a target of ({letter}) {says!r}: there are {len(found)}")
    return found[0]


def missed(targets):
    """Targets that were missed, and what was measured."""
    left = [one for one in targets if not one["met"]]
    return "\n".join(f"- ({one['question']}) {one['target']}: {one['measured']}." for one in left)


def entry(file, keys):
    """An entry of a file of results."""
    found = json.loads((ROOT / file).read_text("utf-8"))
    for key in keys.split("/"):
        found = found[int(key)] if isinstance(found, list) else found[key]
    return number(found) if isinstance(found, float) else str(found)


def table():
    """The evaluation's first table, without links."""
    page = (EVALUATION / "README.md").read_text("utf-8")
    lines = page[page.index("\n| ") :].strip().split("\n\n")[0]
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", lines)


def main():
    rows, targets = read()
    article = filled((FOLDER / "article.template.md").read_text("utf-8"), rows, targets)
    (FOLDER / "article.md").write_text(article, encoding="utf-8")
    note.printed(article, FOLDER / "article.pdf")


if __name__ == "__main__":
    main()
