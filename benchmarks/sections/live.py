"""What the live page costs the learning: nobody watching, and a browser on the same machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.inputs import signal_in_noise
from benchmarks.markdown import mark, number, table
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.repeats import interleaved
from eigenstream import OnlineAdaptivePCA
from eigenstream.live import Page
from eigenstream.plotting import BLUE, ORANGE, SKY, panels

TITLE = "Cost of the live page"
NONE, ALONE, WATCHED = "no page", "page, no browser", "page and browser"
MOST = 1.05
"""How many times as long learning may take."""
BATCH = 1024


@dataclass(frozen=True)
class Settings:
    n: int = 256
    k: int = 16
    rows: int = 150_000
    repeats: int = 3
    browser: bool = True
    seconds: float = 14.0


def settings(quick: bool) -> Settings:
    return Settings(32, 4, 5_000, 1, browser=False, seconds=0.5) if quick else Settings()


def seconds(quick: bool) -> float:
    return settings(quick).seconds


def run(meter: Meter, quick: bool) -> dict[str, Any]:
    """One BLAS thread; without Chromium or playwright nobody watches."""
    chosen = settings(quick)
    X = signal_in_noise(chosen.n, chosen.k // 2, 32 * BATCH)
    batches = [X[start : start + BATCH] for start in range(0, len(X), BATCH)]
    learning = partial(learn, batches, chosen)
    with (
        threadpool_limits(1),
        meter.measuring("live page", chosen.seconds),
        Page() as alone,
        Page() as watched,
    ):
        works = {NONE: partial(learning, None), ALONE: partial(learning, alone)}
        with watching(watched, chosen.browser) as somebody:
            if somebody:
                works[WATCHED] = partial(learning, watched)
            times = interleaved(works, chosen.repeats)
    return {"n": chosen.n, "k": chosen.k, "rows": chosen.rows, "repeats": chosen.repeats, "times": times}


def learn(batches: list[Array], chosen: Settings, page: Page | None) -> None:
    """A stream from its beginning, with the page told after every batch."""
    model, start = OnlineAdaptivePCA(max_components=chosen.k, random_state=0), perf_counter()
    for i in range(-(-chosen.rows // BATCH)):
        model.partial_fit(batches[i % len(batches)])
        if page is not None:
            rate = model.n_samples_seen_ / (perf_counter() - start)
            page.update(model, rows_per_second=rate, lag=0)


@contextmanager
def watching(page: Page, wanted: bool) -> Iterator[bool]:
    """Whether a browser looks at the page meanwhile."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None or not wanted:
        yield False
        return
    with sync_playwright() as playwright:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        tab = browser.new_page(viewport={"width": 1400, "height": 1000})
        tab.goto(str(page.url))
        tab.wait_for_selector("#state:not([data-state=connecting])")
        yield True
        browser.close()


def report(results: dict[str, Any]) -> str:
    """Ratios beside the target."""
    times = results["times"]
    rows = [
        (
            name,
            f"{number(time['best'])} s",
            f"{time['best'] / times[NONE]['best']:.3f}x",
            f"{time['median'] / times[NONE]['median']:.3f}x",
            mark(time["best"] <= MOST * times[NONE]["best"]),
        )
        for name, time in times.items()
    ]
    return (
        f"A stream of {results['rows']:,} rows with n = {results['n']}, k = {results['k']} in batches of "
        f"{BATCH}, `page.update` after every batch; best and median of {results['repeats']} repeats, in "
        f"turns; learning may take {MOST:g} times as long. The browser runs on the same machine without a "
        "graphics card: where other processes keep all cores busy, what it paints with is missing elsewhere."
        "\n\n" + table(("", "best", "to no page, best", "median", f"at most {MOST:g}x"), rows)
    )


def draw(results: dict[str, Any]) -> Figure:
    """Bars, with the target as a line."""
    times = results["times"]
    figure, (axis,) = panels(1, 1, 6, 3)
    for place, (name, color) in enumerate(zip(times, (BLUE, SKY, ORANGE), strict=False)):
        ratio = times[name]["best"] / times[NONE]["best"]
        axis.barh(place, ratio, color=color)
        axis.annotate(f"{ratio:.3f}", (0.02, place), va="center", color="white")
    axis.axvline(MOST, color="k", linestyle="--")
    axis.set_yticks(range(len(times)), list(times))
    axis.invert_yaxis()
    axis.set(xlabel="time to learn a stream, relative to no page")
    axis.set_title(f"Learning {results['rows']:,} rows; dashed: the target")
    return figure
