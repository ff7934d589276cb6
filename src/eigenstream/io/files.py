"""Files that are never half written: lock, atomic replacement, sync of file and folder, identity of a file.

Everything in the package that replaces, locks or compares files does it through this module.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

PathLike = str | os.PathLike[str]


def lock(handle: int) -> bool:
    """Lock an open file or folder for this process; False if another process has locked it.

    The lock ends with the process, however that ends. Where the system has no file locks, nobody is refused.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(handle: int) -> None:
    """Take back a lock, also where a process that was forked since has the file open, too."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(handle, fcntl.LOCK_UN)


class LockFile:
    """An empty file that one process at a time can hold; it is removed when the holder closes it.

    Raises
    ------
    BlockingIOError
        If another process holds it.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        while True:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            if not lock(self._handle):
                os.close(self._handle)
                raise BlockingIOError(f"another process holds {self.path}")
            if is_at(self._handle, self.path):
                return
            os.close(self._handle)  # its last holder has just removed it: make a new one

    def close(self) -> None:
        """Remove the file, then unlock it, so that no other process locks it in between."""
        if is_at(self._handle, self.path):  # not where the folder has been moved, and another lies here
            self.path.unlink(missing_ok=True)
        os.close(self._handle)


def is_at(handle: int, path: Path) -> bool:
    """Return True if an open file lies at this path."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""Things that are not regular files, in words."""


def require_regular(path: PathLike, handle: int | None = None) -> None:
    """Raise ValueError if there is something at ``path`` (or behind the handle) that is no regular file.

    A named pipe would be waited for; a device would be replaced by a file, or swallow what is written.
    """
    try:
        mode = (os.stat(path) if handle is None else os.fstat(handle)).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "something else")
        raise ValueError(f"{shown(path)} is {kind}, not a regular file: name a file")


def content(path: PathLike) -> bytes:
    """Return the content of a regular file; nothing else is opened and waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        require_regular(path, handle)
        return file.read()


def replace(path: PathLike, content: bytes, *, private: bool = False) -> None:
    """Replace the file at ``path``: after a crash it holds the old content or the new, never a part.

    A link is followed: what it points to is replaced. The new file has the permissions of the old one.
    ``private``: nobody else gets any.

    Raises
    ------
    ValueError
        If there is something else than a regular file at ``path``.
    """
    with replacing(path, private=private) as file:
        file.write(content)


@contextmanager
def replacing(path: PathLike, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file to write into that replaces ``path`` at the end, unless something is raised; as `replace`."""
    target = Path(os.path.realpath(path))
    require_regular(target)
    # Not tempfile's: its files are for nobody else to read, whatever the user's umask says.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            lock(handle)  # in use: `remove_leftovers` of another process leaves it
            if os.name == "posix" and target.exists():
                os.fchmod(handle, stat.S_IMODE(target.stat().st_mode) & (0o700 if private else 0o7777))
            yield file
            file.flush()
            os.fsync(handle)
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


@contextmanager
def replacing_folder(path: PathLike) -> Iterator[Path]:
    """An empty folder to write into that takes the place of ``path`` at the end, unless something is raised.

    A folder that is there is removed once the new one has its name. After a crash there is the old one, the
    new one, or, between two renames, none: never a part.
    """
    target = Path(os.path.realpath(path))
    temporary, old = (target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp") for _ in range(2))
    temporary.mkdir()
    handle = os.open(temporary, os.O_RDONLY)
    try:
        lock(handle)  # in use, as in `replacing`
        yield temporary
        for folder, _, names in os.walk(temporary):
            for name in names:
                sync_file(Path(folder, name))
            sync_folder(folder)
        if target.exists():
            os.replace(target, old)
        os.replace(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        os.close(handle)
    sync_folder(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def remove(path: PathLike) -> None:
    """Remove a file, durably; it need not exist."""
    target = Path(path)
    target.unlink(missing_ok=True)
    sync_folder(target.parent)


def remove_leftovers(path: PathLike) -> None:
    """Remove what a killed `replace` of this file, or `replacing_folder`, has left.

    No other process may be replacing it now: those that a process has locked are in use.
    """
    target = Path(os.path.realpath(path))
    # By exact name: a glob for "m" would also take those of "m.model".
    ours = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.tmp")
    for name in os.listdir(target.parent):
        if ours.fullmatch(name) and not _in_use(target.parent / name, target):
            left = target.parent / name
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink(missing_ok=True)


def _in_use(path: Path, target: Path) -> bool:
    """Return True if a process has locked a temporary file that is not already in its place."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not is_at(handle, target) and not lock(handle)
    finally:
        os.close(handle)


def sync_file(path: PathLike) -> None:
    """Make the content of a file durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: PathLike) -> None:
    """Make the names in a folder durable (files created, renamed, removed), where the system can."""
    if os.name == "posix":
        sync_file(path)


def identity(path: PathLike, handle: int | None = None) -> dict[str, Any]:
    """Return the real path of a file, and its number in the file system (of the handle, if it is open)."""
    found = os.stat(path) if handle is None else os.fstat(handle)
    return {"path": os.path.realpath(path), "device": found.st_dev, "inode": found.st_ino}


ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
SECRET = re.compile(r"pass|pwd|secret|token|key|auth|sig|cred|user|session", re.IGNORECASE)
"""Parts of the names of parameters that may be secret: rather one too many than one too few."""


SQLITE = "sqlite:///"
"""Start of an address that names a file."""


def is_address(name: Any) -> bool:
    """Return True for an address of a server, such as ``redis://127.0.0.1/0?stream=sensors``."""
    return isinstance(name, str) and ADDRESS.match(name) is not None


def without_secret(name: str) -> str:
    """Return an address without user, password, tokens and fragment; other names as they are.

    What is stored or shown of an address goes through this function.

    Examples
    --------
    >>> without_secret("redis://me:hunter2@127.0.0.1/0?stream=sensors&password=hunter2")
    'redis://127.0.0.1/0?stream=sensors'
    >>> without_secret("plant.csv")
    'plant.csv'
    """
    scheme = ADDRESS.match(name)
    if scheme is None:
        return name
    place, _, query = name[scheme.end() :].partition("#")[0].partition("?")
    if "@" not in place and "@" in name:  # a password with a ? or # in it, unescaped
        return f"{scheme[0]}..."
    # To the last @: a password may hold one, unescaped. It may also stand where the port should.
    place = re.sub(r"^(\[[^]]*\]|[^:/]*):(?!\d*(/|$))[^/]*", r"\1", place.rpartition("@")[2])
    parameters = [one for one in query.split("&") if re.fullmatch(r"[\w.-]+=[^?@]*", one)]
    kept = "&".join(one for one in parameters if not SECRET.search(one.partition("=")[0]))
    return scheme[0] + place + ("?" + kept if kept else "")


def shown(name: PathLike) -> str:
    """Return a name, or a sentence with names in it, as it can be printed: no secrets, nothing to obey.

    Examples
    --------
    >>> shown("caf\\udce9.csv"), shown("a\\x1b[31mb"), shown("redis://:hunter2@127.0.0.1?stream=a")
    ('caf�.csv', 'a�[31mb', 'redis://127.0.0.1?stream=a')
    """
    return printable(re.sub(r"(?<!\S)[^\s:]+://\S+?(?=[:,;.]*(\s|$))", _without_secret, os.fspath(name)))


def _without_secret(address: re.Match[str]) -> str:
    return without_secret(address[0])


def printable(text: str) -> str:
    """Return the text with control characters, and bytes that are no text, replaced: no terminal obeys it."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def refuse_shared(named: Mapping[str, PathLike | Sequence[PathLike] | None]) -> None:
    """Raise ValueError if two of these are one file: by name, through links, or one inside the other.

    Parameters
    ----------
    named
        Paths by what they are: ``source``, ``output`` and whatever else; one, several, or None for nothing.
        ``-`` is standard input for ``source`` and standard output for the others.
    """
    found = [(what, path) for what, paths in named.items() for path in _each(paths)]
    for i, (what, path) in enumerate(found):
        for other_what, other in found[i + 1 :]:
            if what == other_what:
                continue
            one, two = _Named(what, path), _Named(other_what, other)
            if one.is_same(two) or one.would_hold(two) or two.would_hold(one):
                raise ValueError(
                    f"{what} {shown(path)} and {other_what} {shown(other)} are the same file, or one lies in "
                    "the other: nothing has been touched; choose another name"
                )


def _each(paths: PathLike | Sequence[PathLike] | None) -> Sequence[PathLike]:
    if paths is None:
        return ()
    return (paths,) if isinstance(paths, str | os.PathLike) else paths


class _Named:
    """A file by name, or a stream that may be one."""

    def __init__(self, what: str, path: PathLike) -> None:
        self.is_source, stream = what == "source", os.fspath(path) == "-"
        if self.is_source and is_address(path):
            path = _file_of(os.fspath(path))
        self.real = None if stream else Path(os.path.realpath(path))
        self.status = _status((0 if self.is_source else 1) if stream else path)

    def is_same(self, other: _Named) -> bool:
        """Return True if both are one file or folder."""
        if self.status and other.status and os.path.samestat(self.status, other.status):
            # Two terminals or pipes may well be one.
            return stat.S_ISREG(self.status.st_mode) or stat.S_ISDIR(self.status.st_mode)
        return self.real is not None and self.real == other.real

    def would_hold(self, other: _Named) -> bool:
        """Return True if this is a folder, and the other lies in it and would be taken for a part of it."""
        if self.real is None or self.status is None or not stat.S_ISDIR(self.status.st_mode):
            return False
        if other.real is not None and self.real in other.real.parents:
            # Beside Parquet files that are read, other files do no harm.
            beside = self.is_source and other.real.suffix.lower() != ".parquet"
            return not beside or not any(self.real.glob("*.parquet"))
        if other.status is None:
            return False
        with os.scandir(self.real) as entries:
            inside = [entry.stat() for entry in entries if entry.is_file()]
        return any(os.path.samestat(found, other.status) for found in inside)


def _file_of(address: str) -> str:
    """Return the file that an address names, or the address if it names none."""
    place, _, parameters = address.partition("?")
    if place.startswith(SQLITE):
        return place.removeprefix(SQLITE)
    spools = [one.removeprefix("spool=") for one in parameters.split("&") if one.startswith("spool=")]
    return unquote(spools[0]) if spools else address


def _status(place: PathLike | int) -> os.stat_result | None:
    try:
        return os.stat(place)
    except OSError:
        return None
