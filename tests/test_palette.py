"""Colours stay apart in grey and with each colour deficiency, simulated."""

from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from eigenstream.live.figures import COMPONENTS
from eigenstream.paper.items.drawing import LOOKS
from eigenstream.plotting import palette

from .color_vision import SEEN_BY, channels, distance, seen

PRINT = {name: getattr(palette, name) for name in ("ROSE", "NAVY", "GOLD", "DARK", "MIDDLE", "LIGHT")}
SCREEN = {
    name: getattr(palette, name)
    for name in ("BLACK", "ORANGE", "SKY", "GREEN", "YELLOW", "BLUE", "RED", "PURPLE")
}


def nearest(colors, vision):
    return min((distance(a, b, vision), m, n) for (m, a), (n, b) in combinations(colors.items(), 2))


@pytest.mark.parametrize("vision", SEEN_BY)
def test_colours_for_print_stay_apart(vision):
    """In grey only lightness tells; the three regularizers' also differ in line and marker."""
    assert nearest(PRINT, vision)[0] > (10 if vision == "grey" else 15)
    regularizers = {name: look.color for name, look in LOOKS.items()}
    assert nearest({**regularizers, "fourth": palette.DARK}, vision)[0] > (19 if vision == "grey" else 30)


@pytest.mark.parametrize("vision", [vision for vision in SEEN_BY if vision != "grey"])
def test_colours_for_the_screen_stay_apart_but_not_in_grey(vision):
    assert nearest(SCREEN, vision)[0] > 15
    assert len({*COMPONENTS} & {*SCREEN.values()}) == len(COMPONENTS)


def test_the_measure_finds_colours_that_cannot_be_told_apart():
    assert distance("#D55E00", "#009E73", "everyone") > 80
    assert distance("#808080", "#808080", "everyone") == 0
    assert distance("#ff0000", "#00ff00", "deuteranopia") < 0.5 * distance("#ff0000", "#00ff00", "everyone")
    assert distance("#BB5566", "#6b6b6b", "protanopia") < 3  # a grey that was taken for the red
    assert distance("#000000", "#ffffff", "everyone") == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize("vision", SEEN_BY)
def test_greys_look_the_same_to_everyone(vision):
    grey = channels("#919191")
    np.testing.assert_allclose(seen(grey, vision), grey, atol=1e-3)


def test_the_reports_sliders_use_the_figures_colours():
    script = files("eigenstream.paper.reproduction").joinpath("sliders.js").read_text(encoding="utf-8")
    assert all(f'["{look.color}"' in script for look in LOOKS.values())
