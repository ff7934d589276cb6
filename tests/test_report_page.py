"""The report of the reproduction, as a browser shows it."""

from __future__ import annotations

import re

import pytest
from matplotlib import style

from eigenstream import theory
from eigenstream.paper.items import ITEMS
from eigenstream.paper.reproduction.item import with_changes
from eigenstream.paper.reproduction.output import STYLE, figure_file
from eigenstream.paper.reproduction.report import page
from eigenstream.paper.reproduction.runner import JudgedItem
from eigenstream.regularizers import InputOutput, ScaleDependent, SquaredOutput

SHOWN = ("table-1", "signal-to-noise", "phase-diagram")
"""Closed forms: they cost next to nothing, and two of them have sliders."""
COARSE = {"phase-diagram": ("points=19", "alphas=15")}

pytestmark = pytest.mark.xdist_group("report page")  # what they look at is computed once


@pytest.fixture(scope="module")
def report(browser, tmp_path_factory):  # the browser first: without one, nothing is computed
    """The page, computed and drawn here: it is looked at, not its numbers, so grids are coarse."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as coarse:
        coarse.setattr(theory, "GRID", 12)
        coarse.setattr(theory.two_levels, "GRID", 12)
        judged = [judge(ITEMS[name]) for name in SHOWN]
        figures = [drawn(one, folder) for one in judged]
    (folder / "index.html").write_text(page(judged, figures, quick=True), encoding="utf-8")
    return (folder / "index.html").as_uri()


def judge(item):
    (settings,) = with_changes({item: item.QUICK}, COARSE.get(item.NAME, ())).values()
    cases = item.cases(settings, 0)
    tables = [item.simulate(case) for case in cases]
    return JudgedItem(item, settings, 0, cases, tables, item.claims(settings, tables))


def drawn(judged, folder):
    file = figure_file(judged, folder)
    with style.context(["default", STYLE]):
        judged.item.draw(judged.settings, judged.tables).savefig(file, metadata={"Date": None})
    return file


@pytest.fixture
def tab(browser, report):
    """The report in a tab; anything that the browser complains about or asks the network for is a failure."""
    context = browser.new_context(viewport={"width": 1100, "height": 1000})
    tab, complaints = context.new_page(), []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda line: complaints.append(line.text))
    tab.on(
        "request",
        lambda asked: None if asked.url.startswith(("file:", "data:")) else complaints.append(asked.url),
    )
    tab.goto(report)
    yield tab
    context.close()
    assert complaints == []


def test_figures_are_shown_and_have_words(tab):
    figures = tab.locator("figure img")
    assert figures.count() == len(SHOWN)
    for i in range(len(SHOWN)):
        figure = figures.nth(i)
        assert figure.evaluate("image => image.complete && image.naturalWidth") > 300
        assert len(figure.get_attribute("alt")) > 50
    assert tab.locator("blockquote").count() > 5


def test_formulas_are_shown_as_they_are_written(tab):
    assert "a/(n₁ a + n₂ b) > α ≥ b/(n₁ a + n₂ b)" in tab.locator(".sheet").first.inner_text()
    assert "$" not in tab.locator("main").inner_text()


@pytest.mark.parametrize("width", [1600, 1100, 700, 400])
def test_nothing_is_cut_off_or_laid_over_something_else(tab, width):
    tab.set_viewport_size({"width": width, "height": 1000})
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    beyond = """() => [...document.querySelectorAll('.claims p, .claims th')].filter(inner => {
        const cell = inner.closest('td, th').getBoundingClientRect();
        return inner.getBoundingClientRect().right > cell.right + 1;
    }).map(inner => inner.textContent)"""
    assert tab.evaluate(beyond) == []
    narrow = """() => [...document.querySelectorAll('.claims tbody th')]
        .filter(head => head.getBoundingClientRect().width < 90).length"""
    assert tab.evaluate(narrow) == 0


def move(tab, place, slider, value):
    tab.locator(f'[data-try="{place}"] input[type=range]').nth(slider).evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
    )


def percentages(tab, place):
    """The numbers that are told beside the figure, by regularizer."""
    told = tab.locator(f'[data-try="{place}"] p').all_inner_texts()
    return {text.split(":")[0]: [float(n) for n in re.findall(r"([\d.]+) %", text)] for text in told}


def test_the_transmission_sliders_say_what_the_theory_says(tab):
    before = tab.locator('[data-try="curves"] svg').inner_html()
    move(tab, "curves", 0, -1.5)  # alpha = 10^-1.5
    assert tab.locator('[data-try="curves"] svg').inner_html() != before
    found = percentages(tab, "curves")
    for kind in (ScaleDependent, InputOutput, SquaredOutput):
        curve = theory.transmission_curve(kind, strict=True, n1=10, n2=10)
        at = int((curve.alpha <= 10**-1.5).sum()) - 1
        expected = [100 * curve.noise_fraction[at], 100 * curve.signal_fraction[at]]
        assert found[kind.name] == pytest.approx(expected, abs=0.06)


def test_the_phase_sliders_say_what_the_offline_solution_is(tab):
    move(tab, "phases", 0, -0.5)  # alpha = 10^-0.5
    move(tab, "phases", 1, 0.6)  # b/a
    found = percentages(tab, "phases")
    for kind in (InputOutput, SquaredOutput):
        d = kind(10**-0.5).shrink(theory.two_level_spectrum(1.0, 0.6, 10, 10))
        assert found[kind.name] == pytest.approx([100 * d[0], 100 * d[-1]], abs=0.06)


def test_the_dark_page_is_dark(browser, report):
    context = browser.new_context(color_scheme="dark")
    tab = context.new_page()
    tab.goto(report)
    color = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", color))) < 64
    context.close()


def test_the_lines_that_make_a_figure_stand_under_it(tab):
    lines = tab.locator("details")
    assert lines.count() == len(SHOWN)
    first = lines.first.text_content()
    assert 'item = ITEMS["table-1"]' in first
    assert "def simulate(case: Case) -> Table:" in first


def test_it_fits_on_paper(tab):
    """Printed, nothing is wider than the page, and what only a screen can do is left out."""
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 680, "height": 1000})  # A4 less its margins
    assert tab.evaluate("document.documentElement.scrollWidth") <= 680
    assert not tab.locator("details").first.is_visible()
    assert not tab.locator(".try").first.is_visible()
    height = "image => image.getBoundingClientRect().height"
    assert max(figure.evaluate(height) for figure in tab.locator("figure img").all()) < 900
