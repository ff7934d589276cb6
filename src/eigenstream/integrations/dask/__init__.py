"""Models of Dask arrays, which may be larger than any worker's memory.

- `FeatureShardedPCA`: streaming, the features spread over workers;
- `fit_partitions`: a model per chunk of rows, merged in a tree;
- ``AdaptivePCA().fit(X)``: the closed form, where rows or features number less than 8,192;
- ``transform(X)``, ``score_samples(X)`` and ``squared_residuals(X)`` of any fitted model, lazily.

>>> import dask.array as da, numpy as np
>>> from eigenstream import AdaptivePCA, streams
>>> X = da.from_array(np.vstack(list(streams.paper_stream(2000, random_state=0))), chunks=(500, 64))
>>> model = AdaptivePCA().fit(X)
>>> model.n_components_, model.transform(X)
(4, dask.array<_encoded, shape=(2000, 32), dtype=float64, chunksize=(500, 32), chunktype=numpy.ndarray>)
"""

from __future__ import annotations

try:
    import distributed as distributed
    from dask import array as array
except ImportError as error:
    raise ImportError("to use eigenstream with Dask, pip install 'eigenstream[dask]'") from error

from . import closed_form as closed_form
from .partitions import fit_partitions as fit_partitions
from .sharded_pca import FeatureShardedPCA as FeatureShardedPCA

__all__ = ["FeatureShardedPCA", "fit_partitions"]
