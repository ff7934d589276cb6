"""Put tables and figures of the reproduction's report into the pages that show them.

    eigenstream reproduce --out build/reproduction
    python docs/report_tables.py build/reproduction

A page says where with two comments, and everything between them is replaced:

    <!-- report: ITEM: TITLE OF THE TABLE -->
    <!-- end of report -->
"""

import json
import re
import sys
from pathlib import Path
from shutil import copyfile

FIGURES = {"theory": "theory.png", "real-data": "networks_on_real_data.png"}
"""Figures of items that stand in docs/, too."""
ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(
    r"(<!-- report: (?P<item>[\w-]+): (?P<title>[^>]*?) -->\n)(.*?)(<!-- end of report -->)", re.DOTALL
)


def table(report, item, title):
    """The table of this title as Markdown."""
    sheets = json.loads((report / "numbers" / f"{item}.json").read_text(encoding="utf-8"))["sheets"]
    found = [sheet for sheet in sheets if sheet["title"] == title]
    if not found:
        raise SystemExit(f"{item} has no table {title!r}; it has {[sheet['title'] for sheet in sheets]}")
    (sheet,) = found
    lines = [sheet["columns"], ["---"] * len(sheet["columns"]), *sheet["rows"]]
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([*rows, "", sheet["note"], ""]) + "\n"


def filled(text, report):
    """The page with the report's tables in it."""
    return PLACE.sub(lambda place: place[1] + table(report, place["item"], place["title"]) + place[5], text)


if __name__ == "__main__":
    for page in sorted((ROOT / "docs").glob("*.md")):
        before = page.read_text(encoding="utf-8")
        if (after := filled(before, Path(sys.argv[1]))) != before:
            page.write_text(after, encoding="utf-8")
            print(page.relative_to(ROOT))
    for item, name in FIGURES.items():
        copyfile(Path(sys.argv[1]) / "figures" / f"{item}.png", ROOT / "docs" / name)
