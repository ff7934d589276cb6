"""A browser for tests of the live page, and what it shows; the fixture `browser` is in conftest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eigenstream.live import Page

BOUND = 15_000
"""Milliseconds after which a browser is taken not to show something."""

LINK = "Bokeh.documents[0].get_model_by_name('link')"


@contextmanager
def opened(browser: Any, page: Page, **options: Any) -> Iterator[Any]:
    """A tab with the page; complaints in the browser or the server fail the test."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, **options)
    tab, complaints = context.new_page(), list[str]()
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on(
        "console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None
    )
    tab.goto(page.url)
    tab.wait_for_selector("#state:not([data-state=connecting])", timeout=BOUND)
    yield tab
    context.close()
    assert complaints == []


def shows(tab: Any, selector: str, text: str) -> None:
    """Wait until an element's whole text is this."""
    condition = "([selector, text]) => document.querySelector(selector).textContent.trim() == text"
    tab.wait_for_function(condition, arg=[selector, text], timeout=BOUND)


def drawn(tab: Any, name: str, column: str) -> list[float]:
    """What a chart is drawn from."""
    code = """([name, column]) => {
        const figure = Bokeh.documents[0].get_model_by_name(name)
        const renderer = figure.renderers.find((r) => r.data_source.data[column] != null)
        return Array.from(renderer.data_source.data[column])
    }"""
    values: list[float] = tab.evaluate(code, [name, column])
    return values
