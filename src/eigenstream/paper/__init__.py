"""The paper, item by item: `items` holds what is shown, `reproduction` how it is run, judged and reported."""

from __future__ import annotations

from .items import ITEMS as ITEMS
