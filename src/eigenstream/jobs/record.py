"""The request of a job and the record saved with its model: typed, and checked when read from a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

import msgspec

from ..io.files import without_secret
from ..io.sources.options import STORED, ReadOptions

Scalar = str | int | float | bool | None

SETTINGS_OF_MONITOR = ("false_alarm_rate", "learn_from_alarms", "accept_after", "confirm", "end_after")
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
        given = self.source
        settings["source"] = list(map(without_secret, given)) if isinstance(given, list) else given
        if isinstance(given, str):
            settings["source"] = without_secret(given)
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
        kinds = SETTINGS.items()
        settings = {name: _checked(f"setting {name}", document.get(name, ...), kind) for name, kind in kinds}
        reading = ReadOptions.from_document(document.get("reading"))
        known = (*SETTINGS, "reading")
        parameters = {name: value for name, value in document.items() if name not in known}
        for name, value in parameters.items():
            if not isinstance(value, Scalar):
                raise ValueError(f"the stored parameter {name}={value!r} is not a plain value")
        return cls(**settings, reading=reading, parameters=parameters)


SETTINGS = {"source": str | list[str] | None, "output": str | None, "residuals": bool}
"""Settings of a job itself, besides the options of reading, and their types."""


def plain(parameters: Mapping[str, Any]) -> dict[str, Scalar]:
    """Parameters of a model as values that a file can hold."""
    return {name: value if isinstance(value, Scalar) else str(value) for name, value in parameters.items()}


def _checked(what: str, value: Any, kind: Any) -> Any:
    """The value, which a file holds, if it is of this kind; ValueError otherwise."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        raise ValueError(f"the stored {what} cannot be read: {value!r}"[:200]) from None
    return value


MOST_SOURCES = 1000
"""Most sources that are remembered: about three years of daily files."""


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class LearntSource(TypedDict):
    """A source that was learnt, as `sources.identity` names it: a file, or the place where reading ended."""

    name: str
    place: NotRequired[Any]
    bytes: NotRequired[Count]
    sha256: NotRequired[str]
    rows: NotRequired[tuple[Count, Count] | None]


class FleetStart(TypedDict):
    """Counts of a bank when its present source began."""

    calls: Count
    keys: Count
    alarms: Count
    alarmed: bool
    """True once an alarm was on while this source was read."""


LONGEST_SHELF = 8 * 3600.0
"""Seconds for which the page shelves an input at most; a file that asks for more was not written by us."""
MOST_ROWS = 100_000
"""The same in rows."""
# The page's thread looks at all of them four times a second: 2 % of a core for a thousand, 30 % for ten.
MOST_SHELVES = 1000
"""Inputs and keys that may be shelved at once on the page: more than anybody would click."""
MOST_MARKS = 1000
"""Alarms that stay acknowledged, the latest: those that one monitor remembers, or of all keys of a fleet."""

Name = Annotated[str, msgspec.Meta(max_length=10_000)]
Rows = Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=LONGEST_SHELF)]
Moment = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]


class StoredShelf(NamedTuple):
    """Fields of a `Shelf`, but for who has asked for it."""

    name: Name
    rows: Rows | None
    seconds: Seconds | None
    row: Count | None
    time: Moment | None
    key: Name | None = None


class StoredMark(NamedTuple):
    """An alarm that was acknowledged."""

    row: Count
    """Its first row, by the monitor's count."""
    when: Moment
    key: Name | None = None


class HandledRecord(TypedDict):
    """Alarms that were acknowledged, and inputs and keys that were shelved, on the page."""

    acknowledged: Annotated[list[StoredMark], msgspec.Meta(max_length=MOST_MARKS)]
    shelves: Annotated[list[StoredShelf], msgspec.Meta(max_length=MOST_SHELVES)]


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
    fleet: dict[str, Any] | None = None
    """Of a bank: its counts when this source began (`FleetStart`); None for one model."""
    handled: Any = None
    """Acknowledged alarms and shelved inputs (`HandledRecord`); None: there are none."""

    @property
    def sources(self) -> list[dict[str, Any]]:
        """All sources that have been learnt completely."""
        return [*self.learnt, *(self.ended or [])][-MOST_SOURCES:]

    def document(self) -> dict[str, Any]:
        """As plain values for a file."""
        parts = {name: getattr(self, name) for name in _PARTS} | {"recipe": self.request.document()}
        return {name: part for name, part in parts.items() if name not in _LATER or part is not None}

    @classmethod
    def from_document(cls, document: Any) -> Record:
        """The record that `document` wrote; ValueError if it is anything else."""
        if not isinstance(document, dict) or {*document, *_LATER} != {*_PARTS, "recipe"}:
            raise ValueError(
                "it was not saved by eigenstream run or a Job: it does not say where in its source it stands"
            )
        parts: dict[str, Any] = {name: document.get(name) for name in _PARTS}
        for name, (what, kind) in _PARTS.items():
            _checked(what, parts[name], kind)
        for one in (*parts["learnt"], *(parts["ended"] or [])):
            if "place" not in one and not {"bytes", "sha256"} <= set(one):
                raise ValueError(f"the stored sources cannot be told from others: {one!r}"[:200])
        _check_shelves(parts["handled"])
        request = Request.from_document(document["recipe"])
        if (request.output is None) != (parts["output"] is None):
            raise ValueError("the stored output and the position in it do not belong together")
        return cls(request, **parts)


_PARTS: dict[str, tuple[str, Any]] = {
    "source": ("position", dict[str, Any] | None),
    "output": ("position in the output", dict[str, Any] | None),
    "names": ("names of columns", list[str] | None),
    "learnt": ("sources that were learnt", list[LearntSource]),
    "ended": ("source that was learnt last", list[LearntSource] | None),
    "times": ("times", list[tuple[float, float]]),
    "numbering": ("numbers of rows", list[tuple[Count, Count]]),
    "fleet": ("counts of a bank", FleetStart | None),
    "handled": ("acknowledgements and shelves", HandledRecord | None),
}
"""Parts of a record besides the request: their names in messages, and their types."""
_LATER = ("fleet", "handled")
"""Parts that are left out where they are None: files from before them have none either."""


def _check_shelves(handled: HandledRecord | None) -> None:
    """Raise if a shelf has no length or two of them, a duration that begins at no time, or no subject."""
    for fields in () if handled is None else handled["shelves"]:
        shelf = StoredShelf(*fields)
        no_length, no_subject = (shelf.rows is None) == (shelf.seconds is None), not (shelf.name or shelf.key)
        no_time = shelf.seconds is not None and (shelf.row is None) != (shelf.time is None)
        if no_length or no_time or no_subject:
            raise ValueError(f"the stored shelf cannot be read: {fields!r}"[:200])


def record_of(position: Any) -> Record | None:
    """The record that a job has saved with its model, or None if that is something else."""
    try:
        return Record.from_document(position)
    except ValueError:
        return None
