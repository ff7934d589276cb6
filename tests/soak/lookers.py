"""Lookers that ask slowly: they connect, say a byte now and then, and count how often they were cut."""

import socket
from urllib.parse import urlsplit

MOST = 10
"""Connections at a time: with others, fewer than a server keeps, so that who asks properly is answered."""
REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: " + b"x" * 10_000


class Rude:
    """Slow connections to one server; `bother` adds one and says a byte on each."""

    def __init__(self, url):
        parts = urlsplit(url)
        self._address, self._open, self.cut = (parts.hostname, parts.port), [], 0

    def bother(self):
        if len(self._open) < MOST:
            connection = socket.create_connection(self._address, timeout=1)
            connection.setblocking(False)
            self._open.append([connection, 0])
        for one in list(self._open):
            connection, said = one
            try:
                connection.send(REQUEST[said : said + 1])
                one[1] += 1
                ended = connection.recv(1) == b""
            except BlockingIOError:
                ended = False
            except OSError:
                ended = True
            if ended:
                self.cut += 1
                connection.close()
                self._open.remove(one)

    def close(self):
        for connection, _ in self._open:
            connection.close()
