"""Kernels compile whatever is wrong with the cache."""

import importlib.util
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import pytest

from eigenstream.cli.hints import say_when_compiling
from eigenstream.learners import compiled, compiling
from tests.marks import slow

SOURCE = """
from eigenstream.learners.compiled import kernel
@kernel
def double(x):
    return 2 * x
"""
pytestmark = [pytest.mark.kernel, pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")]


@pytest.fixture(autouse=True)
def not_warned_yet(monkeypatch):
    monkeypatch.setattr(compiled, "_warned", False)


def doubled(path):
    """What a fresh process would compute, with whatever the cache holds."""
    spec = importlib.util.spec_from_file_location("doubling", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double(3)


def test_without_a_place_for_the_cache_it_says_so_once():
    space = {}
    with pytest.warns(RuntimeWarning, match=r"compiled without a cache.*NUMBA_CACHE_DIR"):
        exec(SOURCE, space)  # code from nowhere has no file to keep a cache beside
    assert space["double"](3) == 6
    exec(SOURCE, space)  # a second warning would be an error
    assert space["double"](4) == 8


def test_a_listener_hears_once_of_a_kernel_that_is_not_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "doubling.py").write_text(SOURCE)
    heard = []
    compiling.call_once(lambda: heard.append("first"))
    doubled(tmp_path / "doubling.py")
    assert heard == ["first"]
    compiling.call_once(lambda: heard.append("second"))
    doubled(tmp_path / "doubling.py")
    assert heard == ["first"]  # it was in the cache
    (tmp_path / "doubling.py").write_text(SOURCE + "\n")
    (tmp_path / "tripling.py").write_text(SOURCE.replace("2 *", "3 *"))
    doubled(tmp_path / "tripling.py")
    doubled(tmp_path / "doubling.py")
    assert heard == ["first", "second"]


@pytest.mark.parametrize("terminal", [True, False])
def test_commands_say_on_a_terminal_that_they_compile(monkeypatch, capsys, terminal):
    compiling.announce()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    say_when_compiling()
    compiling.announce()
    compiling.announce()
    assert capsys.readouterr().err.count("compiling, this once") == terminal


@pytest.mark.parametrize("damaged", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("content", [b"", b"garbage"])
def test_a_damaged_cache_is_replaced(tmp_path, monkeypatch, damaged, content):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "doubling.py").write_text(SOURCE)
    assert doubled(tmp_path / "doubling.py") == 6
    files = list(Path(tmp_path, "cache").rglob(damaged))
    assert files
    for file in files:
        file.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="compiled without a cache"):
        assert doubled(tmp_path / "doubling.py") == 6
    monkeypatch.setattr(compiled, "_warned", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert doubled(tmp_path / "doubling.py") == 6


LEARN = """
import hashlib
import sys
import numpy as np
from eigenstream.learners.network import learn
from eigenstream.learners.network.state import NetworkRule, new_state
from eigenstream.regularizers import ScaleDependent

dtype = sys.argv[1]
X = np.random.default_rng(0).standard_normal((100, 64)).astype(dtype)
state = new_state(np.eye(20, 64), np.eye(20), 1.0, dtype)
Y = learn(state, NetworkRule.of(ScaleDependent(2.0)), X)
print(hashlib.sha256(Y.tobytes() + state.N.tobytes() + state.S.tobytes()).hexdigest())
"""


@pytest.mark.parametrize("dtype", ["float64", slow("float32")])
def test_compiled_anew_or_out_of_the_cache_kernels_have_the_same_bits(tmp_path, dtype):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    anew, cached = (
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", LEARN, dtype],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    )
    assert list((tmp_path / "cache").rglob("*.nbc"))
    assert anew == cached
