"""The request of a job and the record saved with its model: typed, and checked when read from a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..io.sources.options import STORED, ReadOptions

Scalar = str | int | float | bool | None

SETTINGS_OF_MONITOR = ("false_alarm_rate", "learn_from_alarms", "accept_after", "confirm")
"""Parameters of a job that watches; `confirm` as a text such as 2/3."""
STANDSTILL = ("freeze_after", "frozen")
"""Parameters that say when a monitor stops learning; the next job does not inherit them."""


@dataclass(frozen=True)
class Request:
    """Everything that decides about the result of a job.

    Parameters
    ----------
    source
        As in `eigenstream.sources.open`: one source, or a list of files; None is the built-in stream.
    output
        NAME.csv, NAME.jsonl, NAME.npy, NAME.parquet, or ``-``; None writes no scores.
    reading
        Options of reading the source. With a ``key`` among them, there is one model per key, in an
        `eigenstream.keyed.Bank`.
    residuals
        True writes each row's squared residual beside its scores: its squared distance from what the
        components can express.
    parameters
        Parameters of the model, by name. With any of `SETTINGS_OF_MONITOR` or `STANDSTILL` among them, the
        job watches: rows are judged by a `eigenstream.monitoring.MonitoredModel` before they are learnt.
    """

    source: str | list[str] | None
    output: str | None = None
    reading: ReadOptions = field(default_factory=ReadOptions)
    residuals: bool = False
    parameters: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def key(self) -> str | int | None:
        """Column with the key of a row: one model per key; None for one model."""
        return self.reading.key

    @property
    def watches(self) -> bool:
        """True if rows are judged before they are learnt."""
        return any(name in self.parameters for name in (*SETTINGS_OF_MONITOR, *STANDSTILL))

    def value(self, name: str) -> Any:
        """A setting by its name, be it of the job, of reading, or a parameter of the model."""
        if name in STORED:
            return getattr(self.reading, name)
        return getattr(self, name) if name in SETTINGS else self.parameters.get(name)

    def stated(self) -> set[str]:
        """Names of the settings that are not left at their defaults, and of all parameters given."""
        default = Request(None)
        changed = {name for name in (*SETTINGS, *STORED) if self.value(name) != default.value(name)}
        return changed | set(self.parameters)

    def difference(self, other: Request, names: Collection[str]) -> str | None:
        """The first of these settings in which the two disagree."""
        known = [*STORED, "residuals", *sorted({*self.parameters, *other.parameters})]
        return next((name for name in known if name in names and self.value(name) != other.value(name)), None)

    def document(self) -> dict[str, Any]:
        """As plain values for a file, settings and parameters side by side."""
        settings = {name: getattr(self, name) for name in SETTINGS}
        return settings | {"reading": self.reading.document()} | dict(self.parameters)

    @classmethod
    def from_document(cls, document: Any) -> Request:
        """The request that `document` wrote.

        Raises
        ------
        ValueError
            If a setting is missing, or is not what such a setting can be.
        """
        if not isinstance(document, dict):
            raise ValueError(f"expected the settings of a job, got {document!r}")
        settings = {name: _checked(name, document) for name in SETTINGS}
        reading = ReadOptions.from_document(document.get("reading"))
        known = (*SETTINGS, "reading")
        parameters = {name: value for name, value in document.items() if name not in known}
        for name, value in parameters.items():
            if not isinstance(value, Scalar):
                raise ValueError(f"the stored parameter {name}={value!r} is not a plain value")
        return cls(**settings, reading=reading, parameters=parameters)


SETTINGS = ("source", "output", "residuals")
"""Settings of a job itself, besides the options of reading."""


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_count(value: Any, least: int) -> bool:
    return type(value) is int and least <= value < 2**63


def _is_rows(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not _is_count(value[0], 0):
        return False
    return value[1] is None or _is_count(value[1], value[0] + 1)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


_IS_VALID: dict[str, Callable[[Any], bool]] = {
    "source": lambda value: _is_text(value) or _are_texts(value),
    "output": _is_text,
    "residuals": lambda value: isinstance(value, bool),
}
"""Checks of the stored settings."""


def _checked(name: str, document: dict[str, Any]) -> Any:
    if name not in document:
        raise ValueError(f"the stored setting {name} is missing")
    if not _IS_VALID[name](document[name]):
        raise ValueError(f"invalid stored setting {name}={document[name]!r}")
    return document[name]


MOST_SOURCES = 1000
"""Most sources that are remembered: about three years of daily files."""


def _are_identities(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and isinstance(one.get("name"), str)
        and ("place" in one or (_is_count(one.get("bytes"), 0) and isinstance(one.get("sha256"), str)))
        and (one.get("rows") is None or _is_rows(one["rows"]))
        for one in value
    )


def _are_pairs(value: Any, is_valid: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(map(is_valid, pair)) for pair in value
    )


@dataclass(frozen=True)
class Record:
    """The record saved with a model: the request of its job, and the positions it had reached."""

    request: Request
    source: dict[str, Any] | None
    """The position in the source, after the last batch learnt from; None for a merged model."""
    output: dict[str, Any] | None
    """The position in the output, after the last row written."""
    names: list[str] | None
    """Names of the columns, where there are any."""
    learnt: list[dict[str, Any]] = field(default_factory=list)
    """Sources that were learnt completely before this one (`sources.several.identities`), the latest last."""
    ended: list[dict[str, Any]] | None = None
    """The same of this one; None unless its end has been reached."""
    times: list[list[float]] = field(default_factory=list)
    """Times of some samples: pairs of a sample count and seconds since 1970."""
    numbering: list[list[int]] = field(default_factory=list)
    """Of a monitor: pairs of a row and its number in the source, where numbers jump."""

    @property
    def sources(self) -> list[dict[str, Any]]:
        """All sources that have been learnt completely."""
        return [*self.learnt, *(self.ended or [])][-MOST_SOURCES:]

    def document(self) -> dict[str, Any]:
        """As plain values for a file."""
        return {name: getattr(self, name) for name in _PARTS} | {"recipe": self.request.document()}

    @classmethod
    def from_document(cls, document: Any) -> Record:
        """The record that `document` wrote; ValueError if it is anything else."""
        if not isinstance(document, dict) or set(document) != {*_PARTS, "recipe"}:
            raise ValueError(
                "it was not saved by eigenstream run or a Job: it does not say where in its source it stands"
            )
        parts = {name: document[name] for name in _PARTS}
        for name, (what, is_valid) in _PARTS.items():
            if not is_valid(parts[name]):
                raise ValueError(f"the stored {what} cannot be read: {parts[name]!r}"[:200])
        request = Request.from_document(document["recipe"])
        if (request.output is None) != (parts["output"] is None):
            raise ValueError("the stored output and the position in it do not belong together")
        return cls(request, **parts)


def _is_position(value: Any) -> bool:
    return value is None or isinstance(value, dict)


_PARTS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "source": ("position", _is_position),
    "output": ("position in the output", _is_position),
    "names": ("names of columns", lambda value: value is None or _are_texts(value)),
    "learnt": ("sources that were learnt", _are_identities),
    "ended": ("source that was learnt last", lambda value: value is None or _are_identities(value)),
    "times": ("times", lambda value: _are_pairs(value, lambda x: isinstance(x, int | float))),
    "numbering": ("numbers of rows", lambda value: _are_pairs(value, lambda x: _is_count(x, 0))),
}
"""Parts of a record besides the request: their names in messages, and their checks."""


def record_of(position: Any) -> Record | None:
    """The record that a job has saved with its model, or None if that is something else."""
    try:
        return Record.from_document(position)
    except ValueError:
        return None
