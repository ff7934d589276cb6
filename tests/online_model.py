"""What the tests of `OnlineAdaptivePCA` share."""

import json

import numpy as np
import pytest
from numba import config

from eigenstream import streams
from eigenstream.model import stored_form

needs_compilation = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="takes minutes without compilation")


def paper(n_samples, seed=0):
    """The paper's stream: four components in 64 inputs."""
    return np.vstack(list(streams.paper_stream(n_samples, random_state=seed)))


def live_signal(rng, rows, width=64, rank=4):
    """Components of standard deviation 3 in noise of 0.3."""
    axes = np.linalg.qr(rng.standard_normal((width, rank)))[0].T
    return 3 * rng.standard_normal((rows, rank)) @ axes + 0.3 * rng.standard_normal((rows, width))


def with_gaps(X, share, seed=0):
    """X with this share of its entries missing."""
    gappy = X.copy()
    gappy[np.random.default_rng(seed).uniform(size=X.shape) < share] = np.nan
    return gappy


def stored(model):
    """Everything a model remembers, comparable to the bit."""
    arrays, document = stored_form.stored(model._tracker)
    parts = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}
    return parts, json.dumps(document), repr(model.get_params()), repr(vars(model).get("feature_names_in_"))
