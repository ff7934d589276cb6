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

DATA = "Tennessee Eastman"
"""The sensor set that not every computer has; EIGENSTREAM_DATA names its folder."""
FIGURES = {"theory": "theory.png", "real-data": "networks_on_real_data.png"}
"""Figures of items that stand in docs/, too."""
ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(
    r"(<!-- report: (?P<item>[\w-]+): (?P<title>[^>]*?) -->\n)(.*?)(<!-- end of report -->)", re.DOTALL
)


def table(report, item, title):
    """The table of this title as Markdown; None if the report does not have it."""
    file = report / "numbers" / f"{item}.json"
    sheets = json.loads(file.read_text(encoding="utf-8"))["sheets"] if file.exists() else []
    found = [sheet for sheet in sheets if sheet["title"] == title]
    if not found:
        return None
    (sheet,) = found
    lines = [sheet["columns"], ["---"] * len(sheet["columns"]), *sheet["rows"]]
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([*rows, "", sheet["note"], ""]) + "\n"


def filled(text, report):
    """The page with the report's tables in it, and the tables that this report lacks.

    Of an item that lacks one, all stay as they are: its tables and its figure are of the same data.
    """
    asked = {(place["item"], place["title"]): None for place in PLACE.finditer(text)}
    found = {place: table(report, *place) for place in asked}
    missing = [place for place, rows in found.items() if rows is None]
    whole = {item for item, _ in asked} - {item for item, _ in missing}

    def replaced(place):
        rows = found[place["item"], place["title"]]
        return place[1] + rows + place[5] if place["item"] in whole else place[0]

    return PLACE.sub(replaced, text), missing


def main(report):
    if not (report / "numbers").is_dir():
        raise SystemExit(f"there is no report in {report}: run eigenstream reproduce --out {report}")
    kept = {}
    for page in sorted((ROOT / "docs").glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after, missing = filled(before, report)
        kept |= dict(missing)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(page.relative_to(ROOT))
    for item, title in kept.items():
        why = f"; EIGENSTREAM_DATA names the folder of {DATA}" if DATA in title else ""
        print(f"tables and figure of {item} stay as they were: this report has no {title!r}{why}")
    for item, name in FIGURES.items():
        if item not in kept and (report / "figures" / f"{item}.png").exists():
            copyfile(report / "figures" / f"{item}.png", ROOT / "docs" / name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(
            "usage: python docs/report_tables.py FOLDER, where eigenstream reproduce has written"
        )
    main(Path(sys.argv[1]))
