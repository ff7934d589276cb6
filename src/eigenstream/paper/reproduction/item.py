"""Parts of an item of the paper: settings, which can be changed, cases to simulate, a figure, and claims.

An item is a module. Its settings are frozen, its cases independent of one another, `simulate` is pure and
seeded, `draw` computes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = dict[str, Any]
"""Result of a simulation: numbers, strings, and lists and dictionaries of them, as JSON holds them."""


class ClaimVerdict(StrEnum):
    """Judgement on a sentence of the paper."""

    HOLDS = "holds"
    CORRECTED = "holds with a correction"
    FAILS = "does not hold"


def verdict(printed: bool, corrected: bool = False) -> ClaimVerdict:
    """Judge a sentence: it holds as printed, only with its correction, or not at all.

    Examples
    --------
    >>> verdict(False, corrected=True)
    <ClaimVerdict.CORRECTED: 'holds with a correction'>
    """
    if printed:
        return ClaimVerdict.HOLDS
    return ClaimVerdict.CORRECTED if corrected else ClaimVerdict.FAILS


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper that can be checked, with its verdict."""

    where: str
    """Section, figure or equation, numbered as in the PDF; "ours: ..." if the paper does not say it."""
    says: str
    """The sentence in our words."""
    measured_by: str
    value: str
    """The measurement in words and numbers, with its spread."""
    verdict: ClaimVerdict
    expected: ClaimVerdict = ClaimVerdict.HOLDS
    """The verdict a right implementation reaches."""
    reason: str = ""
    """Reason why it needs a correction, or does not hold."""
    quote: str = ""
    """The paper's own words; empty where the claim is ours or a formula says it."""
    stated: str = ""
    """The value or formula that the paper states."""
    name: str = ""
    """Name of the sentence within its item; sentences about several regularizers share it."""

    @property
    def as_expected(self) -> bool:
        return self.verdict == self.expected


@dataclass(frozen=True)
class Sheet:
    """A table for the report."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class Item(Protocol):
    """A figure, table or section: the members that its module must have.

    A module may also have ``sheets(settings, tables)``, which returns tables for the report,
    ``recorded(settings, tables)``, which returns what its sliders show beside the closed form, and
    ``functions()``, which returns those that make the figure (by default `simulate` and `draw`).
    """

    NAME: str
    TITLE: str
    CAPTION: str
    """Caption below the figure."""
    ALT: str
    """The figure in words, for those who cannot see it."""
    FULL: Any
    QUICK: Any

    def cases(self, settings: Any, seed: int) -> Sequence[Any]:
        """Independent pieces of work, each a frozen dataclass of plain values."""

    def simulate(self, case: Any) -> Table:
        """Carry out one case: a pure function of it."""

    def draw(self, settings: Any, tables: Sequence[Table]) -> Figure:
        """The figure of all cases' tables, in their order."""

    def claims(self, settings: Any, tables: Sequence[Table]) -> Sequence[Claim]:
        """The paper's claims, judged by the tables."""


def sheets_of(item: Item, settings: Any, tables: Sequence[Table]) -> Sequence[Sheet]:
    """The item's tables for the report; most have none."""
    make = getattr(item, "sheets", None)
    return make(settings, tables) if make else ()


def recorded_by(item: Item, settings: Any, tables: Sequence[Table]) -> Any:
    """Simulations that the item's sliders show beside the closed form; None for most."""
    make = getattr(item, "recorded", None)
    return make(settings, tables) if make else None


def functions_of(item: Item) -> Sequence[Any]:
    """The functions that make the item's figure."""
    named = getattr(item, "functions", None)
    return named() if named else (item.simulate, item.draw)


class ChangeError(ValueError):
    """A change that names no setting, or whose value does not fit."""


def with_changes(settings: dict[Item, Any], changes: Sequence[str]) -> dict[Item, Any]:
    """Make the changes, in order: ``k=6`` in every item with a k, or ``sudden-change.beta=0.99``."""
    for change in changes:
        settings = _changed(settings, change)
    return settings


def _changed(settings: dict[Item, Any], change: str) -> dict[Item, Any]:
    target, sign, value = change.partition("=")
    if not sign or not target.strip():
        raise ChangeError(f"expected NAME=VALUE, got {change!r}")
    item_name, _, name = target.strip().rpartition(".")
    chosen = [item for item in settings if item_name in ("", item.NAME)]
    if not chosen:
        raise ChangeError(f"no chosen item is called {item_name!r}: {', '.join(i.NAME for i in settings)}")
    having = [item for item in chosen if name in values(settings[item])]
    if not having:
        known = ", ".join(sorted({n for item in chosen for n in values(settings[item])}))
        raise ChangeError(f"no chosen item has a setting {name!r}; there are {known}")
    return {
        item: _with(found, name, value.strip(), change) if item in having else found
        for item, found in settings.items()
    }


def values(settings: Any) -> dict[str, Any]:
    """Values of all settings by name; settings within settings are named as if they were their owner's."""
    found: dict[str, Any] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        found |= values(value) if is_dataclass(value) else {field.name: value}
    return found


def _with(settings: Any, name: str, value: str, change: str) -> Any:
    for field in fields(settings):
        current = getattr(settings, field.name)
        if field.name == name:
            return replace(settings, **{name: _read(current, value, change)})
        if is_dataclass(current) and name in values(current):
            return replace(settings, **{field.name: _with(current, name, value, change)})
    raise AssertionError(name)


def _read(current: Any, value: str, change: str) -> Any:
    """Convert the text to the type that the setting holds now: a number, or numbers between commas."""
    if isinstance(current, tuple):
        if current and isinstance(current[0], tuple):
            raise ChangeError(f"{change!r}: this setting is a list of lists and cannot be changed here")
        return tuple(_read(current[0], part.strip(), change) for part in value.split(",") if part.strip())
    kind = type(current)
    try:
        return kind(value)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ChangeError(f"{change!r}: expected {what} like {current}, got {value!r}") from None
