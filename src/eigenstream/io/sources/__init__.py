"""Batches of rows from files, pipes and growing logs, in bounded memory, each with its position.

    source                            continues by
    CSV, JSON lines                   going to the byte, after a check of the bytes before it
    the same, gzip or standard input  reading again from the beginning, comparing a hash
    ZIP, XLSX                         the same
    NPY, NPZ, Zarr, Parquet           going to the row, after a check of the rows before it
    several files                     going to the file, after a check of the files before it
    Redis streams                     asking for the entries after the last id
    MQTT                              going to the byte in the spool, the file that keeps messages
    tables and queries of databases   asking for the rows after the last value of the ordering column

Only the first and the last-read bytes are checked; a change in between goes unnoticed.

Batches end on an absolute grid: at multiples of ``batch_rows``, counted from the first row, also where
reading continues from a position. On live input a batch is handed out before it is full if the next row does
not come soon. A loop that never loses or repeats a row:

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

A source of your own is a `Reader`: it has a name and a width and returns a `Chunk` of rows at a time, with a
`BadValue` for each row that it cannot parse. `Source` makes batches of it; an entry in `SCHEMES` makes `open`
and the command line find it by an address. If it can go to a place, it continues exactly:

>>> class Squares(sources.Reader):
...     name, width, total = "squares", 2, 10
...     def take(self, count):
...         numbers = np.arange(self.row, min(self.row + count, self.total))
...         self.row += len(numbers)
...         return sources.Chunk(np.stack((numbers, numbers**2.0), axis=1), numbers) if len(numbers) else None
...     def go_to(self, place):
...         self.row = place["row"]
>>> sources.SCHEMES["squares"] = lambda address, options: Squares()
>>> with sources.open("squares://", batch_rows=4) as source:
...     [batch.rows[-1].tolist() for batch in source]
[[3.0, 9.0], [7.0, 49.0], [9.0, 81.0]]
>>> del sources.SCHEMES["squares"]
"""

from __future__ import annotations

from .batch import BadValue as BadValue
from .batch import Batch as Batch
from .batch import Chunk as Chunk
from .batch import Floats as Floats
from .batch import Hint as Hint
from .batch import Reader as Reader
from .batch import SourceError as SourceError
from .opening import SCHEMES as SCHEMES
from .opening import open as open
from .options import ReadOptions as ReadOptions
from .source import Source as Source

__all__ = [
    "SCHEMES",
    "BadValue",
    "Batch",
    "Chunk",
    "Hint",
    "ReadOptions",
    "Reader",
    "Source",
    "SourceError",
    "open",
]
