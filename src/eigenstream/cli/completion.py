"""Completion for shells."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


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
