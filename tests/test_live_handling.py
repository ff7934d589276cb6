"""Buttons of the live page: acknowledge an alarm, shelve an input; what they send, and what comes of it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenstream.jobs.fleet import FleetOverview
from eigenstream.keyed import MonitorBank, open_bank
from eigenstream.live import Page
from eigenstream.monitoring import MonitoredModel, MonitorSettings, load
from eigenstream.monitoring.handled import Handled, Subject
from eigenstream.streams import Fault
from tests import fleet_file
from tests.fleet_file import FAULTY, INPUTS, LATE
from tests.plant_files import HEAD, NAMES, VALVE, plant_lines, plant_rows

pytest.importorskip("bokeh")
from tests.browser import BOUND, LINK, opened, shows

pytestmark = pytest.mark.xdist_group("live page")  # one browser for all of them

FAULTS = (
    Fault(NAMES.index("heat"), 1200, 1240),
    *(Fault(VALVE, at, at + 40, size=10.0) for at in (1600, 1900)),
)
COMMON = "--follow --live --save m --quiet --false-alarm-rate 1e-6"
COMMAND = f"watch plant.csv --time-column time {COMMON}"
COMMAND_OF_FLEET = f"watch fleet.csv --key unit --time-column when --checkpoint-seconds 0 {COMMON}"


class Noting:
    """A desk that notes what reaches it."""

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.listed: dict[str | None, list[int]] = {}

    def take(self, message: Any) -> bool:
        self.taken.append(message)
        return True

    def list_alarms(self, alarms: Any) -> None:
        self.listed |= alarms

    def handled(self) -> Handled:
        asked = [(message.get("key"), message) for message in self.taken]
        seen = {(key, one["acknowledge"]): 1.7e9 for key, one in asked if "acknowledge" in one}
        shelved = {Subject(one["shelve"], key): "tomorrow" for key, one in asked if "shelve" in one}
        return Handled(seen, shelved, {"2h": "2 h", "8h": "8 h", "9": "1 row", "99999": "99,999 rows"})


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
        assert desk.listed == {None: [1200, 1600]}


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
def following(
    browser: Any, folder: Path, *more: str, command: str = COMMAND, by: int = signal.SIGTERM
) -> Iterator[tuple[Any, str]]:
    """A tab with the page of a job that follows a file, and its address; the job ends by a signal."""
    with (
        (folder / "out").open("a") as out,
        subprocess.Popen(
            [sys.executable, "-m", "eigenstream", *command.split(), *more],
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
            job.send_signal(by)
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
    assert [mark[0] for mark in load(tmp_path / "m").position_["handled"]["acknowledged"]] == [1600]
    with following(browser, tmp_path, "--resume") as (tab, _):
        with plant.open("a") as file:
            file.write("".join(lines[2000:]))
        says_shelved(tab, until)
        tab.wait_for_selector("#alarms tr[data-key='1600'][data-acknowledged]", timeout=BOUND)
        tab.locator("#shelved button").click()
        tab.wait_for_function("document.querySelector('#shelved').childElementCount == 0", timeout=BOUND)
    assert "handled" in load(tmp_path / "m").position_
    assert load(tmp_path / "m").position_["handled"]["shelves"] == []


def chosen(tab: Any, key: str) -> None:
    """Click a key, and wait for its alarms."""
    tab.locator(f".key-row[data-key='{key}']").click()
    tab.wait_for_function("key => Bokeh && document.documentElement.dataset.chosen == 'true' "
                          f"&& {LINK}.values.key == key", arg=key, timeout=BOUND)  # fmt: skip


def says_beside(tab: Any, key: str, text: str) -> None:
    """Wait until the list of keys says this about a key."""
    condition = (
        "([key, text]) => document.querySelector(`.key-row[data-key='${key}'] small`).title.includes(text)"
    )
    tab.wait_for_function(condition, arg=[key, text], timeout=BOUND)


def fleet_of(names: list[str]) -> tuple[MonitorBank, FleetOverview]:
    """Monitors of a fleet, of which the first has an alarm on."""
    rng, bank = np.random.default_rng(0), MonitorBank(standardize=True, features=INPUTS)
    overview = FleetOverview.over(bank)
    X = rng.standard_normal((200 * len(names), 4)) * [4.0, 3.0, 0.5, 0.5]
    X[-2 * len(names) :: len(names), 2] += 30.0
    keys = names * 200
    overview.judged_keys(
        keys, bank.judge_many(keys, X).severity, {names[0]: bank.model(names[0]).alarms_[-1]}
    )
    return bank, overview


def test_buttons_of_a_fleet_tell_the_desk_the_key(browser: Any) -> None:
    desk, names = Noting(), ["<img src=x onerror=alert(1)>", "unit 1"]
    bank, overview = fleet_of(names)
    with (
        Page("fleet.csv", INPUTS, watching=True, fleet=True, desk=desk) as page,
        opened(browser, page) as tab,
    ):
        page.update_fleet(bank, overview.overview)
        shows(tab, "#on-count", "1")
        assert not tab.locator("#handle").is_visible()
        tab.evaluate(f"{LINK}.clicked = {{shelve: '', time: '2h', key: 'x'.repeat(10001), number: -1}}")
        tab.evaluate(f"{LINK}.clicked = {{shelve: '', time: '2h', key: ['unit 1'], number: -2}}")
        chosen(tab, names[0])
        tab.locator("#acknowledge").click()
        shows(tab, "#acknowledged", "acknowledged 2023-11-14 22:13:20 UTC")
        shows(tab, "#on-seen", "keys; 1 acknowledged")
        assert tab.locator(".key-row[data-seen=true]").count() == 1
        tab.locator("#blame .shelve button", has_text="8 h").first.click()
        says_shelved(tab, f"c of {names[0]} is shelved until tomorrow")
        says_beside(tab, names[0], "c shelved until tomorrow")
        chosen(tab, "unit 1")
        assert tab.locator("#alarms tr").count() == 0
        assert not tab.locator("#acknowledge").is_visible()
        tab.locator("#shelve-key button", has_text="2 h").click()
        says_beside(tab, "unit 1", "shelved until tomorrow")
        shows(tab, "#shelve-key", "the whole key shelved")
        tab.locator("#shelved button").last.click()
        tab.wait_for_timeout(500)
        began = bank.model(names[0]).alarms_[-1].began
        assert desk.taken == [
            {"acknowledge": began, "key": names[0]},
            {"shelve": "c", "time": "8h", "key": names[0]},
            {"shelve": "", "time": "2h", "key": "unit 1"},
            {"unshelve": "", "key": "unit 1"},
        ]
        assert desk.listed == {names[0]: [began], "unit 1": []}
        tab.set_viewport_size({"width": 390, "height": 800})
        tab.wait_for_function("document.documentElement.scrollWidth <= 390", timeout=BOUND)


def test_without_a_desk_a_fleet_has_no_buttons(browser: Any) -> None:
    names = ["unit 0", "unit 1"]
    bank, overview = fleet_of(names)
    with Page("fleet.csv", INPUTS, watching=True, fleet=True) as page, opened(browser, page) as tab:
        page.update_fleet(bank, overview.overview)
        chosen(tab, "unit 0")
        assert tab.locator("#alarms tr").count() == 1
        assert not tab.locator("#handle").is_visible()
        assert tab.locator("#blame button").count() == 0


def test_what_is_clicked_on_the_page_of_a_fleet_survives_a_kill(browser: Any, tmp_path: Path) -> None:
    lines, fleet = fleet_file.fleet_lines(), tmp_path / "fleet.csv"
    fleet.write_text(fleet_file.HEAD + "".join(lines[: 4 * 305]))
    of_fleet: dict[str, Any] = {"command": COMMAND_OF_FLEET, "by": signal.SIGKILL}
    with following(browser, tmp_path, **of_fleet) as (tab, _):
        shows(tab, "#on-count", "1")
        chosen(tab, FAULTY)
        tab.locator("#acknowledge").click()
        tab.wait_for_selector(f".key-row[data-key='{FAULTY}'][data-seen=true]", timeout=BOUND)
        tab.locator("#shelve-key button", has_text="8 h").click()
        says_shelved(tab, f"{FAULTY} is shelved until 8 h after the next row")
        with fleet.open("a") as file:
            file.write("".join(lines[4 * 305 : 4 * 450]))
        until = f"{FAULTY} is shelved until 2023-11-15 07:04:11"
        says_shelved(tab, until)
        shows(tab, "#samples", "1,800")
        says_beside(tab, FAULTY, "shelved until 2023-11-15 07:04:11")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        for _ in range(100):  # a checkpoint follows each batch
            with open_bank(tmp_path / "m") as bank:
                held, saved = bank.position_.get("handled"), bank.samples
            if saved == 1800:
                break
            tab.wait_for_timeout(100)
    assert saved == 1800
    assert [(mark[0], mark[2]) for mark in held["acknowledged"]] == [(300, FAULTY)]
    with following(browser, tmp_path, "--resume", **of_fleet) as (tab, _):
        says_shelved(tab, until)
        with fleet.open("a") as file:
            file.write("".join(lines[4 * 450 :]))
        shows(tab, "#samples", "2,400")
        chosen(tab, FAULTY)
        tab.wait_for_selector("#alarms tr[data-key='300'][data-acknowledged]", timeout=BOUND)
        tab.locator("#shelved button").click()
        tab.wait_for_function("document.querySelector('#shelved').childElementCount == 0", timeout=BOUND)
    told = (tmp_path / "out").read_text().splitlines()
    said = "the key is shelved until 2023-11-15 07:04:11 (by the page): nobody is told of it"
    rest = told[told.index(f"{FAULTY}, row 1,221 (2023-11-14 23:04:11): {said}") + 1 :]
    assert f"{FAULTY}, row 1,801 (2023-11-14 23:28:21): {said}" in rest  # said again
    assert all("shelved" in line for line in rest if line.startswith(FAULTY))
    assert any(line.startswith(f"{LATE}, row 2,362") for line in rest)
