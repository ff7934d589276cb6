"""Pictures of the live page for the README: docs/live.png and docs/live-dark.png. Needs Chromium."""

import shutil
from pathlib import Path
from time import perf_counter

from playwright.sync_api import sync_playwright

from eigenstream import OnlineAdaptivePCA, streams
from eigenstream.live import Page

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


if __name__ == "__main__":
    with Page("sensors.csv") as page, sync_playwright() as playwright:
        learn(Page())  # compiles
        learn(page)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme, name in NAMES.items():
            tab = browser.new_page(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)
            tab.goto(page.url)
            tab.wait_for_function("Bokeh.documents[0]?.get_model_by_name('link')?.shown > 0")
            tab.wait_for_function("Bokeh.documents[0].is_idle")
            tab.screenshot(path=OUT / name)
            print(OUT / name)
        browser.close()
