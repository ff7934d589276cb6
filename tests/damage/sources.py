"""Damaged sources, and the check that reading them gives an error or what is there."""

import csv
import gzip
import io
import itertools
import json
import shutil

import numpy as np
import pyarrow
import zarr
from pyarrow import parquet

from eigenstream import OnlineAdaptivePCA, sources
from tests.damage.command_line import command
from tests.damage.ways import damaged

BATCHES = 8
"""A damaged head may speak of any number of rows; this many batches of them are read."""
DATA = np.random.default_rng(0).standard_normal((40, 3)).round(6)


def text_of(X, objects=False):
    if objects:
        return "".join(json.dumps(dict(zip("abc", row, strict=True))) + "\n" for row in X.tolist()).encode()
    return b"a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in X.tolist()).encode()


def npy_of(X):
    stored = io.BytesIO()
    np.save(stored, X)
    return stored.getvalue()


def npz_of(X):
    stored = io.BytesIO()
    np.savez_compressed(stored, X)
    return stored.getvalue()


def parquet_of(X, **options):
    stored = io.BytesIO()
    parquet.write_table(
        pyarrow.table({name: X[:, i] for i, name in enumerate("abc")}), stored, row_group_size=16, **options
    )
    return stored.getvalue()


def damaged_source(rng, kind, folder):
    """A path to a source that has been damaged."""
    path = folder / "x"
    if kind.startswith("zarr"):
        shutil.copytree(folder / kind, path)
        files = [file for file in sorted(path.rglob("*")) if file.is_file()]
        file = files[-1] if rng.random() < 0.5 else files[rng.integers(len(files))]  # zarr.json is the last
        if rng.random() < 0.05:
            file.unlink()
        else:
            content = file.read_bytes()
            file.write_bytes(damaged(rng, content, len(content)))
        return path
    content = CONTENTS[kind]
    if kind.startswith("parquet"):  # its head is at its end
        path.write_bytes(damaged(rng, content[::-1], 500)[::-1])
    else:
        path.write_bytes(damaged(rng, content, 128))
    return path


CONTENTS = {
    "csv": text_of(DATA),
    "json": text_of(DATA, objects=True),
    "gzip": gzip.compress(text_of(DATA), mtime=0),
    "npy": npy_of(DATA),
    "npy by column": npy_of(np.asfortranarray(DATA)),
    "npz": npz_of(DATA),
    "utf-16": text_of(DATA).decode().encode("utf-16"),
    "arrays": "".join(json.dumps(row) + "\n" for row in DATA.tolist()).encode(),
    "parquet": parquet_of(DATA),
    "parquet, checked": parquet_of(DATA, write_page_checksum=True, compression="none", use_dictionary=False),
}
KINDS = [*CONTENTS, "zarr", "zarr 2"]


def prepare_sources(folder):
    """What cases need beside `CONTENTS`: stores of Zarr, a model, and a source that is whole."""
    for kind, version in (("zarr", 3), ("zarr 2", 2)):
        array = zarr.create_array(
            str(folder / kind), shape=(40, 3), chunks=(16, 2), dtype="f8", zarr_format=version
        )
        array[:] = DATA
    OnlineAdaptivePCA(max_components=2, random_state=0).fit(DATA).save(folder / "model")
    (folder / "first.csv").write_bytes(text_of(DATA))


def check_source(number, folder):
    """A damaged source, read from its start and from positions; one in eight by a command as well."""
    rng, kind = np.random.default_rng([1, number]), KINDS[number % len(KINDS)]
    path = damaged_source(rng, kind, folder)
    options = {"batch_rows": 16, "allow_nan": bool(rng.random() < 0.3)}
    options["on_bad_row"] = "skip" if rng.random() < 0.3 else "fail"
    through_commands = number % 8 == 0
    try:
        outcome = _read_all(path, kind, options)
    finally:
        if through_commands:
            span = ["--rows", "0:100", "--on-bad-row", options["on_bad_row"]]
            command([
                ["transform", folder / "model", path, "--output", folder / "out.csv", "--overwrite", *span],
                ["calibrate", path, "--components", "1", *span],
                ["run", path, "--quiet", "--save", folder / "y", "--overwrite", *span],
                ["watch", path, "--quiet", "--save", folder / "y", "--overwrite", *span],
                ["run", folder / "first.csv", path, "--quiet", "--save", folder / "y", "--overwrite", *span],
            ][number // 8 % 5])  # fmt: skip
    return outcome


def _read_all(path, kind, options):
    with sources.open(path, **options) as source:
        batches = list(itertools.islice(source, BATCHES))
        positions = [json.loads(json.dumps(batch.position)) for batch in batches[:2]]
        rows = np.vstack([np.zeros((0, source.width)), *(batch.rows for batch in batches)])
        _refuse_wrong(path, kind, source, rows, options)
    for position in positions:
        with sources.open(path, **options, position=position) as source:
            rest = list(itertools.islice(source, BATCHES - 1))
        done = position["rows"]
        again = np.vstack([rows[:0], *(batch.rows for batch in rest)])[: len(rows) - done]
        np.testing.assert_array_equal(again, rows[done : done + len(again)])
    return "the same rows" if rows.shape == DATA.shape and (rows == DATA).all() else "other rows"


def _refuse_wrong(path, kind, source, rows, options):
    """What was read must be what is there, as far as something else can tell."""
    assert np.isfinite(rows).all() or (options["allow_nan"] and not np.isinf(rows).any())
    if kind.startswith("npy") and path.read_bytes()[:6] == b"\x93NUMPY" and options["on_bad_row"] == "fail":
        np.testing.assert_array_equal(rows, np.load(path)[: 16 * BATCHES])
    if kind == "gzip" and path.read_bytes()[:2] == b"\x1f\x8b":
        np.testing.assert_array_equal(rows, DATA)
    if kind == "csv" and options["on_bad_row"] == "fail" and not options["allow_nan"]:
        np.testing.assert_array_equal(rows, plainly_read(path.read_bytes(), source)[: 16 * BATCHES])


def plainly_read(content, source):
    lines = [line for line in content.split(b"\n") if line.strip(b" \t\r\n\v\f")]
    texts = [line.decode("utf-8", errors="replace") for line in lines]
    delimiter = source.reader.parser.delimiter
    fields = [
        next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter))
        for line in texts[source.names is not None :]
    ]
    return np.array([[float(field) for field in row] for row in fields]).reshape(-1, source.width)
