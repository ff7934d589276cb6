"""The live page: what it keeps, whom it lets in, and what a browser shows."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from threading import enumerate as threads
from time import monotonic
from typing import Any
from unittest.mock import Mock
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA, streams
from eigenstream.history import LIMIT, SpectrumHistory, Thinned
from eigenstream.live import Page, board
from eigenstream.live.board import Board
from eigenstream.live.snapshot import MOST_COMPONENTS, MOST_POINTS, Moment, merged, thinned

pytest.importorskip("bokeh")
from bokeh.document import Document
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine
from tornado.web import Application, HTTPError

from eigenstream.live import figures
from eigenstream.live.charts import Charts
from eigenstream.live.gate import Gate
from eigenstream.live.server import MOST_CLIENTS, Server
from tests.browser import BOUND, CHROMIUM, FLAGS, LINK, drawn, opened, shows


class Clock:
    """Stands still unless moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(board, "monotonic", clock)
    return clock


def learnt(n_samples: int = 300, **parameters: Any) -> OnlineAdaptivePCA:
    model = OnlineAdaptivePCA(random_state=0, **parameters)
    for batch in streams.changing_rank(n_samples, random_state=0):
        model.partial_fit(batch)
    return model


# What is kept


@pytest.mark.parametrize("n", [1, MOST_POINTS, MOST_POINTS + 1, 3000])
def test_thinning_is_bounded_and_keeps_the_peaks(n: int) -> None:
    rows = np.random.default_rng(0).standard_normal((MOST_COMPONENTS + 3, n))
    thin = thinned(rows)
    assert thin.values.shape == (MOST_COMPONENTS, min(n, MOST_POINTS)) == (MOST_COMPONENTS, len(thin.start))
    np.testing.assert_array_equal(
        abs(thin.values).max(axis=1), abs(rows[:MOST_COMPONENTS]).max(axis=1).astype("f4")
    )
    if n <= MOST_POINTS:
        np.testing.assert_array_equal(thin.values, rows[:MOST_COMPONENTS].astype("f4"))


def test_no_components_are_thinned_to_none() -> None:
    assert thinned(np.zeros((0, 2000))).values.shape == (0, MOST_POINTS)


def test_the_whole_and_the_recent_part_make_one_timeline() -> None:
    past = SpectrumHistory(np.array([10, 20, 30]), np.ones((3, 4)), np.full(3, 0.5), np.array([1, 2, 3]))
    recent = [Moment(t, np.array([3.0, 2.0]), 0.7, 9, 1.0, 0.0) for t in (20, 25, 40)]
    sample, variances, threshold, rank = merged(past, recent)
    assert sample.tolist() == [10, 20, 25, 30, 40]
    assert rank.tolist() == [1, 2, 9, 3, 9]
    assert threshold.tolist() == [0.5, 0.5, 0.7, 0.5, 0.7]
    np.testing.assert_array_equal(variances[2], [3, 2, np.nan, np.nan])


def test_moments_are_spread_over_the_whole_in_bounded_memory() -> None:
    spread: Thinned[Moment] = Thinned(lambda moment: moment.sample)
    for t in range(10_000):
        spread.add(Moment(t, np.zeros(0), 0.0, 0, 0.0, 0.0))
        assert len(spread.moments) <= LIMIT
    samples = [m.sample for m in spread.moments]
    assert samples[0] == 0
    assert len(set(np.diff(samples))) == 1
    assert samples[-1] > 10_000 - 2 * (samples[1] - samples[0])


def test_between_two_looks_an_update_copies_nothing(clock: Clock) -> None:
    model, wall = learnt(), Board()
    wall.update(model, 1.0, None)
    first = wall.latest
    clock.now += 0.9 * board.REFRESH
    wall.update(model, 1.0, None)
    assert wall.latest is first
    clock.now += 0.2 * board.REFRESH
    wall.update(model, 1.0, None)
    assert first is not None
    assert wall.latest is not None
    assert wall.latest.version == first.version + 1


def test_a_model_that_takes_long_to_copy_is_looked_at_less_often(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(components: Any) -> Any:
        clock.now += 0.1
        return thinned(components)

    monkeypatch.setattr(board, "thinned", slowly)
    model, wall, taken = learnt(), Board(), 0
    start = clock.now
    for _ in range(1000):
        before = clock.now
        wall.update(model, 1.0, None)
        taken += clock.now > before
        clock.now += 0.05
    assert taken > 5
    assert taken * 0.1 <= 1.05 * board.SHARE * (clock.now - start) + 0.1


def test_the_end_of_a_burst_is_seen(clock: Clock) -> None:
    model, wall = learnt(100), Board()
    assert wall.state == "waiting"
    wall.update(model, 1.0, None)
    wall.update(model.partial_fit(np.eye(64)), 1.0, None)
    wall.look_if_quiet()
    assert wall.latest is not None
    assert wall.latest.now.sample == 100
    clock.now += board.QUIET
    wall.look_if_quiet()
    assert wall.latest.now.sample == 164
    assert wall.state == "running"
    clock.now += board.WAITING
    assert wall.state == "waiting"


def test_a_snapshot_does_not_change_when_the_model_learns_on(clock: Clock) -> None:
    model, wall = learnt(), Board()
    wall.update(model, 1.0, 5)
    taken = wall.latest
    assert taken is not None
    copied = [taken.timeline.variances.copy(), taken.loadings.values.copy(), taken.now.variances.copy()]
    model.partial_fit(np.random.default_rng(1).standard_normal((500, 64)))
    for old, new in zip(
        copied, [taken.timeline.variances, taken.loadings.values, taken.now.variances], strict=True
    ):
        np.testing.assert_array_equal(old, new)


def test_a_long_stream_is_shown_from_its_beginning_in_few_numbers(clock: Clock) -> None:
    model, wall = learnt(3000), Board()  # learnt before there was a page, as after a resume
    for batch in streams.changing_rank(20_000, ranks={0: 2}, batch_size=50, random_state=1):
        clock.now += 1
        wall.update(model.partial_fit(batch), 1.0, None)
    shown = wall.latest
    assert shown is not None
    assert shown.timeline.sample[0] < 200
    assert shown.timeline.sample[-1] == shown.now.sample == 23_000
    assert len(shown.timeline.sample) <= 2 * LIMIT
    assert len(shown.pace.sample) <= 2 * LIMIT
    assert shown.recent == 23_000 - 50 * (LIMIT - 1)
    assert set(np.diff(shown.timeline.sample[shown.timeline.sample >= shown.recent])) <= set(range(1, 51))


def test_a_model_fitted_anew_starts_a_new_page(clock: Clock) -> None:
    model, wall = learnt(1000), Board()
    wall.update(model, 1.0, None)
    clock.now += 1
    wall.update(model.fit(np.random.default_rng(0).standard_normal((50, 64))), 1.0, None)
    assert wall.latest is not None
    assert wall.latest.timeline.sample[-1] == wall.latest.pace.sample[-1] == 50


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


def test_a_page_that_is_stuck_does_not_hold_up_learning(clock: Clock) -> None:
    """With its process stopped, far more is to be shown than a pipe holds: updates return all the same."""
    model = learnt(1000)
    with Page() as page:
        assert page._server is not None
        os.kill(page._server.pid, signal.SIGSTOP)
        for batch in streams.changing_rank(20_000, ranks={0: 2}, batch_size=50, random_state=1):
            clock.now += 1
            page.update(model.partial_fit(batch))
            page._server.hurry()
        assert page._board.latest is not None
        assert page._board.latest.version == 400


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


# What a browser shows


def test_the_page_follows_a_stream(browser: Any, capfd: pytest.CaptureFixture[str]) -> None:
    model = OnlineAdaptivePCA(half_life=200, random_state=0)
    batches = streams.changing_rank(random_state=0)

    def learn(count: int) -> None:
        for _ in range(count):
            page.update(model.partial_fit(next(batches)), rows_per_second=12_345.0, lag=20)

    with Page("sensors.csv") as page, opened(browser, page) as tab:
        assert tab.title() == "sensors.csv · eigenstream"
        shows(tab, "#samples", "\N{EN DASH}")
        learn(15)
        shows(tab, "#samples", "1,500")
        shows(tab, "#rank", "3")
        shows(tab, "#rate", "12.3 k")
        shows(tab, "#lag", "20")
        shows(tab, "#leading", "all 3")
        before = tab.locator("#events tr").count()

        learn(15)  # the rank goes to 5 at sample 2000
        shows(tab, "#rank", "5")
        change = next(c for c in model.rank_history_ if c.after == 5)
        assert tab.locator("#events tr").count() > before
        assert (
            tab.locator("#events tr", has_text=f"{change.sample:,}")
            .inner_text()
            .endswith(f"{change.before} → 5")
        )
        assert change.sample in drawn(tab, "rank", "sample")

        tab.click("#pause")
        shows(tab, "#state", "paused")
        frozen = tab.inner_text("main"), drawn(tab, "log", "threshold"), tab.inner_text(".tiles")
        learn(30)
        for name in ("recent", "whole") * 3:  # it hears the server all the same
            painted = tab.evaluate(LINK + ".shown")
            tab.click(f"#{name}")
            tab.wait_for_function(f"{LINK}.shown > {painted}", timeout=BOUND)
        assert frozen == (tab.inner_text("main"), drawn(tab, "log", "threshold"), tab.inner_text(".tiles"))
        tab.click("#pause")
        shows(tab, "#samples", "6,000")
        shows(tab, "#rank", "2")

        page.finish("6,000 rows")
        shows(tab, "#state", "finished")
        shows(tab, "#message", "6,000 rows")
        # Before the tab is closed: Bokeh may stumble over a connection that goes while it is being made.
        assert capfd.readouterr().err == ""  # where warnings of the server go, since there is a log


def test_zooming_stops_following_until_asked_to(browser: Any) -> None:
    with Page() as page, opened(browser, page) as tab:
        extent = (
            "() => (({start, end}) => [start, end])(Bokeh.documents[0].get_model_by_name('rank').x_range)"
        )
        page.update(learnt(1000), rows_per_second=1.0)
        shows(tab, "#samples", "1,000")
        assert tab.evaluate(extent) == pytest.approx([-10, 1010])
        tab.mouse.move(500, 400)
        tab.mouse.wheel(0, -400)
        tab.wait_for_selector("#whole[aria-pressed=false]", timeout=BOUND)
        start, end = tab.evaluate(extent)
        assert -10 < start < end < 1010
        tab.click("#whole")
        tab.wait_for_function(f"({extent})()[1] == 1010", timeout=BOUND)
        tab.mouse.move(500, 400)
        tab.mouse.wheel(0, -400)
        tab.wait_for_selector("#whole[aria-pressed=false]", timeout=BOUND)
        tab.mouse.dblclick(500, 400)
        tab.wait_for_function(f"({extent})()[1] == 1010", timeout=BOUND)
        tab.click("#linear")
        tab.wait_for_function("!Bokeh.documents[0].get_model_by_name('log').visible", timeout=BOUND)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser: Any, scheme: str) -> None:
    brightness = (
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((a, b) => +a + +b) / 765"
    )
    axis = "Bokeh.documents[0].get_model_by_name('rank').below[0].major_label_text_color"
    with Page() as page, opened(browser, page, color_scheme=scheme) as tab:
        other = {"light": "dark", "dark": "light"}[scheme]
        for expected in (scheme, other):
            tab.wait_for_selector(f"html[data-theme={expected}]", timeout=BOUND)
            wanted = {"light": "#52606d", "dark": "#9fb0c3"}[expected]
            tab.wait_for_function(f"{axis} == '{wanted}'", timeout=BOUND)
            assert (tab.evaluate(brightness) > 0.5) == (expected == "light")
            tab.click("#theme")


def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Any) -> None:
    with Page("a rather long name of a stream.csv") as page:
        page.update(learnt(), rows_per_second=1e6, lag=123_456)
        with opened(browser, page) as tab:
            tab.set_viewport_size({"width": 390, "height": 800})
            tab.wait_for_function("document.documentElement.scrollWidth <= 390", timeout=BOUND)


def test_the_browser_says_so_when_the_server_has_gone(browser: Any) -> None:
    page = Page()
    page.start()
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(page.url)
    tab.wait_for_selector("#state[data-state=waiting]", timeout=BOUND)
    page.stop()
    tab.wait_for_selector("#state[data-state=disconnected]", timeout=BOUND)
    context.close()


def test_a_name_that_somebody_points_here_shows_nothing(browser: Any) -> None:
    """DNS rebinding: the name of another site leads to this computer, and the site even knows the path."""
    rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    other = browser.browser_type.launch(executable_path=CHROMIUM, args=[*FLAGS, rules])
    try:
        with Page("secret.csv") as page:
            tab = other.new_page()
            answer = tab.goto(str(page.url).replace("127.0.0.1", "evil.example"))
            assert answer.status == 403
            assert "secret.csv" not in tab.content()
            assert tab.goto(page.url).status == 200
            assert "secret.csv" in tab.content()
    finally:
        other.close()


def test_run_live_shows_the_job(browser: Any, tmp_path: Any) -> None:
    command = [sys.executable, "-m", "eigenstream", "run", "--live", "--live-seconds", "60", "--quiet"]
    with subprocess.Popen(
        [*command, "--rate", "20000"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as job:
        try:
            assert job.stderr is not None
            url = job.stderr.readline().removeprefix("live page: ").strip()
            assert url.startswith("http://127.0.0.1:")
            page = browser.new_page()
            page.goto(url)
            page.get_by_text("finished", exact=True).first.wait_for(timeout=BOUND)
            assert "built-in stream" in page.inner_text("body")
            page.get_by_text("10,000", exact=True).first.wait_for(timeout=BOUND)
            page.close()
        finally:
            job.terminate()


def test_times_take_the_place_of_sample_counts() -> None:
    model, seen = OnlineAdaptivePCA(random_state=0), Board()
    model.partial_fit(np.random.default_rng(0).standard_normal((300, 6)) * [9, 3, 1, 1, 1, 1])
    noon = 1.7e9
    seen.update(model, 1e3, None, [[100, noon], [200, noon + 60], [300, noon + 120]])
    assert seen.latest is not None
    timed, plain = Charts(None, "rows", timed=True), Charts(None, "rows")
    for column in ("timeline", "steps", "pace"):
        counts = plain.show(seen.latest)[column]["sample"]
        times = timed.show(seen.latest)[column]["sample"]
        np.testing.assert_allclose(times, 1e3 * np.interp(counts, [100, 300], [noon, noon + 120]))
    assert timed.frame("whole")["samples"][1] >= 1e3 * (noon + 120)
    assert plain.frame("whole")["samples"] == (-3.0, 303.0)
    assert timed.pace.xaxis[0].axis_label == "time (UTC)"
    assert [row[0] for row in figures.timeline_rows(0, timed=True)] == ["time", "rank", "threshold"]
