"""Settings changed from the command line: ``k=6`` in every item with a k, or ``sudden-change.beta=0.99``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from .item import Item


class ChangeError(ValueError):
    """A change that names no setting, or whose value does not fit."""


def apply(settings: dict[Item, Any], changes: Sequence[str]) -> dict[Item, Any]:
    """Make the changes, in order, in the settings of all items."""
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
