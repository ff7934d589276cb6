"""Options under headings, as help is easier to read in sections than in one long list; types of values."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from itertools import groupby
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # before click 8.4 it takes no type parameter
    ParamType = click.ParamType

Decorator = Callable[[Any], Any]


class Section(StrEnum):
    """Headings of the help, in their order: options that most people need come first."""

    READ = "What to read"
    LEARN = "What to learn"
    WATCH = "What to watch for"
    TELL = "Whom to tell"
    WRITE = "What to write"
    GO_ON = "Going on and stopping"
    SHOW = "What to show"
    KEYS = "One model per key"
    TEXT = "How the file is written"
    SPEED = "How fast to read"
    METHOD = "How to learn"
    OTHER = "Other"

    def option(self, *names: str, **settings: Any) -> Decorator:
        """``click.option`` for an option under this heading; a default shows unless the help has its own."""
        shown = settings.get("default") is not None and "[default:" not in settings["help"]
        return click.option(*names, cls=SectionedOption, section=self, show_default=shown, **settings)

    def flag(self, name: str, help: str) -> Decorator:
        """An option without a value."""
        return self.option(name, is_flag=True, help=help)

    def choice(self, name: str, values: list[str], help: str) -> Decorator:
        """An option with one of these values, by default the first."""
        return self.option(name, type=click.Choice(values), default=values[0], help=help)

    def whole(self, name: str, help: str, least: int = 1, **settings: Any) -> Decorator:
        """An option with a whole number from ``least`` on."""
        return self.option(name, type=click.IntRange(min=least), help=help, **settings)

    def number(self, name: str, help: str, least: float = 0, **settings: Any) -> Decorator:
        """An option with a finite number from ``least`` on."""
        return self.option(name, type=Finite(min=least), help=help, **settings)

    def port(self, name: str, help: str, **settings: Any) -> Decorator:
        """An option with the number of a port."""
        return self.option(name, type=click.IntRange(0, 65535), help=help, **settings)


class SectionedOption(click.Option):
    """An option that belongs under a heading."""

    def __init__(self, *arguments: Any, section: Section, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


def section_of(parameter: click.Parameter) -> Section:
    """The heading of an option; those that click adds by itself, such as ``--help``, come last."""
    return getattr(parameter, "section", Section.OTHER)


class SectionedCommand(click.Command):
    """A command that lists its options under headings."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        # Here, so that the documentation has the same order.
        self.params.sort(key=lambda one: list(Section).index(section_of(one)))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each heading that has options."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option) and not one.hidden]
        for section, listed in groupby(options, key=section_of):
            with formatter.section(section):
                formatter.write_dl([record for one in listed if (record := one.get_help_record(ctx))])


class Finite(click.FloatRange):
    """A number in a range that is neither infinite nor NaN, which no range excludes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class Parsed(ParamType):
    """A value that a function reads from text; the message of its ValueError says what is wrong."""

    def __init__(self, name: str, parse: Callable[[Any], Any]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _samples_or_duration(value: Any) -> Any:
    from ..io.durations import seconds

    try:
        number = float(value)
    except ValueError:
        try:
            seconds(value)
        except ValueError as error:
            raise ValueError(f"{error}; or a number of samples") from None
        return value
    if not 0 < number < inf:
        raise ValueError(f"{value} is not a number of samples above 0")
    return number


def _components(value: Any) -> str:
    from ..rank import rule_of

    try:
        return "auto" if value == "auto" else str(rule_of(value))
    except ValueError:
        raise ValueError(
            f"{value!r} is neither a number of components such as 5, nor a share of the variance such as "
            "95%, nor auto, edge or parallel"
        ) from None


def _row_range(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    start, colon, stop = value.partition(":")
    try:
        span = (int(start or 0), int(stop) if stop else None)
    except ValueError:
        span = (-1, None)
    if not colon or span[0] < 0 or (span[1] is not None and span[1] <= span[0]):
        raise ValueError(f"{value!r} is not a range of rows such as 1000:5000, :5000 or 1000:")
    return span


def _confirmation(value: Any) -> Any:
    from ..monitoring.settings import confirmation

    confirmation(value)
    return value


def _duration(value: Any) -> Any:
    from ..io.durations import seconds

    seconds(value)
    return value


DURATION = Parsed("1s|10min", _duration)
"""A duration that `eigenstream.io.durations.seconds` reads."""
SAMPLES_OR_DURATION = Parsed("NUMBER|10min", _samples_or_duration)
"""A number of samples above 0, or a duration that `eigenstream.io.durations.seconds` reads."""
COMPONENTS = Parsed("auto|5|95%|edge|parallel", _components)
"""A number of components, or how to find it, as a text that `eigenstream.rank.rule_of` reads."""
ROW_RANGE = Parsed("start:stop", _row_range)
"""``START:STOP``, either of which may be left out."""
CONFIRMATION = Parsed("K/N", _confirmation)
"""``K/N``: an alarm counts once K of N rows in sequence exceed a limit."""
