"""One table of numbers as files of every kind, and how to read them."""

import gzip
import io
import json

import numpy as np
import pyarrow
from pyarrow import parquet

from eigenstream import sources
from eigenstream.io.sources.lines import Piece

NAMES = ["a", "b", "c", "d"]
DATA = np.random.default_rng(0).standard_normal((50, 4))


def piece_of(lines):
    """Lines put together."""
    ends = np.cumsum([len(line) for line in lines], dtype=np.int64)
    return Piece(b"".join(lines), ends, np.arange(len(lines)))


def as_csv(X, *, delimiter=",", header=True, quote="", end="\n"):
    titles = [NAMES[: X.shape[1]]] if header else []
    written = [[repr(float(value)) for value in row] for row in X]
    return "".join(delimiter.join(quote + f + quote for f in row) + end for row in titles + written).encode()


def as_json(X, *, objects):
    rows = [dict(zip(NAMES, row, strict=False)) if objects else row for row in X.tolist()]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def with_blank_lines(content):
    return b"\n \n" + b"\r\n\n".join(content.split(b"\n"))


TEXTS = {
    "header": as_csv,
    "no header": lambda X: as_csv(X, header=False),
    "tabs": lambda X: as_csv(X, delimiter="\t"),
    "semicolons": lambda X: as_csv(X, delimiter=";"),
    "bars": lambda X: as_csv(X, delimiter="|", header=False),
    "quoted": lambda X: as_csv(X, quote='"'),
    "CRLF": lambda X: as_csv(X, end="\r\n"),
    "byte order mark": lambda X: b"\xef\xbb\xbf" + as_csv(X),
    "byte order mark, no header": lambda X: b"\xef\xbb\xbf" + as_csv(X, header=False),
    "no final newline": lambda X: as_csv(X)[:-1],
    "blank lines": lambda X: with_blank_lines(as_csv(X)),
    "JSON objects": lambda X: as_json(X, objects=True),
    "JSON arrays": lambda X: as_json(X, objects=False),
    "JSON, byte order mark": lambda X: b"\xef\xbb\xbf" + as_json(X, objects=True),
    "gzip": lambda X: gzip.compress(as_csv(X), mtime=0),
    "gzip, JSON": lambda X: gzip.compress(as_json(X, objects=True), mtime=0),
}


def as_npy(X):
    content = io.BytesIO()
    np.save(content, X)
    return content.getvalue()


def as_npz(X, save=np.savez, **others):
    content = io.BytesIO()
    save(content, rows=X, **others)
    return content.getvalue()


def table(X):
    return pyarrow.table({name: X[:, i] for i, name in enumerate(NAMES[: X.shape[1]])})


def write_parquet(path, X):
    parquet.write_table(table(X), path, row_group_size=7)


def write_parts(path, X):
    path.mkdir()
    for i, start in enumerate(range(0, len(X), 11)):
        parquet.write_table(table(X[start : start + 11]), path / f"part-{i}.parquet", row_group_size=4)


def write_zarr(path, X, version=3):
    import zarr

    array = zarr.create_array(
        str(path), shape=X.shape, chunks=(6, 3), dtype=X.dtype, zarr_format=version, overwrite=True
    )
    array[:] = X


WRITERS = {
    **{name: lambda path, X, make=make: path.write_bytes(make(X)) for name, make in TEXTS.items()},
    "NPY": lambda path, X: path.write_bytes(as_npy(X)),
    "NPY by column": lambda path, X: path.write_bytes(as_npy(np.asfortranarray(X))),
    "NPY, other byte order": lambda path, X: path.write_bytes(as_npy(X.astype(">f8"))),
    "NPZ": lambda path, X: path.write_bytes(as_npz(X)),
    "NPZ, packed": lambda path, X: path.write_bytes(as_npz(X, np.savez_compressed)),
    "NPZ by column": lambda path, X: path.write_bytes(as_npz(np.asfortranarray(X))),
    "Parquet": write_parquet,
    "Parquet folder": write_parts,
    "Zarr": write_zarr,
    "Zarr 2": lambda path, X: write_zarr(path, X, version=2),
}
MATRICES = [name for name in WRITERS if name not in TEXTS]


def read(path, **options):
    """All batches, with their positions as JSON keeps them."""
    with sources.open(path, **options) as source:
        batches = list(source)
        positions = [json.loads(json.dumps(batch.position)) for batch in batches]
    return batches, positions


def rows_of(path, **options):
    batches, _ = read(path, **options)
    return np.vstack([batch.rows for batch in batches])
