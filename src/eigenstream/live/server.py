"""A Bokeh server behind a gate, which lets in requests that name this computer, come from the page and know it.

A web site can make a browser send requests to this computer. Asking under a name of its own that it has
pointed here (DNS rebinding) fails on the Host header, asking from its own pages on the Origin header, and any
other program or user of this computer does not know the secret path.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from ipaddress import ip_address
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
from tornado.routing import Router
from tornado.web import Application as Handlers
from tornado.web import HTTPError

MOST_CLIENTS = 16
"""Most browsers that may look at the page at once: each costs about a second of Python to begin with."""
UNUSED_SECONDS = 10
"""Seconds without its browser after which the charts of a session are thrown away."""
LARGEST_HEADER = 2**14
"""Bytes; browsers send less, and more would only fill memory."""
REASONS = {403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
EVERYWHERE = ("", "0.0.0.0", "::")
"""Addresses that mean all of this computer's."""


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


def is_loopback(address: str) -> bool:
    """True if only this computer can reach the address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def allowed_hosts(address: str) -> set[str]:
    """Names under which a browser may ask for the page; nobody else can point one of them here."""
    if is_loopback(address):
        return {address, "localhost", "127.0.0.1", "::1"}
    if address not in EVERYWHERE:
        return {address}
    here = socket.gethostname()
    return {"localhost", here, f"{here}.local", socket.getfqdn()}


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
        self._hosts = {host.lower() for host in allowed_hosts(address)}
        self._any_number = address in EVERYWHERE

    def find_handler(self, request: HTTPServerRequest, **options: Any) -> HTTPMessageDelegate | None:
        status = self.refusal(request)
        if status is None:
            return self._application.find_handler(request, **options)
        return _Refusal(request, status)

    def refusal(self, request: HTTPServerRequest) -> int | None:
        """The status to refuse a request with; None lets it in."""
        host = request.headers.get("Host", "")
        if not self._is_here(host):
            return 403
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return 403
        secret, slash, rest = request.path.removeprefix("/").partition("/")
        if not compare_digest(secret.encode(), self._path.removeprefix("/").encode()) or not slash:
            return 404
        if rest not in ("", "ws") and not rest.startswith("static/"):
            return 404
        if request.method != "GET":
            return 405
        return 503 if rest == "" and self._is_full() else None

    def _is_here(self, host: str) -> bool:
        """Ports are not compared: a tunnel may lead here from any."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self._hosts or (self._any_number and _is_number(name))


def _is_number(name: str) -> bool:
    """An address in numbers cannot be pointed elsewhere."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class _Refusal(HTTPMessageDelegate):
    """Answers with a status and a line."""

    def __init__(self, request: HTTPServerRequest, status: int) -> None:
        self._connection, self._status = request.connection, status

    def finish(self) -> None:
        reason = REASONS[self._status]
        text = "too many browsers look at this page: close one\n" if self._status == 503 else f"{reason}\n"
        headers = HTTPHeaders({"Content-Type": "text/plain", "Content-Length": str(len(text))})
        if self._connection is not None:
            start = ResponseStartLine("HTTP/1.1", self._status, reason)
            self._connection.write_headers(start, headers, text.encode())
            self._connection.finish()

    def on_connection_close(self) -> None:
        self._connection = None
