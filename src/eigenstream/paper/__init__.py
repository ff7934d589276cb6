"""The paper, item by item: every table, figure and claim, simulated, drawn and checked."""

from __future__ import annotations

from . import (
    derivations,
    errors,
    large_alpha,
    lateral,
    networks,
    phases,
    switching,
    table,
    tracking,
    transmission,
    weaknesses,
)
from .item import Item

ITEMS: dict[str, Item] = {
    item.NAME: item
    for item in (
        table,
        transmission,
        phases,
        networks,
        tracking,
        errors,
        switching,
        lateral,
        derivations,
        large_alpha,
        weaknesses,
    )
}
"""Every item by name, in the order of the paper; what the authors left out comes last."""
