"""What an evaluation leaves behind: a page with the summary, one per question, pictures, and results.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.markdown import mark, number, table

from eigenstream.paper.reproduction.item import ClaimVerdict
from eigenstream.paper.reproduction.runner import JudgedItem
from evaluation.methods import why_not_process_improve
from evaluation.question import OURS, Row, in_words, median_ratio, worst

TABLE, OVERVIEW = "results.json", "README.md"
COLOURS = 64
"""In a picture; enough for lines and bars, and a third of the bytes."""


def write(outcomes: Sequence[JudgedItem], out: Path, *, quick: bool) -> None:
    """Everything into this folder."""
    out.mkdir(parents=True, exist_ok=True)
    found = {outcome.item.LETTER: _rows(outcome) for outcome in outcomes}
    _write_table(_results(outcomes, found), out)
    for outcome in outcomes:
        name = outcome.item.NAME
        (out / f"{name}.png").write_bytes(_picture(outcome))
        (out / f"{name}.md").write_text(_question(outcome, found[outcome.item.LETTER]))
    (out / OVERVIEW).write_text(_overview(outcomes, found, quick))


def renew(outcomes: Sequence[JudgedItem], out: Path) -> None:
    """Some questions into a folder that has pages of all: what is said of the others stays as it is."""
    letters = {outcome.item.LETTER for outcome in outcomes}  # type: ignore[attr-defined]
    before = {path.name: path.read_text() for path in (out / TABLE, out / OVERVIEW)}
    write(outcomes, out, quick=False)
    after = {name: (out / name).read_text() for name in before}
    old, new = (json.loads(texts[TABLE]) for texts in (before, after))
    rows = _merged(old["rows"], new["rows"], letters, lambda row: row["anchor"].split("/")[0])
    targets = _merged(old["targets"], new["targets"], letters, lambda target: target["question"])
    _write_table({"machine": old["machine"], "rows": rows, "targets": targets}, out)
    (out / OVERVIEW).write_text(_renewed(before[OVERVIEW], after[OVERVIEW], letters))


def _renewed(old: str, new: str, letters: set[str]) -> str:
    """An overview in which lines of tables about these questions are those of another."""
    fresh = iter([list(lines) for entries, lines in groupby(new.splitlines(), _is_entry) if entries])
    parts: list[str] = []
    for entries, lines in groupby(old.splitlines(), _is_entry):
        found = list(lines)
        parts += _merged(found, next(fresh), letters, _letter) if entries else found
    return "\n".join(parts) + "\n"


def _is_entry(line: str) -> bool:
    """Whether a line belongs to a table of questions or targets."""
    return line.startswith("| (")


def _letter(line: str) -> str:
    """The question that a line of the overview is about: ``| (d) ...``."""
    return line[3]


def _merged(old: list[Any], new: list[Any], letters: set[str], letter: Callable[[Any], str]) -> list[Any]:
    """Old entries, those of these questions replaced by the new ones."""
    kept = [entry for entry in old if letter(entry) not in letters]
    return sorted(kept + new, key=letter)


def _write_table(results: dict[str, Any], out: Path) -> None:
    (out / TABLE).write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def _rows(outcome: JudgedItem) -> list[Row]:
    rows: list[Row] = outcome.item.rows(outcome.settings, outcome.tables)  # type: ignore[attr-defined]
    return rows


def _results(outcomes: Sequence[JudgedItem], found: dict[str, list[Row]]) -> dict[str, Any]:
    return {
        "machine": machine.facts(),
        "rows": [row.as_json() for rows in found.values() for row in rows],
        "targets": [
            {
                "question": outcome.item.LETTER,  # type: ignore[attr-defined]
                "target": claim.says,
                "measured": claim.value,
                "met": claim.verdict == ClaimVerdict.HOLDS,
            }
            for outcome in outcomes
            for claim in outcome.claims
        ],
    }


def _overview(outcomes: Sequence[JudgedItem], found: dict[str, list[Row]], quick: bool) -> str:
    parts = [
        "# Evaluation",
        "Written by `make evaluate`, from the numbers alone; nothing here is edited by hand. Every row has a "
        f"name in [{TABLE}]({TABLE}). A *case* is one setting with ours and all rivals on the same rows. "
        "Ours is compared with the best rival of that case, whichever that is: *2 times better* means half "
        "the error, the time or the memory, or twice the score where more is better.",
    ]
    if quick:
        parts.append("**Quick settings: these figures show that it runs, nothing else.**")
    parts += [_summary(outcomes, found), "## Targets", _targets(outcomes), "## Who takes part", RIVALS]
    if why := why_not_process_improve():
        parts.append(f"Left out: AdaptivePCA, because {why}.")
    facts = "; ".join(f"{key} {value}" for key, value in machine.facts().items())
    parts.append(f"Measured with {facts}.")
    return "\n\n".join(parts) + "\n"


def _summary(outcomes: Sequence[JudgedItem], found: dict[str, list[Row]]) -> str:
    lines = []
    for outcome in outcomes:
        item: Any = outcome.item
        rows = [row for row in found[item.LETTER] if row.contest]
        name = f"({item.LETTER}) [{item.TITLE}]({item.NAME}.md)"
        if not rows:
            lines.append((name, "skipped", "", "", "", ""))
            continue
        most = worst(rows)
        published = [row.as_published() for row in rows]
        where = f"{most.case}: {most.loss_in_words}" if most else "nowhere"
        ratio = in_words(median_ratio(rows))
        lines.append((name, _winner(rows), _counts(rows), ratio, _counts(published), where))
    headings = ("question", "who wins most cases", "won / lost / even", "ours is, in the median")
    return table((*headings, "against rivals as published", "where ours loses most"), lines)


def _counts(rows: Sequence[Row]) -> str:
    wins, lost = sum(row.ratio > 1 for row in rows), sum(row.lost for row in rows)
    return f"{wins} / {lost} / {len(rows) - wins - lost}"


def _winner(rows: Sequence[Row]) -> str:
    """Ours, or the rival that wins most of the lost cases; nobody if as many are won as lost."""
    lost = [row.best_rival for row in rows if row.lost]
    wins = sum(row.ratio > 1 for row in rows)
    if wins == len(lost):
        return "nobody"
    return OURS if wins > len(lost) else max(dict.fromkeys(lost), key=lost.count)


def _targets(outcomes: Sequence[JudgedItem]) -> str:
    lines = [
        (f"({outcome.item.LETTER}) {claim.says}", claim.value, mark(claim.verdict == ClaimVerdict.HOLDS))  # type: ignore[attr-defined]
        for outcome in outcomes
        for claim in outcome.claims
    ]
    return table(("target", "measured", ""), lines)


def _question(outcome: JudgedItem, rows: Sequence[Row]) -> str:
    item: Any = outcome.item
    parts = [f"# ({item.LETTER}) {item.TITLE}", item.INTRO.replace("\n", " ")]
    if outcome.claims:
        parts.append(_targets([outcome]))
    parts.append(f"![{item.TITLE}]({item.NAME}.png)")
    parts += _tables(rows)
    if hasattr(item, "further") and (text := item.further(outcome.settings, outcome.tables)):
        parts.append(text)
    return "\n\n".join(part for part in parts if part) + "\n"


def _tables(rows: Sequence[Row]) -> list[str]:
    """One table per measure, the best method of each case in bold."""
    parts = []
    for measure in dict.fromkeys(row.measure for row in rows):
        mine = [row for row in rows if row.measure == measure]
        methods = list(dict.fromkeys(name for row in mine for name in (*row.values, *row.extra)))
        lines = [
            (
                row.case,
                *(_cell(row, name) for name in methods),
                row.in_words if row.contest else "",
                f"`{row.anchor}`",
            )
            for row in mine
        ]
        parts += [f"## {measure[:1].upper()}{measure[1:]}", table(("", *methods, "ours is", "row"), lines)]
    return parts


def _cell(row: Row, name: str) -> str:
    value = {**row.values, **row.extra}.get(name)
    if value is None:
        return ""
    text = "0" if value <= row.floor else number(value)
    best = OURS if row.ratio >= 1 else row.best_rival
    return f"**{text}**" if row.contest and name == best else text


def _picture(outcome: JudgedItem) -> bytes:
    from matplotlib import style
    from PIL import Image

    drawn, small = BytesIO(), BytesIO()
    with style.context("default"):
        figure = outcome.item.draw(outcome.settings, outcome.tables)
        figure.savefig(drawn, format="png", dpi=110, metadata={"Software": None})
    Image.open(drawn).convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS).save(
        small, "png", optimize=True
    )
    return small.getvalue()


RIVALS = """Rivals were written from their papers for this comparison; scikit-learn's and
process-improve's are installed. Adapting their rank: SPIRIT (Papadimitriou, Sun, Faloutsos 2005, VLDB),
FRAHST (dos Santos Teixeira, Milidiú 2010, doi:10.1145/1774088.1774434), Federated PCA (Grammenos et al.
2020, NeurIPS), incremental SVD with a relative tolerance (as MATLAB's incrementalPOD and libROM have it),
ARAMS (rank-adaptive Frequent Directions, Winnicki et al. 2024). Of fixed rank: scikit-learn's
IncrementalPCA, block incremental SVD, Frequent Directions (Ghashami et al. 2016), CCIPCA (Weng et al.
2003), FSM (Giovannucci et al. 2018), Oja's rule, process-improve's AdaptivePCA, and GROUSE (Balzano et
al. 2010) for missing entries. Counting components of rows at hand: parallel analysis, Gavish and Donoho
2014, BEMA (Ke, Ma, Lin 2023), ScreeNOT (Donoho, Gavish, Romanov 2023), and the number of factors by Bai
and Ng 2002, Onatski 2010, Ahn and Horenstein 2013, in rows and in their differences. One BLAS thread.
Rivals have their papers' defaults; where one setting decides about the rank, also its best value in
hindsight, which nobody knows in advance."""
