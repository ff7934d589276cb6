"""The charts' colours by day and by night; those of the page around them are in page.css."""

from __future__ import annotations

from ..plotting.palette import BLUE, GREEN, ORANGE, PURPLE, RED, SKY

COMPONENTS = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE)
"""Colours of the leading components, in all charts; seen equally well on white and on black."""

INKS = {
    "light": {
        "text": "#52606d",
        "grid": "#e8ebef",
        "strong": "#1f2933",
        "faint": "#aab4c0",
    },
    "dark": {
        "text": "#9fb0c3",
        "grid": "#2a323d",
        "strong": "#eef2f6",
        "faint": "#5d6b7c",
    },
}
"""Colours in which page.js paints axes, grids, and the glyphs named "strong" and "faint"."""
