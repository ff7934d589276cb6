"""How colours and figures look without colour, and to the colour-blind.

Deficiencies are simulated with the matrices of Machado, Oliveira and Fernandes (2009),
doi:10.1109/TVCG.2009.113, at full severity, on linear RGB.

``python -m tests.color_vision FIGURE.png OUT.png`` writes a picture as it is, in grey and with each
deficiency, one below the other.
"""

from __future__ import annotations

import sys

import numpy as np

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])

SEEN_BY = {
    "everyone": np.eye(3),
    "grey": np.tile(LUMINANCE, (3, 1)),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
"""What linear RGB becomes, by the kind of vision."""

XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = XYZ.sum(axis=1)


def seen(rgb, vision):
    """sRGB values between 0 and 1, the last axis the channels, as they look with this vision."""
    return _coded(np.clip(_linear(rgb) @ SEEN_BY[vision].T, 0, 1))


def distance(first, second, vision):
    """How different two colours like ``#004488`` look: the CIE 1976 difference, of which 2.3 is just seen."""
    a, b = (_lab(seen(channels(color), vision)) for color in (first, second))
    return float(np.linalg.norm(a - b))


def channels(color):
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def _linear(rgb):
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _coded(linear):
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def _lab(rgb):
    t = _linear(rgb) @ XYZ.T / WHITE
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def main(source, target):
    from matplotlib.image import imread, imsave

    rgb = np.asarray(imread(source), dtype=np.float64)[:, :, :3]
    imsave(target, np.vstack([np.clip(seen(rgb, vision), 0, 1) for vision in SEEN_BY]))


if __name__ == "__main__":
    main(*sys.argv[1:])
