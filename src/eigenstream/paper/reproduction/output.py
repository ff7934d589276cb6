"""What a reproduction leaves on disk: figures, numbers, claims, and the page that shows them together."""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

from . import cache, report
from .equations import to_text
from .item import Claim
from .runner import Outcome, Reproduction
from .workers import Stopped

PAGE = "index.html"
STYLE: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.linewidth": 0.7,
    "pdf.fonttype": 42,
    "svg.hashsalt": "eigenstream",
}
"""Type for print at the width of a page; fonts embedded in PDF; the same ids in SVG every time."""


def write(
    reproduction: Reproduction,
    out: Path,
    progress: Callable[[int], None],
    stopping: Callable[[], bool],
) -> list[Outcome]:
    """Draw and check every item, say after each how many are done, and write the page last."""
    outcomes = []
    for item in reproduction.settings:
        if stopping():
            raise Stopped
        outcome = reproduction.outcome(item)
        _write_figure(outcome, out / "figures", reproduction.folder)
        _write_json(out / "numbers" / f"{item.NAME}.json", _numbers(outcome))
        outcomes.append(outcome)
        progress(len(outcomes))
    _write_claims(outcomes, out)
    figures = [figure_file(outcome, out / "figures") for outcome in outcomes]
    (out / PAGE).write_text(report.page(outcomes, figures, quick=reproduction.quick), encoding="utf-8")
    return outcomes


def figure_file(outcome: Outcome, folder: Path, kind: str = "svg") -> Path:
    return folder / f"{outcome.item.NAME}.{kind}"


def _write_figure(outcome: Outcome, out: Path, folder: Path) -> None:
    """As PNG, SVG and PDF, from an earlier run if nothing has changed since."""
    item = outcome.item
    kept = folder / item.NAME / f"{cache.figure_key(item, outcome.settings, outcome.tables)}.figure"
    if (text := cache.recall(kept)) is None:
        text = json.dumps(_drawn(outcome))
        cache.keep(kept, text)
    out.mkdir(exist_ok=True)
    for kind, content in json.loads(text).items():
        figure_file(outcome, out, kind).write_bytes(base64.b64decode(content))


def _drawn(outcome: Outcome) -> dict[str, str]:
    """Each format in base64, the same bytes every time: no dates, no random ids, no user's own style."""
    from matplotlib import style

    files = {"png": BytesIO(), "svg": BytesIO(), "pdf": BytesIO()}
    with style.context(["default", STYLE]):
        figure = outcome.item.draw(outcome.settings, outcome.tables)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once: all files show the same
        figure.savefig(files["png"], format="png", dpi=220)
        figure.savefig(files["pdf"], format="pdf", metadata={"CreationDate": None})
        figure.savefig(files["svg"], format="svg", metadata={"Date": None})
    return {kind: base64.b64encode(file.getvalue()).decode() for kind, file in files.items()}


def _numbers(outcome: Outcome) -> dict[str, Any]:
    return {
        "item": outcome.item.NAME,
        "title": outcome.item.TITLE,
        "seed": outcome.seed,
        "settings": asdict(outcome.settings),
        "changed": list(outcome.changed),
        "results": [
            {"case": asdict(case), "table": table}
            for case, table in zip(outcome.cases, outcome.tables, strict=True)
        ],
        "claims": [_plain(claim) for claim in outcome.claims],
    }


def _plain(claim: Claim) -> dict[str, str]:
    """A claim as words, formulas in plain characters."""
    return {name: to_text(value) for name, value in asdict(claim).items()}


def _write_claims(outcomes: Sequence[Outcome], out: Path) -> None:
    rows = [{"item": o.item.NAME, **_plain(claim)} for o in outcomes for claim in o.claims]
    _write_json(out / "claims.json", rows)
    with (out / "claims.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["item"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
