"""The command line. Heavy imports stay inside the commands, so that ``--help`` is instant."""

from __future__ import annotations

import click

from .demo import demo
from .reproduce import reproduce


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="eigenstream")
def main() -> None:
    """Streaming PCA that finds its own number of components."""


for _command in (demo, reproduce):
    main.add_command(_command)
