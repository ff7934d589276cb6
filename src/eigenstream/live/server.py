"""A Bokeh server in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from threading import Event, Thread

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.util import logconfig
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop


class Server:
    """Serves one document under one path; everything else is not found.

    Parameters
    ----------
    fill
        Called with the empty document of every new session.
    address, port
        What to listen on; port 0 is any free one.
    path
        Where the page is.
    origins
        From which hosts a page may connect back, without ports; ``"*"`` is any.
    """

    def __init__(
        self, fill: Callable[[Document], None], address: str, port: int, path: str, origins: list[str]
    ) -> None:
        _quiet()
        self._socket = listening(address, port)
        self.port: int = self._socket.getsockname()[1]
        self._ready, self._failure = Event(), list[BaseException]()
        allowed = [f"{origin}:{self.port}" for origin in origins]
        arguments = (fill, path, allowed)
        self._thread = Thread(target=self._run, args=arguments, name="eigenstream-live", daemon=True)

    def start(self) -> None:
        """Returns when the server listens."""
        self._thread.start()
        self._ready.wait()
        if self._failure:
            raise self._failure[0]

    def stop(self) -> None:
        """Close all connections, and return when the thread has ended."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join()

    def _run(self, fill: Callable[[Document], None], path: str, allowed: list[str]) -> None:
        try:
            asyncio.run(self._serve(fill, path, allowed))
        except BaseException as failure:
            self._failure.append(failure)
        finally:
            self._ready.set()

    async def _serve(self, fill: Callable[[Document], None], path: str, allowed: list[str]) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        tornado = BokehTornado(
            {path: Application(FunctionHandler(fill))},
            extra_websocket_origins=allowed,
            use_index=False,
        )
        http = HTTPServer(tornado)
        http.add_socket(self._socket)
        server = BaseServer(IOLoop.current(), tornado, http)
        server.start()
        self._ready.set()
        await self._end.wait()
        server.stop(wait=False)
        await http.close_all_connections()


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


def _quiet() -> None:
    """Keep Bokeh's and Tornado's logs off the terminal, unless the user has set up logging."""
    bokeh = logging.getLogger("bokeh")
    if logconfig.default_handler is not None:
        bokeh.removeHandler(logconfig.default_handler)
        bokeh.propagate = True
    for logger in (bokeh, logging.getLogger("tornado")):
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
