"""Colours that the colour-blind can tell apart."""

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
"""Okabe and Ito (2008): many lines on a screen. Some of them look alike in greyscale."""

ROSE, NAVY, GOLD = "#BB5566", "#004488", "#DDAA33"
"""The high-contrast scheme of Paul Tol: three lines in print, in greyscale too."""
DARK, MIDDLE, LIGHT = "#1a1a1a", "#919191", "#d0d0d0"
"""Greys beside them, none as light as one of the three, so that none is taken for a colour in greyscale."""
