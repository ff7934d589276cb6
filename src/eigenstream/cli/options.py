"""Options that several commands share, and their translation into those of the library."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .sections import COMPONENTS, DURATION, ROW_RANGE, SAMPLES_OR_DURATION, Decorator, Finite, Section

if TYPE_CHECKING:
    from ..io.sources import ReadOptions, Source

Command = TypeVar("Command", bound=Callable[..., Any])

LONGEST_NAMES = 1 << 22
"""Most bytes of a file of names: some hundred thousand of them."""
KEYED_BATCH_ROWS = 16_384
"""Rows per batch of run and watch with --key: a call costs as much per key as a few rows."""
NAME_FILES = (".txt", ".csv", ".tsv", ".names", ".lst", ".dat")
"""Endings of files of names; a name of a column may have a point, too, such as T.degC."""
TOO_FEW = 4
"""Exit status if more rows than --skip-at-most allows were left out, or all; everything else was done."""


def _one_or_several(
    ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> str | list[str] | None:
    return list(value) if len(value) > 1 else value[0] if value else None


def _names_or_file(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Names of columns between commas, or those in a file: on one line, or one on each."""
    if value is None:
        return value
    if not Path(value).is_file():
        if "," not in value and Path(value).suffix.lower() in NAME_FILES:
            raise click.BadParameter(
                f"there is no file {value!r}: give a file of names, or names with commas between them"
            )
        return value
    with Path(value).open("rb") as file:
        words = file.read(LONGEST_NAMES + 1)
    if len(words) > LONGEST_NAMES:
        raise click.BadParameter(f"{value!r} has more than {LONGEST_NAMES:,} bytes: are these names?")
    try:
        lines = words.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise click.BadParameter(f"{value!r} is not text in UTF-8") from None
    filled = [line for line in lines if line.strip()]
    if len(filled) == 1:
        filled = next(csv.reader(filled, delimiter=next((d for d in ";\t" if d in filled[0]), ",")))
    return filled


def source_argument(*, required: bool) -> Decorator:
    """One source, or several files that are read one after the other."""
    metavar = "SOURCE..." if required else "[SOURCE]..."
    kind = click.Path(allow_dash=True)
    return click.argument(
        "source", nargs=-1, required=required, metavar=metavar, type=kind, callback=_one_or_several
    )


def together(*options: Decorator) -> Callable[[Command], Command]:
    """Several options as one decorator, listed in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def names_of(options: Decorator) -> tuple[str, ...]:
    """Names of these options in Python, in the order in which they are listed."""
    example = options(click.Command("example"))
    return tuple(parameter.name or "" for parameter in example.params)


source_options = together(
    Section.READ.option(
        "--columns",
        help="Columns to learn, by names, numbers from 0 or ranges: 'a,b', '0:8' or '1:'.  [default: all]",
    ),
    Section.READ.option(
        "--exclude",
        help="Columns to leave out: the same, patterns such as '*_id', or text for those without numbers.",
    ),
    Section.READ.option("--rows", type=ROW_RANGE, help="Read only these rows, such as 1000:5000."),
    Section.READ.option(
        "--every",
        type=DURATION,
        metavar=DURATION.name,
        help="MQTT: a row of each topic's last known value this often.  [default: each message is a row]",
    ),
    Section.SPEED.whole(
        "--batch-rows",
        "Most rows read at a time.  [default: 1024, or fewer where rows are very wide; run and watch with "
        f"--key: {KEYED_BATCH_ROWS}]",
    ),
    Section.READ.choice(
        "--on-bad-row", ["fail", "skip"], help="Fail at a row that cannot be understood, or skip it."
    ),
    Section.READ.option(
        "--skip-at-most",
        type=Finite(min=0, max=1),
        default=0.1,
        help=f"Share of rows that may be skipped; more, or all, and the exit status is {TOO_FEW}.",
    ),
    Section.TEXT.option(
        "--delimiter",
        help="CSV field separator; a space stands for any run of spaces.  [default: auto-detected]",
    ),
    Section.TEXT.option(
        "--header/--no-header", default=None, help="CSV begins with names, or not.  [default: auto-detected]"
    ),
    Section.TEXT.option(
        "--names",
        "titles",
        callback=_names_or_file,
        metavar="a,b,c|FILE",
        help="Names of all columns, in the place of a header, or a file that holds them.",
    ),
    Section.TEXT.option(
        "--decimal", type=click.Choice([".", ","]), help="CSV decimal mark.  [default: auto-detected]"
    ),
    Section.TEXT.option(
        "--comment", help="Skip lines that begin with this, such as '#'.  [default: auto-detected at the top]"
    ),
    Section.TEXT.whole("--skip-lines", "Number of lines to skip at the top.", 0, default=0),
    Section.TEXT.option(
        "--encoding", help="Encoding of text, such as latin-1.  [default: UTF-8, or as its first bytes say]"
    ),
    Section.TEXT.option("--na", help="More ways to write a missing value, such as '-999,?,Bad Input'."),
    Section.TEXT.option(
        "--thousands",
        type=click.Choice([".", ",", " "]),
        help="CSV mark between groups of three digits, as in 1.234,5.",
    ),
    Section.TEXT.option(
        "--array", help="The array of an NPZ file, sheet of XLSX or file in a ZIP, where there are several."
    ),
)

standardize_option = Section.LEARN.flag(
    "--standardize", "Divide each input by its (running) standard deviation."
)
lags_option = Section.LEARN.whole(
    "--lags", "Learn each row together with this number of rows before it.", 0, default=0
)

keep_options = together(
    Section.WRITE.option(
        "--keep", help="Columns to copy to the output as they are, such as 'unit,id'; they are not learnt."
    ),
    Section.READ.option(
        "--time-column",
        help="The column with the time of a row, or several (Date+Time); kept, not learnt, and the axis of "
        "pictures.",
    ),
    Section.READ.option(
        "--time-format",
        help="Format of --time-column: an example such as '31.12.2024 23:59', iso, s, ms, us or ns since "
        "1970, or such as '%d.%m.%Y %H:%M'.  [default: auto-detected]",
    ),
)

residuals_option = Section.WRITE.flag(
    "--residuals",
    "Write each row's squared residual, too: its squared distance from what the components can express.",
)
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace a file that exists.")
threads_option = Section.SPEED.whole("--threads", "Threads that parse text.", default=1)
missing_option = Section.LEARN.choice(
    "--missing",
    ["raise", "skip", "impute"],
    help="Refuse rows that lack values, skip them, or fill the gaps in.",
)

_threshold_options = together(
    Section.METHOD.choice(
        "--regularizer",
        ["input-output", "squared-output", "scale-dependent"],
        help="The paper's regularizer, from which the threshold comes.",
    ),
    Section.LEARN.option(
        "--components",
        "n_components",
        type=COMPONENTS,
        metavar=COMPONENTS.name,
        default="auto",
        help="Components to keep: what stands out of the noise (auto, edge), exactly this many (5), a share "
        "of the variance (95%), or all correlation (parallel: parallel analysis).",
    ),
    Section.METHOD.number("--alpha", "The paper's regularization coefficient, in the place of --components."),
    Section.LEARN.whole("--max-components", "Most components to keep.  [default: 32, or the width]"),
    Section.METHOD.choice(
        "--solver",
        ["auto", "exact", "subspace", "network", "paper"],
        help="The algorithm that keeps the answer up to date. paper: its network, with local learning at the "
        "--alpha that it needs (transform --respond writes its own outputs); network: the same with a start "
        "in closed form, an alpha found from the noise, and what helps it on real streams.",
    ),
    Section.LEARN.option(
        "--half-life",
        type=SAMPLES_OR_DURATION,
        metavar=SAMPLES_OR_DURATION.name,
        help="Samples after which a sample counts half; or a time such as 10min, 2h or 1h30min, for rows "
        "that come with their times.  [default: never forgets]",
    ),
    Section.LEARN.option("--center/--no-center", default=True, help="Subtract the running mean."),
)

_row_options = together(
    lags_option,
    Section.LEARN.choice(
        "--outliers",
        ["keep", "cap"],
        help="Learn from outlying rows as they are, or cap each at the weight of ten usual ones.",
    ),
    missing_option,
)

_scores_option = Section.WRITE.choice(
    "--scores",
    ["shrunk", "projected", "whitened"],
    help="Scores as the paper's networks transmit them, plain projections, or projections of variance 1.",
)

_seed_option = Section.METHOD.option(
    "--seed", "random_state", default=0, type=click.IntRange(min=0), help="Seed of random directions."
)

estimator_options = together(
    _threshold_options, standardize_option, _row_options, _scores_option, _seed_option
)
"""Parameters of a model that scores."""

watching_options = together(
    _threshold_options,
    Section.LEARN.option(
        "--standardize/--no-standardize",
        default=True,
        help="Divide each input by its running standard deviation: inputs of a plant have different units.",
    ),
    _row_options,
    _seed_option,
)
"""Parameters of a model that watches."""

KEEP_OPTIONS = names_of(keep_options)
ESTIMATOR_OPTIONS = names_of(estimator_options)
WATCHING_OPTIONS = names_of(watching_options)


def require_picture(path: str, overwrite: bool) -> None:
    """Raise an error if no picture can be drawn there, before any time is spent."""
    from ..jobs.model_file import refuse_existing
    from ..plotting import require_matplotlib

    if Path(path).suffix.lower() not in (".png", ".svg"):
        raise click.BadParameter(f"{path!r} must end in .png or .svg", param_hint="picture")
    if not Path(path).absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder for {path!r}", param_hint="picture")
    refuse_existing(path, overwrite)
    try:
        require_matplotlib()
    except ImportError as error:
        raise click.ClickException(str(error)) from None


def reading(options: dict[str, Any]) -> ReadOptions:
    """The options that say how to read a source: those of `ReadOptions`, by the same names."""
    from ..io.sources.options import STORED, ReadOptions

    given = {name: options[name] for name in STORED if name in options}
    kept = {name: options[name] or None for name in KEEP_OPTIONS if name in options}  # '' keeps none
    return ReadOptions(**given | kept | {"rows": options["rows"] or (0, None)})


def require_enough(ctx: click.Context, source: Source, most: float, unlearnt: int = 0) -> None:
    """Exit with status `TOO_FEW`, and a sentence, if more than a share of the rows of a source was left out.

    Parameters
    ----------
    most
        The share of rows that may be left out as unreadable.
    unlearnt
        Number of the rows read, if not one of them was of use, else 0.
    """
    from ..io.files import shown

    came = source.count + source.skipped
    if unlearnt:
        said = f"of {unlearnt:,} rows none was of use: all lack values (--missing impute fills gaps)"
    elif source.skipped > most * came:
        since = f", the first since {source.first_skip}" if source.first_skip else ""
        said = f"{source.skipped:,} of {came:,} rows were left out{since} (--skip-at-most {most:g})"
    else:
        return
    click.echo(shown(f"Error: {source.name}: {said}"), err=True)
    ctx.exit(TOO_FEW)


def require_input(source: str | list[str] | None) -> None:
    """Raise an error if standard input is asked for and closed."""
    if source == "-" and sys.stdin is None:
        raise click.UsageError("standard input is closed: name a file, or pipe something in")
