"""What docs/carrying_on.md says of adding parts: each is added here as a stranger would, and used."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from eigenstream import (
    AdaptivePCA,
    OnlineAdaptivePCA,
    StreamMonitor,
    load,
    merge,
    offline,
    regularizers,
    rules,
)
from eigenstream.keyed import Bank
from eigenstream.learners.scatter import Scatter
from eigenstream.model import plan
from tests.online_model import paper


@dataclass(frozen=True)
class Mixed(regularizers.Regularizer):
    """A threshold of which a fifth is fixed, and the rest follows the power of the input."""

    name: ClassVar[str] = "mixed"
    increment: ClassVar[tuple[float, float, float]] = (0.2, 0.8, 0.0)


def test_a_regularizer_is_three_numbers_and_an_entry(monkeypatch, tmp_path):
    monkeypatch.setitem(regularizers.REGULARIZERS, "mixed", Mixed)
    X = paper(2000)
    model = OnlineAdaptivePCA(regularizer="mixed", alpha=0.05, solver="exact", center=False).fit(X)
    found = offline.solve(X, Mixed(0.05), 32)
    np.testing.assert_allclose(model.threshold_, found.threshold, rtol=1e-9)
    assert model.n_components_ == AdaptivePCA(regularizer=Mixed(0.05), center=False).fit(X).n_components_ > 0
    model.save(tmp_path / "mixed")
    assert load(tmp_path / "mixed").partial_fit(X).threshold_ == model.partial_fit(X).threshold_
    assert OnlineAdaptivePCA(regularizer="mixed", solver="network", random_state=0).fit(X).n_components_ == 4


@dataclass(frozen=True)
class Fixed(rules.Rule):
    """Keep this many components, whatever they are."""

    number: float = 3
    name: ClassVar[str] = "fixed"

    def judge(self, evidence):
        lam = evidence.variances
        ratios = np.where(np.arange(len(lam)) < self.number, 1e6, 0.0)
        return rules.Judgement(ratios, np.append(lam, 0.0))


def test_a_rule_is_a_class_and_an_entry(monkeypatch, tmp_path):
    monkeypatch.setitem(rules.RULES, "fixed", Fixed)
    X = paper(2000)
    for made in (Fixed(2), "fixed:2"):
        model = OnlineAdaptivePCA(n_components=made).fit(X)
        assert model.n_components_ == AdaptivePCA(n_components=made).fit(X).n_components_ == 2
    model.save(tmp_path / "fixed")
    assert load(tmp_path / "fixed").n_components == Fixed(2)


@dataclass(frozen=True)
class ByInputs(rules.Rule):
    """Keep the directions that hold most of an input."""

    name: ClassVar[str] = "inputs"

    def judge(self, evidence):
        share = (evidence.profile.held / evidence.profile.inputs).max(axis=1)
        assert share.shape == evidence.profile.inputs.shape == evidence.input_variances.shape
        ratios = share[: evidence.capacity] / 0.8
        return rules.Judgement(ratios, np.append(evidence.variances[: len(ratios)], 0.0))


def test_a_rule_that_judges_one_stream_judges_those_of_a_bank_one_by_one(monkeypatch):
    """Each stream comes with its own profile, and not with that of all of them."""
    monkeypatch.setitem(rules.RULES, "inputs", ByInputs)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((3000, 6)) * [5.0, 4.0, 1.0, 1.0, 1.0, 1.0]
    keys = np.arange(3000) % 3
    bank = Bank(n_components=ByInputs(), workers=1)
    bank.learn_many(keys, rows)
    for key in range(3):
        alone = OnlineAdaptivePCA(n_components=ByInputs(), random_state=0).fit(rows[keys == key])
        assert bank.model(key).n_components_ == alone.n_components_ > 0
        np.testing.assert_array_equal(bank.model(key).components_, alone.components_)


class EverySecondBlock(Scatter):
    """Half the work: it learns from every second block."""

    came = 0

    def learn(self, rows, steps, lacking=None):
        self.came += 1
        if self.came % 2:
            super().learn(rows, steps, lacking)


@pytest.mark.filterwarnings("ignore:the rank has reached")
def test_a_learner_is_a_class_and_an_entry(monkeypatch, tmp_path):
    def make(plan, alpha):
        return EverySecondBlock(plan.n, plan.k, plan.block, center=plan.center)

    monkeypatch.setitem(plan.LEARNERS, "halves", make)
    X = paper(4000)
    model = OnlineAdaptivePCA(solver="halves").fit(X)
    whole = OnlineAdaptivePCA(solver="exact").fit(X)
    assert model.n_components_ == whole.n_components_ == 4
    assert 0 < model._tracker.known().effective < 4000
    model.save(tmp_path / "halves")
    assert load(tmp_path / "halves").n_components_ == 4
    assert merge([model, model]).n_components_ == 4
    assert StreamMonitor(OnlineAdaptivePCA(solver="halves")).fit(X).model_.n_components_ == 4
