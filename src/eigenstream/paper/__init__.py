"""The paper: `items` holds figures, tables and claims, `reproduction` runs, judges and reports them."""

from __future__ import annotations

from .items import ITEMS as ITEMS
