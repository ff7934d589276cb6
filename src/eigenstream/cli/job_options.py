"""Options of the commands that carry out a job: run and watch."""

from __future__ import annotations

from typing import Any

import click

from .options import keep_options, source_argument, source_options, threads_option, together
from .sections import Decorator, Section
from .types import Finite

KEYED_SETTINGS = {
    "batch_rows": 16_384,  # a call costs as much per key as a few rows
    "checkpoint_rows": 10_000_000,  # a save costs as much per key as hundreds of rows
}
"""Settings for one model per key, unless others are given."""
FOR_ONE_MODEL = ("model", "picture", "live", "metrics", "residuals", "frozen")
"""Options that cannot be used with --key."""

_keeping_options = together(
    Section.WRITE.option("--save", type=click.Path(dir_okay=False), help="Keep the model in this file."),
    Section.GO_ON.option(
        "--resume",
        is_flag=True,
        help="Continue after the last checkpoint in --save, if there is one.",
    ),
    Section.GO_ON.option(
        "--model",
        type=click.Path(exists=True, dir_okay=False),
        help="Go on from this model with another source; --save may name the same file.",
    ),
    Section.GO_ON.option(
        "--relearn",
        is_flag=True,
        help="With --model: learn a known source once more, or leave the last one unfinished.",
    ),
    Section.WRITE.option("--overwrite", is_flag=True, help="Replace an existing model and output."),
    Section.GO_ON.option("--follow", is_flag=True, help="Wait for more lines at the end of a growing file."),
    Section.GO_ON.option(
        "--idle",
        type=Finite(min=0),
        help="With --follow: end after this number of seconds without a new line.",
    ),
    Section.GO_ON.option(
        "--checkpoint-rows",
        type=click.IntRange(min=1),
        default=100_000,
        help="With --save: save after this number of rows, at the end of a batch (see --batch-rows) ...",
    ),
    Section.GO_ON.option(
        "--checkpoint-seconds",
        type=Finite(min=0),
        default=30.0,
        help="... and after this number of seconds.",
    ),
    Section.SPEED.option("--rate", type=Finite(min=1e-3), help="Most rows read per second."),
    threads_option,
)
"""The file of the model, and the speed of reading."""

_key_options = together(
    Section.KEYS.option(
        "--key",
        help="The column with the key of a row: one model per key, all in the file --save names.",
    ),
    Section.KEYS.option(
        "--max-models",
        type=click.IntRange(min=1),
        help="With --key: most models in memory; the longest idle wait in the file.  [default: all]",
    ),
)
"""One model per key."""

_showing_options = together(
    Section.SHOW.option("--live", is_flag=True, help="Show a live page in the browser."),
    Section.SHOW.option(
        "--live-address",
        default="127.0.0.1",
        help="The address at which the live page listens.",
    ),
    Section.SHOW.option(
        "--live-port",
        default=0,
        type=click.IntRange(0, 65535),
        help="The port of the live page.  [default: any that is free]",
    ),
    Section.SHOW.option(
        "--live-seconds",
        type=Finite(min=0),
        help="Seconds to serve the live page after the end.  [default: on a terminal, until Ctrl-C]",
    ),
    Section.SHOW.option(
        "--metrics",
        type=click.IntRange(0, 65535),
        metavar="PORT",
        help="Serve metrics to Prometheus on this port; 0: any that is free.",
    ),
    Section.SHOW.option(
        "--metrics-host",
        default="127.0.0.1",
        help="The address at which metrics are served.",
    ),
)
"""The live page and the metrics."""


def job_options(*own: Decorator, output: str, picture: str, quiet: str, as_json: str) -> Decorator:
    """The source, all options that run and watch share, and those of one of them.

    Parameters
    ----------
    *own
        Options of the command itself, listed after those that say how to read.
    output, picture, quiet, as_json
        Help of these options.
    """
    return together(
        source_argument(required=False),
        Section.WRITE.option("--output", type=click.Path(allow_dash=True), help=output),
        source_options,
        keep_options,
        *own,
        _keeping_options,
        _key_options,
        Section.WRITE.option("--picture", type=click.Path(dir_okay=False), help=picture),
        Section.SHOW.option("--quiet", is_flag=True, help=quiet),
        Section.SHOW.option("--json", "as_json", is_flag=True, help=as_json),
        _showing_options,
    )


def keyed_settings(given: dict[str, Any], stated: set[str]) -> dict[str, Any]:
    """The options of a job with one model per key; an error where one is for a single model."""
    for name in FOR_ONE_MODEL:
        if given.get(name) is not None and given[name] is not False:  # a port may be 0
            raise click.UsageError(f"--{name} is for one model: it cannot be used with --key")
    if given["source"] is None and not given["resume"]:
        raise click.UsageError("--key needs a SOURCE with a column of keys")
    return given | {name: value for name, value in KEYED_SETTINGS.items() if name not in stated}


def check_job_options(given: dict[str, Any]) -> None:
    """Raise a usage error where options need others that are missing, or exclude each other."""
    if given["quiet"] and given["as_json"]:
        raise click.UsageError("--quiet and --json exclude each other")
    if given["alpha"] is not None and given["n_components"] != "auto":
        raise click.UsageError(
            f"--components {given['n_components']} says how many components to keep, and so does --alpha, "
            "the paper's coefficient: give one of them"
        )
    if given["resume"] and not given["save"]:
        raise click.UsageError("--resume needs --save MODEL: the model to continue")
    if given["relearn"] and not given["model"]:
        raise click.UsageError("--relearn needs --model MODEL: the model to go on from")
    if given["idle"] is not None and not given["follow"]:
        raise click.UsageError("--idle says when to stop following: it needs --follow")
    if given["max_models"] is not None and given["key"] is None:
        raise click.UsageError("--max-models bounds the models of many keys: it needs --key")
    if given["save"] and given["output"] == "-":
        raise click.UsageError("standard output cannot be cut back to a checkpoint: --save needs a file")
