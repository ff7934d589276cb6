"""The live page of a monitor: control charts, alarms, and the inputs to blame for the one that is clicked."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from eigenstream.jobs.traces import Traces
from eigenstream.live import Page
from eigenstream.live.board import Board
from eigenstream.monitoring import MonitoredModel, MonitorSettings
from eigenstream.streams import Fault
from tests.live_model import learnt
from tests.live_traces import judge
from tests.plant_files import NAMES, plant_rows, write_plant

pytest.importorskip("bokeh")
from eigenstream.live.charts import Charts, ControlCharts
from eigenstream.live.session import tiles
from tests.browser import BOUND, drawn, opened, shows

pytestmark = pytest.mark.xdist_group("live page")  # one browser for all of them

FAULTS = (Fault(NAMES.index("valve"), 1200, 1240), Fault(NAMES.index("heat"), 1600, 1650, size=10.0))


def watched(X: np.ndarray) -> MonitoredModel:
    model = MonitoredModel(MonitorSettings(false_alarm_rate=1e-6), standardize=True, random_state=0)
    model.features = NAMES
    model.judge_many(X)
    return model


def test_charts_show_statistics_limits_and_alarms() -> None:
    model, board = watched(plant_rows(1800, FAULTS)), Board()
    noon = 1.7e9
    board.update(model, 1e3, None, [[1, noon], [1800, noon + 1799]])
    assert board.latest is not None
    columns = ControlCharts().show(board.latest)
    history = model.control_history_
    np.testing.assert_array_equal(columns["control"]["sample"], history.row)
    np.testing.assert_array_equal(columns["control"]["spe"], history.chart("spe")[0])
    np.testing.assert_array_equal(columns["alarms"]["began"], [1200, 1600])
    np.testing.assert_allclose(columns["alarms"]["last"], [1240, 1650], atol=12)  # of averages, too
    timed = ControlCharts(timed=True)
    np.testing.assert_allclose(
        timed.show(board.latest)["alarms"]["began"], 1e3 * (noon + np.array([1200, 1600]))
    )
    assert timed.over_samples[-1].xaxis[0].axis_label == "time (UTC)"
    assert tiles(board.latest, "rows")["alarm-count"] == "2"
    assert tiles(board.latest, "rows")["samples"] == "1,800"


def test_every_number_has_a_place_on_the_page() -> None:
    page = files("eigenstream.live").joinpath("page.html").read_text()
    for model in (watched(plant_rows(1300, ())), learnt(500)):
        board = Board()
        board.update(model, 1e3, 0.0)
        for name in tiles(board.latest, "rows"):
            assert f'id="{name}"' in page


def test_rows_that_are_not_learnt_move_the_page_on() -> None:
    X = plant_rows(1300, [Fault(1, 1200, 10**9)])
    model, board = watched(X[:1200]), Board()
    board.update(model, 1e3, None)
    before = model.n_samples_seen_
    model.judge_many(X[1200:])
    board.look()
    assert model.n_samples_seen_ == before + 10  # those before it is known to be a fault
    assert board.latest is not None
    assert board.latest.now.sample == 1300
    assert board.latest.watching is not None
    assert board.latest.watching.alarms[-1].ended is None


def test_clicking_an_alarm_shows_the_inputs_to_blame(browser: Any) -> None:
    X = plant_rows(1800, FAULTS)
    model = watched(X[:1100])
    with Page("plant.csv", NAMES, watching=True) as page, opened(browser, page) as tab:
        page.update(model, rows_per_second=1000.0)
        shows(tab, "#samples", "1,100")
        assert tab.locator("#alarms tr").count() == 0
        model.judge_many(X[1100:1620])
        page.update(model, rows_per_second=1000.0)
        page.finish("1,620 rows")
        shows(tab, "#alarm-count", "2")
        shows(tab, "#alarm-now", "one is on")
        shows(
            tab,
            "#blamed",
            "alarm at row 1,600, " + tab.locator("#alarms tr").first.locator("td").nth(3).inner_text(),
        )
        assert tab.locator("#blame > div").first.locator("span").first.inner_text() == "heat"
        tab.locator("#alarms tr[data-key='1200']").click()
        assert tab.locator("#blame > div").first.locator("span").first.inner_text() == "valve"
        assert tab.locator("#alarms tr[aria-selected=true]").get_attribute("data-key") == "1200"
        shares = [
            float(text.removesuffix(" %"))
            for text in tab.locator("#blame > div > span:last-child").all_inner_texts()
        ]
        assert 50 < shares[0] <= sum(shares) <= 100.1
        assert drawn(tab, "spe", "spe_limit")[-1] == pytest.approx(model.control_history_.limits[-1, 1])
        assert drawn(tab, "t2", "began") == [1200, 1600]


def test_clicking_an_alarm_shows_its_traces_and_zooms_to_it(browser: Any) -> None:
    X = plant_rows(1800, FAULTS)
    model, traces = watched(X[:1100]), Traces()
    with Page("plant.csv", NAMES, watching=True) as page, opened(browser, page) as tab:
        for start in range(1100, 1800, 100):
            judge(model, traces, X, start, start + 100)
            page.update(model, rows_per_second=1000.0, traces=traces.found)
        page.finish("1,800 rows")
        shows(tab, "#traces .one:first-child h3", "heat")  # the latest, until one is clicked
        tab.locator("#alarms tr[data-key='1200']").click()
        shows(tab, "#traces .one:first-child h3", "valve")
        at, value, expected = (drawn(tab, "trace0", name) for name in ("sample", "value", "expected"))
        alarm = next(alarm for alarm in model.alarms_ if alarm.began == 1200)
        assert (at[0], at[-1]) == (1160, alarm.last + 40)
        np.testing.assert_array_equal(value, X[1160 : alarm.last + 41, NAMES.index("valve")])
        assert max(abs(np.array(value) - expected)[:40]) < max(abs(np.array(value) - expected)[40:80])
        tab.wait_for_function(
            f"Bokeh.documents[0].get_model_by_name('spe').x_range.end == {alarm.last + 101}", timeout=BOUND
        )
        row = tab.locator("#alarms tr[data-key='1200'] td")
        assert row.nth(1).inner_text() == str(alarm.rows)  # as many as the line in the terminal says


def test_lines_break_at_pauses() -> None:
    model, board = watched(plant_rows(1800, FAULTS)), Board()
    nights = [[1, 1.7e9], [900, 1.7e9 + 899], [901, 1.7e9 + 1e5], [1800, 1.7e9 + 1e5 + 899]]
    board.update(model, 1e3, None, nights)
    assert board.latest is not None
    columns = ControlCharts(timed=True).show(board.latest)["control"]
    at = columns["sample"] - 1.7e12
    (pause,) = np.flatnonzero((at[:-2] == 899e3) & np.isnan(columns["spe"][1:-1]) & (at[2:] == 1e8))
    assert np.isfinite(columns["spe"][[pause, pause + 2]]).all()
    board.update(learnt(1800), 1e3, 0.0, nights)
    board.look()
    assert board.latest is not None
    charts = Charts(None, "rows", timed=True).show(board.latest)
    assert np.isnan(charts["timeline"]["v0"]).sum() == 1
    assert np.isnan(charts["steps"]["rank"]).sum() == 1


def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Any) -> None:
    with Page("a rather long name of a plant.csv", NAMES, watching=True) as page:
        page.update(watched(plant_rows(1300, FAULTS)), rows_per_second=1e6, lag=123_456)
        with opened(browser, page) as tab:
            tab.set_viewport_size({"width": 390, "height": 800})
            tab.wait_for_function("document.documentElement.scrollWidth <= 390", timeout=BOUND)


def test_watch_live_shows_the_job(browser: Any, tmp_path: Any) -> None:
    write_plant(tmp_path / "plant.csv", 1800, FAULTS)
    command = [sys.executable, "-m", "eigenstream", "watch", "plant.csv", "--time-column", "time", "--quiet"]
    with subprocess.Popen(
        [*command, "--live", "--live-seconds", "60", "--false-alarm-rate", "1e-6"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as job:  # fmt: skip
        try:
            assert job.stderr is not None
            url = job.stderr.readline().removeprefix("live page: ").strip()
            tab = browser.new_page()
            tab.goto(url)
            shows(tab, "#state", "finished")
            shows(tab, "#samples", "1,800")
            assert tab.locator("#alarms tr td:first-child").all_inner_texts() == [
                "2026-11-15 10:26:40",
                "2026-11-15 10:20:00",
            ]
            tab.close()
        finally:
            job.terminate()
