"""Samples, settings and comparisons that the tests of the network's kernels share."""

import numpy as np
from hypothesis import strategies as st

from eigenstream.regularizers import REGULARIZERS

SPECTRUM = np.r_[6.0, 5.0, 4.0, 2.0, np.full(60, 0.1)]
"""Variances of the paper's stream."""
ALPHA = {"scale-dependent": 0.5, "input-output": 0.08, "squared-output": 0.15}
names = st.sampled_from(sorted(REGULARIZERS))
betas = st.sampled_from([1.0, 0.995, 0.95, 0.5])


def colored(T, n, rng, dtype=np.float64):
    """Rows whose variances fall from 4 to 0.1."""
    return (rng.standard_normal((T, n)) * np.sqrt(np.linspace(4, 0.1, n))).astype(dtype)


def assert_same_state(one, other):
    for name, a, b in zip(one._fields, one, other, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=name)
