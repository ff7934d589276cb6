"""The page that shows every figure beside its claims. It is one file and asks nothing of the network."""

from __future__ import annotations

import base64
import inspect
import json
import platform
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from .cache import LIBRARIES
from .item import Claim, ClaimVerdict, Sheet, functions_of, recorded_by, sheets_of, values
from .runner import JudgedItem

SIGN = {ClaimVerdict.HOLDS: "✓", ClaimVerdict.CORRECTED: "≈", ClaimVerdict.FAILS: "✗"}
"""Signs that tell verdicts apart without colour."""
COUNTED = {
    ClaimVerdict.HOLDS: "hold",
    ClaimVerdict.CORRECTED: "hold with a correction",
    ClaimVerdict.FAILS: "do not hold",
}
REASON = {ClaimVerdict.HOLDS: "Note", ClaimVerdict.CORRECTED: "Correction", ClaimVerdict.FAILS: "Why"}
MIME = {".svg": "image/svg+xml", ".png": "image/png"}


def page(outcomes: Sequence[JudgedItem], figures: Sequence[Path], *, quick: bool) -> str:
    """The whole page, with the figures in it."""
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    template = Template(files(__package__).joinpath("report.html").read_text(encoding="utf-8"))
    return template.substitute(
        number=len(claims),
        ours=sum(claim.where.startswith("ours") for claim in claims),
        summary=_summary(claims),
        contents="\n".join(map(_entry, outcomes)),
        items="\n".join(map(_section, outcomes, figures)),
        kind="quick" if quick else "full",
        seed=outcomes[0].seed,
        settings="\n".join(map(_settings_row, outcomes)),
        changed=_changes(outcomes),
        script=files(__package__).joinpath("sliders.js").read_text(encoding="utf-8"),
        versions=", ".join(f"{name} {number}" for name, number in versions().items()),
    )


def versions() -> dict[str, str]:
    """Versions of everything that has a part in the numbers or the pictures."""
    names = ("eigenstream", *LIBRARIES, "matplotlib")
    return {"Python": platform.python_version(), **{name: version(name) for name in names}}


def unexpected(claims: Iterable[Claim]) -> list[Claim]:
    return [claim for claim in claims if not claim.as_expected]


def _kind(verdict: ClaimVerdict) -> str:
    return verdict.name.lower()


def _summary(claims: Sequence[Claim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    tiles = [_tile(verdict, counts[verdict]) for verdict in ClaimVerdict]
    if surprises := unexpected(claims):
        tiles.append(f'<li class="surprise"><b>! {len(surprises)}</b> otherwise than expected</li>')
    return "\n".join(tiles)


def _tile(verdict: ClaimVerdict, count: int) -> str:
    kind = _kind(verdict) if count else "none"
    return f'<li class="{kind}"><b>{SIGN[verdict]} {count}</b> {COUNTED[verdict]}</li>'


def _entry(outcome: JudgedItem) -> str:
    """The item's line in the list of contents."""
    counts = Counter(claim.verdict for claim in outcome.claims)
    signs = "".join(
        f'<span class="{_kind(verdict)}" title="{COUNTED[verdict]}">{SIGN[verdict]} {counts[verdict]}</span>'
        for verdict in ClaimVerdict
        if counts[verdict]
    )
    link = f'<a href="#{escape(outcome.item.NAME)}">{escape(outcome.item.TITLE)}</a>'
    return f'<li>{link} <span class="counts">{signs}</span></li>'


def _section(outcome: JudgedItem, figure: Path) -> str:
    item = outcome.item
    name, alt = escape(item.NAME), escape(item.ALT)
    data = base64.b64encode(figure.read_bytes()).decode()
    tables = "".join(map(_sheet, sheets_of(item, outcome.settings, outcome.tables)))
    return f"""<section id="{name}">
<h2>{escape(item.TITLE)}</h2>
<figure>
<div class="card"><img alt="{alt}" src="data:{MIME[figure.suffix]};base64,{data}"></div>
<figcaption>{escape(item.CAPTION)} <span class="files">{_links(item.NAME)}</span></figcaption>
</figure>
{_sliders(outcome)}
{_lines(outcome)}
{tables}
<div class="scroll"><table class="claims">
<thead><tr><th scope="col">Where</th><th scope="col">The paper</th><th scope="col">Stated</th>
<th scope="col">Measured</th><th scope="col">Verdict</th></tr></thead>
<tbody>
{"".join(map(_claim, outcome.claims))}</tbody>
</table></div>
</section>"""


INTERACTIVE = {"signal-to-noise": "curves", "phase-diagram": "phases", "sudden-change": "change"}
"""Sliders of the page's script by item."""


def _sliders(outcome: JudgedItem) -> str:
    """A place for the item's sliders, which stays empty without the script, and what they show recorded."""
    if outcome.item.NAME not in INTERACTIVE:
        return ""
    recorded = recorded_by(outcome.item, outcome.settings, outcome.tables)
    data = "" if recorded is None else f' data-recorded="{escape(json.dumps(recorded))}"'
    return f'<div class="try" data-try="{INTERACTIVE[outcome.item.NAME]}"{data}></div>'


def _lines(outcome: JudgedItem) -> str:
    """The lines that make the figure, folded away."""
    name, kind, changes = outcome.item.NAME, *_settings_in_words(outcome)
    imported, settings = "", f"item.{kind}"
    if changes:
        imported = "from eigenstream.paper.reproduction.item import with_changes\n"
        settings = f"with_changes({{item: item.{kind}}}, {changes})[item]"
    how = f"""from eigenstream.paper.items import ITEMS
{imported}
item = ITEMS["{name}"]
settings = {settings}
tables = [item.simulate(case) for case in item.cases(settings, seed={outcome.seed})]
item.draw(settings, tables).savefig("{name}.pdf")
"""
    sources = "\n\n".join(inspect.getsource(part).rstrip() for part in functions_of(outcome.item))
    return f"""<details><summary>The lines that make this figure</summary>
<pre><code>{escape(how)}</code></pre>
<pre><code>{escape(textwrap.dedent(sources))}</code></pre>
</details>"""


def _settings_in_words(outcome: JudgedItem) -> tuple[str, list[str]]:
    """The one of the item's two settings that these come from, and changes to it, as ``name=value``."""
    mine, found = values(outcome.settings), {}
    for kind in ("FULL", "QUICK"):
        usual = values(getattr(outcome.item, kind))
        found[kind] = [f"{name}={_typed(value)}" for name, value in mine.items() if value != usual[name]]
    return min(found.items(), key=lambda pair: len(pair[1]))


def _typed(value: object) -> str:
    """A setting as ``--set`` takes it."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _links(name: str) -> str:
    """Links to the files written beside the page."""
    files = [(f"figures/{name}.{kind}", kind.upper()) for kind in ("pdf", "svg", "png")]
    files.append((f"numbers/{name}.json", "numbers"))
    return " ".join(f'<a href="{escape(path)}">{label}</a>' for path, label in files)


def _sheet(sheet: Sheet) -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in sheet.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in sheet.rows)
    note = f'<p class="note">{escape(sheet.note)}</p>' if sheet.note else ""
    return f"""<h3>{escape(sheet.title)}</h3>
<div class="scroll"><table class="sheet"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>
{note}"""


def _claim(claim: Claim) -> str:
    badges = f'<span class="badge {_kind(claim.verdict)}">{SIGN[claim.verdict]} {claim.verdict}</span>'
    if not claim.as_expected:
        badges += f' <span class="badge surprise">! expected: {claim.expected}</span>'
    quote = f"<blockquote>“{escape(claim.quote)}”</blockquote>" if claim.quote else ""
    reason = f"<p>{REASON[claim.verdict]}: {escape(claim.reason)}</p>" if claim.reason else ""
    return f"""<tr class="{_kind(claim.verdict)}">
<th scope="row">{escape(claim.where)}</th>
<td>{quote}<p>{escape(claim.says)}</p></td>
<td data-label="Stated">{escape(claim.stated)}</td>
<td data-label="Measured"><p>{escape(claim.value)}</p><p class="by">By: {escape(claim.measured_by)}</p></td>
<td data-label="Verdict">{badges}{reason}</td>
</tr>
"""


def _settings_row(outcome: JudgedItem) -> str:
    listed = ", ".join(f"{name} = {value}" for name, value in values(outcome.settings).items())
    name, number = escape(outcome.item.NAME), len(outcome.cases)
    return f'<tr><th scope="row">{name}</th><td>{number}</td><td>{escape(listed)}</td></tr>'


def _changes(outcomes: Sequence[JudgedItem]) -> str:
    """Settings that the user changed, in a frame of their own."""
    if not outcomes[0].changed:
        return ""
    listed = ", ".join(f"<code>{escape(change)}</code>" for change in outcomes[0].changed)
    note = "The expected verdicts are those of unchanged settings."
    return f'<p class="changed">Settings changed: {listed}. {note}</p>'
