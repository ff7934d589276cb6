"""Pictures of the live page: docs/live.png, live-dark.png and live-watching.png. Needs Chromium."""

import shutil
from pathlib import Path
from time import perf_counter
from typing import Any

from example_files import FAULTS, SENSORS
from playwright.sync_api import sync_playwright

from eigenstream import OnlineAdaptivePCA, streams
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
    model.features, start = SENSORS, perf_counter()
    for rows, batch in enumerate(plant(6400, faults=FAULTS, random_state=0), start=1):
        model.judge_many(batch)
        page.update(model, rows_per_second=100 * rows / (perf_counter() - start), lag=0)
    page.finish("6,400 rows")


def photograph(browser: Any, page: Page, name: str, scheme: str) -> None:
    tab = browser.new_page(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)
    tab.goto(page.url)
    tab.wait_for_function("Bokeh.documents[0]?.get_model_by_name('link')?.shown > 0")
    tab.wait_for_function("Bokeh.documents[0].is_idle")
    tab.screenshot(path=OUT / name)
    print(OUT / name)


if __name__ == "__main__":
    pages = Page("sensors.csv"), Page("plant.csv", SENSORS, watching=True)
    with pages[0] as learning, pages[1] as watching, sync_playwright() as playwright:
        learn(Page())  # compiles
        learn(learning)
        watch(watching)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme, name in NAMES.items():
            photograph(browser, learning, name, scheme)
        photograph(browser, watching, "live-watching.png", "light")
        browser.close()
