"""Put results of the evaluation into README.md, docs/index.md and docs/measured.md, after `make evaluate`."""

import json
import re
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
EVALUATION = ROOT / "docs" / "evaluation"
BEGIN, END = "<!-- docs/readme_table.py writes what follows -->", "<!-- up to here -->"
OURS, INCREMENTAL = "eigenstream", "IncrementalPCA"
FROM_INPUTS = 64
"""Inputs from which on targets of time are judged."""
COLUMNS = (0, 1, 2, 3, 5)
"""Columns of the evaluation's first table that a newcomer needs, by their numbers."""


def table(folder: str) -> str:
    """The table, with links that lead to this folder, and what it says in a sentence."""
    page = (EVALUATION / "README.md").read_text()
    lines = page[page.index("\n| ") :].strip().split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    text = "\n".join(f"| {' | '.join(row[i] for i in COLUMNS)} |" for row in rows)
    words = f"{_in_words(rows[2:])} {products()}"
    return re.sub(r"\(([a-z-]+\.md)\)", rf"({folder}\1)", f"{text}\n\n{words}")


def _in_words(rows: list[list[str]]) -> str:
    won, lost = ([row[0][:3] for row in rows if (row[1] == OURS) is wins] for wins in (True, False))
    return f"**Ours wins most cases of {', '.join(won)}, and loses most of {', '.join(lost) or 'none'}.**"


def products() -> str:
    """The time of `fit` beside what any method of its kind has to compute."""
    targets = json.loads((EVALUATION / "results.json").read_text())["targets"]
    measured = next(one["measured"] for one in targets if "bare products" in one["target"])
    return (
        f"In (c), `fit` of {FROM_INPUTS} inputs and 10,000 rows, and more, takes {measured} the products "
        "that any method computes."
    )


def figures() -> str:
    """Ours beside IncrementalPCA, from the evaluation's rows of time and its targets of accuracy."""
    results = json.loads((EVALUATION / "results.json").read_text())
    rows = [(row["anchor"].split("/"), row["values"]) for row in results["rows"] if row["anchor"][0] == "c"]
    times = [(kind, int(width), one) for (_, kind, width, *_), one in rows if width.isdigit()]
    slower = [one[OURS] / one[INCREMENTAL] for (_, kind, *_), one in rows if kind.startswith("fit-real")]
    fits, fading = (
        sorted((width, one[INCREMENTAL] / one[OURS]) for kind, width, one in times if kind == name)
        for name in ("fit", "fit-half-life-500")
    )
    narrow = [ratio for width, ratio in fits + fading if width < FROM_INPUTS]
    fits = [one for one in fits if one[0] >= FROM_INPUTS]
    ratios, forgetting = (
        [ratio for _, ratio in fits],
        [ratio for width, ratio in fading if width >= FROM_INPUTS],
    )
    alone = next(one for kind, _, one in times if kind == "one-by-one")
    accuracy = next(one for one in results["targets"] if "with as many components" in one["target"])
    return (
        f"- [`fit`](evaluation/time.md), {len(fits)} sizes from {fits[0][0]} to {fits[-1][0]:,} inputs: "
        f"{min(ratios):.1f} times faster at the worst, {median(ratios):.1f} in the median, "
        f"{ratios[-1]:.1f} at the widest. With a half-life of 500 rows: {min(forgetting):.1f} times faster "
        f"at the worst, {median(forgetting):.1f} in the median. With 5 to 30 inputs: "
        f"{1 / min(narrow):.1f} times slower at the worst, {max(narrow):.1f} times faster at the best; "
        f"`{INCREMENTAL}` is the faster one for short tables of few columns. With 10 to 50 real sensors, "
        f"whose rows resemble those before them: {min(slower):.1f} to {max(slower):.0f} times slower, since "
        "more has to be decided.\n"
        f"- [The top axes](evaluation/accuracy.md) on real data: {accuracy['measured']}.\n"
        f"- [One row at a time](evaluation/time.md) at 64 inputs: `learn_one` took {alone[OURS]:.0f} "
        f"microseconds in the mean, `partial_fit` of `{INCREMENTAL}` {alone[INCREMENTAL]:.0f}."
    )


PARTS = {
    "README.md": lambda: table("docs/evaluation/"),
    "docs/index.md": lambda: table("evaluation/"),
    "docs/measured.md": figures,
}
"""What stands between the two marks, by page."""


def renewed(name: str) -> str:
    """A page with the results as they are now."""
    before, _, rest = (ROOT / name).read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n\n{PARTS[name]()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    for page in PARTS:
        (ROOT / page).write_text(renewed(page))
