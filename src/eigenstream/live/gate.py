"""The gate: lets in requests that name this computer, come from the page itself, and know its secret path.

A web site can make a browser send requests to this computer. Asking under a name of its own that it has
pointed here (DNS rebinding) fails on the Host header, asking from its own pages on the Origin header, and any
other program or user of this computer does not know the path.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import ip_address
from secrets import compare_digest
from typing import Any
from urllib.parse import urlsplit

from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, HTTPServerRequest, ResponseStartLine
from tornado.routing import Router
from tornado.web import Application

REASONS = {403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}
EVERYWHERE = ("", "0.0.0.0", "::")
"""Addresses that mean all of this computer's."""


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

    def __init__(
        self, application: Application, path: str, address: str, is_full: Callable[[], bool]
    ) -> None:
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
