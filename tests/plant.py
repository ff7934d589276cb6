"""Streams in control, for the tests of monitors."""

import numpy as np
from scipy.signal import lfilter

INPUTS, COMPONENTS = 20, 3
SPREAD = np.array([4.0, 3.0, 2.0])


def in_control(kind, rows, seed, half_life=500):
    """Three components in noise, of one of the kinds that real streams come in."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((COMPONENTS, INPUTS)) * 2 / np.sqrt(INPUTS)
    draw = {
        "gaussian": lambda width: rng.standard_normal((rows, width)),
        "student": lambda width: rng.standard_t(3, (rows, width)),
        "correlated": lambda width: _autoregressive(rng, rows, width),
        "drifting": lambda width: rng.standard_normal((rows, width)),
    }[kind]
    X = (draw(COMPONENTS) * SPREAD) @ loadings + 0.5 * draw(INPUTS)
    if kind == "drifting":  # the mean walks one standard deviation in ten half-lives
        X += np.cumsum(rng.standard_normal(X.shape), axis=0) * X.std(axis=0) / np.sqrt(10 * half_life)
    return X


def _autoregressive(rng, rows, width, coefficient=0.9, settling=200):
    noise = rng.standard_normal((rows + settling, width)) * np.sqrt(1 - coefficient**2)
    return lfilter([1], [1, -coefficient], noise, axis=0)[settling:]


FAULTS = {
    "stuck": lambda values, spread, rng: np.full(len(values), values[0]),
    "biased": lambda values, spread, rng: values + 4 * spread,
    "noisy": lambda values, spread, rng: values + 4 * spread * rng.standard_normal(len(values)),
    "drifting": lambda values, spread, rng: values + np.linspace(0, 8, len(values)) * spread,
}
"""What can become of the values of one sensor."""
