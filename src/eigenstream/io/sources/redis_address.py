"""Addresses of Redis streams: their parts are checked, and their secrets stay out of every message."""

from __future__ import annotations

import os
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ..files import shown
from .batch import SourceError
from .options import ReadOptions
from .redis_stream import PASSWORD, RedisStream, answer

FIRST_PATIENCE = 5.0
"""Seconds to ask a server that does not answer before the first entry: the address may be wrong, and a person
waits."""
OPTIONS = {"stream", "gaps", "db", "username", "password", "socket_timeout", "socket_connect_timeout"}
"""Options behind the ? of an address."""


def open_redis(address: str, options: ReadOptions) -> RedisStream:
    """Open the stream at an address such as ``redis://127.0.0.1:6379/0?stream=sensors``.

    The password comes from the address or from the variable `PASSWORD` of the environment.
    """
    name = shown(address)
    try:
        import redis
    except ImportError:
        raise SourceError(f"{name}: to read Redis, pip install 'eigenstream[redis]'") from None
    try:
        parts = urlsplit(address)
        has_password = parts.password is not None
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:  # its words may hold the password
        raise SourceError(f"{name} is not an address such as redis://HOST:PORT/0?stream=NAME") from None
    unknown = sorted(set(query) - OPTIONS)
    if unknown:
        raise SourceError(
            f"{name}: {unknown[0]!r} is no option of an address; there are {', '.join(sorted(OPTIONS))}"
        )
    stream, gaps = query.pop("stream", ""), query.pop("gaps", "refuse")
    if not stream:
        raise SourceError(f"{name} does not say which stream to read: add ?stream=NAME")
    if gaps not in ("refuse", "allow"):
        raise SourceError(f"{name}: gaps must be allow or refuse, got {gaps!r}")
    password = None if has_password or "password" in query else os.environ.get(PASSWORD)
    try:
        where = urlunsplit(parts._replace(query=urlencode(query)))
        client = redis.Redis.from_url(where, password=password)
        answer(name, client.ping, FIRST_PATIENCE)
    except SourceError:
        raise
    except redis.ResponseError as error:
        raise SourceError(f"{name} cannot be read: {error}") from None
    except (redis.RedisError, ValueError, TypeError, OverflowError):  # as above
        raise SourceError(f"{name} cannot be read: a part of the address is not what it should be") from None
    try:
        return RedisStream(client, stream, options, gaps=gaps == "allow")
    except BaseException:
        client.close()
        raise
