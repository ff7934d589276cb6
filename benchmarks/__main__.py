"""``python -m benchmarks``: measure, and write Markdown, JSON and PNG."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from types import ModuleType

import click

from benchmarks.machine import busy_elsewhere
from benchmarks.meter import Meter
from benchmarks.publish import index, name_of, publish
from benchmarks.sections import SECTIONS

NAMES = {name_of(section): section for section in SECTIONS}
RESULTS = Path(__file__).parent / "results"


@click.command()
@click.option("--quick", is_flag=True, help="Small sizes and few repeats: does it run?")
@click.option("--only", type=click.Choice(list(NAMES)), help="One section instead of all.")
@click.option("--out", type=click.Path(path_type=Path), help="Where results go; needed with --quick.")
def main(quick: bool, only: str | None, out: Path | None) -> None:
    """Measure eigenstream against its peers, and write the results as Markdown, JSON and PNG."""
    if quick and out is None:
        raise click.UsageError("--quick needs --out: its figures must not replace the real ones")
    measure([NAMES[only]] if only else SECTIONS, quick, out or RESULTS)


def measure(sections: list[ModuleType], quick: bool, out: Path) -> None:
    """Run the sections and publish each as soon as it is done."""
    with Meter(sum(section.seconds(quick) for section in sections)) as meter:
        for section in sections:
            start, others = perf_counter(), busy_elsewhere()
            results = section.run(meter, quick)
            seconds = perf_counter() - start
            load = (busy_elsewhere() - others) / seconds
            publish(section, {"seconds": seconds, "cores used by others": load, **results}, out)
    index(SECTIONS, out)
    click.echo(f"results are in {click.format_filename(out)}")


if __name__ == "__main__":
    main()
