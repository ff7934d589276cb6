"""Below 4,096 inputs, online models have the same bits for any number of linear algebra threads.

And with several threads, too, however the stream is cut into calls.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.marks import slow

LEARN = """
import hashlib, json, sys, tempfile, warnings
from pathlib import Path
import numpy as np
from eigenstream import OnlineAdaptivePCA, merge

warnings.simplefilter("ignore")

def digest(*values):
    return hashlib.sha256(b"".join(np.ascontiguousarray(v).tobytes() for v in values)).hexdigest()

def saved(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return hashlib.sha256((Path(folder) / "model").read_bytes()).hexdigest()

solver, *sizes = sys.argv[1:]
found = {}
for n in map(int, sizes):
    for dtype in ("float32", "float64"):
        rng = np.random.default_rng(0)
        X = (rng.standard_normal((260, n)) * np.r_[9, 8, 7, np.ones(n - 3)]).astype(dtype)
        models = [OnlineAdaptivePCA(max_components=8, solver=solver, random_state=0) for _ in range(2)]
        scores = models[0].learn_many(X[:200])
        one = [models[0].learn_one(x) for x in X[200:]]
        at_once = OnlineAdaptivePCA(max_components=8, solver=solver, random_state=0)
        assert digest(at_once.learn_many(X)) == digest(scores, *one)
        assert saved(at_once) == saved(models[0])
        models[1].partial_fit(X[::2])
        found[f"{n} {dtype}"] = {
            "scores": digest(scores, *one),
            "attributes": digest(models[0].components_, models[0].spectrum_, models[0].mean_),
            "file": saved(models[0]),
            "merged": saved(merge(models)),
            "gaps": digest(models[1].set_params(missing="impute").partial_fit(
                np.where(rng.random(X.shape) < 0.05, np.nan, X)[:40]).components_),
        }
print(json.dumps(found))
"""


def learnt(solver, sizes, threads):
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    done = subprocess.run(
        [sys.executable, "-c", LEARN, solver, *map(str, sizes)],
        env=os.environ | limits,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("solver", "sizes"),
    [
        ("exact", [300]),
        slow("subspace", [300]),
        slow("network", [64]),
        slow("exact", [64, 1000]),
        slow("subspace", [1000]),
        slow("network", [300, 1000]),
    ],
)
def test_threads_do_not_change_a_bit(solver, sizes):
    one, two = (learnt(solver, sizes, threads) for threads in (1, 2))
    assert len(one) == 2 * len(sizes)
    assert two == one
