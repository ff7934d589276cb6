"""The command line. Heavy imports stay inside the commands, so that ``--help`` is instant."""

from __future__ import annotations

from typing import Any

import click

from .calibrate import calibrate
from .completion import completion
from .hints import in_words
from .models import export, inspect, merge, transform
from .reproduce import reproduce
from .run import run
from .watch import watch


class Commands(click.Group):
    """Turns errors of files and values into messages instead of tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):  # which click knows what to do with
            raise
        except (ValueError, RuntimeError, OSError) as error:
            raise click.ClickException(in_words(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="eigenstream")
def main() -> None:
    """Streaming PCA that finds its own number of components."""


for _command in (run, watch, transform, inspect, export, calibrate, merge, reproduce, completion):
    main.add_command(_command)
