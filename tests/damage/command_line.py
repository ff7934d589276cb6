"""The command line, called on a damaged file."""

import io
import sys
import warnings

import click

from eigenstream.cli import main


def command(words):
    """The command line may end in click's own errors only."""
    shown, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
    try:
        warnings.simplefilter("ignore")  # on a terminal they are shown, no more
        main.main([str(word) for word in words], prog_name="eigenstream", standalone_mode=False)
    except (click.ClickException, click.exceptions.Exit):
        pass
    finally:
        sys.stdout = shown
