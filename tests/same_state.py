"""Two objects with state, compared field by field: whatever a file does not hold would show here.

`differences` walks through everything that two objects hold. A field may differ only if it is named in
`CACHES`, with the reason; of a field in `PARTS` only a part is state. A new field is compared by itself.
"""

import types
from collections import deque

import numpy as np

CACHES = {
    ("Tracker", "_readings"): "computed from the learner when somebody asks",
    ("Tracker", "_even"): "follows from the plan",
    ("Blocks", "_innovations_asked"): "says what the open block keeps; any answer gives the same bits",
    ("Blocks", "_open"): "computed anew from the last look and the waiting rows, to the same bits",
    ("TimeFilter", "_dynamics"): "follows from what the filter has learnt",
    ("LastLook", "_factors"): "follows from the decision",
    ("LastLook", "_expected"): "follows from learner and decision",
    ("LastLook", "_seen"): "follows from learner and decision",
    ("Waiting", "_aside"): "belongs to a mark, which lasts for one call",
    ("Scatter", "_spectra"): "follows from the scatter matrix",
    ("Scatter", "_shared"): "belongs to a mark, which lasts for one call",
    ("Scatter", "room"): "memory in which a block is centered; waiting rows are compared as such",
    ("Subspace", "_marked"): "belongs to a mark, which lasts for one call",
    ("NetworkLearner", "_spare"): "memory for a mark",
    ("NetworkLearner", "_marked"): "belongs to a mark, which lasts for one call",
    ("NetworkLearner", "_saved"): "belongs to a mark, which lasts for one call",
    ("Plan", "width"): "cached property",
    ("Plan", "plain"): "cached property",
    ("Plan", "rounding"): "cached property",
    ("Plan", "beta2"): "cached property",
    ("Plan", "window"): "cached property",
    ("Plan", "block"): "cached property",
    ("Steps", "fading"): "cached property",
    ("Stretches", "room"): "rows that wait are compared as they are merged into the table",
    ("Stretches", "number"): "rows that wait are compared as they are merged into the table",
    ("Monitor", "limits_last"): "follows from line, limits and reference",
    ("Monitor", "most_last"): "follows from limits and reference",
    ("Reference", "moments"): "cached property",
    ("Reference", "degrees"): "cached property",
    ("Reference", "weights"): "cached property",
    ("Reference", "_weights_by_variances"): "cached property",
    ("Reference", "_columns"): "cached property",
    ("Reference", "_gain"): "cached property",
    ("Reference", "expected"): "cached property",
    ("Reference", "precision"): "cached property",
    ("Reference", "spreads"): "cached property",
    ("Reference", "alike"): "cached property",
    ("Reference", "reaches"): "cached property",
    ("Reference", "_per_spread"): "cached property",
    ("StreamModel", "_callers"): "whoever learns at this moment",
    ("StreamModel", "warned"): "a file does not know which warnings its reader has seen",
    ("StreamModel", "position_"): "what `save` was given; a model that learns on does not change it",
    ("MonitoredModel", "_callers"): "whoever learns at this moment",
    ("MonitoredModel", "warned"): "a file does not know which warnings its reader has seen",
    ("MonitoredModel", "position_"): "what `save` was given; a model that learns on does not change it",
    ("OnlineAdaptivePCA", "_callers"): "whoever learns at this moment",
    ("StreamMonitor", "_callers"): "whoever learns at this moment",
}
"""Fields that may differ, and why."""

PARTS = {
    ("Waiting", "rows"): lambda waiting: waiting.rows[: waiting.number],  # the rest is memory
    ("Waiting", "steps"): lambda waiting: waiting.first(waiting.number)[1],
    ("Scatter", "C"): lambda learner: np.tril(learner.C),  # the rest is memory
    ("Subspace", "rows"): lambda learner: learner.L,  # the rest is memory
    ("Stretches", "table"): lambda stretches: stretches.merged().table,
    ("Stretches", "length"): lambda stretches: stretches.merged().length,
    ("Monitor", "pending"): lambda monitor: np.concatenate((np.zeros((0, 7)), *monitor.pending)),
}
"""Fields of which a part is state, and that part."""


def differences(one, other, path="", seen=None):
    """Places at which two objects differ, as texts; empty if they are the same."""
    seen = {} if seen is None else seen
    if one is other or (id(one), id(other)) in seen:
        return []
    seen[id(one), id(other)] = one, other  # held, so that no other object gets the same id
    if _are_numbers(one) and _are_numbers(other):
        return [] if _same_number(one, other) else [f"{path}: {one!r} and {other!r}"]
    if type(one) is not type(other):
        return [f"{path}: {one!r:.80} and {other!r:.80}"]
    if isinstance(one, str | bytes | type | types.FunctionType | types.BuiltinFunctionType | np.dtype):
        return [] if one == other else [f"{path}: {one!r:.80} and {other!r:.80}"]
    if isinstance(one, np.ndarray):
        return _differing_arrays(one, other, path)
    if isinstance(one, dict):
        return _differing_items(one, other, path, seen)
    if isinstance(one, set | frozenset):
        return [] if one == other else [f"{path}: {one} and {other}"]
    if isinstance(one, list | tuple | deque):
        if len(one) != len(other):
            return [f"{path}: {len(one)} and {len(other)} items"]
        if isinstance(one, deque) and one.maxlen != other.maxlen:
            return [f"{path}: at most {one.maxlen} and {other.maxlen} items"]
        names = getattr(one, "_fields", range(len(one)))
        pairs = zip(names, one, other, strict=True)
        return [line for name, *pair in pairs for line in differences(*pair, f"{path}.{name}", seen)]
    return _differing_fields(one, other, path, seen)


def _are_numbers(value):
    return isinstance(value, bool | int | float | np.generic)


def _same_number(one, other):
    return one == other or (one != one and other != other)


def _differing_arrays(one, other, path):
    if one.shape != other.shape or one.dtype != other.dtype:
        return [f"{path}: {one.dtype}{one.shape} and {other.dtype}{other.shape}"]
    if one.dtype == object:
        return [] if one.tolist() == other.tolist() else [f"{path}: other objects"]
    same = np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return [] if same else [f"{path}: arrays of {one.shape} differ"]


def _differing_items(one, other, path, seen):
    lines = [f"{path}: only one has {name!r}" for name in set(one) ^ set(other)]
    return lines + [
        line
        for name in one
        if name in other
        for line in differences(one[name], other[name], f"{path}.{name}", seen)
    ]


def _differing_fields(one, other, path, seen):
    kind = type(one).__name__
    if not hasattr(one, "__dict__"):
        return [f"{path}: nobody has said how to compare two of {kind}"]
    lines = []
    for name in sorted(set(vars(one)) | set(vars(other))):
        if (kind, name) in CACHES:
            continue
        if name not in vars(one) or name not in vars(other):
            lines.append(f"{path}.{name}: only one {kind} has it")
            continue
        part = PARTS.get((kind, name), lambda holder, name=name: getattr(holder, name))
        lines += differences(part(one), part(other), f"{path}.{name}", seen)
    return lines
