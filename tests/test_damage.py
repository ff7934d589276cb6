"""Damaged files: always a clear error or a right result; never a crash, a hang or a demand for memory.

Each test hands a range of case numbers to a process of its own, which has little memory; a case follows from
its number alone: ``python tests/test_damage.py sources 1234 1235`` repeats one.
"""

import csv
import gzip
import io
import itertools
import json
import math
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter

import click
import numpy as np
import pandas as pd
import pyarrow
import pytest
import zarr
from pyarrow import parquet

from eigenstream import OnlineAdaptivePCA, StreamMonitor, checkpoint, load, merge, sinks, sources
from eigenstream.cli import main

ROOM = 1 << 30
"""Bytes a damaged file may make the process ask for, beyond what it has from the start."""
SECONDS = 20
"""After which a case counts as a hang."""
BATCHES = 8
"""A damaged head may speak of any number of rows; so many batches of them are read."""


class Hang(BaseException):
    """Not an Exception, so that nobody catches it."""


# --- damage ----------------------------------------------------------------------------------------------

ABSURD = [
    b"0",
    b"-1",
    b"-9223372036854775808",
    b"2147483648",
    b"99999999999",
    b"1" + b"0" * 30,
    b"1e400",
    b"NaN",
]


def damaged(rng, content, head):
    """The content after one to three random changes; half of them within the first ``head`` bytes."""
    for _ in range(rng.integers(1, 4)):
        content = DAMAGES[rng.integers(len(DAMAGES))](rng, content, head)
    return content


def a_place(rng, content, head):
    return int(rng.integers(max(min(head, len(content)) if rng.random() < 0.5 else len(content), 1)))


def flipped(rng, content, head):
    changed = bytearray(content)
    if changed:
        changed[a_place(rng, content, head)] ^= 1 << rng.integers(8)
    return bytes(changed)


def overwritten(rng, content, head):
    at = a_place(rng, content, head)
    some = rng.bytes(rng.integers(1, 9)) if rng.random() < 0.5 else bytes([rng.choice([0, 255])]) * 4
    return content[:at] + some + content[at + len(some) :]


def truncated(rng, content, head):
    return content[: a_place(rng, content, head)]


def inserted(rng, content, head):
    at = a_place(rng, content, head)
    return content[:at] + rng.bytes(rng.integers(1, 20)) + content[at:]


def deleted(rng, content, head):
    at = a_place(rng, content, head)
    return content[:at] + content[at + rng.integers(1, 20) :]


def duplicated(rng, content, head):
    at, to = a_place(rng, content, head), a_place(rng, content, head)
    return content[:to] + content[at : at + rng.integers(1, 200)] + content[to:]


def with_absurd_number(rng, content, head):
    """One of the numbers written in the head (JSON, or the dictionary of NPY) is another."""
    numbers = list(re.finditer(rb"-?\d+", content[:head]))
    if not numbers:
        return flipped(rng, content, head)
    number = numbers[rng.integers(len(numbers))]
    return content[: number.start()] + ABSURD[rng.integers(len(ABSURD))] + content[number.end() :]


DAMAGES = [flipped, overwritten, truncated, inserted, deleted, duplicated, with_absurd_number]


# --- sources ---------------------------------------------------------------------------------------------

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
    for kind, version in (("zarr", 3), ("zarr 2", 2)):
        array = zarr.create_array(
            str(folder / kind), shape=(40, 3), chunks=(16, 2), dtype="f8", zarr_format=version
        )
        array[:] = DATA
    OnlineAdaptivePCA(max_components=2, random_state=0).fit(DATA).save(folder / "model")
    (folder / "first.csv").write_bytes(text_of(DATA))


def check_source(number, folder):
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
                ["calibrate", path, "--n-components", "1", *span],
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


def command(words):
    """The command line may end in click's own errors only."""
    shown, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
    try:
        warnings.simplefilter("ignore")  # on a terminal they are shown, no more
        main.main([str(word) for word in words], prog_name="eigenstream", standalone_mode=False)
    except (click.ClickException, click.exceptions.Exit):
        pass
    finally:
        sys.stdout = shown


# --- model files -----------------------------------------------------------------------------------------

ROWS = np.random.default_rng(1).standard_normal((300, 5)) * [5, 3, 1, 1, 1]


def prepare_models(folder):
    made = {
        "young": OnlineAdaptivePCA(random_state=0).partial_fit(ROWS[:30]),
        "plain": OnlineAdaptivePCA(max_components=3, random_state=0).fit(ROWS),
        "forgetful": OnlineAdaptivePCA(
            "squared-output", alpha=0.1, max_components=2, half_life=50, missing="impute", random_state=3
        ).partial_fit(ROWS[:251].astype(np.float32)),
        "named": OnlineAdaptivePCA(max_components=3, scores="projected", random_state=0).fit(
            pd.DataFrame(ROWS, columns=list("abcde"))
        ),
        "subspace": OnlineAdaptivePCA(
            max_components=3, solver="subspace", standardize=True, half_life="100s", random_state=0
        ).partial_fit(ROWS[:291], timestamps=np.arange(291.0)),
        "network": OnlineAdaptivePCA(max_components=3, solver="network", random_state=0).fit(ROWS),
        "lagged": OnlineAdaptivePCA(max_components=3, lags=1, outliers="cap", random_state=0).fit(ROWS),
        "monitor": StreamMonitor(OnlineAdaptivePCA(max_components=3, random_state=0)).fit(ROWS),
    }
    for name, model in made.items():
        model.save(folder / name, position={"source": {"row": 5}, "output": None, "recipe": {}})


MODELS = ["plain", "forgetful", "young", "named", "subspace", "network", "lagged", "monitor"]


def said(model, rows):
    """What a model says about rows."""
    return model.score_samples(rows) if isinstance(model, StreamMonitor) else model.transform(rows)


def goes_on(model, folder):
    """Use a model as its user would: score rows, learn some, score again, save."""
    rows = as_known(model)
    timed = getattr(model, "model_", model)._tracker.plan.seconds is not None
    said(model, rows)
    model.learn_one(ROWS[0], timestamp=1e12 if timed else None)
    model.partial_fit(rows, timestamps=np.full(len(rows), 1e12) if timed else None)
    said(model, rows)
    model.save(folder / "again")


def check_model(number, folder):
    rng, name = np.random.default_rng([2, number]), MODELS[number % len(MODELS)]
    good = (folder / name).read_bytes()
    content = damaged(rng, good, 8 + int.from_bytes(good[:8], "little"))
    path = folder / "x"
    path.write_bytes(content)
    if number % 8 == 0:
        command(model_commands(path, folder)[number // 8 % 3])
    model = load(path)
    original, (arrays, document), (found, read) = (
        load(folder / name),
        checkpoint.read(folder / name),
        checkpoint.read(path),
    )
    assert document == read
    assert arrays.keys() == found.keys()
    assert all(arrays[key].tobytes() == found[key].tobytes() for key in arrays)
    np.testing.assert_array_equal(said(model, as_known(model)), said(original, as_known(model)))
    return "the same model"


def model_commands(path, folder):
    np.save(folder / "rows.npy", ROWS[:20])
    return [
        ["inspect", path, "--json"],
        ["transform", path, folder / "rows.npy", "--output", folder / "out.csv", "--overwrite"],
        ["merge", path, path, "--save", folder / "merged", "--overwrite"],
    ]


def as_known(model):
    """Rows with the names the model knows."""
    names = getattr(model, "feature_names_in_", None)
    return ROWS[:60] if names is None else pd.DataFrame(ROWS[:60], columns=names)


VALUES = [
    None, True, False, -1, 0, 1, 2, 7, 200, 2**31, 2**53, 2**62, 2**63, 2**64, 10**30, -(2**63), 0.5, 1.5,
    1e-320, 1e30, 1e200, 1e308, -1e308, math.inf, -math.inf, math.nan, "", "x", "nan", "float32",
    "squared-output", [], [1], [[]], [None], {}, {"a": 1},
]  # fmt: skip


def places(tree, path=()):
    """Every place of a JSON document."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def with_other_entry(rng, document):
    *path, last = (found := [place for place in places(document) if place])[rng.integers(len(found))]
    holder = document
    for key in path:
        holder = holder[key]
    match rng.integers(8):
        case 0:
            del holder[last]
        case 1 if isinstance(holder, dict):
            holder["another"] = 1
        case 2 if isinstance(holder[last], float | int) and not isinstance(holder[last], bool):
            holder[last] = (
                holder[last] * rng.choice([-1, 1e3, 1e-3, 1e12]) if rng.random() < 0.5 else -holder[last]
            )
        case _:
            holder[last] = VALUES[rng.integers(len(VALUES))]


def with_other_array(rng, arrays):
    name = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[name].copy()
    match rng.integers(9):
        case 0:
            del arrays[name]
            return
        case 1:
            with np.errstate(all="ignore"):
                array = array.astype(rng.choice(["f4", "f8", "i8", "?", "u1", "f2"]))
        case 2:
            array = [
                array.T,
                array.reshape(-1),
                array[None],
                array[:0],
                array[..., :1],
                np.vstack((array, array)),
            ][rng.integers(6)]
        case 3:
            arrays[str(rng.choice(["another", "state.N", "state.F", "rows", "view.gains"]))] = array
            return
        case _ if array.size:
            value = rng.choice(
                [1.0, 2**62]
                if array.dtype.kind == "i"
                else [
                    np.nan,
                    np.inf,
                    -np.inf,
                    0.0,
                    -1.0,
                    1e-310,
                    1e30,
                    1e100,
                    1e200,
                    1e300,
                    -1e300,
                    3.0,
                    2**40,
                ]
            )
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if rng.random() < 0.3:
                    array[...] = value
                elif rng.random() < 0.2:
                    array = array * np.asarray(rng.choice([-1.0, 1e20, 1e-20])).astype(array.dtype)
                else:
                    array.flat[rng.integers(array.size)] = value
    arrays[name] = array


def check_signed(number, folder):
    """A document or array that makes no sense, under a checksum that is right."""
    rng, name = np.random.default_rng([3, number]), MODELS[number % len(MODELS)]
    arrays, document = checkpoint.read(folder / name)
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.5:
            with_other_entry(rng, document)
        elif arrays:
            with_other_array(rng, arrays)
    path = folder / "x"
    checkpoint.write(path, arrays, document)
    if number % 8 == 0:
        command(model_commands(path, folder)[number // 8 % 3])
    model = load(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            goes_on(model, folder)
    except np.linalg.LinAlgError:
        return "numbers without a spectrum"
    except Exception as error:
        raise AssertionError("a model that loads must work") from error
    return "a model that works"


# --- a process for many cases ----------------------------------------------------------------------------

CHECKS = {
    "sources": (prepare_sources, check_source),
    "models": (prepare_models, check_model),
    "signed": (prepare_models, check_signed),
}


def work(what, first, last):
    """Go through the cases; prints how they ended, and what should not have happened."""
    prepare, check = CHECKS[what]
    outcomes, failures = Counter(), []
    folder = pathlib.Path(tempfile.mkdtemp())
    signal.signal(signal.SIGALRM, ring)
    try:
        prepare(folder)
        limit_memory()
        for number in range(first, last):
            outcome = outcome_of(check, number, folder)
            outcomes[outcome.split(":")[0]] += 1
            if outcome.startswith("FAILED"):
                failures.append(f"case {number} {outcome}")
    finally:
        shutil.rmtree(folder)
    print(json.dumps({"outcomes": outcomes, "failures": failures}))


def outcome_of(check, number, folder):
    print(number, file=sys.stderr, end="\r", flush=True)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return check(number, folder)
    except ValueError as error:
        if "allocate" in str(error) or "emory" in str(error):
            return f"FAILED: too much memory: {error}"
        return "a clear error" if str(error) else "FAILED: no message"
    except (Exception, Hang):
        return f"FAILED: {traceback.format_exc()}"
    finally:
        signal.alarm(0)
        shutil.rmtree(folder / "x") if (folder / "x").is_dir() else (folder / "x").unlink(missing_ok=True)


def ring(*_):
    raise Hang


def limit_memory():
    size = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))


def in_a_process(what, first, last):
    """Outcomes and failures of these cases."""
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
    done = subprocess.run(
        [sys.executable, __file__, what, str(first), str(last)],
        capture_output=True, text=True, timeout=1500, env=os.environ | single,
    )  # fmt: skip
    assert done.returncode == 0, f"the process died: {done.stderr[-3000:]}"
    return json.loads(done.stdout)


linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is measured as on Linux")


@linux
@pytest.mark.parametrize(
    ("what", "first", "last"),
    [
        ("sources", 0, 360),
        ("models", 0, 300),
        ("signed", 0, 240),
        *(
            pytest.param(what, first, first + 2000, marks=pytest.mark.slow)
            for what in ("sources", "models", "signed")
            for first in (1000, 3000)
        ),
    ],
)
def test_damage_gives_a_clear_error_or_a_right_result(what, first, last):
    report = in_a_process(what, first, last)
    print(what, report["outcomes"])
    assert report["failures"] == []
    assert report["outcomes"]["a clear error"] > (last - first) / 4
    # Finite numbers of the right shape that no stream leads to cannot all be told from those of a stream.
    assert report["outcomes"].get("numbers without a spectrum", 0) < (last - first) / 100
    assert sum(report["outcomes"].values()) == last - first


def test_every_flipped_byte_of_scores_is_found(tmp_path):
    """Parts that a job writes carry checksums; what a flip changes beyond them is no number."""
    sink = sinks.open_sink(str(tmp_path / "x.parquet"), sinks.Layout(2, np.float64))
    sink.write(np.arange(40), DATA[:, :2])
    sink.settle(final=True)
    sink.close()
    path = tmp_path / "x.parquet" / "part-000000.parquet"
    good = path.read_bytes()
    end = len(good) - 8 - parquet.read_metadata(path).serialized_size
    refused = 0
    for i in range(4, end):
        path.write_bytes(good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1 :])
        try:
            with sources.open(path, columns="1:", allow_nan=True) as source:
                np.testing.assert_array_equal(np.vstack([batch.rows for batch in source]), DATA[:, :2])
        except ValueError:
            refused += 1
    assert refused > (end - 4) / 2


def _plan(**changes):
    return lambda a, d: d["tracker"]["plan"].update(changes)


RESIGNED = {
    "nothing left to look at": lambda a, d: d["tracker"].update(look_at=d["tracker"]["time"]),
    "a gigantic plan": _plan(n=10**12),
    "gigantic arrays to come": _plan(k=10**12),
    "no such handling of gaps": lambda a, d: d["parameters"].update(missing="hide"),
    "no such scores": lambda a, d: d["parameters"].update(scores="huge"),
    "a name too few": lambda a, d: d.update(features=["a", "b", "c", "d"]),
    "names that are none": lambda a, d: d.update(features=[1, 2, 3, 4, 5]),
    "growing memory": _plan(beta=1.5),
    "consolidation all the time": _plan(consolidation=1.0),
    "no such solver": _plan(solver="magic"),
    "a cap that is none": _plan(cap_outliers="no"),
    "a scale that is none": _plan(standardize="yes"),
    "predecessors that do not fit": _plan(lags=2),
    "no time to forget in": _plan(seconds=0.0),
    "blocks of no known length": _plan(longest_block=100),
    "a time that is none": lambda a, d: d["tracker"].update(clock=[math.nan, None, 0.0, 0.0]),
    "a pace that is none": lambda a, d: d["tracker"].update(clock=[None, None, -1.0, 0.0]),
    "rows before of another width": lambda a, d: a.update({"recent": np.zeros((2, 5))}),
    "a threshold that is none": lambda a, d: d["tracker"]["decision"].__setitem__(1, math.nan),
    "a rank beyond the capacity": lambda a, d: d["tracker"]["decision"].__setitem__(2, 9),
    "a rank without variances": lambda a, d: a.update({"kept": np.zeros(0)}),
    "a seed that is none": _plan(seed=-1),
    "a number in words": lambda a, d: d["tracker"].update(time="300"),
    "rows that wait without a block": lambda a, d: a.update({"waiting": np.zeros((99, 5))}),
    "an infinite row that waits": lambda a, d: a.update({"waiting": np.full(a["waiting"].shape, np.inf)}),
    "a waiting row beyond any that is learnt": lambda a, d: a.update(
        {"waiting": np.full(a["waiting"].shape, 1e74)}
    ),
    "a waiting row that counts more than any": lambda a, d: a["waiting_steps"].__setitem__((0, 0), 1e20),
    "a waiting row that lets the past grow": lambda a, d: a["waiting_steps"].__setitem__((1, 0), 1e20),
    "counts below nothing": lambda a, d: d["tracker"]["tally"].update(learnt=-1),
}
RESIGNED_OF = {
    "exact": {
        "half a scatter matrix": lambda a, d: a.update({"learner.C": np.eye(4)}),
        "NaN in what is learnt": lambda a, d: a["learner.C"].__setitem__((0, 0), np.nan),
        "a scatter matrix that is none": lambda a, d: a["learner.C"].__setitem__((0, 1), 1e9),
        "variances below nothing": lambda a, d: a.update({"learner.C": -a["learner.C"]}),
        "a covariance beyond the variances": lambda a, d: a.update(
            {"learner.C": a["learner.C"] + 1e6 * (1 - np.eye(5))}
        ),
        "a first row that none can be": lambda a, d: a["learner.origin"].__setitem__(0, 1e100),
        "a mean that no rows have": lambda a, d: a["learner.offset"].__setitem__(0, 1e100),
        "more axes than components": lambda a, d: a.update({"learner.axes": np.zeros((9, 5))}),
    },
    "subspace": {
        "NaN in what is learnt": lambda a, d: a["learner.L"].__setitem__((0, 0), np.nan),
        "a direction without variance": lambda a, d: a["learner.lam"].__setitem__(0, 0.0),
        "a mean that no rows have": lambda a, d: a["learner.offset"].__setitem__(0, 1e100),
        "a negative count": lambda a, d: a["learner.totals"].__setitem__(0, -1.0),
        "more components than asked for": lambda a, d: a["learner.counters"].__setitem__(1, 9),
    },
    "network": {
        "a clock that would write beyond its arrays": lambda a, d: a.update(
            {"learner.state.clock": np.array([300, 1])}
        ),
        "a negative clock": lambda a, d: a.update({"learner.state.clock": np.array([-1, 0])}),
        "consolidation in the past": lambda a, d: a["learner.clock"].__setitem__(1, a["learner.clock"][0]),
        "consolidation without a state": lambda a, d: [a.pop(name) for name in list(a) if "state." in name],
        "half a state": lambda a, d: a.pop("learner.state.N"),
        "NaN in what is learnt": lambda a, d: a["learner.state.S"].__setitem__((0, 0), np.nan),
        "more axes than components": lambda a, d: a.update({"learner.axes": np.zeros((9, 5))}),
    },
}


@pytest.mark.filterwarnings("ignore:the rank has reached")
@pytest.mark.parametrize(
    ("solver", "damage"),
    [(solver, damage) for solver, own in RESIGNED_OF.items() for damage in (*RESIGNED, *own)],
)
def test_nonsense_under_a_right_checksum_is_refused(solver, damage, tmp_path):
    OnlineAdaptivePCA(max_components=3, random_state=0, solver=solver).fit(ROWS[:290]).save(
        tmp_path / "model"
    )
    arrays, document = checkpoint.read(tmp_path / "model")
    arrays = {name: np.array(array) for name, array in arrays.items()}
    checkpoint.write(tmp_path / "model", arrays, document)
    load(tmp_path / "model")
    if solver == "network" and ("row that waits" in damage or "a waiting row" in damage):
        pytest.skip("no row waits for the network")
    (RESIGNED | RESIGNED_OF[solver])[damage](arrays, document)
    checkpoint.write(tmp_path / "model", arrays, document)
    with pytest.raises(ValueError, match="is a damaged eigenstream model"):
        load(tmp_path / "model")


def _monitor(**changes):
    return lambda a, d: d["monitor"].update(changes)


RESIGNED_MONITOR = {
    "an axis without variance": lambda a, d: a["monitor.reference.variances"].__setitem__(0, 0.0),
    "limits of nothing": lambda a, d: a["monitor.limits"].__setitem__((1, 0), 0.0),
    "limits of one statistic": lambda a, d: a.update({"monitor.limits": a["monitor.limits"][:, :1]}),
    "charts of rows to come": lambda a, d: a["monitor.history"].__setitem__((-1, 0), 1e6),
    "charts of half rows": lambda a, d: a.update({"monitor.history": a["monitor.history"] * 0.5}),
    "limits due before": _monitor(correct_at=0),
    "a model due before": _monitor(renewals=[-(2**62), 0, 0]),
}


@pytest.mark.parametrize("damage", RESIGNED_MONITOR)
def test_a_monitor_that_makes_no_sense_is_refused(damage, tmp_path):
    path = tmp_path / "model"
    StreamMonitor(OnlineAdaptivePCA(max_components=3, random_state=0)).fit(ROWS).save(path)
    arrays, document = checkpoint.read(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    RESIGNED_MONITOR[damage](arrays, document)
    checkpoint.write(path, arrays, document)
    with pytest.raises(ValueError, match="is a damaged eigenstream model"):
        load(path)


def test_a_row_learnt_after_the_last_row_that_came_is_refused(tmp_path):
    path = tmp_path / "model"
    model = OnlineAdaptivePCA(max_components=3, half_life="100s", random_state=0)
    model.partial_fit(ROWS, timestamps=np.arange(300.0)).save(path)
    arrays, document = checkpoint.read(path)
    document["tracker"]["clock"][1] = 1e30
    checkpoint.write(path, arrays, document)
    with pytest.raises(ValueError, match=r"is a damaged eigenstream model.*has learnt one of 1e\+30"):
        load(path)


def test_a_file_of_an_older_format_says_what_to_do(tmp_path):
    OnlineAdaptivePCA(max_components=2).fit(DATA).save(tmp_path / "model")
    arrays, document = checkpoint.read(tmp_path / "model")
    header = {"version": 1, "document": json.dumps(document), "checksum": "whatever"}
    content = checkpoint.serialized(arrays, metadata={checkpoint.FORMAT: json.dumps(header)})
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ValueError, match=r"format version 1.*learn the model again from its source"):
        load(tmp_path / "model")


def test_a_file_of_format_version_2_continues_exactly(tmp_path):
    """It has no word of standardization, lags or times, which it does not need."""
    model = OnlineAdaptivePCA(max_components=2, random_state=0).fit(DATA)
    model.save(tmp_path / "model")
    arrays, document = checkpoint.read(tmp_path / "model")
    for part, names in (
        (document["parameters"], ("standardize", "lags")),
        (document["tracker"]["plan"], ("standardize", "lags", "seconds", "longest_block")),
        (document["tracker"], ("clock",)),
    ):
        for name in names:
            del part[name]
    text = json.dumps(document)
    header = {"version": 2, "document": text, "checksum": checkpoint._checksum(arrays, text)}
    content = checkpoint.serialized(arrays, metadata={checkpoint.FORMAT: json.dumps(header)})
    (tmp_path / "model").write_bytes(content)
    again = load(tmp_path / "model").partial_fit(DATA)
    np.testing.assert_array_equal(again.components_, model.partial_fit(DATA).components_)
    assert not again.standardize
    again.save(tmp_path / "model")
    assert load(tmp_path / "model").n_samples_seen_ == 2 * len(DATA)


def test_a_file_deeper_than_anyone_writes_is_refused(tmp_path):
    model = OnlineAdaptivePCA(max_components=2, random_state=0).fit(DATA)
    model.save(tmp_path / "model")
    arrays, document = checkpoint.read(tmp_path / "model")
    text = json.dumps(document).replace('"position": null', '"position": ' + "[" * 100_000 + "]" * 100_000)
    header = {"version": checkpoint.VERSION, "document": text, "checksum": checkpoint._checksum(arrays, text)}
    content = checkpoint.serialized(arrays, metadata={checkpoint.FORMAT: json.dumps(header)})
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ValueError, match="is not a readable eigenstream model"):
        load(tmp_path / "model")


def whole(**parameters):
    return OnlineAdaptivePCA(max_components=2, random_state=0, **parameters)


@pytest.mark.filterwarnings("ignore:the rank has reached")
@pytest.mark.parametrize(
    "make",
    [
        lambda: whole(missing="skip").partial_fit(np.full((3, 5), np.nan)),
        lambda: merge([whole(missing="skip").partial_fit(X) for X in (np.full((3, 5), np.nan), ROWS[:100])]),
        lambda: whole().partial_fit(np.ones((1, 5))),
        lambda: whole().partial_fit(np.ones((500, 5))),
        lambda: whole(alpha=0.0, init_samples=0, consolidation=None, center=False).partial_fit(
            np.eye(5)[[0] * 50]
        ),
        lambda: whole(half_life=1e-3).partial_fit(ROWS),
        lambda: whole(consolidation=1e30, init_samples=10**30).partial_fit(ROWS),
        lambda: whole(consolidation=1e30).partial_fit(ROWS),
        lambda: whole().set_params(random_state=2**63 - 1).partial_fit(ROWS),
        lambda: whole(half_life=20, spontaneous_activity=2.0).partial_fit(ROWS.astype(np.float32)),
        lambda: whole().partial_fit(ROWS * 1e60),
        lambda: whole().partial_fit((ROWS * 1e8).astype(np.float32)),
        lambda: whole().partial_fit(ROWS * 1e-150),
        lambda: whole().partial_fit(ROWS + 1e9),
        lambda: whole().partial_fit(ROWS[:50], sample_weight=np.zeros(50)),
        lambda: merge([whole().fit(ROWS[:150]), whole().fit(ROWS[150:])]),
    ],
)
def test_what_is_unusual_is_not_taken_for_damage(make, tmp_path):
    model = make()
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    X = ROWS[:50] if again._tracker.plan.dtype == np.float64 else ROWS[:50].astype(np.float32)
    for one in (model, again):
        one.partial_fit(X)
        one.save(tmp_path / f"{one is model}")
    assert (tmp_path / "True").read_bytes() == (tmp_path / "False").read_bytes()


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
