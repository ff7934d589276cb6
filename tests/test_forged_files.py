"""Files and messages that somebody made to do harm: little memory, no hang, and a sentence for each."""

import gzip
import io
import itertools
import json
import re
import signal
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pytest
import redis
import scipy.io
import scipy.sparse
from pyarrow import parquet

from eigenstream import sources
from eigenstream.io.sources import (
    ReadOptions,
    SourceError,
    archives,
    batch,
    columns,
    databases,
    json_lines,
    line_reader,
    lines,
    matrices,
    mqtt,
)
from eigenstream.io.sources.redis_stream import RedisStream
from eigenstream.io.sources.source import Source
from tests.source_files import DATA, TEXTS, as_npy, as_npz, write_zarr

MARKET = "%%MatrixMarket matrix coordinate real general\n"


def npz(path, **arrays):
    np.savez_compressed(path, **arrays)


def lying_npy(shape, kind="<f8"):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": kind, "fortran_order": False, "shape": shape})
    return head.getvalue()


def packed(path, members):
    """A ZIP file of members, given as pieces of bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, pieces in members.items():
            with archive.open(name, "w", force_zip64=True) as member:
                for piece in pieces:
                    member.write(piece)


def zeros(megabytes):
    return itertools.repeat(bytes(1 << 20), megabytes)


def coo_parts(rows, **other):
    parts = {
        "row": np.array([0]), "col": np.array([0]), "data": np.array([1.0]),
        "format": np.array(b"coo"), "shape": np.array([rows, 3]),
    }  # fmt: skip
    return parts | other


def zarr_claim(path, shape, chunks):
    write_zarr(path, np.zeros((4, 2)))
    document = json.loads((path / "zarr.json").read_text())
    document["shape"] = list(shape)
    document["chunk_grid"]["configuration"]["chunk_shape"] = list(chunks)
    (path / "zarr.json").write_text(json.dumps(document))


def gz(path, pieces):
    with gzip.open(path, "wb", compresslevel=1) as file:
        for piece in pieces:
            file.write(piece)


FORGED = {
    "rows of a sparse text": lambda p: p.write_text(MARKET + "2000000000 3 1\n1 1 1.0"),
    "columns of a sparse text": lambda p: p.write_text(MARKET + "3 2000000000 1\n1 1 1.0"),
    "numbers of a sparse text": lambda p: p.write_text(MARKET + "3 3 2000000000\n1 1 1.0"),
    "numbers below zero": lambda p: p.write_text(MARKET + "3 3 -5\n1 1 1.0"),
    "a dense text": lambda p: p.write_text(MARKET.replace("coordinate", "array") + "200000 200000\n1.0"),
    "a head without an end": lambda p: p.write_bytes(MARKET.encode() + b"%" * (1 << 22)),
    "rows of a sparse NPZ": lambda p: npz(p, **coo_parts(2_000_000_000)),
    "rows of a CSC": lambda p: npz(
        p, indices=np.array([0]), indptr=np.array([0, 1, 1]), data=np.array([1.0]),
        format=np.array(b"csc"), shape=np.array([10**12, 2]),
    ),
    "an index beyond the end": lambda p: npz(p, **coo_parts(3, row=np.array([10**9]))),
    "a diagonal": lambda p: npz(
        p, offsets=np.array([0]), data=np.ones((1, 3)), format=np.array(b"dia"),
        shape=np.array([10**12, 10**6]),
    ),
    "zeros in a sparse NPZ": lambda p: packed(
        p, {
            "format.npy": [as_npy(np.array(b"coo"))], "shape.npy": [as_npy(np.array([3, 3]))],
            "row.npy": [as_npy(np.array([0]))], "col.npy": [as_npy(np.array([0]))],
            "data.npy": itertools.chain([lying_npy((260 << 17,))], zeros(260)),
        },
    ),
    "a head in a sparse NPZ": lambda p: packed(
        p, {
            "format.npy": [as_npy(np.array(b"coo"))], "shape.npy": [as_npy(np.array([3, 3]))],
            "row.npy": [as_npy(np.array([0]))], "col.npy": [as_npy(np.array([0]))],
            "data.npy": [lying_npy((10**12,))],
        },
    ),
    "rows of an NPY": lambda p: p.write_bytes(lying_npy((10**12, 4)) + bytes(320)),
    "columns of an NPY": lambda p: p.write_bytes(lying_npy((1, 2**40)) + bytes(320)),
    "a head of 4 GB": lambda p: p.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1)),
    "rows of an NPZ": lambda p: packed(p, {"x.npy": [lying_npy((10**12, 4)), bytes(320)]}),
    "columns of an NPZ": lambda p: packed(p, {"x.npy": [lying_npy((2, 10**9)), bytes(320)]}),
    "zeros in an NPZ": lambda p: packed(p, {"x.npy": itertools.chain([lying_npy((60 << 15, 4))], zeros(60))}),
    "zeros in gzip": lambda p: gz(p, zeros(40)),
    "line feeds in gzip": lambda p: gz(p, itertools.repeat(b"\n" * (1 << 20), 40)),
    "a header of commas": lambda p: p.write_bytes(b"," * (1 << 24) + b"\n1\n"),
    "a line of brackets": lambda p: p.write_bytes(b"[" * (1 << 24) + b"\n"),
    "a line of values": lambda p: p.write_bytes(b"[1" + b",1" * (1 << 23) + b"]\n"),
    "rows of a Zarr": lambda p: zarr_claim(p, (10**12, 2), (10**5, 2)),
    "a chunk of a Zarr": lambda p: zarr_claim(p, (10**6, 10**4), (10**6, 10**4)),
    "columns of a Zarr": lambda p: zarr_claim(p, (4, 10**12), (4, 10**3)),
    "rows of a Parquet": lambda p: parquet.write_table(
        pyarrow.table({"a": np.zeros(10**6), "b": np.zeros(10**6)}), p, compression="zstd"
    ),
}  # fmt: skip

CHILD = """
import resource, sys, numpy, itertools
import scipy.io, scipy.sparse, pyarrow.parquet, zarr
from eigenstream import sources
room = int(sys.argv[1])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
for path in sys.argv[2:]:
    try:
        with sources.open(path, batch_rows=256) as source:
            rows = sum(len(batch.rows) for batch in itertools.islice(source, 20))
        print("read", rows, path)
    except (ValueError, OSError) as error:
        print("refused", str(error)[:300].replace("\\n", " "))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says how much is in use")
def test_forged_files_are_read_in_little_memory(tmp_path):
    """70 bytes that claim two thousand million rows took 7.9 GB: what is stored decides, not the claim."""
    paths = [tmp_path / f"{i:02d}" for i in range(len(FORGED))]
    for make, path in zip(FORGED.values(), paths, strict=True):
        made = path.with_suffix(".npz")
        make(made if make.__code__.co_names[:1] == ("npz",) else path)
        if made.exists():
            made.rename(path)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(600 << 20), *map(str, paths)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told = dict(zip(FORGED, done.stdout.splitlines(), strict=True))
    read = [name for name, line in told.items() if line.startswith("read")]
    assert read == ["zeros in an NPZ", "rows of a Parquet"], told
    assert not [line for line in told.values() if "Unable to allocate" in line or "MemoryError" in line], told


class Hung(BaseException):
    """A case took too long."""


def hung(*_):
    raise Hung


def market(X):
    text = io.BytesIO()
    scipy.io.mmwrite(text, scipy.sparse.coo_array(np.where(np.abs(X) > 0.5, X, 0)))
    return text.getvalue()


def sparse(X):
    made = io.BytesIO()
    scipy.sparse.save_npz(made, scipy.sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0)))
    return made.getvalue()


def as_parquet(X):
    made = io.BytesIO()
    parquet.write_table(pyarrow.table({f"c{i}": column for i, column in enumerate(X.T)}), made)
    return made.getvalue()


SMALL = DATA[:20]
SEEDS = {
    **{name: make(SMALL) for name, make in TEXTS.items()},
    "keyed": b"t,k,a,b\n" + b"".join(b"%d,u%d,%d,1\n" % (i, i % 3, i * i) for i in range(30)),
    "objects": b"".join(b'{"t": %d, "k": "u", "a": 1.5, "b": null}\n' % i for i in range(30)),
    "NPY": as_npy(SMALL),
    "NPZ": as_npz(SMALL),
    "NPZ, packed": as_npz(SMALL, np.savez_compressed),
    "market": market(SMALL),
    "sparse": sparse(SMALL),
    "Parquet": as_parquet(SMALL),
}
WORDS = [
    b"\n",
    b",",
    b'"',
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"1e999",
    b"nan",
    b"{",
    b"[" * 99,
    b"\x1b[31m",
    b"-",
]
WORDS += [b"9" * 400, b"2077-01-01", b"\\ud800", b"\r", b"%%MatrixMarket", b"PK\x03\x04", b"\x1f\x8b"]


def damaged(content, rng):
    """The content with a few random bytes changed, cut, doubled, or words put in."""
    made = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        at, to = sorted(rng.integers(0, len(made) + 1, 2).tolist())
        kind = rng.integers(6)
        if kind == 0 and made:
            made[min(at, len(made) - 1)] = int(rng.integers(256))
        elif kind == 1:
            made[at:at] = WORDS[rng.integers(len(WORDS))]
        elif kind == 2:
            del made[at : min(to, at + 20)]
        elif kind == 3:
            made[at:at] = made[at : min(to, at + 60)]
        elif kind == 4 and len(made) >= 8:
            place = at % (len(made) - 7)
            made[place : place + 8] = int(rng.integers(2**62)).to_bytes(8, "little")
        elif rng.integers(10) == 0:
            del made[at:]
    return bytes(made)


OPTIONS = [
    {},
    {"on_bad_row": "skip"},
    {"on_bad_row": "skip", "allow_nan": True, "exclude": "text"},
    {"on_bad_row": "skip", "time_column": 0, "key": 1},
    {"on_bad_row": "skip", "key": "k", "time_column": "t", "columns": "a"},
    {"header": False, "on_bad_row": "skip", "keep": "0"},
]


def refused_or_read(make):
    """Read some batches; return False if they are refused: by a ValueError or an OSError with a sentence."""
    signal.setitimer(signal.ITIMER_REAL, 20)
    try:
        with make() as source:
            for batch in itertools.islice(source, 30):
                assert np.isfinite(batch.rows[~np.isnan(batch.rows)]).all()
                json.dumps(batch.position)
                if batch.keys is not None:
                    assert all(key.encode() for key in batch.keys)
                if batch.times is not None:
                    of = np.array(batch.keys or [""] * len(batch.times))  # each key has its own clock
                    assert all((np.diff(batch.times[of == key]) >= 0).all() for key in set(of))
        return True
    except (ValueError, OSError) as error:
        said = str(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(said) > 10
    assert said.isprintable(), repr(said)
    return False


@pytest.fixture
def alarm():
    before = signal.signal(signal.SIGALRM, hung)
    yield
    signal.signal(signal.SIGALRM, before)


SIZES = [300, pytest.param(12_000, marks=pytest.mark.slow)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cases", SIZES)
def test_damaged_files_are_refused_or_read(cases, tmp_path, alarm):
    rng, read = np.random.default_rng(0), 0
    for case in range(cases):
        name = list(SEEDS)[case % len(SEEDS)]
        content, options = damaged(SEEDS[name], rng), OPTIONS[rng.integers(len(OPTIONS))]
        (tmp_path / "x").write_bytes(content)
        try:
            read += refused_or_read(lambda o=options: sources.open(tmp_path / "x", batch_rows=7, **o))
        except BaseException:
            print(f"case {case}, {name}, {options}, {content!r}")
            raise
    assert cases // 10 < read < cases


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cases", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_damaged_zarr_arrays_are_refused_or_read(cases, tmp_path, alarm):
    rng = np.random.default_rng(0)
    write_zarr(tmp_path / "x", SMALL)
    files = sorted(path for path in (tmp_path / "x").rglob("*") if path.is_file())
    for _ in range(cases):
        path = files[rng.integers(len(files))]
        before = path.read_bytes()
        path.write_bytes(damaged(before, rng))
        refused_or_read(lambda: sources.open(tmp_path / "x", batch_rows=7))
        path.write_bytes(before)


class Answers:
    """A client of Redis whose server holds entries, and loses some, as they are drawn."""

    WORDS = (
        b"1",
        b"2.5",
        b"-1e3",
        b"",
        b"nan",
        b"x",
        b"\xff\xfe",
        b"1e999",
        b"\x1b[31m",
        b"1_0",
        b"\xc3\xa9",
    )
    NAMES = (b"t", b"k", b"a", b"b", b"\xff", b"\x1b")

    def __init__(self, rng):
        self.rng, self.entries, self.added, self.asked = rng, [], 0, []
        for i in range(40):
            names = [name for name in self.NAMES if i == 0 or rng.random() < 0.95]
            good = dict.fromkeys(names, b"%d" % i)
            if i and rng.random() < 0.3:
                good[names[rng.integers(len(names))]] = self.WORDS[rng.integers(len(self.WORDS))]
            self.add(good)
        self.faulty = rng.random() < 0.4

    def add(self, fields):
        self.added += 1
        self.entries.append((b"%d-0" % self.added, fields))

    def pipeline(self, transaction):
        assert transaction
        self.asked = []
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def xrange(self, _, start, end, count=1):
        first = int(start.strip("(").split("-")[0]) + start.startswith("(")
        last = 10**9 if end == "+" else int(end.split("-")[0])
        found = [entry for entry in self.entries if first <= int(entry[0].split(b"-")[0]) <= last]
        self.asked.append(found[:count])

    def xinfo_stream(self, _):
        state = {"length": len(self.entries), "last-generated-id": b"%d-0" % self.added}
        self.asked.append(state | ({} if self.rng.random() < 0.1 else {"entries-added": self.added}))

    def close(self):
        pass

    def execute(self, raise_on_error):
        assert not raise_on_error
        answers = self.asked
        if self.faulty and self.rng.random() < 0.2:
            kind = self.rng.integers(4)
            if kind == 0:
                self.entries = self.entries[int(self.rng.integers(40)) :]
            elif kind == 1:
                self.entries, self.added = [], 0
                self.add({b"a": b"1"})
            elif kind == 2:
                answers[-1] = redis.ResponseError("no such key")
            elif self.entries:
                self.entries[int(self.rng.integers(len(self.entries)))][1][b"a"] = b"7"
        return answers


@pytest.mark.parametrize("cases", [100, pytest.param(3000, marks=pytest.mark.slow)])
def test_messages_are_refused_or_read(cases, alarm):
    rng = np.random.default_rng(0)
    choices = [
        {},
        {"columns": "a,b"},
        {"columns": "a,b", "key": "k"},
        {"columns": "a", "key": "k", "time_column": "t"},
    ]
    read = 0
    for _ in range(cases):
        options = ReadOptions(on_bad_row="skip", allow_nan=True, batch_rows=4, **choices[rng.integers(4)])
        read += refused_or_read(lambda o=options: Source(RedisStream(Answers(rng), "s", o), o))
    assert cases // 4 < read < cases


def drawn(rng, depth=0):
    """A random value that JSON can hold."""
    kind = rng.integers(9 if depth < 3 else 7)
    if kind == 7:
        return [drawn(rng, depth + 1) for _ in range(rng.integers(4))]
    if kind == 8:
        return {str(rng.integers(9)): drawn(rng, depth + 1) for _ in range(rng.integers(4))}
    return [None, True, int(rng.integers(-5, 60)), 2**70, 1.5, "x", float("nan")][kind]


@pytest.mark.parametrize("cases", [200, pytest.param(4000, marks=pytest.mark.slow)])
def test_forged_positions_are_refused_or_continued(cases, tmp_path, alarm):
    rng, positions = np.random.default_rng(0), {}
    for name in ("keyed", "no header", "gzip", "NPY", "NPZ", "sparse", "Parquet"):
        (tmp_path / name).write_bytes(SEEDS[name])
        timed = {"time_column": "t", "key": "k"} if name == "keyed" else {}
        with sources.open(tmp_path / name, batch_rows=7, **timed) as source:
            positions[name] = (next(batch.position for batch in source), timed)
    for case in range(cases):
        name = list(positions)[case % len(positions)]
        position, timed = json.loads(json.dumps(positions[name]))
        part = position
        while True:
            keys = list(part)
            key = keys[rng.integers(len(keys))]
            if not isinstance(part[key], dict) or not part[key]:
                break
            part = part[key]
        part[key] = drawn(rng)
        try:
            refused_or_read(lambda n=name, p=position, t=timed: sources.open(tmp_path / n, position=p, **t))
        except BaseException:
            print(f"case {case}, {name}, {position}")
            raise


def test_a_list_of_positions_that_cannot_be(tmp_path):
    (tmp_path / "x.csv").write_bytes(SEEDS["no header"])
    for position in ({}, {"rows": 0}, {"rows": 2**70, "skipped": 0, "row": 2**70, "line": 1, "offset": 1}):
        with pytest.raises(SourceError, match="the stored position is not one in"):
            sources.open(tmp_path / "x.csv", position=position)


def test_the_limits_are_those_of_the_documents():
    text = (Path(__file__).parents[1] / "docs" / "files.md").read_text().partition("## Limits")[2]
    rows = [line for line in text.partition("## How")[0].splitlines() if line.startswith("| ")][1:]
    assert [[int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", row)] for row in rows] == [
        [columns.WIDEST, lines.WIDEST_TEXT],
        [lines.LONGEST, json_lines.MOST_VALUES],
        [line_reader.EMPTIEST],
        [matrices.LARGEST_CHUNK],
        [matrices.LARGEST_UNPACKED, matrices.PACKED_FACTOR],
        [matrices.EMPTY_ROWS, matrices.ROWS_PER_BYTE],
        [batch.CELLS],
        [databases.LARGEST_VALUE, databases.MOST_STEPS],
        [mqtt.LARGEST_MESSAGE, mqtt.MOST_TOPICS],
        [archives.MOST_ROWS, archives.MOST_COLUMNS, archives.LARGEST_ROW, archives.LARGEST_PART],
    ]
