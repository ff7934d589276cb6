"""A Bokeh server behind a gate, which lets in requests that come from the page and know its secret path.

A web site can make a browser send requests to this computer. Asking under a name of its own that it has
pointed here fails on the Host header, asking from its own pages on the Origin header, and any other program
or user of this computer does not know the path.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from secrets import compare_digest
from typing import Any
from urllib.parse import urlsplit

from bokeh.application import Application
from bokeh.application.application import SessionContext
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.util import logconfig
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, HTTPServerRequest, ResponseStartLine
from tornado.ioloop import IOLoop
from tornado.iostream import IOStream
from tornado.routing import Router
from tornado.web import Application as Handlers
from tornado.web import HTTPError

from ..io.serving import is_own, listen, own_names

MOST_CLIENTS = 16
"""Most browsers that may look at the page at once: each costs about a second of Python to begin with."""
MOST_CONNECTIONS = 8 * MOST_CLIENTS
"""Connections at a time: a browser keeps one for the charts, and about six while it loads the page."""
IDLE_SECONDS = 10
"""Seconds in which a connection must have sent the head of its next request, whole."""
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
        self._socket = listen(address, port, "the live page", 128)
        self._socket.setblocking(False)
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
        http = LimitedServer(
            gate, max_header_size=LARGEST_HEADER, max_body_size=0, idle_connection_timeout=IDLE_SECONDS
        )
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


class LimitedServer(HTTPServer):
    """A server that closes connections beyond `MOST_CONNECTIONS`, whatever they send."""

    def initialize(self, *arguments: Any, **settings: Any) -> None:
        super().initialize(*arguments, **settings)
        self._streams: list[IOStream] = []

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        self._streams = [one for one in self._streams if not one.closed()]
        if len(self._streams) >= MOST_CONNECTIONS:
            stream.close()
            return
        self._streams.append(stream)
        super().handle_stream(stream, address)


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


class Gate(Router):
    """Hands requests on to the application, or refuses them before anything is computed.

    Parameters
    ----------
    application
        The application behind the gate.
    path
        The secret part of the path, ``/SECRET``; everything lies below it.
    address
        The address on which the server listens.
    is_full
        Returns True if no more browsers may look at the page.
    """

    def __init__(self, application: Handlers, path: str, address: str, is_full: Callable[[], bool]) -> None:
        self._application, self._path, self._is_full = application, path, is_full
        self._names = own_names(address)

    def find_handler(self, request: HTTPServerRequest, **options: Any) -> HTTPMessageDelegate | None:
        status = self.refusal(request)
        if status is None and request.method == "GET":
            return self._application.find_handler(request, **options)
        return _Answer(request, status or 200)

    def refusal(self, request: HTTPServerRequest) -> int | None:
        """The status to refuse a request with; None lets it in."""
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
        try:
            elsewhere = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
            if elsewhere or not is_own(host, self._names):
                return 403
        except ValueError:
            return 400
        secret, slash, rest = request.path.removeprefix("/").partition("/")
        if not compare_digest(secret.encode(), self._path.removeprefix("/").encode()) or not slash:
            return 404
        if rest not in ("", "ws") and not rest.startswith("static/"):
            return 404
        if request.method not in ("GET", "HEAD"):
            return 405
        return 503 if rest == "" and self._is_full() else None


class _Answer(HTTPMessageDelegate):
    """Answers with a status and a line; a HEAD request with the status alone."""

    def __init__(self, request: HTTPServerRequest, status: int) -> None:
        self._connection, self._status, self._asked = request.connection, status, request.method

    def finish(self) -> None:
        reason = HTTPStatus(self._status).phrase
        text = "too many browsers look at this page: close one\n" if self._status == 503 else f"{reason}\n"
        headers = {"Content-Type": "text/plain", "Content-Length": str(len(text))}
        if self._status == 200:  # the length of the page is not known before it is built
            headers = {"Content-Type": "text/html; charset=UTF-8", "Connection": "close"}
        if self._connection is not None:
            start = ResponseStartLine("HTTP/1.1", self._status, reason)
            content = None if self._asked == "HEAD" else text.encode()
            self._connection.write_headers(start, HTTPHeaders(headers), content)
            self._connection.finish()

    def on_connection_close(self) -> None:
        self._connection = None
