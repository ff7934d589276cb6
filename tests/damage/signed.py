"""Model files that make no sense under a right checksum, and the check that they give an error or work."""

import math
import warnings
from unittest.mock import patch

import numpy as np

from eigenstream import load
from eigenstream.io import checkpoint
from tests.damage.command_line import command
from tests.damage.models import MODELS, ROWS, as_known, model_commands, said

VALUES = [
    None, True, False, -1, 0, 1, 2, 7, 200, 2**31, 2**53, 2**62, 2**63, 2**64, 10**30, -(2**63), 0.5, 1.5,
    1e-320, 1e30, 1e200, 1e308, -1e308, math.inf, -math.inf, math.nan, "", "x", "nan", "float32",
    "squared-output", [], [1], [[]], [None], {}, {"a": 1},
]  # fmt: skip
"""What an entry of a document may be instead."""
NUMBERS = [
    np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-310, 1e30, 1e100, 1e200, 1e300, -1e300, 3.0, 2**40
]  # fmt: skip
"""What a number of an array may be instead."""


def places(tree, path=()):
    """Every place of a JSON document."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def with_other_entry(rng, document):
    """Remove, add or change one entry of the document."""
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
    """Remove, add or change one of the arrays."""
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
                array.T, array.reshape(-1), array[None], array[:0], array[..., :1], np.vstack((array, array))
            ][rng.integers(6)]  # fmt: skip
        case 3:
            arrays[str(rng.choice(["another", "state.N", "state.N_narrow", "rows", "view.gains"]))] = array
            return
        case _ if array.size:
            value = rng.choice([1.0, 2**62] if array.dtype.kind == "i" else NUMBERS)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if rng.random() < 0.3:
                    array[...] = value
                elif rng.random() < 0.2:
                    array = array * np.asarray(rng.choice([-1.0, 1e20, 1e-20])).astype(array.dtype)
                else:
                    array.flat[rng.integers(array.size)] = value
    arrays[name] = array


def forged(write, *given):
    """Call a function of `checkpoint` that writes, which then takes arrays of types that no model has."""
    types = {np.dtype(kind): name for kind, name in ((np.uint8, "U8"), (np.float16, "F16"))}
    order = {kind: len(checkpoint.ORDER) + i for i, kind in enumerate(types)}
    names = {kind: str(kind) for kind in types}
    with (
        patch.dict(checkpoint.TYPES, types),
        patch.dict(checkpoint.ORDER, order),
        patch.dict(checkpoint.NAMES, names),
    ):
        return write(*given)


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
    forged(checkpoint.write, path, arrays, document)
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


def goes_on(model, folder):
    """Use a model as its user would: score rows, learn some, score again, save."""
    rows = as_known(model)
    tracker = getattr(model, "model_", model)._tracker
    timed = tracker.plan.seconds is not None
    now = max(tracker.clock.latest or 0.0, 1e12)
    said(model, rows)
    model.learn_one(ROWS[0], timestamp=now if timed else None)
    model.partial_fit(rows, timestamps=np.full(len(rows), now) if timed else None)
    said(model, rows)
    model.save(folder / "again")
