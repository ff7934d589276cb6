"""The page that shows every figure beside its claims. It is one file and asks nothing of the network."""

from __future__ import annotations

import base64
import inspect
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from .cache import LIBRARIES
from .item import Claim
from .runner import Outcome
from .verdict import Verdict

SIGN = {Verdict.HOLDS: "✓", Verdict.CORRECTED: "≈", Verdict.FAILS: "✗"}
"""What tells verdicts apart without colour."""
COUNTED = {Verdict.HOLDS: "hold", Verdict.CORRECTED: "hold with a correction", Verdict.FAILS: "do not hold"}
REASON = {Verdict.HOLDS: "Note", Verdict.CORRECTED: "Correction", Verdict.FAILS: "Why"}
MIME = {".svg": "image/svg+xml", ".png": "image/png"}


def page(outcomes: Sequence[Outcome], figures: Sequence[Path], *, quick: bool) -> str:
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
        versions=", ".join(f"{name} {number}" for name, number in versions().items()),
    )


def versions() -> dict[str, str]:
    """Of everything that has a part in the numbers or the pictures."""
    names = ("eigenstream", *LIBRARIES, "matplotlib")
    return {"Python": platform.python_version(), **{name: version(name) for name in names}}


def unexpected(claims: Iterable[Claim]) -> list[Claim]:
    return [claim for claim in claims if not claim.as_expected]


def _kind(verdict: Verdict) -> str:
    return verdict.name.lower()


def _summary(claims: Sequence[Claim]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    tiles = [_tile(verdict, counts[verdict]) for verdict in Verdict]
    if surprises := unexpected(claims):
        tiles.append(f'<li class="surprise"><b>! {len(surprises)}</b> otherwise than expected</li>')
    return "\n".join(tiles)


def _tile(verdict: Verdict, count: int) -> str:
    kind = _kind(verdict) if count else "none"
    return f'<li class="{kind}"><b>{SIGN[verdict]} {count}</b> {COUNTED[verdict]}</li>'


def _entry(outcome: Outcome) -> str:
    """The item's line in the list of contents."""
    counts = Counter(claim.verdict for claim in outcome.claims)
    signs = "".join(
        f'<span class="{_kind(verdict)}" title="{COUNTED[verdict]}">{SIGN[verdict]} {counts[verdict]}</span>'
        for verdict in Verdict
        if counts[verdict]
    )
    link = f'<a href="#{escape(outcome.item.NAME)}">{escape(outcome.item.TITLE)}</a>'
    return f'<li>{link} <span class="counts">{signs}</span></li>'


def _section(outcome: Outcome, figure: Path) -> str:
    name, title = escape(outcome.item.NAME), escape(outcome.item.TITLE)
    data = base64.b64encode(figure.read_bytes()).decode()
    return f"""<section id="{name}">
<h2>{title}</h2>
<div class="beside">
<figure>
<div class="card"><img alt="{title}" src="data:{MIME[figure.suffix]};base64,{data}"></div>
<figcaption>{_caption(outcome)}</figcaption>
</figure>
<ol class="claims">
{"".join(map(_claim, outcome.claims))}</ol>
</div>
</section>"""


def _caption(outcome: Outcome) -> str:
    """What the item's module says of itself."""
    paragraphs = (inspect.getdoc(outcome.item) or "").replace("`", "").split("\n\n")
    return "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)


def _claim(claim: Claim) -> str:
    badges = f'<span class="badge {_kind(claim.verdict)}">{SIGN[claim.verdict]} {claim.verdict}</span>'
    if not claim.as_expected:
        badges += f' <span class="badge surprise">! expected: {claim.expected}</span>'
    rows = {"Measured": claim.value, "By": claim.measured_by, REASON[claim.verdict]: claim.reason}
    listed = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in rows.items() if text)
    return f"""<li class="{_kind(claim.verdict)}">
<p class="head"><span class="where">{escape(claim.where)}</span> <span>{badges}</span></p>
<p class="says">{escape(claim.says)}</p>
<dl>{listed}</dl>
</li>
"""


def _settings_row(outcome: Outcome) -> str:
    values = ", ".join(f"{f.name} = {getattr(outcome.settings, f.name)}" for f in fields(outcome.settings))
    name, number = escape(outcome.item.NAME), len(outcome.cases)
    return f'<tr><th scope="row">{name}</th><td>{number}</td><td>{escape(values)}</td></tr>'
