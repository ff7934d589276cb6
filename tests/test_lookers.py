"""Lookers-on, however many, slow or rude, cost a job no descriptors or threads, and cause no traceback."""

import http.client
import json
import os
import random
import resource
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import active_count
from urllib.parse import urlsplit

import numpy as np
import pytest

from eigenstream import load
from eigenstream.io.sources import open as open_source
from eigenstream.live import Page
from tests.environment import ENVIRONMENT
from tests.live_model import learnt
from tests.marks import slow

pytest.importorskip("prometheus_client")
pytest.importorskip("bokeh")

from eigenstream.jobs import prometheus
from eigenstream.jobs.prometheus import MOST_CONNECTIONS, Metrics
from eigenstream.live import server

PART = b"GET /metrics HTTP/1.1\r\nHost: loc"


@pytest.fixture
def metrics(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    with open_source(tmp_path / "x.npy") as source:
        serving, serving.errors = Metrics(source), []
        serving._server._loop.set_exception_handler(lambda loop, context: serving.errors.append(context))
        yield serving
        serving.close()
        assert serving.errors == []


def connected(metrics):
    return socket.create_connection(metrics._server.address, timeout=30)


def answer(metrics, request):
    """Everything that comes back for these bytes, which are all that is sent."""
    with connected(metrics) as connection, suppress(ConnectionError):
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(2**16), b""))
    return b""


def status(metrics, request):
    return int(answer(metrics, request).split()[1])


def test_a_flood_of_connections_does_not_take_the_descriptors_of_a_job(tmp_path):
    """With 64 descriptors and 90 connections that never finish asking, the job goes on and is saved."""
    log = tmp_path / "log.csv"
    X = np.random.default_rng(0).random((900, 4))
    rows = [",".join(f"{value:.4f}" for value in row) + "\n" for row in X]
    log.write_text("a,b,c,d\n" + "".join(rows[:300]))
    command = ["run", "log.csv", "--follow", "--save", "m", "--checkpoint-rows", "100", "--batch-rows", "50"]
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "eigenstream", *command, "--metrics", "0", "--json"],
                cwd=tmp_path, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
            )
        )  # fmt: skip
        try:
            port = urlsplit(process.stderr.readline().removeprefix("metrics: ").strip()).port
            for _ in range(90):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                with suppress(ConnectionError):  # it may have been closed already
                    connection.sendall(PART)
            with log.open("a") as file:
                file.writelines(rows[300:])
            events = map(json.loads, process.stdout)
            assert any(event["event"] == "saved" and event["samples"] >= 850 for event in events)
        finally:
            process.terminate()
            said = process.communicate()[1]
    assert (process.returncode, said) == (143, "")
    assert load(tmp_path / "m").n_samples_seen_ >= 850


def test_connections_and_threads_are_few(metrics):
    with ExitStack() as stack:
        threads = active_count()
        several = [stack.enter_context(connected(metrics)) for _ in range(4 * MOST_CONNECTIONS)]
        for connection in several:
            with suppress(ConnectionError):
                connection.sendall(PART)
        ours = len(os.listdir("/proc/self/fd")) - len(several) if Path("/proc/self/fd").exists() else 0
        assert ours < 100
        assert active_count() == threads
        closed = 0
        for connection in several[2 * MOST_CONNECTIONS :]:
            with suppress(ConnectionError):
                assert connection.recv(1) == b""
            closed += 1
        assert closed == 2 * MOST_CONNECTIONS


def test_a_byte_now_and_then_does_not_keep_a_connection(metrics, monkeypatch):
    monkeypatch.setattr(prometheus, "SECONDS", 0.3)
    with connected(metrics) as connection:
        connection.settimeout(0.01)
        with pytest.raises(ConnectionError):  # noqa: PT012
            while True:
                connection.sendall(b"x")
                with suppress(TimeoutError):
                    if connection.recv(1) == b"":
                        raise ConnectionResetError
    assert status(metrics, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") == 200


@pytest.mark.parametrize(
    ("request_line", "host", "expected"),
    [
        ("GET /metrics HTTP/1.1", "localhost", 200),
        ("HEAD /metrics HTTP/1.1", "localhost", 200),
        ("GET /metrics HTTP/1.1", "[", 400),
        ("GET /metrics HTTP/1.1", "[::1", 400),
        ("GET /metrics HTTP/1.1", "evil.example", 403),
        ("POST /metrics HTTP/1.1", "localhost", 405),
        ("GET /metrics", "localhost", 400),
        ("GET  / HTTP/1.1", "localhost", 400),
        ("\x1b[31m", "localhost", 400),
        ("GET /" + 9000 * "x" + " HTTP/1.1", "localhost", 431),
    ],
)
def test_every_request_gets_a_status(metrics, request_line, host, expected):
    assert status(metrics, f"{request_line}\r\nHost: {host}\r\n\r\n".encode()) == expected


def test_head_has_the_length_of_the_body_and_no_body(metrics):
    metrics._saved = {"last_checkpoint_timestamp_seconds": 1.0}
    host, port = metrics._server.address[:2]
    lengths = []
    for method in ("GET", "HEAD"):
        connection = http.client.HTTPConnection(host, port, timeout=30)
        connection.request(method, "/metrics")
        told = connection.getresponse()
        lengths.append((int(told.headers["Content-Length"]), len(told.read())))
        connection.close()
    assert lengths == [(lengths[0][0], lengths[0][0]), (lengths[0][0], 0)]


@pytest.mark.parametrize("cases", [300, slow(20_000)])
def test_mangled_requests_get_a_status_or_nothing(metrics, cases):
    """Requests cut, doubled, with bytes changed and pieces put in: never a traceback, never a hang."""
    rng, whole = random.Random(0), b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"
    pieces = [
        b"[",
        b"\x00",
        b"\r\n",
        b"\xff" * 3,
        b":",
        b" ",
        b"HTTP/9",
        b"%",
        b"//[",
        b"Host: ]\r\n",
        b"9" * 9000,
    ]
    for _ in range(cases):
        request = bytearray(whole)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(request) + 1)
            change = rng.randrange(4)
            if change == 0:
                request[at:at] = rng.choice(pieces)
            elif change == 1:
                del request[at : at + rng.randrange(12)]
            elif change == 2 and at < len(request):
                request[at] = rng.randrange(256)
            else:
                request = request[:at] * rng.randrange(1, 3) + request[at:]
        told = answer(metrics, bytes(request))
        assert not told or told.split()[1] in (b"200", b"400", b"403", b"405", b"431"), request
        assert metrics.errors == [], request
    assert status(metrics, whole) == 200


def ask(page, **headers):
    """Status of a HEAD request to the page, and the length of what came after it."""
    connection = http.client.HTTPConnection(urlsplit(page.url).netloc, timeout=30)
    connection.request("HEAD", page.path + "/", headers=headers)
    told = connection.getresponse()
    found = told.status, len(told.read())
    connection.close()
    return found


def test_the_page_shows_no_password_of_its_source():
    page = Page("redis://me:hunter2@127.0.0.1/0?stream=plant&token=hunter2")
    assert page._settings.title == "redis://127.0.0.1/0?stream=plant"


def test_the_page_answers_head_and_strange_hosts():
    with Page() as page:
        assert ask(page) == (200, 0)
        assert ask(page, Host="[") == (400, 0)
        assert ask(page, Origin="http://[") == (400, 0)
        assert ask(page, Host="evil.example") == (403, 0)


def test_the_page_keeps_few_connections_and_learning_goes_on():
    with Page() as page, ExitStack() as stack:
        address = ("127.0.0.1", urlsplit(page.url).port)
        several = [
            stack.enter_context(socket.create_connection(address, timeout=30))
            for _ in range(server.MOST_CONNECTIONS + 40)
        ]
        closed = 0
        for connection in several[server.MOST_CONNECTIONS :]:
            with suppress(ConnectionError):
                connection.sendall(PART)
                assert connection.recv(1) == b""
            closed += 1
        assert closed == 40
        handles = Path(f"/proc/{page._server.pid}/fd")
        assert not handles.exists() or len(list(handles.iterdir())) < server.MOST_CONNECTIONS + 30
        page.update(learnt())
        for connection in several:
            connection.close()
        while True:  # those that were closed may still count for a moment
            with suppress(ConnectionError, http.client.HTTPException):
                assert ask(page) == (200, 0)
                return


@pytest.mark.slow
def test_the_page_cuts_connections_that_do_not_ask():
    with Page() as page, socket.create_connection(("127.0.0.1", urlsplit(page.url).port)) as connection:
        connection.settimeout(1)
        with pytest.raises(ConnectionError):  # noqa: PT012
            while True:
                connection.sendall(b"x")
                with suppress(TimeoutError):
                    if connection.recv(1) == b"":
                        raise ConnectionResetError
