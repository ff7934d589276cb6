"""Compile what tests need most into Numba's cache: the processes of a suite that begins would each do so."""

import warnings

import numpy as np

from eigenstream import OnlineAdaptivePCA

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    rows = np.random.default_rng(0).standard_normal((300, 6)) * [6, 4, 1, 1, 1, 1]
    gappy = np.where(np.random.default_rng(1).random(rows.shape) < 0.05, np.nan, rows)
    for dtype in (np.float64, np.float32):
        OnlineAdaptivePCA(solver="network", random_state=0).fit(rows.astype(dtype))
        OnlineAdaptivePCA(missing="impute").fit(gappy.astype(dtype)).impute(gappy[:5].astype(dtype))
