"""The file in which a job keeps its model, locked, with a note on its output, and the output itself.

Beside the model lie two hidden files while a job is at work: ``.NAME.lock``, held by one process at a time,
and ``.NAME.job``, a note that says which output the job writes to and whether it has saved a model yet. The
note stays on this computer: a model file alone never says which files may be cut.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..io import files
from ..io.files import PathLike
from ..io.sinks import Layout, Sink, open_sink
from ..io.sources import Hint

if TYPE_CHECKING:
    from .record import Record
    from .stage import Stage


REPLACE = Hint("overwrite", None, "replaces it")
AFRESH = Hint("overwrite", None, "starts afresh")


class RunError(RuntimeError):
    """A job cannot go on; its last checkpoint stays valid. `hints` say which options help."""

    def __init__(self, what: str, *hints: Hint) -> None:
        super().__init__(f"{what} ({'; '.join(map(str, hints))})" if hints else what)
        self.what, self.hints = what, hints


class Contradiction(RunError):
    """A setting that is not the one a model was made with."""

    def __init__(
        self, path: PathLike, setting: str, before: Any, asked: Any, then: str, *hints: Hint
    ) -> None:
        made = f"{path} was made with {setting}={before!r}, not {setting}={asked!r}"
        super().__init__(f"{made}: {then}", *hints)
        self.path, self.setting, self.before, self.asked, self.then = path, setting, before, asked, then


@dataclass(frozen=True)
class Note:
    """The note of a job at work, beside its model."""

    output: dict[str, Any] | None = None
    """The file or folder it writes to, as `eigenstream.io.files.identity` names it."""
    saved: bool = False
    """True if the model file is its own. Before the first checkpoint, it is not."""
    replaces: str | None = None
    """SHA-256 of the model that was there when the job began anew; it counts as gone."""

    @classmethod
    def read(cls, path: Path) -> Note | None:
        """The note at ``path``; None if there is none, or something else."""
        try:
            note = cls(**json.loads(files.content(path)))
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        sound = isinstance(note.output, dict | None) and isinstance(note.replaces, str | None)
        return note if sound and isinstance(note.saved, bool) else None


class ModelFile:
    """The file a job writes its model to, locked against a second process for as long as it is open.

    A link is followed: what it points to is locked and replaced.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        """As it was given."""
        self.target = Path(os.path.realpath(path))
        self._note_path = self.target.with_name(f".{self.target.name}.job")
        files.require_regular(self.target)
        try:
            self._lock = files.LockFile(self.target.with_name(f".{self.target.name}.lock"))
        except BlockingIOError:
            raise RunError(
                f"another process is working on {self.path}: wait until it has ended, or save elsewhere"
            ) from None
        except OSError as error:
            raise RunError(f"{self.path} cannot be written: {error.strerror}") from None
        for path in (self.target, self._note_path):
            files.remove_leftovers(path)  # of a save that was killed; nobody else can be saving now
        self.note = Note.read(self._note_path)

    def has_checkpoint(self) -> bool:
        """True if there is a model to continue: not one that a later job has begun to replace."""
        if not self.target.exists():
            return False
        note = self.note
        return note is None or note.saved or note.replaces is None or note.replaces != _digest(self.target)

    def began(self, output: dict[str, Any]) -> bool:
        """True if a job without a checkpoint was writing to this very file: its content is no loss."""
        note = self.note
        return note is not None and not note.saved and _is_same(note.output, output)

    def wrote(self, output: dict[str, Any]) -> bool:
        """True if the job whose checkpoint this is was writing to this very file."""
        return self.note is not None and _is_same(self.note.output, output)

    def owns(self, path: str) -> bool:
        """True if the note names exactly this file: by its real path, device and inode."""
        if self.note is None or self.note.output is None or not os.path.exists(path):
            return False
        return self.note.output == files.identity(path)

    def begin(self, output: dict[str, Any] | None, *, continuing: bool, going_on: bool = False) -> None:
        """Note the output before it is written to; a model that a job goes on from stays valid."""
        replaced = not continuing and not going_on and self.target.exists()
        self._write(Note(output, continuing, _digest(self.target) if replaced else None))

    def save(self, stage: Stage, record: Record) -> None:
        """Replace the file by the model of this stage and the record."""
        stage.save(self.target, record.document())
        if self.note is None or not self.note.saved:
            self._write(replace(self.note or Note(), saved=True, replaces=None))

    def forget(self) -> None:
        """Remove the note: the model belongs to no job that writes to an output."""
        self.note = None
        files.remove(self._note_path)

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()

    def _write(self, note: Note) -> None:
        files.replace(self._note_path, json.dumps(asdict(note)).encode())
        self.note = note


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_same(one: dict[str, Any] | None, other: dict[str, Any]) -> bool:
    """True if these are one file. It may have been moved, or a restart have renumbered its device."""
    if one is None or one.get("inode") != other["inode"]:
        return False
    return any(one.get(name) == other[name] for name in ("device", "path"))


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


def refuse_existing(path: PathLike, overwrite: bool) -> None:
    """Raise if ``path`` exists, without ``overwrite``, or is no regular file."""
    if os.fspath(path) != "-" and not Path(path).is_dir():
        files.require_regular(path)
    Outlet(os.fspath(path), None, None, False, overwrite).refuse_replacing()


def output_opener(path: str, overwrite: bool) -> Callable[[Layout], Sink]:
    """A function for `score` that opens an output anew."""
    return Outlet(path, None, None, False, overwrite).open
