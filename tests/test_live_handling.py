"""Buttons of the live page: acknowledge an alarm, shelve an input; what they send, and what comes of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenstream.live import Page
from eigenstream.monitoring import MonitoredModel, MonitorSettings, load
from eigenstream.monitoring.handled import Handled
from eigenstream.streams import Fault
from tests.plant_files import HEAD, NAMES, VALVE, plant_lines, plant_rows

pytest.importorskip("bokeh")
from tests.browser import BOUND, LINK, opened, shows

pytestmark = pytest.mark.xdist_group("live page")  # one browser for all of them

FAULTS = (
    Fault(NAMES.index("heat"), 1200, 1240),
    *(Fault(VALVE, at, at + 40, size=10.0) for at in (1600, 1900)),
)
COMMAND = "watch plant.csv --time-column time --follow --live --save m --quiet --false-alarm-rate 1e-6"


class Noting:
    """A desk that notes what reaches it."""

    def __init__(self) -> None:
        self.taken: list[Any] = []

    def take(self, message: Any) -> bool:
        self.taken.append(message)
        return True

    def handled(self) -> Handled:
        seen = {message["acknowledge"]: 1.7e9 for message in self.taken if "acknowledge" in message}
        shelved = {message["shelve"]: "tomorrow" for message in self.taken if "shelve" in message}
        return Handled(seen, shelved, {"2h": "2 h", "8h": "8 h"})


def watched(X: np.ndarray, names: list[str]) -> MonitoredModel:
    model = MonitoredModel(MonitorSettings(false_alarm_rate=1e-6), standardize=True, random_state=0)
    model.features = names
    model.judge_many(X)
    return model


def says_shelved(tab: Any, text: str) -> None:
    """Wait until the first shelf is told in these words."""
    tab.wait_for_selector("#shelved span", timeout=BOUND)
    shows(tab, "#shelved span", text)


def test_buttons_tell_the_desk_and_nothing_else_reaches_it(browser: Any) -> None:
    desk = Noting()
    names = [*NAMES]
    names[VALVE] = "<img src=x onerror=alert(1)>"
    with Page("plant.csv", names, watching=True, desk=desk) as page, opened(browser, page) as tab:
        page.update(watched(plant_rows(1620, FAULTS), names), rows_per_second=1000.0)
        shows(tab, "#alarm-count", "2")
        hostile = [
            "{shelve: 'x'.repeat(10001), time: '2h', number: -1}", "{acknowledge: [1600], number: -2}",
            "{acknowledge: true, number: -3}", "{shelve: {valve: 1}, time: '2h', number: -4}",
            "{acknowledge: 1.5, number: -5}",
        ]  # fmt: skip
        for message in hostile:
            tab.evaluate(f"{LINK}.clicked = {message}")
        tab.evaluate(f"{LINK}.clicked = {{keys: ['x'], unshelve: 'a\\n{{}}', number: -6}}")
        tab.locator("#acknowledge").click()
        shows(tab, "#acknowledged", "acknowledged 2023-11-14 22:13:20 UTC")
        tab.locator("#blame .shelve button", has_text="8 h").first.click()
        says_shelved(tab, f"{names[VALVE]} is shelved until tomorrow")
        assert desk.taken == [
            {"unshelve": "a\n{}"},
            {"acknowledge": 1600},
            {"shelve": names[VALVE], "time": "8h"},
        ]


def test_a_flood_of_clicks_does_not_reach_the_job(browser: Any) -> None:
    desk = Noting()
    with Page("plant.csv", NAMES, watching=True, desk=desk) as page, opened(browser, page) as tab:
        for _ in range(20):
            tab.evaluate(
                f"for (let i = 0; i < 25; i++) {LINK}.clicked = {{unshelve: 'x', number: Math.random()}}"
            )
        tab.wait_for_timeout(1500)
        tab.evaluate(f"{LINK}.clicked = {{unshelve: 'last', number: -1}}")
        tab.wait_for_timeout(500)
        assert desk.taken[-1] == {"unshelve": "last"}
        assert len(desk.taken) <= 200  # of 501; 20 in a second


def test_without_a_desk_there_are_no_buttons(browser: Any) -> None:
    with Page("plant.csv", NAMES, watching=True) as page, opened(browser, page) as tab:
        page.update(watched(plant_rows(1620, FAULTS), NAMES), rows_per_second=1000.0)
        shows(tab, "#alarm-count", "2")
        assert not tab.locator("#acknowledge").is_visible()
        assert tab.locator("#blame button").count() == 0
        tab.evaluate(f"{LINK}.clicked = {{acknowledge: 1600, number: 1}}")  # nobody listens
        shows(tab, "#alarm-count", "2")


@contextmanager
def following(browser: Any, folder: Path, *more: str) -> Iterator[tuple[Any, str]]:
    """A tab with the page of a job that follows plant.csv, and its address; the job ends by a signal."""
    with (
        (folder / "out").open("a") as out,
        subprocess.Popen(
            [sys.executable, "-m", "eigenstream", *COMMAND.split(), *more],
            cwd=folder, stdout=out, stderr=subprocess.PIPE, text=True,
        ) as job,
    ):  # fmt: skip
        try:
            assert job.stderr is not None
            url = job.stderr.readline().removeprefix("live page: ").strip()
            tab = browser.new_page(viewport={"width": 390, "height": 900})
            tab.goto(url)
            yield tab, url
            tab.close()
        finally:
            job.terminate()
            job.wait()


def test_what_is_clicked_holds_in_the_job_after_a_reload_and_a_resume(browser: Any, tmp_path: Path) -> None:
    lines, plant = plant_lines(plant_rows(2100, FAULTS)), tmp_path / "plant.csv"
    plant.write_text(HEAD + "".join(lines[:1630]))
    on = "getComputedStyle(document.querySelector('#alarms tr[data-key=\"1600\"] td:last-child')).color"
    with following(browser, tmp_path) as (tab, url):
        shows(tab, "#samples", "1,630")
        highlighted = tab.evaluate(on)
        tab.locator("#acknowledge").click()
        tab.wait_for_selector("#alarms tr[data-key='1600'][data-acknowledged]", timeout=BOUND)
        assert tab.evaluate(on) != highlighted
        assert tab.locator("#alarms tr").count() == 2
        tab.locator("#blame .shelve button", has_text="2 h").first.click()
        says_shelved(tab, "valve is shelved until 2 h after the next row")
        with plant.open("a") as file:
            file.write("".join(lines[1630:2000]))
        until = "valve is shelved until 2026-11-15 12:27:10"
        says_shelved(tab, until)
        shows(tab, "#alarm-count", "3")  # the second one of the valve is shown, and not told
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        tab.goto(url)
        says_shelved(tab, until)
        tab.locator("#alarms tr[data-key='1600']").click()
        assert tab.locator("#acknowledged").inner_text().startswith("acknowledged 20")
    out = (tmp_path / "out").read_text()
    said = "row 1,630 (2026-11-15 10:27:10): valve is shelved until 2026-11-15 12:27:10 (by the page): nobody"
    assert said in out
    assert "row 1,9" not in out
    assert [row for row, _ in load(tmp_path / "m").position_["handled"]["acknowledged"]] == [1600]
    with following(browser, tmp_path, "--resume") as (tab, _):
        with plant.open("a") as file:
            file.write("".join(lines[2000:]))
        says_shelved(tab, until)
        tab.wait_for_selector("#alarms tr[data-key='1600'][data-acknowledged]", timeout=BOUND)
        tab.locator("#shelved button").click()
        tab.wait_for_function("document.querySelector('#shelved').childElementCount == 0", timeout=BOUND)
    assert "handled" in load(tmp_path / "m").position_
    assert load(tmp_path / "m").position_["handled"]["shelves"] == []
