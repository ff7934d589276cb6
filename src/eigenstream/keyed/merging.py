"""Banks that have learnt different rows, as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..io import checkpoint
from ..model.joining import joined
from ..model.stored_form import restored, stored
from ..monitoring.shared_limits import SharedLimits
from .bank_file import Key, PathLike
from .store import Entry, Store


def merge_banks(banks: Sequence[PathLike], path: PathLike, position: Any = None) -> int:
    """Write one bank with the models of all; returns how many keys were in several of them.

    A model whose key is in one bank is taken over as it is. Models of the same key are merged, as
    `eigenstream.merge` does. Monitors cannot be merged: what one has judged by its limits another has not; so
    banks of monitors must not share a key.

    Parameters
    ----------
    banks
        Files of banks of the same kind, with the same parameters and width. They are left as they are.
    path
        The file of the new bank; what is there is replaced, all or nothing.
    position
        The position to save with it.

    Raises
    ------
    ValueError
        If they cannot be one bank.
    """
    stores = [Store(bank) for bank in banks]
    try:
        _refuse_differences(stores)
        own: dict[Key, list[Store]] = {}
        for store in stores:
            for key in store.models:
                own.setdefault(key, []).append(store)
        shared = {key: found for key, found in own.items() if len(found) > 1}
        if shared and stores[0].fact("monitors") is not None:
            key, found = next(iter(shared.items()))
            raise ValueError(
                f"{found[0].path} and {found[1].path} both have a monitor with the key {key!r}: monitors "
                "cannot be merged; give banks of different keys"
            )
        facts = {
            name: stores[0].fact(name) for name in ("parameters", "width", "dtype", "monitors", "features")
        }
        evidence = [SharedLimits.from_document(one) for store in stores if (one := store.fact("shared"))]
        if evidence:
            facts["shared"] = SharedLimits.together(evidence).document()
        counts = {name: sum(store.fact(name) for store in stores) for name in ("samples", "alarms")}
        new = Store(path, fresh=True)
        try:
            new.put(_merged(own))
            new.commit(facts | counts | {"calls": 1, "position": position})
        finally:
            new.close()
        return len(shared)
    finally:
        for store in stores:
            store.close()


def _merged(own: dict[Key, list[Store]]) -> Iterator[tuple[Entry, bytes, int]]:
    for key, stores in own.items():
        states = [store.state(key) or b"" for store in stores]
        first = stores[0].models[key]
        if len(states) == 1:
            yield Entry(key, first.samples, first.rank), states[0], 1
            continue
        named = [(state, f"{store.path}, key {key}") for state, store in zip(states, stores, strict=True)]
        tracker = joined([restored(*checkpoint.unpacked(*one)) for one in named])
        arrays, document = stored(tracker)
        entry = Entry(key, document["time"], document["decision"][2])
        yield entry, checkpoint.packed(arrays, document), 1


def _refuse_differences(stores: Sequence[Store]) -> None:
    """Raise if the banks are of different kinds."""
    first = stores[0]
    for store in stores:
        if store.fact("width") is None:
            raise ValueError(f"{store.path} has no models: there is nothing to merge")
        for name, word in WORDS.items():
            mine, theirs = first.fact(name), store.fact(name)
            if mine != theirs:
                raise ValueError(
                    f"{first.path} and {store.path} have different {word} ({_difference(mine, theirs)}): "
                    "banks are merged if they are of one kind"
                )


WORDS = {
    "monitors": "settings of their monitors",
    "width": "numbers per row",
    "dtype": "floating-point types",
    "parameters": "parameters",
    "features": "names of inputs",
}
"""Facts that have to agree, and the words for them in messages."""


def _difference(mine: Any, theirs: Any) -> str:
    """The first entry in which two facts differ."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for name in mine:
            if mine[name] != theirs.get(name):
                return f"{name} is {mine[name]} and {theirs.get(name)}"
    kinds = ["none" if one is None else "some" if isinstance(one, dict) else one for one in (mine, theirs)]
    return f"{kinds[0]} and {kinds[1]}"
