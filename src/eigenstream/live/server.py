"""A Bokeh server behind a gate."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

from bokeh.application import Application
from bokeh.application.application import SessionContext
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.util import logconfig
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.web import HTTPError

from .gate import Gate

MOST_CLIENTS = 16
"""Most browsers that may look at the page at once: each costs about a second of Python to begin with."""
UNUSED_SECONDS = 10
"""Seconds without its browser after which the charts of a session are thrown away."""
LARGEST_HEADER = 2**14
"""Bytes; browsers send less, and more would only fill memory."""


class Server:
    """Serves one document under one path; everything else is refused.

    Parameters
    ----------
    fill
        Called with the empty document of every new session.
    address, port
        The address to listen on; port 0 is any free one.
    path
        The secret part of the path; the page is at ``PATH/``.
    """

    def __init__(self, fill: Callable[[Document], None], address: str, port: int, path: str) -> None:
        self._fill, self._address, self._path = fill, address, path
        self._documents: set[Document] = set()
        self._socket = listening(address, port)
        self.port: int = self._socket.getsockname()[1]

    def run(self) -> None:
        """Serve for good."""
        asyncio.run(self._serve())

    def is_full(self) -> bool:
        """True if no more browsers are let in."""
        return len(self._documents) >= MOST_CLIENTS

    async def _serve(self) -> None:
        tornado = BokehTornado(
            {"/": Application(FunctionHandler(self._open))},
            prefix=self._path,
            extra_websocket_origins=["*"],  # the gate has looked at them, and knows more names
            use_index=False,
            unused_session_lifetime_milliseconds=1000 * UNUSED_SECONDS,
            check_unused_sessions_milliseconds=1000,
        )
        gate = Gate(tornado, self._path, self._address, self.is_full)
        http = HTTPServer(gate, max_header_size=LARGEST_HEADER, max_body_size=0, idle_connection_timeout=60)
        http.add_socket(self._socket)
        BaseServer(IOLoop.current(), tornado, http).start()
        await asyncio.Event().wait()

    def _open(self, document: Document) -> None:
        """Fill the document of a new session, unless there are too many; the gate may have let in several."""
        if self.is_full():
            raise HTTPError(503)
        self._documents.add(document)

        def closed(session_context: SessionContext) -> None:
            self._documents.discard(document)

        document.on_session_destroyed(closed)
        self._fill(document)


def listening(address: str, port: int) -> socket.socket:
    """A socket that listens there, or an error that says why it cannot."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, port), family=family, backlog=128)
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot listen on {address}, port {port} ({error.strerror}): "
            "choose another port, or 0 for any free one",
        ) from None
    listener.setblocking(False)
    return listener


def set_up_log(level: int | None) -> None:
    """Send Bokeh's and Tornado's logs from this level on to standard error; with None, nowhere."""
    bokeh = logging.getLogger("bokeh")
    if logconfig.default_handler is not None:
        bokeh.removeHandler(logconfig.default_handler)
    handler = logging.NullHandler() if level is None else logging.StreamHandler()
    for logger in (bokeh, logging.getLogger("tornado")):
        logger.addHandler(handler)
        logger.propagate = False
        if level is not None:
            logger.setLevel(level)
