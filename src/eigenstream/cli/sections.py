"""Options under headings: help is easier to read in sections than in one long list."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from itertools import groupby
from typing import Any

import click

Decorator = Callable[[Any], Any]


class Section(StrEnum):
    """Headings of the help, in their order: options that most people need come first."""

    READ = "What to read"
    LEARN = "What to learn"
    WATCH = "What to watch for"
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

    def choice(self, name: str, values: list[str], help: str) -> Decorator:
        """An option with one of these values, by default the first."""
        return self.option(name, type=click.Choice(values), default=values[0], help=help)


class SectionedOption(click.Option):
    """An option that belongs under a heading."""

    def __init__(self, *arguments: Any, section: Section, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


def section_of(parameter: click.Parameter) -> Section:
    """The heading of an option; those that click adds by itself, such as ``--help``, come last."""
    return getattr(parameter, "section", Section.OTHER)


def _place(parameter: click.Parameter) -> int:
    return list(Section).index(section_of(parameter))


class SectionedCommand(click.Command):
    """A command that lists its options under headings."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params.sort(key=_place)  # here, so that the documentation has the same order

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each heading that has options."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option) and not one.hidden]
        for section, listed in groupby(options, key=section_of):
            with formatter.section(section):
                formatter.write_dl([record for one in listed if (record := one.get_help_record(ctx))])
