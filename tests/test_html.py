"""What a notebook shows of a fitted model: a card that is safe, readable on any background, and true."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, StreamMonitor, streams
from tests.chromium import launched

HOSTILE = "<script>document.title='broken'</script>"
NAMES = [HOSTILE, "</td></table><b>bold</b>", "a & b", '" onload="x', "e", "f", "g", "h"]
MARK = "eigenstream-card"


class Elements(HTMLParser):
    """The elements of a page, with their attributes; every one that is opened has to be closed."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def text_of(card):
    return re.sub(r"<[^>]*>", " ", card)


@pytest.fixture(scope="module")
def online():
    return OnlineAdaptivePCA(half_life=500).fit(np.vstack([*streams.paper_stream(1000, random_state=0)]))


@pytest.fixture(scope="module")
def monitor():
    """A monitor of inputs with hostile names; the first of them is to blame for an alarm that is still on."""
    import pandas as pd

    rows = np.vstack([*streams.plant(2000, faults=[streams.Fault(0, 1900, 2000, size=12.0)], random_state=0)])
    frame = pd.DataFrame(rows, columns=NAMES)
    watching = StreamMonitor(confirm=(2, 3)).fit(frame[:1800])
    watching.learn_many(frame[1800:])
    return watching


def test_the_card_of_a_model(online):
    card = online._repr_html_()
    elements, text = Elements(card), text_of(card)
    kept = [dot for dot in elements.all("circle") if dot["fill"] != "none"]
    assert len(kept) == online.n_components_
    assert len(elements.all("circle")) == online.max_components_
    heights = [float(dot["cy"]) for dot in elements.all("circle")]
    assert heights == sorted(heights)
    threshold = float(re.search(r'd="M46 ([\d.]+)H', card)[1])
    assert max(heights[: len(kept)]) < threshold < min(heights[len(kept) :])
    for said in ("OnlineAdaptivePCA(half_life=500)", "4 of at most 32", "1,000", f"{online.threshold_:.3g}"):
        assert said in text


def test_the_card_of_a_monitor_tells_its_last_alarms(monitor):
    card = monitor._repr_html_()
    text, alarm = text_of(card), monitor.alarms_[-1]
    assert alarm.ended is None
    assert f"{len(monitor.alarms_)}, one is on" in text
    assert f"{alarm.began:,} to {alarm.last:,}" in text
    assert "2,000" in text
    assert len(Elements(card).all("svg")) == 1


def test_names_of_inputs_are_text_and_nothing_runs(monitor):
    card = monitor._repr_html_()
    elements = Elements(card)
    assert "&lt;script&gt;" in card
    assert "&lt;/td&gt;" in card
    assert not {"script", "b", "img", "iframe", "link"} & {tag for tag, _ in elements.found}
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    assert "http" not in card


def test_parameters_are_text():
    class Loud:
        def __repr__(self):
            return "<img src=x onerror=y>"

        def __call__(self, change):
            pass

    model = OnlineAdaptivePCA(on_rank_change=Loud()).fit(np.eye(5))
    assert "&lt;img" in model._repr_html_()
    assert not Elements(model._repr_html_()).all("img")


def test_cards_of_models_that_know_little(rng):
    for model in (
        AdaptivePCA().fit(np.zeros((5, 3))),
        AdaptivePCA(regularizer="input-output", alpha=0.0).fit(rng.standard_normal((20, 2))),
        OnlineAdaptivePCA(missing="skip").partial_fit(np.full((3, 4), np.nan)),
        OnlineAdaptivePCA().fit(np.ones((1, 1))),
        OnlineAdaptivePCA(lags=2).fit(rng.standard_normal((50, 2)).astype(np.float32)),
        StreamMonitor().fit(rng.standard_normal((5, 3))),
        AdaptivePCA(max_components=100).fit(rng.standard_normal((200, 150))),
    ):
        assert MARK in model._repr_html_()
        Elements(model._repr_html_())
        assert "nan" not in model._repr_html_()


def test_before_it_is_fitted_and_in_pipelines_it_is_scikit_learns_diagram(online):
    for model in (
        AdaptivePCA(),
        OnlineAdaptivePCA(),
        StreamMonitor(),
        make_pipeline(StandardScaler(), online),
    ):
        assert MARK not in model._repr_html_()
        assert "sk-container" in model._repr_html_()
        assert MARK not in model._repr_mimebundle_()["text/html"]


def test_a_notebook_is_given_text_and_the_card(online):
    assert online._repr_mimebundle_() == {"text/plain": repr(online), "text/html": online._repr_html_()}
    with sklearn.config_context(display="text"):
        assert not hasattr(online, "_repr_html_")
        assert online._repr_mimebundle_() == {"text/plain": repr(online)}


@pytest.mark.parametrize(
    ("ground", "ink"), [("rgb(255, 255, 255)", "rgb(0, 0, 0)"), ("rgb(17, 17, 17)", "rgb(224, 224, 224)")]
)
def test_a_browser_shows_it_on_light_and_on_dark(monitor, ground, ink):
    page = f'<body style="background: {ground}; color: {ink}">{monitor._repr_html_()}</body>'
    with launched() as browser:
        tab = browser.new_page()
        tab.set_content(page)
        assert tab.title() == ""
        colors = tab.eval_on_selector_all(
            f".{MARK} td, .{MARK} th, .{MARK} dd, .{MARK} dt, .{MARK} code",
            "all => all.map(one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor])",
        )
        texts = tab.eval_on_selector_all(
            f".{MARK} svg text", "all => all.map(one => getComputedStyle(one).fill)"
        )
    assert {color for color, _ in colors} == set(texts) == {ink}
    assert {behind for _, behind in colors} == {"rgba(0, 0, 0, 0)"}
