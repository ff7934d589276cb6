"""What a browser shows of the live page."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from eigenstream import OnlineAdaptivePCA, streams
from eigenstream.live import Page

pytest.importorskip("bokeh")
from tests.browser import BOUND, LINK, drawn, opened, shows
from tests.live_model import learnt

pytestmark = pytest.mark.xdist_group("live page")  # one browser for all of them


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
    with Page("secret.csv") as page:
        tab = browser.new_page()
        answer = tab.goto(str(page.url).replace("127.0.0.1", "evil.example"))
        assert answer.status == 403
        assert "secret.csv" not in tab.content()
        assert tab.goto(page.url).status == 200
        assert "secret.csv" in tab.content()
        tab.close()


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
