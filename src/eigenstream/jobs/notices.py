"""Notices: each line about an alarm, a drift or an input out of order is also told to a command or to a web
server.

A thread of its own tells; the job does not wait for it but before a checkpoint, so that what is saved as read
has been told, as far as it could be. What cannot be told is counted, and never stops the job.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from queue import Full, Queue
from threading import Condition, Thread
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import (
    HTTPBasicAuthHandler,
    HTTPPasswordMgrWithPriorAuth,
    HTTPRedirectHandler,
    build_opener,
)
from urllib.request import Request as WebRequest

from ..io.files import shown, without_secret
from .watcher import AlarmEvent, NoticeEvent, Watcher, alarm_document, notice_document

COMMAND_SECONDS = 10.0
"""Seconds after which a command that has not ended is killed: time enough to send a message."""
WEB_SECONDS = 5.0
"""Seconds for one answer of a web server."""
PAUSES = (0.5, 2.0)
"""Seconds before a notice is posted again: a server that restarts is often back within them."""
WAITING = 10_000
"""Most notices that wait; more are counted as failed. In a storm of alarms each takes some 500 bytes."""
PATIENCE = 30.0
"""Seconds that a checkpoint, or the end of the job, waits for notices that are on their way."""
PATIENCE_AT_SIGNAL = 0.5
"""The same after a signal: there are two such waits, and the process ends within five seconds."""
GLANCE = 0.1
"""Seconds between two looks for a signal while notices are waited for."""


class NoticeError(Exception):
    """A notice could not be told; says why."""


class Way(ABC):
    """Abstract: a way to tell somebody."""

    name: str
    """The name of it in messages."""

    @abstractmethod
    def tell(self, content: bytes, *, again: bool) -> None:
        """Tell one notice; with ``again``, more than once if need be. NoticeError if that fails."""


class Command(Way):
    """Starts a command for each notice, which it finds on standard input; there is no shell.

    Parameters
    ----------
    command
        The program and its arguments in one text, with quotes as a shell has them.

    Raises
    ------
    ValueError
        If there is no such program.
    """

    def __init__(self, command: str, seconds: float = COMMAND_SECONDS) -> None:
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise ValueError(f"the command {command!r} cannot be read: {error}") from None
        if not self.words or shutil.which(self.words[0]) is None:
            missing = self.words[0] if self.words else ""
            raise ValueError(f"there is no program {missing!r}: name one that can be run, with its arguments")
        self.seconds, self.name = seconds, f"command {shown(self.words[0])}"

    def tell(self, content: bytes, *, again: bool) -> None:
        try:
            # A session of its own: Ctrl-C is for the job, and all that the command starts can be ended.
            child = subprocess.Popen(
                self.words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
            )
        except OSError as error:
            raise NoticeError(f"it cannot be started: {error.strerror or error}") from None
        try:
            child.communicate(content, timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise NoticeError(f"it had not ended after {self.seconds:g} seconds") from None
        finally:
            if child.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
        if child.returncode:
            raise NoticeError(f"its exit status was {child.returncode}")


class Webhook(Way):
    """Posts each notice to a web server as JSON; any status from 200 to 299 will do.

    Parameters
    ----------
    address
        ``http://`` or ``https://``; a name and a password in it are sent as basic authentication.

    Raises
    ------
    ValueError
        If it is no such address.
    """

    def __init__(self, address: str, seconds: float = WEB_SECONDS, pauses: Sequence[float] = PAUSES) -> None:
        try:
            parts = urlsplit(address)
            sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            sound = False
        if not sound:
            raise ValueError(
                f"{without_secret(address)!r} is not an address of a web server: expected "
                "http://HOST/PATH or https://HOST/PATH"
            )
        host = parts.netloc.rpartition("@")[2]
        self._address = urlunsplit(parts._replace(netloc=host, fragment=""))
        passwords = HTTPPasswordMgrWithPriorAuth()
        if parts.username is not None:
            passwords.add_password(
                None, self._address, parts.username, parts.password or "", is_authenticated=True
            )
        self._opener = build_opener(_NoRedirect, HTTPBasicAuthHandler(passwords))
        self.seconds, self.pauses = seconds, pauses
        self.name = f"webhook {shown(without_secret(address))}"

    def tell(self, content: bytes, *, again: bool) -> None:
        pauses = list(self.pauses) if again else []
        while True:
            try:
                self._post(content)
            except _Passing:
                if not pauses:
                    raise
                time.sleep(pauses.pop(0))
            else:
                return

    def _post(self, content: bytes) -> None:
        headers = {"Content-Type": "application/json", "User-Agent": "eigenstream"}
        request = WebRequest(self._address, content, headers, method="POST")
        try:
            with self._opener.open(request, timeout=self.seconds):
                return
        except HTTPError as error:
            status = error.code
            error.close()
        except (OSError, URLError) as error:
            reason = getattr(error, "reason", error)
            raise _Passing(f"{getattr(reason, 'strerror', None) or reason}") from None
        except Exception as error:  # an answer that is no HTTP
            raise _Passing(f"{type(error).__name__}: {error}"[:200]) from None
        said = (
            f"it answered {status} {HTTPStatus(status).phrase if status in set(HTTPStatus) else ''}".strip()
        )
        if status >= 500 or status in (408, 429):
            raise _Passing(said)
        raise NoticeError(said + (": give the address that it leads to" if 300 <= status < 400 else ""))


class _Passing(NoticeError):
    """A failure that may pass."""


class _NoRedirect(HTTPRedirectHandler):
    """A POST that is redirected would become a GET without its content."""

    def redirect_request(self, *request: Any) -> None:
        return None


class Messenger:
    """Tells notices in order by one way, in a thread of its own, until it is closed."""

    def __init__(self, way: Way, on_failure: Callable[[str], object]) -> None:
        self.way, self.told, self.failed, self.why = way, 0, 0, ""
        self._on_failure, self._waiting = on_failure, Queue[bytes](WAITING)
        self._left, self._changed = 0, Condition()
        self._thread = Thread(target=self._work, name=way.name, daemon=True)
        self._thread.start()

    def send(self, content: bytes) -> None:
        """Have a notice told; returns at once."""
        with self._changed:
            self._left += 1
        try:
            self._waiting.put_nowait(content)
        except Full:
            self._done(f"more than {WAITING:,} notices wait")

    def wait(self, seconds: float) -> int:
        """Wait until all have been told, this long at most; returns the number that have not."""
        with self._changed:
            self._changed.wait_for(lambda: self._left == 0, seconds)
            return self._left

    def _work(self) -> None:
        sound = True
        while True:
            content, failure = self._waiting.get(), ""
            try:
                # One that failed is not tried for long: those behind it wait.
                self.way.tell(content, again=sound)
            except NoticeError as error:
                failure = str(error)
            except Exception as error:  # whatever it is, the next notice is told
                failure = f"{type(error).__name__}: {error}"[:200]
            sound = not failure
            self._done(failure)

    def _done(self, failure: str) -> None:
        with self._changed:
            self._left -= 1
            first = bool(failure) and not self.failed
            self.told, self.failed = self.told + (not failure), self.failed + bool(failure)
            self.why = failure or self.why
            self._changed.notify_all()
        if first:
            self._on_failure(f"{self.way.name}: a notice was not told: {failure}; later failures are counted")


class Notices(Watcher):
    """Tells each alarm that begins, is blamed anew or ends, and each drift and input out of order, in order.

    Parameters
    ----------
    ways
        Whom to tell, and how.
    on_failure
        Called with a sentence at the first failure of each way, in another thread.
    """

    def __init__(self, ways: Sequence[Way], on_failure: Callable[[str], object] = lambda said: None) -> None:
        self._messengers = [Messenger(way, on_failure) for way in ways]
        self._in_haste = False

    def alarmed(self, event: AlarmEvent) -> None:
        self._send(alarm_document(event))

    def noticed(self, event: NoticeEvent) -> None:
        self._send(notice_document(event))

    def _send(self, document: dict[str, Any]) -> None:
        content = json.dumps(document).encode() + b"\n"
        for messenger in self._messengers:
            messenger.send(content)

    def saving(self) -> None:
        self.wait()

    def stopping(self) -> None:
        self._in_haste = True

    def wait(self) -> None:
        """Wait until everything has been told, `PATIENCE` seconds at most, or until a signal comes."""
        began = time.monotonic()
        for messenger in self._messengers:
            while (left := began + self._patience() - time.monotonic()) > 0:
                if not messenger.wait(min(left, GLANCE)):
                    break

    def _patience(self) -> float:
        return PATIENCE_AT_SIGNAL if self._in_haste else PATIENCE

    @property
    def counts(self) -> dict[str, int]:
        """Notices that were told, that failed, and that wait."""
        told, failed = sum(one.told for one in self._messengers), sum(one.failed for one in self._messengers)
        return {"told": told, "failed": failed, "waiting": sum(one.wait(0.0) for one in self._messengers)}

    def in_words(self) -> list[str]:
        """A sentence for each way that has not told everything."""
        said = []
        for one in self._messengers:
            left = one.wait(0.0)
            if one.failed or left:
                why = f"; the last failure: {one.why}" if one.why else ""
                sent = one.told + one.failed + left
                said.append(f"{one.way.name}: {one.failed + left:,} of {sent:,} notices were not told{why}")
        return said
