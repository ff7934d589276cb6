"""Types of the values of options."""

from __future__ import annotations

from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # before click 8.4 it takes no type parameter
    ParamType = click.ParamType


class Finite(click.FloatRange):
    """A number in a range that is neither infinite nor NaN, which no range excludes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class SamplesOrDuration(ParamType):
    """A number of samples above 0, or a duration that `eigenstream.io.durations.seconds` reads."""

    name = "number|10min"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..io.durations import seconds

        try:
            number = float(value)
        except ValueError:
            try:
                seconds(value)
            except ValueError as error:
                self.fail(f"{error}; or a number of samples", param, ctx)
            return value
        if not 0 < number < inf:
            self.fail(f"{value} is not a number of samples above 0", param, ctx)
        return number


class Components(ParamType):
    """A number of components, or how to find it, as a text that `eigenstream.rules.rule_of` reads."""

    name = "auto|5|95%|edge|parallel"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..rank import rule_of

        try:
            return "auto" if value == "auto" else str(rule_of(value))
        except ValueError:
            self.fail(
                f"{value!r} is neither a number of components such as 5, nor a share of the variance such as "
                "95%, nor auto, edge or parallel",
                param,
                ctx,
            )


class RowRange(ParamType):
    """``START:STOP``, either of which may be left out."""

    name = "start:stop"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        start, colon, stop = value.partition(":")
        try:
            span = (int(start or 0), int(stop) if stop else None)
        except ValueError:
            span = (-1, None)
        if not colon or span[0] < 0 or (span[1] is not None and span[1] <= span[0]):
            self.fail(f"{value!r} is not a range of rows such as 1000:5000, :5000 or 1000:", param, ctx)
        return span
