"""Write the reproducibility note, note.md and note.pdf, with every number read from a report's tables.

    eigenstream reproduce --out build/reproduction
    python paper/note.py build/reproduction

In note.template.md stand, in double braces:

    ITEM.SENTENCE.FIELD      a field of a claim that is alone in its name
    ITEM.SENTENCE.2.FIELD    that of the second of several, as where each regularizer has one
    ITEM.SENTENCE.all.FIELD  those of all of several, each after what it is about
    sheet: ITEM: TITLE       a table
    words                    what is counted here

The PDF is printed by Chromium, which Debian has (apt-get install chromium).
"""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from markdown_it import MarkdownIt

FOLDER = Path(__file__).resolve().parent
FIELD = re.compile(r"\{\{(?P<what>[^{}]+)\}\}")
FIGURE = re.compile(r"!\[[^\]]*\]\(figures/(?P<item>[\w-]+)\.png\)")
VERDICTS = ("holds", "holds with a correction", "does not hold")
PARTS = {
    "Section II, III, Appendix: closed forms": ("table-1", "signal-to-noise", "phase-diagram", "derivations"),
    "Sections IV to VI: networks": (
        *("local-learning", "eigenvalue-tracking", "error-decay", "sudden-change"),
        *("random-weights", "open-choices"),
    ),
    "beyond the paper": ("large-alpha", "weaknesses", "theory", "family", "relatives", "real-data"),
}
"""Items by what they are about, for the table of verdicts."""
STYLE = """
@page { size: A4; margin: 12mm 14mm; }
body { font: 8.3pt/1.27 "Liberation Sans", Arial, sans-serif; color: #111; }
h1 { font-size: 15pt; margin: 0 0 .3em; } h2 { font-size: 10.5pt; margin: .7em 0 .25em; break-after: avoid; }
p { margin: .25em 0; text-align: justify; } ul { margin: .2em 0; padding-left: 1.3em; }
table { border-collapse: collapse; font-size: 6.8pt; width: 100%; margin: .3em 0; break-inside: avoid; }
th, td { border-bottom: .4pt solid #999; padding: .08em .4em; text-align: left; vertical-align: top; }
img { display: block; margin: .4em auto; max-height: 6.2cm; max-width: 100%; }
img[src*="theory"] { max-height: 9cm; } /* eleven panels */
code { font-size: 7.8pt; }
"""


def read(report):
    """What a report says: the numbers of every item by its name."""
    files = sorted((report / "numbers").glob("*.json"))
    if not files:
        raise SystemExit(f"there is no report in {report}: run eigenstream reproduce --out {report}")
    return {found["item"]: found for found in (json.loads(file.read_text("utf-8")) for file in files)}


def filled(template, items, page):
    """The template with everything in double braces replaced."""
    words = counted(items, page)

    def replaced(found):
        what = found["what"].strip()
        if what.startswith("sheet:"):
            return table(items, *(part.strip() for part in what.removeprefix("sheet:").split(":", 1)))
        return words[what] if what in words else field(items, what)

    return FIELD.sub(replaced, template)


def field(items, what):
    """A field of a claim, or of all claims of a name: ITEM.SENTENCE.FIELD, with a number or "all" between."""
    parts = what.split(".")
    if len(parts) not in (3, 4) or parts[0] not in items:
        raise SystemExit(f"the template asks for {what!r}: the report's items are {', '.join(items)}")
    item, sentence, *which, name = parts
    claims = [claim for claim in items[item]["claims"] if claim["name"] == sentence]
    if which == ["all"] and len(claims) > 1:
        return "; ".join(f"*{label}*: {c[name]}" for label, c in zip(labels(claims), claims, strict=True))
    place = int(which[0]) if which and which[0].isdigit() else 1
    # A sentence without a number that means one of several would pass one regularizer off as all of them.
    if place > len(claims) or which == ["all"] or (not which and len(claims) > 1):
        raise SystemExit(
            f"the template asks for {what!r}: {item} has {len(claims)} claims of that name; between name and "
            "field say which (1, 2, ...), all of several, or nothing for the only one"
        )
    return claims[place - 1][name]


def labels(claims):
    """Subjects of several claims, such as regularizers: the last part of each place that not all have."""
    parts = [claim["where"].removeprefix("ours: ").split(", ") for claim in claims]
    found = [
        next((part for part in reversed(own) if not all(part in other for other in parts)), "")
        for own in parts
    ]
    if "" in found or len(set(found)) < len(found):
        raise SystemExit(
            f"claims cannot be told apart by their places: {[claim['where'] for claim in claims]}"
        )
    return found


def table(items, item, title):
    """A table of the report in Markdown, with its note."""
    sheets = [sheet for sheet in items[item]["sheets"] if sheet["title"] == title]
    if not sheets:
        raise SystemExit(f"the template asks for {title!r}, which {item} does not have")
    lines = [sheets[0]["columns"], ["---"] * len(sheets[0]["columns"]), *sheets[0]["rows"]]
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([*rows, "", f"*{sheets[0]['note']}*" if sheets[0]["note"] else ""])


def counted(items, page):
    """What is counted over all claims, and how the report was made."""
    claims = [claim for found in items.values() for claim in found["claims"]]
    verdicts = Counter(claim["verdict"] for claim in claims)
    ours = sum(claim["where"].startswith("ours") for claim in claims)
    rows = []
    for part, names in PARTS.items():
        own = Counter(c["verdict"] for name in names if name in items for c in items[name]["claims"])
        rows.append(f"| {part} | " + " | ".join(str(own[verdict]) for verdict in VERDICTS) + " |")
    corrections = [
        f"- {claim['where']}: {claim['reason']}." for claim in claims if claim["verdict"] == VERDICTS[1]
    ]
    kind = re.search(r"Seed \d+, (\w+) settings", page)
    versions = re.search(r"<p>(Python [^<]*)\.</p>", page)
    made = versions[1] if versions else ""
    found = re.search(r"eigenstream ([\w.]+)", made)
    return {
        "number": str(len(claims)),
        "ours_number": str(ours),
        "paper_number": str(len(claims) - ours),
        **{word: str(verdicts[v]) for word, v in zip(("holds", "corrected", "fails"), VERDICTS, strict=True)},
        "verdict_rows": "\n".join(rows),
        "corrections": "\n".join(dict.fromkeys(corrections)),
        "seed": str(next(iter(items.values()))["seed"]),
        "kind": kind[1] if kind else "",
        "versions": made,
        "version": found[1] if found else "",
    }


def printed(markdown, out):
    """Print a text by Chromium; paths of its figures are those beside ``out``."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit(f"the text is written; {out.name} needs Chromium: apt-get install chromium")
    body = MarkdownIt("commonmark").enable("table").render(markdown)
    page = out.with_suffix(".html")
    page.write_text(f'<!DOCTYPE html><meta charset="utf-8"><style>{STYLE}</style>{body}', encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    try:
        command = [browser, *flags, f"--print-to-pdf={out}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    finally:
        page.unlink()


def main(report):
    items = read(report)
    page = (report / "index.html").read_text("utf-8")
    note = filled((FOLDER / "note.template.md").read_text("utf-8"), items, page)
    (FOLDER / "figures").mkdir(exist_ok=True)
    for figure in FIGURE.finditer(note):
        name = f"{figure['item']}.png"
        shutil.copyfile(report / "figures" / name, FOLDER / "figures" / name)
    (FOLDER / "note.md").write_text(note, encoding="utf-8")
    printed(note, FOLDER / "note.pdf")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
