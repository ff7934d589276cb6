"""The paper's claims on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ..paper.reproduction.item import Claim
    from ..paper.reproduction.runner import JudgedItem

COLOR = {"holds": "green", "holds with a correction": "yellow", "does not hold": "red"}


def claims_table(outcome: JudgedItem) -> Table:
    """Table of an item's claims: the sentence, the measurement and the verdict."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from ..paper.reproduction.report import REASON

    shown = Table(
        title=f"{outcome.item.TITLE} ({outcome.item.NAME})",
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        expand=True,
    )
    for heading, ratio in (("where", 2), ("it says", 4), ("measured", 3), ("verdict", 2)):
        shown.add_column(heading, ratio=ratio, overflow="fold")
    for claim in outcome.claims:
        says = Text(claim.says)
        if claim.stated:
            says.append(f"\nStated: {claim.stated}")
        if claim.reason:
            says.append(f"\n{REASON[claim.verdict]}: {claim.reason}", style="italic")
        shown.add_row(Text(claim.where), says, Text(claim.value), _verdict(claim))
    return shown


def _verdict(claim: Claim) -> Text:
    from rich.text import Text

    from ..paper.reproduction.report import SIGN

    shown = Text(f"{SIGN[claim.verdict]} {claim.verdict}", style=COLOR[claim.verdict])
    return shown if claim.as_expected else shown.append(f"\n! expected: {claim.expected}", style="bold")


def complaints(outcomes: Sequence[JudgedItem]) -> list[str]:
    """A line for each claim whose verdict is not the expected one."""
    return [
        f"  {outcome.item.NAME}, {claim.where}: {claim.says}: {claim.verdict}, expected: {claim.expected}"
        for outcome in outcomes
        for claim in outcome.claims
        if not claim.as_expected
    ]
