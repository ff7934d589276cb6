"""Put the table of docs/evaluation/README.md into README.md: a part of `make evaluate`."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- docs/readme_table.py writes what follows -->", "<!-- up to here -->"
OURS = "eigenstream"
COLUMNS = {
    0: "question",
    1: "who wins most cases",
    2: "won / lost / even",
    3: "ours is, in the median",
    5: "where ours loses most",
}
"""Those that a newcomer needs, by their numbers."""


def table() -> str:
    """The table, with links that lead there from the root, and what it says in a sentence."""
    lines = [line for line in _first_table() if not line.startswith("| ---")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    told = ([in_times(row[i]) for i in COLUMNS] for row in rows)
    shown = [list(COLUMNS.values()), ["---"] * len(COLUMNS), *told]
    text = "\n".join(f"| {' | '.join(row)} |" for row in shown)
    return re.sub(r"\(([a-z-]+\.md)\)", r"(docs/evaluation/\1)", f"{text}\n\n{_in_words(rows)}")


def in_times(cell: str) -> str:
    """The cell with words in place of a ratio: "0.5x" is "2 times worse"; other cells stay as they are."""
    found = re.fullmatch(r"(?:(.*): (.*), )?([\d.,e+-]+)x", cell)
    if found is None:
        return cell
    case, rival, ratio = found[1], found[2], float(found[3].replace(",", ""))
    if ratio == 1:
        return "as good"
    words = f"{_rounded(max(ratio, 1 / ratio))} times {'better' if ratio >= 1 else 'worse'}"
    return words if case is None else f"{case}: {words} than {rival}"


def _rounded(number: float) -> str:
    """Three digits; how much more than a thousand it is says nothing to a newcomer."""
    return "over 1,000" if number > 1000 else f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _in_words(rows: list[list[str]]) -> str:
    won, lost = ([row[0][:3] for row in rows if (row[1] == OURS) is wins] for wins in (True, False))
    return f"**Ours wins most cases of {', '.join(won)}, and loses most of {', '.join(lost) or 'none'}.**"


def _first_table() -> list[str]:
    page = (ROOT / "docs" / "evaluation" / "README.md").read_text()
    return page[page.index("\n| ") :].strip().split("\n\n")[0].splitlines()


def readme() -> str:
    """README.md with the table as it is now."""
    before, _, rest = (ROOT / "README.md").read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    (ROOT / "README.md").write_text(readme())
