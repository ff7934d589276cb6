# ruff: noqa: E402
"""The subspace learner on a GPU: time per row, beside its three products alone and what PyTorch has to offer.

Needs PyTorch, NumPy and SciPy, and nothing else:

    PYTHONPATH=src python benchmarks/gpu.py --out FOLDER

writes gpu.json and gpu.md. Rows are float32: 32 (or k / 2) components in white noise. Blocks are those of the
models: 256 rows on a GPU, 64 on the host.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import types
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):  # read when NumPy loads: the host's times are those of one thread
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np
import torch

try:
    import threadpoolctl  # noqa: F401
except ImportError:  # there is one thread already
    nobody = types.SimpleNamespace(lib_controllers=[])
    sys.modules["threadpoolctl"] = types.SimpleNamespace(
        ThreadpoolController=lambda: types.SimpleNamespace(select=lambda **_: nobody)
    )

from eigenstream.learners.arrays import host, wrap
from eigenstream.learners.learner import Steps
from eigenstream.learners.subspace import Subspace

BLOCK = {"cuda": 256, "cpu": 64}
"""Rows per block; `--block` sets it for the device."""
SIZES = [(262_144, 64), (1_048_576, 64), (262_144, 256), (1_048_576, 256)]
QUICK = [(4_096, 16)]
SMALL = (8_192, 64)
"""Where the device's result is checked against the host's."""
TOLERANCE = 1e-3
COLUMNS = {
    "step": "our step",
    "products": "three products, float32",
    "products64": "three products, float64",
    "products_short": "three products, float32, in blocks of 64",
    "svd": "`torch.linalg.svd` of stacked rows",
    "lowrank": "`torch.pca_lowrank` of the block",
    "eigh_host": "eigh of M on the host",
    "eigh_device": "eigh of M on the device",
    "cpu": "our step on this CPU, one thread",
}


def sample_blocks(n, k, blocks, device):
    """Blocks of rows on the device: k / 2 components in white noise, off centre."""
    generator = torch.Generator(device).manual_seed(0)
    axes = torch.randn(max(k // 2, 1), n, device=device, generator=generator)
    deviations = torch.linspace(3, 1, len(axes), device=device)
    rows = []
    for _ in range(blocks):
        signal = torch.randn(BLOCK[device], len(axes), device=device, generator=generator) * deviations
        noise = torch.randn(BLOCK[device], n, device=device, generator=generator)
        rows.append(signal @ axes + noise + 1)
    return rows


def per_row(function, device, seconds, least=2, most=60, rows=None):
    """Microseconds per row of a function that handles a block of the device's, or ``rows``: the median.

    The function is told how many blocks came before.
    """
    parts, count = [], 0
    stop = time.perf_counter() + seconds
    while count < most and (count < least or time.perf_counter() < stop):
        _wait(device)
        start = time.perf_counter()
        function(count)
        _wait(device)
        parts.append(time.perf_counter() - start)
        count += 1
    return 1e6 * float(np.median(parts)) / (rows or BLOCK[device])


def _wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def learner(n, k, blocks, number):
    """A learner that has seen so many blocks, and a function that learns the next one."""
    size = len(blocks[0])
    steps, subspace = Steps.even(size, 1.0), Subspace(n, k, size, dtype=np.float32)
    subspace.decays = False  # behind the components there is nothing but noise

    def learn(count):
        subspace.learn(blocks[count % len(blocks)], steps)

    for count in range(number):
        learn(count)
        subspace.align(min(k // 2, subspace.r), 0.0)  # as a look does: these are the components
    return subspace, learn


def products(r, n, b, device, dtype):
    """The three products of a step with b rows, as a function."""
    V = torch.randn(r + b, n, device=device, dtype=dtype)
    P = torch.randn(r + b, r, device=device, dtype=dtype)
    L, R = V[:r], V[r:]

    def multiply(_count):
        R @ L.T, R @ R.T, P.T @ V

    return multiply


def stacked_svd(blocks, r):
    """Incremental singular value decomposition as one would write it in PyTorch, as a function."""
    state = {"L": blocks[0] - blocks[0].mean(dim=0)}

    def update(count):
        rows = blocks[count % len(blocks)]
        stacked = torch.vstack([state["L"], rows - rows.mean(dim=0)])
        _, s, V = torch.linalg.svd(stacked, full_matrices=False)
        state["L"] = s[:r, None] * V[:r]

    return update


def attempt(measure):
    """What a measurement gives, or why it gave nothing."""
    try:
        return measure()
    except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
        return f"failed: {str(error).splitlines()[0][:80]}"
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def measured(n, k, device, seconds):
    """Microseconds per row of everything at one size."""
    blocks = sample_blocks(n, k, 4, device)
    subspace, learn = learner(n, k, [wrap(rows) for rows in blocks], 2 + (k + 8) // BLOCK[device])
    r = subspace.r
    times = {"n": n, "k": k, "directions": r, "step": per_row(learn, device, seconds)}
    del subspace, learn
    for name, b, dtype in (
        ("products", BLOCK[device], torch.float32),
        ("products64", BLOCK[device], torch.float64),
        ("products_short", 64, torch.float32),
    ):
        times[name] = attempt(
            lambda b=b, dtype=dtype: per_row(products(r, n, b, device, dtype), device, seconds, rows=b)
        )
    M = torch.randn(r + BLOCK[device], r + BLOCK[device], dtype=torch.float64)
    M = M @ M.T
    there = M.to(device)
    times["eigh_host"] = per_row(lambda _: np.linalg.eigh(M.numpy()), device, seconds)
    times["eigh_device"] = attempt(lambda: per_row(lambda _: torch.linalg.eigh(there), device, seconds))
    q = min(k, BLOCK[device])
    times["lowrank"] = per_row(lambda i: torch.pca_lowrank(blocks[i % 4], q=q), device, seconds)
    torch.linalg.svd(blocks[0][:8, :64])  # loads the library
    times["svd"] = attempt(lambda: per_row(stacked_svd(blocks, r), device, seconds, least=1, most=5))
    on_host = host_blocks(blocks)
    times["cpu"] = per_row(learner(n, k, on_host, 2 + (k + 8) // BLOCK["cpu"])[1], "cpu", seconds, most=10)
    return times


def host_blocks(blocks):
    """The same rows on the host, in its own blocks."""
    rows = torch.vstack(blocks).cpu().numpy()
    return [rows[start : start + BLOCK["cpu"]] for start in range(0, len(rows), BLOCK["cpu"])]


def difference(n, k, device):
    """How far the device is from the host in its own blocks: eigenvalues and subspace of the signal."""
    blocks = sample_blocks(n, k, 8, device)
    same = host_blocks(blocks)
    here, _ = learner(n, k, same, len(same))
    there, _ = learner(n, k, [wrap(rows) for rows in blocks], len(blocks))
    one, other, signal = here.known(), there.known(), slice(k // 2)
    lam = float(np.abs(one.lam[signal] / other.lam[signal] - 1).max())
    ours, theirs = (np.asarray(U[signal], dtype=np.float64) for U in (one.U, host(other.U)))
    left = theirs - (theirs @ ours.T) @ ours  # from cosines, rounding would count by its root
    return {"eigenvalues": lam, "subspace": float(np.linalg.norm(left, 2))}


def table(results, check, device):
    """The results as Markdown."""
    lines = [
        "# The subspace learner on a GPU",
        "",
        f"{device}; host {platform.processor() or platform.machine()}; PyTorch {torch.__version__}, NumPy "
        f"{np.__version__}. Microseconds per row, float32 rows in blocks of {BLOCK['cuda']}, on the host of "
        f"{BLOCK['cpu']}. Command: `PYTHONPATH=src python benchmarks/gpu.py --out FOLDER`.",
        "",
        f"Against the host at n = {SMALL[0]:,}: eigenvalues differ by {check['eigenvalues']:.1e}, the "
        f"subspace by {check['subspace']:.1e}.",
        "",
        "|  | " + " | ".join(f"n = {one['n']:,}, k = {one['k']}" for one in results) + " |",
        "| --- |" + " ---: |" * len(results),
    ]
    for key, words in COLUMNS.items():
        cells = [one[key] if isinstance(one[key], str) else f"{one[key]:.3g}" for one in results]
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    for key, words in (
        ("products", "step / products, float32"),
        ("products64", "step / products, float64"),
        ("products_short", "step / products, float32, in blocks of 64"),
    ):
        lines.append(f"| {words} | " + " | ".join(_ratio(one, "step", key) for one in results) + " |")
    lines.append("| CPU / step | " + " | ".join(_ratio(one, "cpu", "step") for one in results) + " |")
    return "\n".join(lines) + "\n"


def _ratio(one, top, bottom):
    if isinstance(one[top], str) or isinstance(one[bottom], str):
        return "-"
    return f"{one[top] / one[bottom]:.3g}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for gpu.json and gpu.md")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--block", type=int, default=BLOCK["cuda"], help="rows per block on the GPU")
    parser.add_argument("--quick", action="store_true", help="one small size, to see that it runs")
    chosen = parser.parse_args(arguments)
    if chosen.device == "cuda" and not torch.cuda.is_available():
        print("PyTorch sees no CUDA device; --device cpu --quick shows that the script runs")
        return 2
    BLOCK["cuda"] = chosen.block
    torch.set_num_threads(1)
    chosen.out.mkdir(parents=True, exist_ok=True)
    device = torch.cuda.get_device_name() if chosen.device == "cuda" else "CPU"
    results, check = [], difference(*SMALL, chosen.device)
    print(f"difference from the host: {check}", flush=True)
    for n, k in QUICK if chosen.quick else SIZES:
        results.append(measured(n, k, chosen.device, 0.2 if chosen.quick else 3.0))
        print(results[-1], flush=True)
        # After every size, so that a run that is cut short leaves what it has.
        document = {
            "device": device,
            "block": BLOCK[chosen.device],
            "torch": torch.__version__,
            "check": check,
            "results": results,
        }
        (chosen.out / "gpu.json").write_text(json.dumps(document, indent=1))
        (chosen.out / "gpu.md").write_text(table(results, check, device))
    print(table(results, check, device))
    return 0 if max(check.values()) < TOLERANCE else 1


if __name__ == "__main__":
    raise SystemExit(main())
