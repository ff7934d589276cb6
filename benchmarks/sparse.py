"""Sparse rows: time, memory and error beside scikit-learn's TruncatedSVD.

    PYTHONPATH=src python benchmarks/sparse.py --out FOLDER

writes sparse.json and sparse.md. Each method has a process of its own, so that its peak memory can be told.
100,000 rows of 50,000 columns, 0.1 % filled: 40 topics of 500 columns each, and as many random entries. The
error is the share of the power of the best 32 directions (by ARPACK) that the 32 directions found miss.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

ROWS, WIDTH, FILLED, TOPICS, K = 100_000, 50_000, 50, 40, 32
QUICK = 2_000, 1_000


def sample_rows(rows=ROWS, width=WIDTH):
    """Half of the entries of a row are of its topic, the others anywhere."""
    rng = np.random.default_rng(0)
    size = width // 100
    topic = (TOPICS * rng.random(rows) ** 2).astype(int)  # some are much more frequent than others
    own = topic[:, None] * size + (size * rng.random((rows, FILLED // 2)) ** 2).astype(int)
    columns = np.hstack([own, rng.integers(width, size=(rows, FILLED - FILLED // 2))])
    values = rng.random(columns.shape) + 0.5
    entries = values.ravel(), (np.repeat(np.arange(rows), FILLED), columns.ravel())
    return sparse.csr_array(sparse.coo_array(entries, (rows, width)))


def streaming(X):
    from eigenstream import OnlineAdaptivePCA

    return OnlineAdaptivePCA(alpha=0.0, max_components=K, center=False).fit(X).components_


def streaming_centered(X):
    from eigenstream import OnlineAdaptivePCA

    return OnlineAdaptivePCA(alpha=0.0, max_components=K).fit(X).components_


def closed_form(X):
    from eigenstream import AdaptivePCA

    return AdaptivePCA(alpha=0.0, max_components=K, center=False).fit(X).components_


def truncated_svd(X):
    from sklearn.decomposition import TruncatedSVD

    return TruncatedSVD(K, random_state=0).fit(X).components_


def best(X):
    from scipy.sparse.linalg import svds

    return svds(X, k=K, v0=np.ones(min(X.shape)))[2]


METHODS = {
    "OnlineAdaptivePCA, one pass": streaming,
    "OnlineAdaptivePCA, centered": streaming_centered,
    "AdaptivePCA": closed_form,
    "TruncatedSVD": truncated_svd,
    "svds (ARPACK)": best,
}


def measured(name, shape):
    """Seconds, peak memory of this process in MB, and the power of the rows along the axes."""
    X = sample_rows(*shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rank is at the capacity, as asked for
        METHODS[name](X[:200, :200])  # loads what it needs
        start = time.perf_counter()
        axes = METHODS[name](X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    power = float(np.sum((X @ axes.T) ** 2))
    return {"method": name, "seconds": seconds, "mb": peak, "power": power}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for sparse.json and sparse.md")
    parser.add_argument("--quick", action="store_true", help="a small matrix, to see that it runs")
    chosen = parser.parse_args(arguments)
    shape = QUICK if chosen.quick else (ROWS, WIDTH)
    results = []
    for name in METHODS:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            results.append(pool.apply(measured, (name, shape)))
        print(results[-1], flush=True)
    reference = results[-1]["power"]
    lines = [
        f"{shape[0]:,} rows x {shape[1]:,} columns, {FILLED / shape[1]:.2%} filled, k = {K}.",
        "",
        "| method | seconds | peak memory, MB | power missed |",
        "|---|---|---|---|",
    ]
    for one in results:
        missed = "" if "centered" in one["method"] else f"{max(1 - one['power'] / reference, 0):.1e}"
        lines.append(f"| {one['method']} | {one['seconds']:.3g} | {one['mb']:.0f} | {missed} |")
    table = "\n".join(lines) + "\n"
    print(table)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "sparse.json").write_text(json.dumps(results, indent=1))
    (chosen.out / "sparse.md").write_text("# Sparse rows\n\n" + table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
