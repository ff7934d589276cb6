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
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import files, sources
from ..sinks import Sink, check_output, open_sink
from ..tracking import StreamModel
from .job import Job
from .model_file import ModelFile, RunError
from .record import Record, Request

if TYPE_CHECKING:
    from .learner import Model

PathLike = str | os.PathLike[str]


def prepare(
    request: Request,
    *,
    save: PathLike | None = None,
    resume: bool = False,
    overwrite: bool = False,
    stated: Collection[str] | None = None,
    model: Model | None = None,
    follow: bool = False,
    idle: float | None = None,
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
    stated
        Names of the settings and parameters that must agree with those of the job that is resumed; by default
        those that are not left at their defaults.
    model
        What to begin with; by default a `StreamModel` with the request's parameters.
    follow, idle
        As in `eigenstream.sources.open`.
    **pace
        ``every_rows``, ``every_seconds`` and ``rate`` of the `Job`.

    Raises
    ------
    RunError, SinkError, SourceError, ValueError
        If it cannot begin, or something would be lost.
    """
    stated = request.stated() if stated is None else stated
    files.refuse_shared({"source": request.source, "model": save, "output": request.output})
    if request.output is not None:
        check_output(request.output)
    with ExitStack() as stack:
        file = ModelFile(save) if save is not None else None
        if file is not None:
            stack.callback(file.close)
        record, saved_model = _checkpoint(file) if file is not None and resume else (None, None)
        if record is not None and file is not None:
            request = _continued(request, record, stated, file)
            files.refuse_shared({"source": request.source, "model": save, "output": request.output})
        outlet = Outlet(request.output, record, file, resume, overwrite)
        if record is None:
            _refuse_replacing(file, resume, overwrite)
            outlet.refuse_replacing()
        source = sources.open(
            request.source,
            position=record.source if record else None,
            follow=follow,
            idle=idle,
            allow_nan=request.parameters.get("missing", "raise") != "raise",
            **request.reading(),
        )
        stack.callback(source.close)
        job = Job(
            saved_model or model or _new_model(request),
            source,
            sink=None if request.output is None else outlet.open,
            file=file,
            position=record.source if record else None,
            # The batch size in use: a resumed job has to cut batches at the same rows.
            request=replace(request, batch_rows=source.batch_rows),
            **pace,
        )
        stack.pop_all()
    return job


def _checkpoint(file: ModelFile) -> tuple[Record | None, StreamModel | None]:
    """What was written down last, and the model, if there is one to continue."""
    if not file.has_checkpoint():
        return None, None
    model = StreamModel.load(file.target)
    try:
        return Record.from_document(model.position_), model
    except ValueError as error:
        raise RunError(f"{file.path} cannot be resumed: {error}") from None


def _continued(request: Request, record: Record, stated: Collection[str], file: ModelFile) -> Request:
    """The request of the job that is resumed, if what is asked now agrees with it."""
    before, path = record.request, file.path
    if before.output is not None and request.output is None and not file.owns(before.output):
        raise RunError(
            f"{path} says that it was writing scores to {files.shown(before.output)}, but nothing on this "
            "computer proves it: name the output to continue it, or start afresh (overwrite)"
        )
    if before.output is None and request.output is not None:
        raise RunError(f"{path} was made without an output: resume without one, or start afresh (overwrite)")
    name = request.difference(before, stated)
    if name is not None:
        raise RunError(
            f"{path} was made with {name}={before.value(name)!r}, not {name}={request.value(name)!r}: resume "
            f"without {name}, or start afresh (overwrite)"
        )
    return replace(before, source=request.source or before.source, output=request.output or before.output)


def _refuse_replacing(file: ModelFile | None, resume: bool, overwrite: bool) -> None:
    if overwrite or file is None or not file.target.exists():
        return
    if not (resume and not file.has_checkpoint()):
        raise RunError(f"{file.path} exists: continue it (resume) or replace it (overwrite)")


class Outlet:
    """The output of one job: whether it may be written to, asked before the job and when it is opened."""

    def __init__(
        self, path: str | None, record: Record | None, file: ModelFile | None, resume: bool, overwrite: bool
    ) -> None:
        self.path, self.place = path, record.output if record else None
        self.file, self.resume, self.overwrite = file, resume, overwrite

    def refuse_replacing(self) -> None:
        """Raise if there is something that nobody said may be replaced."""
        if self.path is None or self.path == "-" or not _holds_something(Path(self.path)):
            return
        if not self._may_replace(files.identity(self.path)):
            raise RunError(f"{self.path} exists: replace it (overwrite), or choose another name")

    def open(self, width: int, dtype: Any) -> Sink:
        """Open the output, locked and compared with the checkpoint; nothing in it has been touched yet."""
        assert self.path is not None
        sink = open_sink(self.path, width, dtype, self.place)
        try:
            if sink.excess() and sink.identity is not None and not self._may_cut(sink.identity):
                raise RunError(self._complaint())
        except BaseException:
            sink.close()
            raise
        return sink

    def _may_cut(self, identity: dict[str, Any]) -> bool:
        if self.place is None:
            return self._may_replace(identity)
        return self.file is not None and self.file.wrote(identity)

    def _may_replace(self, identity: dict[str, Any]) -> bool:
        """A job that was killed before its first checkpoint has left an output without a model."""
        return self.overwrite or (self.resume and self.file is not None and self.file.began(identity))

    def _complaint(self) -> str:
        if self.place is None or self.file is None:
            return f"{self.path} exists: replace it (overwrite), or choose another name"
        return (
            f"{self.path} holds more than the checkpoint in {self.file.path} knows of, and nothing proves "
            "that this job wrote it: name the file that the job was writing to, or start afresh (overwrite)"
        )


def _holds_something(path: Path) -> bool:
    """Whether anything could be lost: an empty file or folder counts as none."""
    if path.is_dir():
        return any(path.iterdir())
    return path.exists() and path.stat().st_size > 0


def refuse_existing(path: PathLike, overwrite: bool) -> None:
    """Raise if there is something at ``path`` and nobody said that it may be replaced."""
    if os.fspath(path) != "-" and _holds_something(Path(path)) and not overwrite:
        raise RunError(f"{path} exists: replace it (overwrite), or choose another name")


def output_opener(path: str, overwrite: bool) -> Callable[[int, Any], Sink]:
    """What `score` asks for: opens an output that begins anew."""
    return Outlet(path, None, None, False, overwrite).open


def _new_model(request: Request) -> StreamModel:
    return StreamModel(**dict(request.parameters))
