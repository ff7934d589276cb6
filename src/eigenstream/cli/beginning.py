"""Everything a job needs before its first row: what it is asked to do, and what it continues from."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import ESTIMATOR_OPTIONS, SOURCE_OPTIONS

if TYPE_CHECKING:
    from ..estimators import OnlineAdaptivePCA
    from ..running import Job, ModelFile
    from ..sources import Source

BUILT_IN = {"half_life": 150.0, "batch_rows": 100}
"""What suits the built-in stream, which changes: unless asked otherwise."""
BUILT_IN_RATE = 2500.0
"""Rows a second, slow enough to be watched."""


@dataclass
class Begun:
    """A job ready to go."""

    job: Job
    notes: list[str] = field(default_factory=list)


def begin(given: dict[str, Any], stated: set[str], stack: ExitStack) -> Begun:
    """Lock, load and open everything, in the order in which nothing can be lost."""
    from ..running import Job, ModelFile
    from ..sinks import open_sink

    file: ModelFile | None = None
    if given["save"]:
        file = ModelFile(given["save"])
        stack.callback(file.close)
    saved, model = _saved(file, given)
    recipe = _recipe(given, stated, saved)
    if model is None:
        _refuse_overwriting(file, given, recipe)
        model = _new_model(recipe)
    source = _open_source(recipe, given, saved)
    recipe["batch_rows"] = source.batch_rows  # whatever it followed from, the grid stays
    place = saved.get("output") if saved else None
    output = recipe["output"]
    if file is not None:
        file.note = {"output": output}
        if not saved:
            file.path.unlink(missing_ok=True)  # or a later --resume would continue what is overwritten now
    job = Job(
        model,
        source,
        sink=None if output is None else lambda width, dtype: open_sink(output, width, dtype, place),
        file=file,
        position=saved["source"] if saved else None,
        recipe=recipe,
        every_rows=given["checkpoint_rows"],
        every_seconds=given["checkpoint_seconds"],
        rate=given["rate"] or (BUILT_IN_RATE if recipe["source"] is None else None),
    )
    return Begun(job)


def _saved(file: ModelFile | None, given: dict[str, Any]) -> tuple[dict[str, Any], OnlineAdaptivePCA | None]:
    """What was written down at the last checkpoint, and the model, if there is one to continue."""
    from .. import load

    if file is None or not given["resume"] or not file.path.exists():
        return {}, None
    model = load(file.path)
    position = model.position_
    if not isinstance(position, dict) or not {"source", "output", "recipe"} <= set(position):
        raise click.ClickException(
            f"{file.path} was not saved by eigenstream run: it does not say where in its source it stands"
        )
    return position, model


def _recipe(given: dict[str, Any], stated: set[str], saved: dict[str, Any]) -> dict[str, Any]:
    """Everything that decides about the result; when resuming, as it was, and what is asked must agree."""
    names = (*SOURCE_OPTIONS, *ESTIMATOR_OPTIONS, "output")
    asked = {name: given[name] for name in names}
    asked["rows"] = list(asked["rows"] or (0, None))
    if not saved:
        if given["source"] is None:
            asked |= {name: value for name, value in BUILT_IN.items() if name not in stated}
        return {"source": given["source"], **asked}
    recipe: dict[str, Any] = saved["recipe"]
    for name in stated & set(names):
        if asked[name] != recipe.get(name):
            raise click.ClickException(
                f"{given['save']} was made with {_said(recipe, name)}, not {_said(asked, name)}: "
                f"resume without {_option(name)}, or start afresh with --overwrite"
            )
    return recipe | ({"source": given["source"]} if "source" in stated and given["source"] else {})


def _said(options: dict[str, Any], name: str) -> str:
    value = options.get(name)
    return f"no {_option(name)}" if value is None else f"{_option(name)} {value}"


def _option(name: str) -> str:
    return "--seed" if name == "random_state" else "--" + name.replace("_", "-")


def _refuse_overwriting(file: ModelFile | None, given: dict[str, Any], recipe: dict[str, Any]) -> None:
    """An error if something would be lost that nobody said may be."""
    if given["overwrite"]:
        return
    if file is not None and file.path.exists():
        raise click.ClickException(f"{file.path} exists: continue it with --resume, or --overwrite it")
    output = recipe["output"]
    # A job that was killed before its first checkpoint has left an output without a model.
    ours = given["resume"] and file is not None and file.note.get("output") == output
    if output not in (None, "-") and Path(output).exists() and not ours:
        raise click.ClickException(f"{output} exists: --overwrite it, or choose another name")


def _new_model(recipe: dict[str, Any]) -> OnlineAdaptivePCA:
    from .. import OnlineAdaptivePCA

    return OnlineAdaptivePCA(**{name: recipe[name] for name in ESTIMATOR_OPTIONS})


def _open_source(recipe: dict[str, Any], given: dict[str, Any], saved: dict[str, Any]) -> Source:
    from .. import sources

    options = {name: recipe[name] for name in SOURCE_OPTIONS if name in recipe}
    options["rows"] = tuple(recipe["rows"])
    return sources.open(
        recipe["source"],
        position=saved["source"] if saved else None,
        follow=given["follow"],
        idle=given["idle"],
        allow_nan=recipe["missing"] != "raise",
        **options,
    )
