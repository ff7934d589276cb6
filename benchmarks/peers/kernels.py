"""What the compiled peers share: Numba's flags, and the pass over the weights."""

from __future__ import annotations

import numba

from benchmarks.peers.peer import Array

# Without reassociation no sum is vectorised: eigenstream's engine and its peers run with the same flags.
kernel = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")


@kernel
def sweep(W: Array, a: float, b: Array, x: Array, ahead: Array, h: Array) -> None:
    """``W <- a W + b x'`` and ``h = W ahead`` in one pass.

    Rows go in pairs: every element of x and ahead is then fetched half as often, worth a fifth of the time
    once W has outgrown the second-level cache.
    """
    k, n = W.shape
    paired = k - k % 2
    for i in range(0, paired, 2):
        b0, b1 = b[i], b[i + 1]
        h0 = h1 = W.dtype.type(0)
        for j in range(n):
            w0 = a * W[i, j] + b0 * x[j]
            w1 = a * W[i + 1, j] + b1 * x[j]
            W[i, j], W[i + 1, j] = w0, w1
            h0 += w0 * ahead[j]
            h1 += w1 * ahead[j]
        h[i], h[i + 1] = h0, h1
    for i in range(paired, k):
        b0 = b[i]
        h0 = W.dtype.type(0)
        for j in range(n):
            w0 = a * W[i, j] + b0 * x[j]
            W[i, j] = w0
            h0 += w0 * ahead[j]
        h[i] = h0
