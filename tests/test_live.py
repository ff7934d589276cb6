"""The live page: whom it lets in, and how it is served while learning goes on."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from threading import enumerate as threads
from time import monotonic
from unittest.mock import Mock
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from eigenstream.live import Page

pytest.importorskip("bokeh")
from bokeh.document import Document
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine
from tornado.web import Application, HTTPError

from eigenstream.live.server import MOST_CLIENTS, Gate, Server
from tests.live_model import learnt

# Whom it lets in

ADDRESSES = ["127.0.0.1", "127.0.0.2", "localhost", "::1", "0.0.0.0", "192.168.1.7", "::", "", "example.org"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_path_cannot_be_guessed(address: str) -> None:
    paths = {Page(address=address).path for _ in range(20)}
    assert len(paths) == 20
    assert all(re.fullmatch(r"/[\w-]{20,}", path) for path in paths)


def test_only_the_loopback_is_listened_on() -> None:
    with Page() as page:
        assert page.url is not None
        parts = urlsplit(page.url)
        assert (parts.hostname, parts.path) == ("127.0.0.1", page.path + "/")
        with pytest.raises(ConnectionError):
            socket.create_connection(("127.0.0.2", parts.port), timeout=5)


def asked(page: Page, path: str, method: str = "GET", **headers: str) -> int:
    """The status of an answer."""
    connection = http.client.HTTPConnection(urlsplit(str(page.url)).netloc, timeout=30)
    connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
    answer = connection.getresponse()
    answer.close()
    connection.close()
    return answer.status


def test_nothing_is_found_without_the_path() -> None:
    with Page() as page:
        assert asked(page, page.path + "/") == 200
        script = re.search(r'src="([^"]*bokeh.min.js[^"]*)"', urlopen(str(page.url)).read().decode())
        assert script is not None
        assert asked(page, script[1]) == 200
        wrong = ["/", "/ws", "/autoload.js", "/static/js/bokeh.min.js", "/metadata", "//", "/index.html"]
        wrong += [page.path, page.path[:-1] + "/", page.path.swapcase() + "/", "/" + page.path + "/"]
        wrong += [page.path + rest for rest in ("/autoload.js", "/metadata", "/x", "/%77s", "/static")]
        for path in wrong:
            assert asked(page, path) == 404, path
        assert asked(page, page.path + "/", "POST") == 405


def request_for(path: str, headers: HTTPHeaders) -> HTTPServerRequest:
    start = RequestStartLine("GET", path, "HTTP/1.1")
    return HTTPServerRequest(start_line=start, headers=headers, connection=Mock())


HERE = [
    ("127.0.0.1", "localhost"),
    ("localhost", "127.0.0.1"),
    ("0.0.0.0", "10.0.0.7"),
    ("192.0.2.7", "192.0.2.7"),
]


@pytest.mark.parametrize(("address", "host"), HERE)
def test_the_gate_lets_in_who_names_this_computer(address: str, host: str) -> None:
    gate = Gate(Application(), "/secret", address, lambda: False)

    def refusal(host: str, origin: str | None = None) -> int | None:
        headers = HTTPHeaders({"Host": host} | ({} if origin is None else {"Origin": origin}))
        return gate.refusal(request_for("/secret/", headers))

    for port in ("", ":5006", ":8080"):  # a tunnel may begin at any
        assert refusal(host + port) is None
        assert refusal(host + port, f"http://{host}{port}") is None
        for origin in (
            "http://evil.example",
            "null",
            f"http://{host}:99",
            f"http://{host}.evil.example{port}",
        ):
            assert refusal(host + port, origin) == 403
        for other in ("evil.example", f"{host}.evil.example", "1.evil.example"):
            assert refusal(other + port) == 403
            assert refusal(other + port, f"http://{other}{port}") == 403


def test_a_full_page_is_closed_to_others() -> None:
    gate = Gate(Application(), "/secret", "127.0.0.1", lambda: True)
    for path, status in (("/secret/", 503), ("/secret/ws", None), ("/secret/static/x.js", None)):
        headers = HTTPHeaders({"Host": "127.0.0.1"})
        assert gate.refusal(request_for(path, headers)) == status


def test_the_number_of_browsers_is_bounded() -> None:
    filled = list[Document]()
    server = Server(filled.append, "127.0.0.1", 0, "/secret")
    for _ in range(MOST_CLIENTS):
        assert not server.is_full()
        server._open(Document())
    assert server.is_full()
    with pytest.raises(HTTPError) as refused:  # one of those that came through the gate together
        server._open(Document())
    assert refused.value.status_code == 503
    assert len(filled) == MOST_CLIENTS
    (left,) = filled[3].session_destroyed_callbacks
    left(Mock())
    assert not server.is_full()
    server._socket.close()


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("{}", "http://{}", 101),
        ("localhost:1234", "http://localhost:1234", 101),
        ("{}", "http://evil.example", 403),
        ("evil.example", "http://evil.example", 403),
        ("evil.example", "http://{}", 403),
    ],
)
def test_pages_from_elsewhere_cannot_connect(host: str, origin: str, status: int) -> None:
    with Page() as page:
        here = urlsplit(str(page.url)).netloc
        html = urlopen(str(page.url)).read().decode()
        token = re.search(r'"token":"([^"]+)"', html)
        assert token is not None
        headers = {
            "Host": host.format(here),
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec_WebSocket_Version": "13",
            "Sec_WebSocket_Key": "x3JJHMbDL1EzLkh9GBhXDw==",
            "Sec_WebSocket_Protocol": f"bokeh, {token[1]}",
            "Origin": origin.format(here),
        }
        assert asked(page, page.path + "/ws", **headers) == status


def test_the_secret_is_not_among_the_arguments_of_the_process() -> None:
    with Page() as page:
        assert page._server is not None
        command = Path(f"/proc/{page._server.pid}/cmdline")
        if not command.exists():
            pytest.skip("only Linux shows the arguments of processes here")
        assert page.path[1:].encode() not in command.read_bytes()


# Learning goes on


def test_the_learning_process_serves_nothing_itself() -> None:
    script = """if True:
        import sys
        from urllib.request import urlopen
        from eigenstream.live import Page
        with Page() as page:
            assert urlopen(page.url).status == 200
        print(sorted({"bokeh", "tornado", "jinja2", "sklearn"} & set(sys.modules)))
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


def test_the_page_ends_with_the_learning_process() -> None:
    script = """if True:
        import sys
        from eigenstream.live import Page
        page = Page()
        page.start()
        print(page._server.pid, flush=True)
        sys.stdin.readline()
    """
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as learning:
        assert learning.stdout is not None
        served = int(learning.stdout.readline())
        os.kill(served, 0)
        learning.kill()
    deadline = monotonic() + 30
    while monotonic() < deadline:
        try:
            os.kill(served, 0)
            state = Path(f"/proc/{served}/stat")
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                return  # ended; nobody has asked how
        except ProcessLookupError:
            return
    raise AssertionError("the page's process is still there")


def test_names_that_are_not_text_are_shown_all_the_same() -> None:
    with Page("caf\udce9.csv", ["a\udcff", "b"]) as page:
        page.update(learnt())
        html = urlopen(str(page.url)).read().decode()
    assert "caf\N{REPLACEMENT CHARACTER}.csv" in html


def test_nothing_comes_from_the_network() -> None:
    with Page("<b>a & b</b>") as page:
        html = urlopen(str(page.url)).read().decode()
    sources = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]*)"', html)
    assert sources
    assert all(source.startswith((page.path + "/static/", "data:")) for source in sources)
    assert "<b>" not in html


def test_a_busy_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=rf"port {port} .*choose another port"):
            Page(port=port).start()


def test_without_bokeh_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(ImportError, match=r"pip install 'eigenstream\[live\]'"):
        Page().start()


def test_it_starts_and_stops_and_works_without_a_browser() -> None:
    page, model = Page(), learnt(100)
    page.update(model)
    page.stop()
    for _ in range(2):
        url = page.start()
        assert page.start() == url
        page.update(model, rows_per_second=10.0, lag=3)
        assert page._server is not None
        served = page._server.pid
        page.finish("done")
        page.stop()
        assert page.url is None
        with pytest.raises(ProcessLookupError):
            os.kill(served, 0)
        assert not [thread for thread in threads() if thread.name == "eigenstream-live"]


def test_nothing_is_printed() -> None:
    script = """if True:
        from urllib.error import HTTPError
        from urllib.request import urlopen
        from eigenstream.live import Page
        with Page() as page:
            urlopen(page.url).read()
            try:
                urlopen(page.url + "nothing")
            except HTTPError:
                pass
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("", "")
