"""Files of a reproduction: figures, numbers, claims, and the page that shows them together."""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import cache, report, workers
from .item import Table, sheets_of
from .runner import JudgedItem, Reproduction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    jobs: int,
    progress: Callable[[int], None],
    stopping: Callable[[], bool],
) -> list[JudgedItem]:
    """Judge every item, draw its figure, report after each the number drawn, and write the page last.

    Raises
    ------
    workers.Stopped
        If ``stopping`` became true before the end. What was drawn is kept.
    workers.Failed
        If a figure could not be drawn.
    """
    outcomes = [reproduction.outcome(item) for item in reproduction.settings]
    drawing = version("matplotlib")
    kept = {
        reproduction.kept(outcome.item, "figure", repr(outcome.settings), outcome.tables, drawing): outcome
        for outcome in outcomes
    }
    _draw(kept, jobs, progress, stopping)
    for file, outcome in kept.items():
        _write_figure(outcome, file, out / "figures")
        _write_json(out / "numbers" / f"{outcome.item.NAME}.json", _numbers(outcome))
    _write_claims(outcomes, out)
    figures = [figure_file(outcome, out / "figures") for outcome in outcomes]
    (out / PAGE).write_text(report.page(outcomes, figures, quick=reproduction.quick), encoding="utf-8")
    return outcomes


def figure_file(outcome: JudgedItem, folder: Path, kind: str = "svg") -> Path:
    return folder / f"{outcome.item.NAME}.{kind}"


def _draw(
    kept: Mapping[Path, JudgedItem], jobs: int, progress: Callable[[int], None], stopping: Callable[[], bool]
) -> None:
    """Draw what no earlier run has drawn, several figures at a time: a figure takes more than a second."""
    missing = {file: outcome for file, outcome in kept.items() if cache.recall(file) is None}
    drawn = count(len(kept) - len(missing) + 1)
    calls = {file: (o.item.draw, o.settings, o.tables, file) for file, o in missing.items()}
    names = {file: f"{outcome.item.NAME}: its figure cannot be drawn" for file, outcome in missing.items()}
    workers.run(_keep_drawn, calls, names, jobs, lambda file: progress(next(drawn)), stopping)
    if not missing:
        progress(len(kept))


def _keep_drawn(draw: Callable[..., Figure], settings: Any, tables: Sequence[Table], file: Path) -> None:
    """Draw in a worker."""
    cache.keep(file, json.dumps(_drawn(draw, settings, tables)))


def _write_figure(outcome: JudgedItem, kept: Path, out: Path) -> None:
    """Write the figure as PNG, SVG and PDF."""
    out.mkdir(exist_ok=True)
    text = cache.recall(kept)
    assert text is not None, kept
    for kind, content in json.loads(text).items():
        figure_file(outcome, out, kind).write_bytes(base64.b64decode(content))


def _drawn(draw: Callable[..., Figure], settings: Any, tables: Sequence[Table]) -> dict[str, str]:
    """The figure in each format, in base64: without dates, random ids or the user's style, so equal bytes."""
    from matplotlib import style

    files = {"png": BytesIO(), "svg": BytesIO(), "pdf": BytesIO()}
    with style.context(["default", STYLE]):
        figure = draw(settings, tables)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once: all files show the same
        figure.savefig(files["png"], format="png", dpi=220)
        figure.savefig(files["pdf"], format="pdf", metadata={"CreationDate": None})
        figure.savefig(files["svg"], format="svg", metadata={"Date": None})
    return {kind: base64.b64encode(file.getvalue()).decode() for kind, file in files.items()}


def _numbers(outcome: JudgedItem) -> dict[str, Any]:
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
        "claims": [asdict(claim) for claim in outcome.claims],
        "sheets": [asdict(sheet) for sheet in sheets_of(outcome.item, outcome.settings, outcome.tables)],
    }


def _write_claims(outcomes: Sequence[JudgedItem], out: Path) -> None:
    rows = [{"item": o.item.NAME, **asdict(claim)} for o in outcomes for claim in o.claims]
    _write_json(out / "claims.json", rows)
    with (out / "claims.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["item"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
