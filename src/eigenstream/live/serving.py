"""The page's own process: listen, and show the snapshots that come in on standard input."""

from __future__ import annotations

import json
import os
import pickle
import sys
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

from .process import PageSettings
from .snapshot import Shown

if TYPE_CHECKING:
    from bokeh.document import Document


def main() -> None:
    """Serve until standard input ends."""
    news = sys.stdin.buffer
    settings: PageSettings = pickle.load(news)
    try:
        from .server import Server, set_up_log
        from .session import Session
    except ImportError as error:
        _answer({"import": str(error)})
        return
    set_up_log(settings.log_level)
    shown = Shown()

    def fill(document: Document) -> None:
        Session(document, shown, settings)

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
    finally:
        os._exit(0)
