"""The output of a job, and the rules by which it may be written to."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..io import files
from ..io.sinks import Layout, Sink, open_sink
from ..io.sources import Hint
from .model_file import ModelFile, RunError
from .record import Record

REPLACE = Hint("overwrite", None, "replaces it")
AFRESH = Hint("overwrite", None, "starts afresh")


class Outlet:
    """The output of one job; checked before the job begins and again when it is opened."""

    def __init__(
        self, path: str | None, record: Record | None, file: ModelFile | None, resume: bool, overwrite: bool
    ) -> None:
        self.path, self.place = path, record.output if record else None
        self.file, self.resume, self.overwrite = file, resume, overwrite

    def refuse_replacing(self) -> None:
        """Raise if the output exists and may not be replaced."""
        if self.path is None or self.path == "-" or not _holds_something(Path(self.path)):
            return
        if not self._may_replace(files.identity(self.path)):
            raise RunError(f"{self.path} exists: choose another name", REPLACE)

    def open(self, layout: Layout) -> Sink:
        """Open the output, locked and compared with the checkpoint; nothing in it has been touched yet."""
        assert self.path is not None
        sink = open_sink(self.path, layout, self.place)
        try:
            if sink.excess() and sink.identity is not None and not self._may_cut(sink):
                raise self._complaint()
        except BaseException:
            sink.close()
            raise
        return sink

    def _may_cut(self, sink: Sink) -> bool:
        assert sink.identity is not None
        if self.place is None:
            return self._may_replace(sink.identity) and (self.overwrite or sink.resembles())
        return self.file is not None and self.file.wrote(sink.identity)

    def _may_replace(self, identity: dict[str, Any]) -> bool:
        """True with ``overwrite``, or for the output of a job that was killed before its first checkpoint."""
        return self.overwrite or (self.resume and self.file is not None and self.file.began(identity))

    def _complaint(self) -> RunError:
        if self.place is None or self.file is None:
            return RunError(f"{self.path} exists: choose another name", REPLACE)
        return RunError(
            f"{self.path} holds more than the checkpoint in {self.file.path} knows of, and nothing proves "
            "that this job wrote it: name the file that the job was writing to",
            AFRESH,
        )


def _holds_something(path: Path) -> bool:
    """True if anything could be lost: an empty file or folder holds nothing."""
    if path.is_dir():
        return any(path.iterdir())
    return path.exists() and path.stat().st_size > 0


def refuse_existing(path: str | os.PathLike[str], overwrite: bool) -> None:
    """Raise if ``path`` exists, without ``overwrite``."""
    Outlet(os.fspath(path), None, None, False, overwrite).refuse_replacing()


def output_opener(path: str, overwrite: bool) -> Callable[[Layout], Sink]:
    """A function for `score` that opens an output anew."""
    return Outlet(path, None, None, False, overwrite).open
