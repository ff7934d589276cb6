"""Serving on this computer: a socket to listen on, and the names under which a server may be asked.

A web site can make a browser send requests to this computer, under a name of its own that it has pointed here
(DNS rebinding). Such a name is in the Host header, and a server answers only those in `own_names`.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

EVERYWHERE = ("", "0.0.0.0", "::")
"""Addresses that mean all of this computer's."""
UNREAD_SECONDS = 20
"""Seconds after which the system ends a connection that takes none of what was sent to it."""


def listen(address: str, port: int, what: str, backlog: int) -> socket.socket:
    """A socket that listens there; an OSError that says why it cannot, and for what it was wanted."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, port), family=family, backlog=backlog)
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot serve {what} on {address}, port {port} ({error.strerror}): choose another port, or 0 "
            "for any free one",
        ) from None
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; connections inherit it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * UNREAD_SECONDS)
    return listener


def own_names(address: str) -> set[str]:
    """Names under which a server at this address may be asked; nobody else can point one of them here."""
    here = socket.gethostname()
    everywhere = {here, f"{here}.local", socket.getfqdn()} if address in EVERYWHERE else set()
    return {name.lower() for name in {address, "localhost", *everywhere}}


def is_own(host: str, names: set[str]) -> bool:
    """True if a Host header has one of these names, or numbers; ValueError if it has no host at all.

    Numbers cannot be pointed elsewhere. Ports are not compared: a tunnel may lead here from any.

    Examples
    --------
    >>> [is_own(host, {"localhost"}) for host in ("localhost:80", "10.0.0.7", "[::1]:80", "evil.example")]
    [True, True, True, False]
    """
    name = urlsplit(f"//{host}").hostname or ""
    try:
        ip_address(name)
    except ValueError:
        return name in names
    return True
