"""The page's server as a process of its own, and the thread that brings it the news.

Building a page takes about a second of Python per browser. In the learning process that second would be
learning's; here it is another core's. The process is told everything through its standard input, never
through its arguments, which every user of the computer can read; it ends when that input does, so also when
the learning process is killed.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import deque
from contextlib import suppress
from importlib.util import find_spec
from threading import Event, Thread
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from .board import REFRESH, Board, Shown
from .fleet import FleetBoard

if TYPE_CHECKING:
    from bokeh.document import Document

MOST_CLICKS = 20
"""Clicks on buttons in a second that the job is told of: people are slower, and a flood costs it nothing."""
START = """
import json, sys
sys.path[:] = json.loads(sys.stdin.buffer.readline())
from eigenstream.live.process import main
main()
"""


class PageSettings(NamedTuple):
    """PageSettings of the server and of its page, as in `Page`."""

    title: str
    feature_names: list[str] | None
    lag_unit: str
    timed: bool
    watching: bool
    fleet: bool
    address: str
    port: int
    path: str
    log_level: int | None
    """Least level of Bokeh's log that goes to standard error; None: nothing does."""


class ServerProcess:
    """A server in a process of its own that shows what is on a board.

    Raises
    ------
    ImportError
        If Bokeh is not installed.
    OSError
        If nothing can listen at the address.
    """

    def __init__(self, board: Board, settings: PageSettings) -> None:
        if find_spec("bokeh") is None:
            raise ImportError("the live page needs Bokeh: pip install 'eigenstream[live]'", name="bokeh")
        self._board, self._ended, self._news = board, False, Event()
        # Isolated: what lies in the current folder must not be imported before the path is set. That also
        # makes it deaf to the environment, which may have told us not to write compiled modules.
        self._child = subprocess.Popen(
            [sys.executable, "-IB" if sys.dont_write_bytecode else "-I", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the learning process
        )
        self._courier = Thread(target=self._carry, name="eigenstream-live", daemon=True)
        try:
            self.port = self._begun(settings)
            self._courier.start()
            if isinstance(board, FleetBoard) or board.desk is not None:
                Thread(target=self._hear, name="eigenstream-wishes", daemon=True).start()
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        return self._child.pid

    def hurry(self) -> None:
        """Send the latest without waiting for the next round."""
        self._news.set()

    def stop(self) -> None:
        """End the server: all connections close."""
        self._ended = True
        self._news.set()
        self._child.kill()  # it holds nothing that could be lost
        self._child.wait()
        if self._courier.is_alive():
            self._courier.join()
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            with suppress(OSError):  # what was on its way has nowhere to go
                pipe.close()

    def _begun(self, settings: PageSettings) -> int:
        """Tell the child what to do; returns the port on which it listens."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(sys.path).encode() + b"\n")
        self._tell(settings)
        answer: dict[str, Any] = json.loads(self._child.stdout.readline() or b"{}")
        if "port" in answer:
            return int(answer["port"])
        if "errno" in answer:
            raise OSError(answer["errno"], answer["message"])
        if "import" in answer:
            raise ImportError(
                f"the live page needs Bokeh ({answer['import']}): pip install 'eigenstream[live]'"
            )
        raise RuntimeError("the process of the live page ended before it listened")

    def _carry(self) -> None:
        """Bring the latest to the child whenever there is news. A slow child makes only this thread wait."""
        told: Shown | None = None
        while not self._ended:
            with suppress(Exception):  # the model may be changing at this very moment: look again later
                self._board.look_if_quiet()
            shown = self._board.shown()
            if told is None or _differs(shown, told):
                try:
                    self._tell(shown)
                except OSError:
                    return  # the child is gone
                told = shown
            self._news.wait(REFRESH)
            self._news.clear()

    def _hear(self) -> None:
        """Note the keys that browsers look at, and what is clicked, until the child ends."""
        assert self._child.stdout is not None
        board = self._board
        with suppress(OSError, ValueError):
            for line in self._child.stdout:
                heard = json.loads(line)
                if "keys" in heard and isinstance(board, FleetBoard):
                    board.want(heard["keys"])
                elif board.desk is None or not board.desk.take(heard.get("clicked")):
                    continue
                self._news.set()

    def _tell(self, news: Any) -> None:
        assert self._child.stdin is not None
        pickle.dump(news, self._child.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        self._child.stdin.flush()


def _differs(one: Shown, other: Shown) -> bool:
    words = (one.state, one.message, one.handled) != (other.state, other.message, other.handled)
    return one.snapshot is not other.snapshot or words


def main() -> None:
    """In the process of the page: serve the snapshots that come in on standard input, until that ends."""
    news = sys.stdin.buffer
    settings: PageSettings = pickle.load(news)
    try:
        from .fleet_session import FleetSession
        from .server import Server, set_up_log
        from .session import Session
    except ImportError as error:
        _answer({"import": str(error)})
        return
    set_up_log(settings.log_level)
    shown = Shown()

    wishes, clicks = dict[int, str](), deque[float](maxlen=MOST_CLICKS)

    def click(message: dict[str, Any]) -> None:
        if len(clicks) < MOST_CLICKS or monotonic() - clicks[0] >= 1.0:
            clicks.append(monotonic())
            _answer({"clicked": message})

    def fill(document: Document) -> None:
        if not settings.fleet:
            Session(document, shown, settings, click)
            return
        number = id(document)

        def wish(key: str) -> None:
            wishes[number] = key
            _answer({"keys": sorted(set(wishes.values()))})

        def closed(context: object) -> None:
            wishes.pop(number, None)
            _answer({"keys": sorted(set(wishes.values()))})

        document.on_session_destroyed(closed)
        FleetSession(document, shown, settings, click, wish)

    try:
        server = Server(fill, settings.address, settings.port, settings.path)
    except OSError as error:
        _answer({"errno": error.errno, "message": error.strerror})
        return
    Thread(target=_listen, args=(news, shown), name="news", daemon=True).start()
    _answer({"port": server.port})
    server.run()


def _answer(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _listen(news: IO[bytes], shown: Shown) -> None:
    """Put incoming snapshots where the sessions look; end with the sender."""
    try:
        while True:
            latest: Shown = pickle.load(news)
            shown.snapshot, shown.message, shown.state = latest.snapshot, latest.message, latest.state
            shown.handled = latest.handled
    finally:
        os._exit(0)
