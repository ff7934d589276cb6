"""Everything a job needs before its first row: what it continues from, and what it may write to.

The rules, in this order:

1. Source, model, output and picture are different files.
2. A file is written to because the caller names it, or because the note beside the model, which holds the
   file's number on this computer, says that it is the job's own. A model file alone decides nothing.
3. An existing file is replaced only with ``overwrite``, and only when there is something to put in its place.
4. An output is continued only where it holds what the checkpoint says was written last, and cut only where
   the note says that it was this job that wrote to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..io.files import PathLike
from ..io.sinks import check_output
from ..io.sources import Hint
from ..keyed import Bank, MonitorBank, Store, open_bank
from .job import Job
from .judging import model_for, parameters_of_model, settings_of
from .model_file import REPLACE, ModelFile, Outlet, RunError
from .record import Request
from .starting_point import GO_ON, StartingPoint, starting_point

if TYPE_CHECKING:
    from .stage import Model


def prepare(
    request: Request,
    *,
    save: PathLike | None = None,
    resume: bool = False,
    overwrite: bool = False,
    start: PathLike | None = None,
    relearn: bool = False,
    stated: Collection[str] | None = None,
    model: Model | None = None,
    beside: Mapping[str, PathLike | None] | None = None,
    follow: bool = False,
    idle: float | None = None,
    threads: int = 1,
    **pace: Any,
) -> Job:
    """Lock, load and open everything for a job; files that exist stay until its first row is learnt.

    Parameters
    ----------
    request
        The work to do. When resuming, a source that is None is the one from before.
    save
        The file that keeps the model.
    resume
        Continue after the last checkpoint in ``save``, if there is one.
    overwrite
        Replace an existing model and output.
    start
        The file of a model to go on from, with its own settings; may be the same as ``save``.
    relearn
        With ``start``: learn a source that was learnt before once more, or leave the last one unfinished.
    stated
        Names of the settings and parameters that must agree with those of the job that is resumed; by default
        those that are not left at their defaults.
    model
        The model to begin with; by default a `StreamModel` (a `MonitoredModel` if it watches) with the
        request's parameters.
    beside
        Other files that the caller is going to write, by what they are, such as a picture.
    follow, idle, threads
        As in `eigenstream.sources.open`.
    **pace
        ``every_rows``, ``every_seconds`` and ``rate`` of the `Job`.

    Raises
    ------
    RunError, SinkError, SourceError, ValueError
        If it cannot begin, or something would be lost.
    """
    stated = set(request.stated() if stated is None else stated)
    _refuse_output(request)
    opening = {"follow": follow, "idle": idle, "threads": threads}
    with ExitStack() as stack:
        file = None
        if save is not None:
            file = ModelFile(save)
            stack.callback(file.close)
        point = starting_point(file, resume, start, request, opening, beside or {})
        if point.is_bank:
            stack.callback(point.model.close)
        request = point.request(request, stated, relearn, file)
        _refuse_output(request)  # keys may be the model's own
        outlet = Outlet(request.output, point.record if point.resumed else None, file, resume, overwrite)
        if not point.resumed:
            if not point.in_place:
                _refuse_replacing(file, resume, overwrite)
            outlet.refuse_replacing()
        source = point.opened(request, stated, opening)
        stack.callback(source.close)
        learnt, known = point.learnt_before(source, request, relearn)
        job = Job(
            _model(point, request, model, file, source.names),
            source,
            sink=None if request.output is None else outlet.open,
            file=file,
            position=point.position,
            # The batch size in use: a resumed job has to cut batches at the same rows.
            request=replace(request, reading=replace(request.reading, batch_rows=source.batch_rows)),
            learnt=learnt,
            known=known,
            times=point.times,
            numbering=point.numbering,
            fleet=point.fleet,
            handling=point.handling,
            names=point.names,
            going_on=point.in_place,
            **pace,
        )
        stack.pop_all()
    return job


def _refuse_output(request: Request) -> None:
    """Raise if the output cannot hold what the job writes."""
    if request.output is not None:
        with_text = request.reading.keep is not None or request.key is not None or request.watches
        check_output(request.output, keep=with_text)


def _refuse_replacing(file: ModelFile | None, resume: bool, overwrite: bool) -> None:
    if overwrite or file is None or not file.target.exists():
        return
    if not (resume and not file.has_checkpoint()):
        raise RunError(
            f"{file.path} exists",
            Hint("resume", None, "continues it"),
            Hint("model", str(file.path), GO_ON),
            REPLACE,
        )


def _model(
    point: StartingPoint, request: Request, given: Model | None, file: ModelFile | None, names: Any
) -> Any:
    if point.resumed or (point.is_bank and point.in_place):
        return point.model
    if point.model is None and given is not None:
        return given
    path = None if file is None else file.target
    if point.is_bank:
        point.model.close()  # it was read to know what it is; its models go on in another file, or in none
        return open_bank(Store.copied(path or ":memory:", point.path))
    if request.key is not None:
        parameters = parameters_of_model(request.parameters)
        if request.watches:
            settings = settings_of(request.parameters)
            return MonitorBank(path, settings=settings, features=names, fresh=True, **parameters)
        return Bank(path, fresh=True, **parameters)
    try:
        return model_for(request, point.model)
    except ValueError as error:
        raise RunError(f"{point.path}: {error}" if point.path else str(error)) from None
