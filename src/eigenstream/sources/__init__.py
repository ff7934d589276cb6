"""Batches of rows out of files, pipes and growing logs, in bounded memory, each with its position.

    source                          read by      continues by
    CSV, JSON lines                 lines        going to the byte, after a look at what lies before it
    the same, gzip or standard input  lines      reading again from the beginning, comparing a hash
    NPY, Zarr, Parquet              rows         going to the row, after a look at what lies before it

A look is one at the beginning and at what was read last; a change in between goes unnoticed.

Batches end on an absolute grid: after every ``batch_rows`` rows that were handed out since the first, also
where reading continues from a position. A loop that never loses or repeats a row needs no more than that:

>>> import tempfile, pathlib, numpy as np
>>> from eigenstream import OnlineAdaptivePCA, load, sources
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> np.save(folder / "sensors.npy", np.random.default_rng(0).standard_normal((1000, 8)))
>>> model = OnlineAdaptivePCA(random_state=0)
>>> with sources.open(folder / "sensors.npy", batch_rows=256) as source:
...     for batch in source:
...         model = model.partial_fit(batch.rows)
...         model.save(folder / "model.eigenstream", position=batch.position)
...         if batch.count == 512:
...             break  # killed here, say
>>> model = load(folder / "model.eigenstream")
>>> with sources.open(folder / "sensors.npy", batch_rows=256, position=model.position_) as source:
...     for batch in source:
...         model = model.partial_fit(batch.rows)
>>> model.n_samples_seen_
1000
"""

from __future__ import annotations

from .batch import Batch as Batch
from .batch import Floats as Floats
from .batch import SourceError as SourceError
from .opening import open as open
from .source import Source as Source

__all__ = ["Batch", "Source", "SourceError", "open"]
