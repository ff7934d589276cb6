"""Shared settings: hypothesis without deadlines (shared machines), and the three regularizers."""

import functools
import os

import numpy as np
import pytest
from hypothesis import settings

from eigenstream import OnlineAdaptivePCA
from eigenstream.regularizers import REGULARIZERS

settings.register_profile("default", deadline=None, derandomize=True, print_blob=False)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(params=list(REGULARIZERS.values()), ids=list(REGULARIZERS))
def kind(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(20161110)


@pytest.fixture(params=["exact", "subspace", "network"])
def online(request):
    """Makes an `OnlineAdaptivePCA` with each of the solvers."""
    return functools.partial(OnlineAdaptivePCA, solver=request.param)
