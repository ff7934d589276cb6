"""Shared settings: hypothesis without deadlines (shared machines), the regularizers, sources as files."""

import functools
import os
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings

from eigenstream import OnlineAdaptivePCA
from eigenstream.regularizers import REGULARIZERS
from tests.chromium import launched

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


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The same numbers in every kind of file."""
    from tests import source_files

    folder = tmp_path_factory.mktemp("sources")
    paths = {name: folder / f"source-{i}" for i, name in enumerate(source_files.WRITERS)}
    for name, path in paths.items():
        source_files.WRITERS[name](path, source_files.DATA)
    return paths


@pytest.fixture
def piped(tmp_path):
    """Puts content on standard input, as often as it is called."""
    with pytest.MonkeyPatch.context() as patch, (tmp_path / "piped").open("w+b") as file:

        def pipe(content):
            file.seek(0)
            file.truncate()
            file.write(content)
            file.flush()
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            patch.setattr("sys.stdin", SimpleNamespace(buffer=file))

        yield pipe


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window."""
    with launched() as found:
        yield found
