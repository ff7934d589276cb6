"""Rows that live elsewhere: a Dask array is left to the integration, and Dask is imported only there."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def integration_of(X: object) -> Any:
    """The module that knows this kind of array; None for one that is in memory."""
    if type(X).__module__.partition(".")[0] != "dask":
        return None
    return import_module("eigenstream.integrations.dask")
