"""What the live page costs the learning: nobody watching, and a browser on the same machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.inputs import signal_in_noise
from benchmarks.markdown import mark, number, table
from benchmarks.meter import Meter
from benchmarks.peers.peer import Array
from benchmarks.repeats import interleaved
from eigenstream import OnlineAdaptivePCA
from eigenstream.keyed import MonitorBank
from eigenstream.keyed.overview import Overview
from eigenstream.live import Page
from eigenstream.plotting import BLUE, ORANGE, SKY, panels

TITLE = "Cost of the live page"
NONE, ALONE, WATCHED = "no page", "page, no browser", "page and browser"
MOST = 1.05
"""How many times as long learning may take."""
BATCH = 1024
KEYS = 5000
"""Keys of the fleet that a browser shows."""
FIRST_PAINT, ALARM = 3.0, 1.0
"""Seconds until the page of the fleet is painted, and from a row that alarms until its key is marked."""


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
        fleet = fleet_seen(chosen.browser)
    facts = {"n": chosen.n, "k": chosen.k, "rows": chosen.rows, "repeats": chosen.repeats}
    return {**facts, "times": times, "fleet": fleet}


def learn(batches: list[Array], chosen: Settings, page: Page | None) -> None:
    """A stream from its beginning, with the page told after every batch."""
    model, start = OnlineAdaptivePCA(max_components=chosen.k, random_state=0), perf_counter()
    for i in range(-(-chosen.rows // BATCH)):
        model.partial_fit(batches[i % len(batches)])
        if page is not None:
            rate = model.n_samples_seen_ / (perf_counter() - start)
            page.update(model, rows_per_second=rate, lag=0)


@contextmanager
def browsing(wanted: bool) -> Iterator[Any]:
    """A browser; None without Chromium or playwright."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None or not wanted:
        yield None
        return
    with sync_playwright() as playwright:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        browser.close()


@contextmanager
def watching(page: Page, wanted: bool) -> Iterator[bool]:
    """Whether a browser looks at the page meanwhile."""
    with browsing(wanted) as browser:
        if browser is not None:
            tab = browser.new_page(viewport={"width": 1400, "height": 1000})
            tab.goto(str(page.url))
            tab.wait_for_selector("#state:not([data-state=connecting])")
        yield browser is not None


def fleet_seen(wanted: bool) -> dict[str, float] | None:
    """Seconds until a browser has painted a fleet, and from an alarm until its key is marked there."""
    bank, keys = MonitorBank(), [f"unit {i}" for i in range(KEYS)]
    overview = Overview(keys)
    for severity in (0.2, 0.4, 0.3):
        overview.take_in(keys, np.full(KEYS, severity))
    with browsing(wanted) as browser, Page("fleet", watching=True, fleet=True) as page:
        if browser is None:
            return None
        page.update_fleet(bank, overview)
        tab, start = browser.new_page(viewport={"width": 1400, "height": 1000}), perf_counter()
        tab.goto(str(page.url))
        tab.wait_for_selector(".key-row[data-key]")
        tab.wait_for_function("Bokeh.documents[0]?.get_model_by_name('link')?.shown > 0")
        painted, start = perf_counter() - start, perf_counter()
        overview.take_in(keys[-1:], np.array([3.0]))
        overview.alarmed(keys[-1], True, "valve 80 %")
        page.update_fleet(bank, overview)
        page.hurry()
        tab.wait_for_selector(f".key-row[data-key='{keys[-1]}'][data-on=true]")
        return {"first_paint": painted, "alarm": perf_counter() - start}


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
    ) + fleet_table(results.get("fleet"))


def fleet_table(fleet: dict[str, float] | None) -> str:
    """How soon a fleet is seen; nothing where no browser was there."""
    if fleet is None:
        return ""
    rows = [
        ("first paint", f"{number(fleet['first_paint'])} s", mark(fleet["first_paint"] <= FIRST_PAINT)),
        ("an alarm is marked", f"{number(fleet['alarm'])} s", mark(fleet["alarm"] <= ALARM)),
    ]
    target = f"at most {FIRST_PAINT:g} s and {ALARM:g} s"
    return f"\n\nThe page of a fleet of {KEYS:,} keys in a browser:\n\n" + table(("", "time", target), rows)


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
