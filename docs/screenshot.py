"""Pictures of the live page, by day, by night and on a telephone: live*.png. Needs Chromium."""

import shutil
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from eigenstream import OnlineAdaptivePCA, streams
from eigenstream.io.example_files import FAULTS, SENSORS
from eigenstream.io.sources import Batch
from eigenstream.jobs.handling import Handling, Places
from eigenstream.jobs.traces import Traces
from eigenstream.jobs.watcher import in_words
from eigenstream.keyed import MonitorBank
from eigenstream.keyed.overview import Overview
from eigenstream.live import Page
from eigenstream.monitoring import MonitoredModel, MonitorSettings
from eigenstream.streams import plant

OUT = Path(__file__).parent
NAMES = {"light": "live.png", "dark": "live-dark.png"}
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
STREAM = {"n_samples": 8000, "ranks": {0: 3, 2000: 5, 4000: 2, 6000: 4}, "random_state": 0}


def learn(page: Page) -> None:
    """Rank 3, 5, 2 and 4 in turn."""
    model, start = OnlineAdaptivePCA(half_life=200, random_state=0), perf_counter()
    for batch in streams.changing_rank(**STREAM):
        model.partial_fit(batch)
        page.update(model, rows_per_second=model.n_samples_seen_ / (perf_counter() - start), lag=0)
        page._board.look()  # so short a stream would be over after a look or two
    page.finish("8,000 rows")


def watch(page: Page) -> None:
    """A plant with three faults, the last of which is still on."""
    model = MonitoredModel(MonitorSettings(confirm=(2, 3)), standardize=True)
    model.features, start, traces = SENSORS, perf_counter(), Traces()
    for rows, batch in enumerate(plant(6400, faults=FAULTS, random_state=0), start=1):
        traces.judged(model.judge_many(batch))
        traces.learnt(model, Batch(batch, np.arange(100 * rows - 100, 100 * rows), 100 * rows, 0, dict))
        rate = 100 * rows / (perf_counter() - start)
        page.update(model, rows_per_second=rate, lag=0, traces=traces.found)
    page.finish("6,400 rows")


def watch_fleet(page: Page, desk: Handling) -> None:
    """Sixty trucks, of which two go wrong: the alarm of one is acknowledged, and an input of it shelved."""
    trucks, rng = [f"truck-{i}" for i in range(60)], np.random.default_rng(0)
    bank, overview = MonitorBank(standardize=True, features=SENSORS), Overview()
    bank.on_alarm = lambda key, alarm: overview.alarmed(
        key, alarm.ended is None, in_words(alarm.contributors)
    )
    rows = np.repeat(np.vstack(list(plant(400, random_state=0))), 60, axis=0)
    rows *= 1 + 0.02 * rng.standard_normal(rows.shape)
    rows[60 * 340 + 17 :: 60, 5] *= 1.5
    rows[60 * 390 + 44 :: 60, 1] *= 1.5
    for block in range(0, len(rows), 6000):
        keys = trucks * 100
        overview.take_in(keys, bank.judge_many(keys, rows[block : block + 6000]).severity)
    on = bank.model("truck-17").alarms_[-1]
    overview.goes_on("truck-17", on.began, in_words(on.contributors))
    desk.offer(SENSORS, timed=False, keys=bank)
    desk.list_alarms({"truck-17": [on.began]})
    desk.take({"acknowledge": on.began, "key": "truck-17"})
    desk.take({"shelve": on.contributors[0][0], "time": "10000", "key": "truck-17"})
    desk.begin(Places((20417, None), {"truck-17": (20417, None)}))
    page.update_fleet(bank, overview, rows_per_second=5000.0, lag=0)
    page.finish("24,000 rows")


def photograph(browser: Any, page: Page, name: str, scheme: str, click: str = "", width: int = 1400) -> None:
    viewport = {"width": width, "height": 1200 if click else 1000}
    tab = browser.new_page(viewport=viewport, color_scheme=scheme)
    tab.goto(page.url)
    tab.wait_for_function("Bokeh.documents[0]?.get_model_by_name('link')?.shown > 0")
    if click:
        tab.locator(click).first.click()
        tab.wait_for_timeout(2000)
    tab.wait_for_function("Bokeh.documents[0].is_idle")
    tab.screenshot(path=OUT / name)
    print(OUT / name)


if __name__ == "__main__":
    desk = Handling()
    pages = (
        Page("sensors.csv"),
        Page("plant.csv", SENSORS, watching=True),
        Page("fleet.csv", SENSORS, watching=True, fleet=True, desk=desk),
    )
    with pages[0] as learning, pages[1] as watching, pages[2] as fleet, sync_playwright() as playwright:
        learn(Page())  # compiles
        learn(learning)
        watch(watching)
        watch_fleet(fleet, desk)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme, name in NAMES.items():
            photograph(browser, learning, name, scheme)
        photograph(browser, watching, "live-watching.png", "light", "#alarms tr[data-key='3000']")
        photograph(browser, fleet, "live-fleet.png", "light", ".key-row")
        photograph(browser, fleet, "live-fleet-dark.png", "dark", ".key-row")
        photograph(browser, fleet, "live-fleet-phone.png", "light", ".key-row", width=390)
        browser.close()
