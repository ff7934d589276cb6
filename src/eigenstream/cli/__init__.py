"""The command line. Heavy imports stay inside the commands, so that ``--help`` is instant."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import get_completion_class

from .calibrate import calibrate
from .example import example
from .fill import fill, forecast
from .hints import in_words
from .models import export, inspect, merge, transform
from .reproduce import reproduce
from .run import run, watch


class Commands(click.Group):
    """Turns errors of files and values into messages instead of tracebacks.

    Names of files, columns and keys in them are shown without the control characters that a terminal obeys.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):  # which click knows what to do with
            raise
        except click.ClickException as error:
            error.__dict__["message"] = _shown(error.message)  # final, says its type
            raise
        except (ValueError, RuntimeError, OSError, ImportError) as error:
            raise click.ClickException(_shown(in_words(error))) from error


def _shown(message: str) -> str:
    """The message without control characters other than ends of lines."""
    from ..io.files import shown

    return "\n".join(map(shown, message.split("\n")))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="eigenstream")
def main() -> None:
    """Streaming PCA that finds its own number of components."""


@click.command(epilog="Example: eigenstream completion zsh")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, /, shell: str) -> None:
    """Print a script for completion in the shell.

    \b
    To have it always, put this into the shell's start-up file:
        bash   eval "$(eigenstream completion bash)"
        zsh    eval "$(eigenstream completion zsh)"
        fish   eigenstream completion fish | source
    """
    root = ctx.find_root()
    maker = get_completion_class(shell)
    assert maker is not None
    click.echo(maker(root.command, {}, "eigenstream", "_EIGENSTREAM_COMPLETE").source())


for _command in (
    run,
    watch,
    fill,
    forecast,
    transform,
    inspect,
    export,
    calibrate,
    merge,
    reproduce,
    example,
    completion,
):
    main.add_command(_command)
