"""Write the files that the commands of the documentation read."""

from __future__ import annotations

from pathlib import Path

import click

from .options import overwrite_option


@click.command(epilog="Example: eigenstream example trial")
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
@overwrite_option
def example(folder: Path, overwrite: bool) -> None:
    """Write files to try all other commands on.

    A plant of eight sensors of which three fail in turn, in a table with times, in pieces, in a database, as
    programs in Europe write it, and as a fleet of trucks: the files of the documentation, 5 MB. They go into
    the present folder or into FOLDER.
    """
    from ..io import files
    from ..io.example_files import contents
    from ..jobs.model_file import refuse_existing

    made = {folder / name: content for name, content in contents().items()}
    for path in made:
        refuse_existing(path, overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in made.items():
        files.replace(path, content)
        click.echo(f"wrote {files.shown(path)}")
