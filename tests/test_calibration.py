from functools import cache

import numpy as np
import pytest
from sklearn import datasets

from eigenstream import InputOutput, OnlineAdaptivePCA, calibrate_alpha, compare_to_offline, streams
from eigenstream.rank import (
    Evidence,
    NoiseEdge,
    ParallelAnalysis,
    VarianceShare,
    effective_samples,
    noise_edge,
)
from eigenstream.rank.decision import Decision, Memory, automatic_alpha, decide
from eigenstream.regularizers import SquaredOutput
from tests.marks import slow

SPECTRUM = np.array([6.0, 5.0, 4.0, 2.0, 0.5, 0.1])


@pytest.mark.parametrize("p", range(1, 7))
def test_number_of_components_is_kept(kind, p):
    alpha = calibrate_alpha(SPECTRUM, kind, n_components=p)
    assert np.count_nonzero(kind(alpha).shrink(SPECTRUM)) == p


def test_no_components_at_all():
    for name in ("scale-dependent", "input-output"):
        assert calibrate_alpha(SPECTRUM, name, n_components=0) > 0
    with pytest.raises(ValueError, match="0 components"):
        calibrate_alpha(SPECTRUM, "squared-output", n_components=0)


def test_threshold_is_met_from_data_too(kind):
    X = np.vstack(list(streams.paper_stream(3000, random_state=0))) + 100
    alpha = calibrate_alpha(X, kind, threshold=2.0)
    centered = X - X.mean(axis=0)
    lam = np.linalg.eigvalsh(centered.T @ centered / 3000)[::-1]
    assert kind(alpha).threshold(lam) == pytest.approx(2.0)
    uncentered = calibrate_alpha(X, "input-output", threshold=2.0, center=False)
    assert uncentered == pytest.approx(2.0 / np.mean(np.sum(X**2, axis=1)))


@pytest.mark.parametrize("options", [{}, {"n_components": 2, "threshold": 1.0}])
def test_one_wish_at_a_time(options):
    with pytest.raises(ValueError, match="either n_components or threshold"):
        calibrate_alpha(SPECTRUM, "input-output", **options)


def test_automatic_alpha_puts_the_threshold_there(kind):
    alpha = automatic_alpha(kind, SPECTRUM, SPECTRUM.sum(), 1.0)
    assert kind(alpha).threshold(SPECTRUM) == pytest.approx(1.0)


def test_squared_output_is_capped():
    assert automatic_alpha(SquaredOutput, SPECTRUM, 1.0, 100.0) == 1e3
    assert automatic_alpha(SquaredOutput, SPECTRUM, 1.0, 5.999999) == 1e3


def test_nothing_to_measure(kind):
    assert kind(automatic_alpha(kind, np.zeros(3), 0.0, 0.0)).threshold(np.zeros(3)) == 0


@pytest.mark.parametrize(("n", "beta"), [(64, 0.99), (64, 0.995), (256, 0.995)])
def test_noise_edge_under_forgetting(n, beta):
    rng = np.random.default_rng(0)
    T = round(6 / (1 - beta**2))
    weights = beta ** (2 * np.arange(T)[::-1])
    X = rng.standard_normal((T, n)) * np.sqrt(weights / weights.sum())[:, None]
    assert noise_edge(n, T, beta**2) == pytest.approx(np.linalg.norm(X, 2) ** 2, rel=0.1)


def test_effective_samples_are_kishs():
    weights = 0.97 ** np.arange(200)
    assert effective_samples(200, 0.97) == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert effective_samples(200) == 200


def test_the_rank_is_what_exceeds_the_threshold_with_every_rule_and_regularizer(kind):
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 80))
        lam = np.sort(rng.gamma(0.3, 1.0, n) * rng.choice([1, 30], n))[::-1] + 1e-12
        evidence = Evidence(
            lam, lam.sum(), int(rng.integers(1, n + 1)), n, 500, input_variances=np.full(n, lam.mean())
        )
        for rule in (NoiseEdge(), ParallelAnalysis(), VarianceShare(0.9)):
            before = Decision(0.0, 0.0, int(rng.integers(0, evidence.capacity + 1)), Memory(400.0, 400.0))
            for beta2 in (1.0, 0.99):
                decision = decide(kind, rule, evidence._replace(beta2=beta2), before)
                kept = lam[: evidence.capacity] > decision.threshold
                assert decision.rank == np.count_nonzero(kept)
                assert decision.rank <= evidence.capacity


class TestMemory:
    BETA2 = 0.99

    def spectrum(self, second):
        """One clear component, and a second one beside white noise."""
        lam = np.r_[100.0, second, np.full(62, 1.0)]
        return Evidence(lam, lam.sum(), 32, 64, 2000.0, self.BETA2)

    def line(self):
        return float(NoiseEdge().judge(self.spectrum(2.0)).lines[1])

    def test_near_the_line_the_rank_stays(self):
        for factor in (0.9, 1.1):
            evidence = self.spectrum(factor * self.line())
            for held in (1, 2):
                before = Decision(0.1, 1.0, held, Memory(1980.0, 190.0))
                assert decide(InputOutput, NoiseEdge(), evidence, before).rank == held

    def test_far_from_the_line_it_changes_at_once(self):
        for held, factor, expected in ((1, 3.0, 2), (2, 0.2, 1)):
            before = Decision(0.1, 1.0, held, Memory(1980.0, 190.0))
            assert (
                decide(InputOutput, NoiseEdge(), self.spectrum(factor * self.line()), before).rank == expected
            )

    @pytest.mark.parametrize("factor", [1.05, 1.1, 1.3])
    def test_what_lasts_is_given_way_to_the_sooner_the_clearer_it_is(self, factor):
        evidence, decision = self.spectrum(factor * self.line()), Decision(0.1, 1.0, 1, Memory(1980.0, 190.0))
        deviations = np.log(factor) / np.sqrt(2 / evidence.effective)
        ranks = []
        for n_samples in range(2000, 3400, 20):
            decision = decide(
                InputOutput, NoiseEdge(), evidence._replace(n_samples=float(n_samples)), decision
            )
            ranks.append(decision.rank)
        assert ranks[0] == 1
        assert ranks[-1] == 2
        assert np.count_nonzero(np.diff(ranks)) == 1
        assert 2000 + 20 * ranks.index(2) == pytest.approx(1980 + 4 / (1 - self.BETA2) / deviations, abs=21)

    def test_offline_and_without_forgetting_there_is_none(self):
        evidence = self.spectrum(1.1 * self.line())
        assert decide(InputOutput, NoiseEdge(), evidence).rank == 2
        held = Decision(0.1, 1.0, 1, Memory(1980.0, 190.0))
        lam = np.r_[100.0, 3.0, np.ones(62)]
        forever = Evidence(lam, lam.sum(), 32, 64, 2000.0)
        assert (
            decide(InputOutput, NoiseEdge(), forever, held).rank
            == decide(InputOutput, NoiseEdge(), forever).rank
        )

    def test_a_number_for_alpha_has_none(self):
        evidence = self.spectrum(2.0)
        held = Decision(0.1, 1.0, 1, Memory(1980.0, 190.0))
        assert decide(InputOutput, 1.9 / evidence.total, evidence, held).rank == 2

    def test_a_reading_between_looks_remembers_but_changes_nothing(self):
        rows = _stream("digits")[:3000]
        model = OnlineAdaptivePCA(half_life=50).fit(rows)
        before = model._tracker.decision
        for row in rows[:15]:
            model.partial_fit(row[None])
            assert model.n_components_ == model._tracker.decision.rank
        other = OnlineAdaptivePCA(half_life=50).fit(np.vstack((rows, rows[:15])))
        assert model._tracker.decision == other._tracker.decision
        assert before.memory.samples > 0


@cache
def _stream(name, rows=10_000):
    rng = np.random.default_rng(0)
    if name == "paper":
        return np.vstack(list(streams.paper_stream(rows, random_state=0)))
    if name == "walks":
        return np.cumsum(rng.standard_normal((rows, 30)), axis=0)
    if name == "photograph":
        image = datasets.load_sample_image("china.jpg").astype(np.float64)[:424, :640]
        X = image.reshape(53, 8, 80, 8, 3).swapaxes(1, 2).reshape(-1, 192)
    else:
        X = datasets.load_digits().data
    return np.vstack([X[rng.permutation(len(X))] for _ in range(-(-rows // len(X)))])[:rows]


@pytest.mark.parametrize("half_life", [50, slow(200), slow(1000), 5000])
@pytest.mark.parametrize("name", ["paper", "digits", "photograph"])
def test_a_stationary_stream_has_few_events(name, half_life):
    model = OnlineAdaptivePCA(half_life=half_life).fit(_stream(name))
    assert 1 <= len(model.rank_history_) <= 5


@pytest.mark.parametrize("half_life", [200, 1000])
def test_a_real_change_is_reported_within_a_quarter_of_the_window(half_life):
    window = half_life / np.log(2)
    start = 3000 // 64 * 64
    X = np.vstack(list(streams.changing_rank(start + 2000, ranks={0: 3, start: 5}, random_state=0)))
    model = OnlineAdaptivePCA(half_life=half_life).fit(X)
    first = next(change for change in model.rank_history_ if change.sample > start)
    assert (first.before, first.after) == (3, 5)
    assert first.sample - start <= window / 4


@pytest.mark.parametrize("seed", range(5))
def test_a_factor_of_ten_times_the_noise_is_found_within_600_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5600, 8))
    axis = rng.choice([-1.0, 1.0], 8)  # of one input alone it would take longer: that may be its noise
    X[5000:] += np.sqrt(10) * rng.standard_normal((600, 1)) * axis / np.linalg.norm(axis)
    changes = OnlineAdaptivePCA(half_life=2000).fit(X).rank_history_
    assert [(change.before, change.after) for change in changes] == [(0, 1)]
    assert 5000 < changes[0].sample <= 5600


@pytest.mark.parametrize(("half_life", "limit"), [(35, 64), (350, 200)])
def test_a_component_that_returns_is_reported_soon(half_life, limit):
    rng = np.random.default_rng(0)
    deviations = np.sqrt(np.r_[6.0, 5.0, 4.0, 4.0, rng.uniform(0, 0.2, 60)])
    Z = rng.standard_normal((22_000 + limit, 64)) * deviations
    Z[2000:22_000, 3] *= 0.05
    X = Z @ np.linalg.qr(rng.standard_normal((64, 64)))[0]
    changes = OnlineAdaptivePCA(half_life=half_life).fit(X).rank_history_
    later = [(change.before, change.after) for change in changes if change.sample > 2000]
    assert later == [(4, 3), (3, 4)]
    assert changes[-1].sample > 22_000


def test_without_forgetting_online_says_what_offline_says():
    X = _stream("digits")[:3000]
    for rows in (40, 100, 517, 1111, 3000):
        report = compare_to_offline(OnlineAdaptivePCA().fit(X[:rows]), X[:rows])
        assert report.rank_online == report.rank_offline
