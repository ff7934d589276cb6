"""What a block costs on a cluster, from the work of its shards on one machine: figures for docs/scaling.md.

Shards are simulated one after the other by the functions that workers call, in processor time of one thread.
"""

import pickle
import time

import dask.array as da
import numpy as np
from distributed import Client

from eigenstream import OnlineAdaptivePCA
from eigenstream.integrations.dask import FeatureShardedPCA, shard
from eigenstream.model import plan_for
from eigenstream.model.stream_model import DEFAULTS

WIDTH, WORKERS, CAPACITY = 10**7, 64, 32
BLOCKS = 4


def plan_of(n):
    return plan_for({**DEFAULTS, "solver": "subspace", "max_components": CAPACITY}, n, np.float64)


def timed(function, *given):
    start = time.process_time()
    found = function(*given)
    return found, time.process_time() - start


def simulated(widths, plan, blocks, rng):
    """Blocks of noise through shards of these widths; processor seconds per block of each step."""
    lead = shard.Lead(shard.subspace(plan, 0))
    shards = [shard.nothing(plan, width) for width in widths]
    seconds = np.zeros((blocks, 2))
    for i in range(blocks):
        parts = []
        for s, width in enumerate(widths):
            rows = rng.standard_normal((plan.block, width))
            shards[s], spent = timed(shard.entered, shards[s], lead, [rows], [(0, plan.block)], plan)
            part, more = timed(shard.part_of, shards[s], plan.block, plan)
            seconds[i, 0] += spent + more
            parts.append(part)
        lead, seconds[i, 1] = timed(shard.led, lead, parts, plan.block, plan, None)
    message = len(pickle.dumps(parts[0], protocol=5)), len(pickle.dumps(lead, protocol=5))
    return shards, lead, np.median(seconds[1:], axis=0), message


def scheduling(shards, blocks):
    """Processor seconds of client and scheduler, with shards that have next to nothing to do."""
    X = np.random.default_rng(0).standard_normal((64 * blocks, 2 * shards))
    with Client(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None):
        model = FeatureShardedPCA(alpha=0.1, max_components=4)
        return timed(model.fit, da.from_array(X, chunks=(len(X), 2)))[1]


def main():
    rng = np.random.default_rng(0)
    columns = WIDTH // WORKERS
    plan = plan_of(WIDTH)
    _, lead, (local, small), (up, down) = simulated([columns], plan, BLOCKS, rng)
    b, r = plan.block, len(lead.core.lam)
    flops = 2 * columns * (b * r + b * b + r * (r + b))
    print(f"r = {r}, b = {b}, columns per worker {columns:,}")
    print(f"shard: {flops / 1e9:.2f} Gflop and {local:.3f} s per block, {flops / local / 1e9:.1f} Gflop/s")
    print(f"sent per shard and block: {up:,} bytes up, {down:,} down; its rows: {8 * b * columns:,} bytes")

    narrow = 1000
    widths, again = [narrow] * WORKERS, np.random.default_rng(1)
    _, lead, (together, small), _ = simulated(widths, plan_of(sum(widths)), BLOCKS, again)
    print(f"{WORKERS} shards of {narrow} columns: {together:.3f} s per block together")
    print(f"sum and eigenvectors: {small:.4f} s per block")
    again = np.random.default_rng(1)
    rows = [np.hstack([again.standard_normal((b, narrow)) for _ in range(WORKERS)]) for _ in range(BLOCKS)]
    model = OnlineAdaptivePCA(solver="subspace", max_components=CAPACITY, alpha=1.0).fit(np.vstack(rows))
    lam = model._tracker.learner.lam
    print(f"the same rows in one model: eigenvalues differ by {np.abs(lead.core.lam / lam - 1).max():.1e}")

    tasks = 2 * WORKERS + WORKERS // 8 + 1
    busy = (scheduling(WORKERS, 24) - scheduling(WORKERS, 8)) / 16
    print(f"scheduling: {busy:.3f} s per block of {tasks} tasks, {1e3 * busy / tasks:.2f} ms per task")
    print(f"rows per second at n = {WIDTH:,}: {b / (local + small + busy):.0f}")
    print(f"as long as a shard has fewer than {columns * busy / local:,.0f} columns, scheduling takes longer")


if __name__ == "__main__":
    main()
