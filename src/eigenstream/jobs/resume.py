"""Everything a job needs before its first row: what it continues from, and what it may write to.

The rules, in this order:

1. Source, model and output are different files.
2. A file is written to because the caller names it, or because the note beside the model, which holds the
   file's number on this computer, says that it is the job's own. A model file alone decides nothing.
3. What exists is replaced only with ``overwrite``, and only when there is something to put in its place.
4. An output is continued only where it holds what the checkpoint says was written last, and cut only where
   the note says that it was this job that wrote to it.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..io import files
from ..io.sinks import check_output
from ..io.sources import Hint
from ..keyed import Bank
from .job import Job
from .judge import model_for
from .model_file import ModelFile, RunError
from .monitors import Monitors
from .outlet import REPLACE, Outlet
from .record import Request
from .starting_point import GO_ON, Standing, standing_of

if TYPE_CHECKING:
    from .learner import Model

PathLike = str | os.PathLike[str]


def prepare(
    request: Request,
    *,
    save: PathLike | None = None,
    resume: bool = False,
    overwrite: bool = False,
    start: PathLike | None = None,
    anyway: bool = False,
    stated: Collection[str] | None = None,
    model: Model | None = None,
    follow: bool = False,
    idle: float | None = None,
    threads: int = 1,
    **pace: Any,
) -> Job:
    """Lock, load and open everything for a job; what exists stays as it is until its first row is learnt.

    Parameters
    ----------
    request
        What the job is to do. When resuming, a source that is None is the one from before.
    save
        The file that keeps the model.
    resume
        Continue after the last checkpoint in ``save``, if there is one.
    overwrite
        Replace a model and an output that exist.
    start
        The file of a model to go on from, with its own settings; may be the same as ``save``.
    anyway
        With ``start``: learn a source that was learnt before once more, or leave the last one unfinished.
    stated
        Names of the settings and parameters that must agree with those of the job that is resumed; by default
        those that are not left at their defaults.
    model
        What to begin with; by default a `StreamModel` (a `MonitoredModel` if it watches) with the request's
        parameters.
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
    files.refuse_shared({"source": request.source, "model": save, "output": request.output})
    files.refuse_shared({"source": request.source, "model to go on from": start, "output": request.output})
    if request.output is not None:
        beside = request.reading.keep is not None or request.key is not None or request.watches
        check_output(request.output, keep=beside)
    opening = {"follow": follow, "idle": idle, "threads": threads}
    with ExitStack() as stack:
        file = ModelFile(save) if save is not None else None
        if file is not None:
            stack.callback(file.close)
        standing = standing_of(file, resume, start, request, opening)
        if isinstance(standing.model, Bank | Monitors):
            stack.callback(standing.model.close)
        request = standing.request(request, stated, anyway)
        files.refuse_shared({"source": request.source, "model": save, "output": request.output})
        outlet = Outlet(request.output, standing.record, file, resume, overwrite)
        if standing.record is None:
            if not standing.in_place:
                _refuse_replacing(file, resume, overwrite, keyed=request.key is not None)
            outlet.refuse_replacing()
        source = standing.opened(request, stated, opening)
        stack.callback(source.close)
        job = Job(
            _model(standing, request, model, file),
            source,
            sink=None if request.output is None else outlet.open,
            file=file,
            position=standing.position,
            # The batch size in use: a resumed job has to cut batches at the same rows.
            request=replace(request, reading=replace(request.reading, batch_rows=source.batch_rows)),
            learnt=standing.learnt_before(source, request, anyway),
            times=standing.times,
            numbering=standing.numbering,
            names=standing.names,
            going_on=standing.in_place,
            **pace,
        )
        stack.pop_all()
    return job


def _refuse_replacing(file: ModelFile | None, resume: bool, overwrite: bool, *, keyed: bool) -> None:
    if overwrite or file is None or not file.target.exists():
        return
    if not (resume and not file.has_checkpoint()):
        raise RunError(
            f"{file.path} exists",
            Hint("resume", None, "continues it"),
            *([] if keyed else [Hint("model", str(file.path), GO_ON)]),
            REPLACE,
        )


def _model(standing: Standing, request: Request, given: Model | None, file: ModelFile | None) -> Any:
    if standing.record is not None and standing.model is not None:
        return standing.model
    if standing.model is None and given is not None:
        return given
    if request.key is not None:
        path, parameters = None if file is None else file.target, dict[str, Any](request.parameters)
        return Monitors(path, fresh=True) if request.watches else Bank(path, fresh=True, **parameters)
    try:
        assert not isinstance(
            standing.model, Bank | Monitors
        )  # a bank is never what another job goes on from
        return model_for(request, standing.model)
    except ValueError as error:
        where = f"{standing.beginning.path}: " if standing.beginning else ""
        raise RunError(f"{where}{error}") from None
