"""Rows with missing values: skipped or filled in; every solver."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, compare_to_offline, load, metrics, streams
from eigenstream.model.gap_kernels import correct, move, renewed, root, solved
from eigenstream.model.gap_state import belief_of
from eigenstream.model.imputation import Gaussian, gaussian
from tests.marks import slow
from tests.online_model import paper, stored, with_gaps


@pytest.mark.parametrize("share", [slow(0.01), slow(0.05), 0.2])
def test_missing_values_are_imputed_without_bias(online, share):
    X = paper(4000)
    model = online(missing="impute", random_state=0).fit(with_gaps(X, share))
    truth = AdaptivePCA().fit(X)
    assert model.n_components_ == truth.n_components_ == 4
    np.testing.assert_allclose(model.explained_variance_, truth.explained_variance_, rtol=0.05)
    assert model.noise_variance_ == pytest.approx(truth.noise_variance_, rel=0.2)  # a fifth is filled
    assert metrics.subspace_error(model.components_, truth.components_, normalize="relative") < 0.02
    filled = model.transform(with_gaps(X[:100], share, seed=1))
    assert np.isfinite(filled).all()
    assert np.abs(filled - model.transform(X[:100])).max() < 2
    assert model.tally_.learnt == 4000 - model.tally_.skipped
    assert model.tally_.imputed == np.isnan(with_gaps(X, share)).any(axis=1).sum() - model.tally_.skipped


def test_bursts_of_missing_values_do_no_harm(online):
    """A group of 12 inputs fails for 100 rows at a time, a fifth of the time."""
    X = paper(6000)
    gappy = X.copy()
    for start in range(50, 6000, 500):
        gappy[start : start + 100, (np.arange(12) + start // 500 * 5) % 64] = np.nan
    model = online(missing="impute", random_state=0).fit(gappy)
    truth = AdaptivePCA().fit(X)
    assert model.n_components_ == 4
    np.testing.assert_allclose(model.explained_variance_, truth.explained_variance_, rtol=0.05)
    assert model.noise_variance_ == pytest.approx(truth.noise_variance_, rel=0.1)


def test_one_empty_cell_costs_nothing(online):
    """In 1,147 rows of 8: every row is learnt from, and nobody can tell the difference."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1147, 2)) @ rng.standard_normal((2, 8)) + 0.1 * rng.standard_normal((1147, 8))
    gappy = X.copy()
    gappy[135, 3] = np.nan
    model, whole = online(missing="impute", random_state=0).fit(gappy), online(random_state=0).fit(X)
    assert model.n_samples_seen_ == 1147
    assert np.isfinite(model.transform(gappy)).all()
    assert model.n_components_ == whole.n_components_
    np.testing.assert_allclose(model.explained_variance_, whole.explained_variance_, rtol=1e-2)


def test_imputing_does_not_depend_on_chunks(online):
    X = with_gaps(paper(700), 0.2)
    whole = online(missing="impute", random_state=0).fit(X)
    parts = online(missing="impute", random_state=0)
    for chunk in np.split(X, [1, 50, 333, 334]):
        parts.partial_fit(chunk)
    np.testing.assert_array_equal(parts.components_, whole.components_)


def test_empty_rows_are_left_out(online):
    model = online(missing="impute", random_state=0).fit(paper(1000))
    hopeless, before = np.full((1, 64), np.nan), model.transform(paper(10))
    assert np.isnan(model.transform(hopeless)).all()
    model.partial_fit(hopeless)
    assert model.n_samples_seen_ == 1000
    assert model.tally_.skipped == 1
    np.testing.assert_array_equal(model.transform(paper(10)), before)


def test_skipped_rows_teach_nothing_and_score_nan(online):
    X = paper(1000)
    gappy = np.insert(X, [3, 500, 500, 999], np.nan, axis=0)
    model = online(missing="skip", random_state=0).fit(gappy)
    plain = online(missing="skip", random_state=0).fit(X)
    np.testing.assert_array_equal(model.components_, plain.components_)
    assert model.n_samples_seen_ == 1000
    scores = model.transform(gappy)
    np.testing.assert_array_equal(np.isnan(scores).all(axis=1), np.isnan(gappy).any(axis=1))
    assert np.isnan(model.learn_one(gappy[3])).all()
    assert model.n_samples_seen_ == 1000


def test_one_warning_where_most_rows_are_skipped(online):
    gappy = paper(400)
    gappy[::3, 0] = np.nan
    model = online(missing="skip", random_state=0).fit(gappy)  # a third: no warning
    with pytest.warns(UserWarning, match=r"of 900 rows so far were skipped.*missing='impute'") as caught:
        model.partial_fit(np.full((500, 64), np.nan)).partial_fit(np.full((100, 64), np.nan))
    assert len(caught) == 1


def test_compared_with_offline_by_the_same_rows(online):
    gappy = with_gaps(paper(2000), 0.002)
    skipping = online(missing="skip", random_state=0).fit(gappy)
    report = compare_to_offline(skipping, gappy)
    assert report.n_samples == skipping.n_samples_seen_ == np.isfinite(gappy).all(axis=1).sum()
    assert max(report.variance_errors) < 1e-3
    assert "squares" in str(report)
    report = compare_to_offline(online(missing="impute", random_state=0).fit(gappy), gappy)
    assert report.n_samples == 2000
    assert max(report.variance_errors) < 0.02
    with pytest.raises(ValueError, match="NaN"):
        compare_to_offline(online(random_state=0).fit(paper(500)), gappy)


@pytest.mark.parametrize("missing", ["skip", "impute"])
@pytest.mark.filterwarnings("ignore:.*rows so far were skipped:UserWarning")
def test_learn_many_with_gaps_learns_as_partial_fit_does(online, missing):
    X = np.vstack(list(streams.paper_stream(800, random_state=0)))
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.02] = np.nan
    X[0], X[5] = 1.0, np.nan  # a network starts once every input has had a value
    many, fitted = (online(missing=missing, random_state=0) for _ in range(2))
    scores = many.learn_many(X)
    fitted.partial_fit(X)
    np.testing.assert_array_equal(many.components_, fitted.components_)
    gaps = np.isnan(X).any(axis=1) if missing == "skip" else np.isnan(X).all(axis=1)
    np.testing.assert_array_equal(np.isnan(scores).any(axis=1), gaps)


def test_missing_values_say_what_to_do(online):
    with pytest.raises(ValueError, match="missing='skip'"):
        online().fit(with_gaps(paper(50), 0.1))


def slow_without_noise(rng):
    """Twelve slow waves in 40 inputs, and the same with inputs that are gone for 50 rows."""
    t = np.arange(400)[:, None]
    slow = np.sin(2 * np.pi * t / rng.uniform(60, 400, 12) + rng.uniform(0, 6, 12))
    X = slow @ rng.standard_normal((12, 40))
    gappy = X.copy()
    for start in range(0, 400, 50):
        gappy[start : start + 50, rng.random(40) < 0.2] = np.nan
    return X, gappy


def test_gaps_in_input_without_noise_do_not_make_the_model_diverge(rng):
    """What is filled in is learnt, so that errors of the axes can feed on themselves."""
    X, gappy = slow_without_noise(rng)
    model = OnlineAdaptivePCA(missing="impute", half_life=200)
    for row in gappy:
        model.partial_fit(row[None])
    assert model.spectrum_.max() < X.var(axis=0).sum()


def test_rows_come_back_filled_before_they_are_learnt(online):
    """Any chunking gives the same bits; filled values are near the truth; known ones stay as they are."""
    X, gappy = paper(700), with_gaps(paper(700), 0.2)
    gappy[650], gappy[1] = np.nan, X[1]  # a network starts once every input has had a value
    whole = online(missing="impute", random_state=0)
    filled = whole.learn_and_impute(gappy)
    parts = online(missing="impute", random_state=0)
    pieces = [parts.learn_and_impute(chunk) for chunk in np.split(gappy, [1, 20, 50, 333, 334])]
    np.testing.assert_array_equal(np.vstack(pieces), filled)
    np.testing.assert_array_equal(parts.components_, whole.components_)
    known = ~np.isnan(gappy)
    np.testing.assert_array_equal(filled[known], gappy[known])
    assert np.isnan(filled[650]).all() == (whole.solver == "network")  # which follows no past
    late = ~known
    late[:300] = late[650] = False
    assert np.std((filled - X)[late]) < 0.7 * np.std(X[late])


@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_a_row_is_filled_by_all_rows_before_it(solver):
    """Not by the last block alone, which ends at row 128: then two sensors begin to move together."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((192, 6))
    X[128:, :2] += 20 * rng.standard_normal((64, 1))
    gappy = X.copy()
    gappy[150::3, 1] = np.nan
    gaps = np.isnan(gappy)
    filled = OnlineAdaptivePCA(missing="impute", solver=solver).learn_and_impute(gappy)
    by_block = OnlineAdaptivePCA(missing="impute", solver=solver).fit(gappy[:128]).impute(gappy)
    assert np.std((filled - X)[gaps]) < 0.2 * np.std((by_block - X)[gaps])


def test_gaps_are_filled_to_the_same_bits_after_a_file_in_the_middle_of_a_block(online, tmp_path):
    gappy = with_gaps(paper(500), 0.2)
    whole = online(missing="impute", random_state=0, lags=1)
    filled = whole.learn_and_impute(gappy)
    first = online(missing="impute", random_state=0, lags=1)
    first.learn_and_impute(gappy[:333])
    first.save(tmp_path / "model")
    second = load(tmp_path / "model")
    np.testing.assert_array_equal(second.learn_and_impute(gappy[333:]), filled[333:])
    np.testing.assert_array_equal(second.components_, whole.components_)


def test_rows_are_imputed_without_learning(online):
    X = paper(2000)
    model = online(missing="impute", random_state=0).fit(X[:1990])
    gappy, before = with_gaps(X[1990:], 0.2), stored(model)
    gappy[3] = np.nan
    filled = model.impute(gappy)
    assert stored(model) == before
    np.testing.assert_array_equal(filled[~np.isnan(gappy)], gappy[~np.isnan(gappy)])
    empty = model.solver == "network"  # which follows no past
    np.testing.assert_array_equal(np.isnan(filled).any(axis=1), (np.arange(10) == 3) & empty)
    filled[3] = np.nan
    np.testing.assert_allclose(model.transform(filled), model.transform(gappy), atol=1e-9)
    offline = AdaptivePCA(max_components=64).fit(X[:1990]).impute(gappy)
    if model.solver == "exact":  # one that has not been told to follow the past knows as much as offline
        by_level = online(random_state=0).fit(X[:1990]).impute(gappy)
        np.testing.assert_allclose(by_level, offline, atol=1e-6)
    with pytest.raises(ValueError, match="infinity"):
        model.impute(np.full((1, 64), np.inf))


def test_what_is_not_kept_helps_to_fill_gaps():
    """Neighbours in a chain resemble each other although no component stands out."""
    rng = np.random.default_rng(0)
    X = np.array([np.convolve(noise, np.ones(3), "same") for noise in rng.standard_normal((3000, 40))])
    gappy = with_gaps(X, 0.1)
    model = OnlineAdaptivePCA(missing="impute", alpha=1e6)  # no component is kept
    filled, gaps = model.learn_and_impute(gappy), np.isnan(gappy)
    gaps[:1000] = False
    assert model.n_components_ == 0
    assert np.std((filled - X)[gaps]) < 0.75 * np.std(X[gaps])


def test_of_white_noise_nothing_but_the_level_is_believed():
    rng = np.random.default_rng(0)
    lam = np.linalg.eigvalsh(np.cov(rng.standard_normal((30, 500))))[::-1]
    known = gaussian(np.zeros(30), np.eye(30), lam, 0, float(lam.sum()), 500.0)
    assert len(known.axes) == 0
    assert known.noise == pytest.approx(lam.mean(), rel=0.1)


def expected(belief, y, at, doubts):
    """Expected deviations of entries in doubt, their variances, and the scatter that they lack."""
    move(belief)
    _, inner, outer, variances, lacking = solved(belief, at, doubts, True)
    return outer.T @ (inner @ y), variances, lacking


@pytest.mark.kernel
@pytest.mark.parametrize("gap", [[1, 4], [1, 4, 5, 6]])  # fewer than axes, and more
def test_a_filled_entry_is_the_expectation_of_a_gaussian(gap):
    """Against the textbook formula, before and after rows have corrected it."""
    rng = np.random.default_rng(0)
    U, V, f = np.linalg.qr(rng.standard_normal((8, 3)))[0].T, np.array([4.0, 2.0, 1.0]), 0.1
    belief = belief_of(Gaussian(np.ones(8), U, V, f, 50.0), corrects=True, center=True)
    C, mean, count, faded = np.diag(V) + f * np.eye(3), np.ones(8), 50.0, 0.9
    seen, doubts = np.delete(np.arange(8), gap), np.ones(len(gap))
    for row in [mean, *(1 + rng.standard_normal((5, 3)) @ U)]:
        correct(belief, row - mean, U @ (row - mean), 1.0, faded)
        share, y = 1 / (faded * count + 1), U @ (row - mean)
        C, count = (1 - share) * C + share * (1 - share) * np.outer(y, y), faded * count + 1
        mean = mean + share * (row - mean)
        np.testing.assert_allclose(belief.mean, mean)
        cov, x = U.T @ C @ U + f * (np.eye(8) - U.T @ U), rng.standard_normal(8)
        slope = cov[np.ix_(gap, seen)] @ np.linalg.inv(cov[np.ix_(seen, seen)])
        lack = cov[np.ix_(gap, gap)] - slope @ cov[np.ix_(seen, gap)]
        trusted = x - mean
        trusted[gap] = 0.0
        said, variances, along = expected(belief, U @ trusted, np.array(gap), doubts)
        np.testing.assert_allclose(said, slope @ (x - mean)[seen], atol=1e-9)
        np.testing.assert_allclose(variances, np.diag(lack), atol=1e-9)
        np.testing.assert_allclose(along, U[:, gap] @ lack @ U[:, gap].T, atol=1e-9)


@pytest.mark.kernel
@pytest.mark.parametrize("axes", [2, 6])  # fewer than doubts, and more
def test_entries_in_doubt_are_observed_with_an_error(axes):
    """A gap is one without bound."""
    rng = np.random.default_rng(1)
    U, V, f = np.linalg.qr(rng.standard_normal((8, axes)))[0].T, np.arange(1.0, axes + 1), 0.5
    belief, x = belief_of(Gaussian(np.zeros(8), U, V, f, 9.0), corrects=False, center=False), np.arange(8.0)
    errors = np.array([0.3, 2.0, 1e12])
    at, doubts = np.array([0, 3, 7]), errors / (f + errors)
    trust = np.ones(8)
    trust[at] -= doubts
    said, variances, _ = expected(belief, U @ (trust * x), at, doubts)
    noise = np.zeros(8)
    noise[at] = errors
    cov = U.T @ (V[:, None] * U) + f * np.eye(8)
    slope = cov @ np.linalg.inv(cov + np.diag(noise))
    np.testing.assert_allclose((1 - doubts) * x[at] + doubts * said, (slope @ x)[at], atol=1e-6)
    np.testing.assert_allclose(variances, np.diag(cov - slope @ cov)[at], atol=1e-6)


@pytest.mark.kernel
def test_a_row_adds_the_direction_that_the_axes_miss():
    known = Gaussian(np.zeros(3), np.eye(1, 3), np.ones(1), 0.01, 10.0)
    belief = belief_of(known, corrects=True, center=False)
    for _ in range(20):
        row = np.array([0.0, 1.0, 1.0])
        correct(belief, row, belief.known_axes @ row, 1.0, 1.0)
    assert len(belief.known_axes) == 2
    said, _, _ = expected(belief, belief.known_axes[:, 1].copy(), np.array([2]), np.ones(1))
    assert said[0] == pytest.approx(1, abs=0.05)


@pytest.mark.kernel
def test_rows_with_the_same_gaps_share_their_algebra_as_long_as_it_is_late_by_little():
    rng, U = np.random.default_rng(3), np.linalg.qr(np.random.default_rng(2).standard_normal((8, 3)))[0].T
    at, ones, renewals = np.array([1, 4]), np.ones(2), []
    for count in (64.0, 6400.0):
        belief = belief_of(
            Gaussian(np.zeros(8), U, np.arange(1.0, 4.0), 0.1, count), corrects=True, center=True
        )
        renewals.append(0)
        for row in rng.standard_normal((40, 8)):
            renewals[-1] += renewed(belief, at, ones)
            correct(belief, row, belief.known_axes @ row, 1.0, 1.0)
        assert renewed(belief, np.array([1, 5]), ones)  # others are missing
        assert not renewed(belief, np.array([1, 5]), ones)
        assert renewed(belief, np.array([1, 5]), 0.5 * ones)  # in another doubt
    assert renewals[0] > 8
    assert renewals[1] == 1


@pytest.mark.kernel
@pytest.mark.parametrize("rank", [0, 3, 6])
def test_the_root_of_a_matrix_has_as_many_rows_as_its_rank(rank):
    A = np.random.default_rng(4).standard_normal((rank, 6))
    found = root(A.T @ A)
    assert found.shape == (rank, 6)
    np.testing.assert_allclose(found.T @ found, A.T @ A, atol=1e-12)


def test_of_wide_input_directions_by_chance_are_noise():
    """Otherwise filled entries would be off by more, and their deviations would be far too small."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1500, 4)) @ rng.standard_normal((4, 200)) + rng.standard_normal((1500, 200))
    gone = rng.random(X.shape) < 0.05
    filled, std = OnlineAdaptivePCA(missing="impute", max_components=8).learn_and_impute(
        np.where(gone, np.nan, X), return_std=True
    )
    gone[:500] = False
    assert np.std((filled - X)[gone]) < 1.05
    assert 0.85 < np.mean(np.abs(filled - X)[gone] < 1.645 * std[gone]) < 0.95


def test_learning_and_imputing_needs_missing_values_to_be_allowed(online):
    with pytest.raises(ValueError, match="missing='impute', got missing='skip'"):
        online(missing="skip").learn_and_impute(paper(50))


@pytest.mark.parametrize("solver", ["subspace", "network"])
def test_gaps_without_noise_do_not_make_any_solver_diverge(solver, rng):
    X, gappy = slow_without_noise(rng)
    gappy[0] = X[0]  # a network starts once every input has had a value
    model = OnlineAdaptivePCA(missing="impute", half_life=200, solver=solver, random_state=0)
    filled = model.learn_and_impute(gappy)
    assert np.abs(filled).max() < 3 * np.abs(X).max()
    assert model.spectrum_.max() < 1.5 * X.var(axis=0).sum()


def test_gaps_after_a_long_time_without_variation_or_without_rows():
    """Nothing has varied yet, or nearly everything is forgotten: what is filled in stays finite."""
    rng = np.random.default_rng(0)
    X = np.vstack((np.ones((130, 5)), rng.standard_normal((70, 5))))
    X[140, 2] = np.nan
    filled = OnlineAdaptivePCA(missing="impute").learn_and_impute(X)
    assert np.abs(filled).max() < 5
    gappy, times = with_gaps(paper(400), 0.1), np.arange(400.0)
    times[210:] += 1e9
    model = OnlineAdaptivePCA(missing="impute", half_life="1min")
    filled = model.learn_and_impute(gappy, timestamps=times)
    assert np.abs(filled[60:]).max() < 3 * np.nanmax(np.abs(gappy))
    assert np.isfinite(model.explained_variance_).all()


@pytest.mark.parametrize("options", [{"standardize": True}, {"outliers": "cap"}, {"center": False}])
def test_filling_is_the_same_for_any_chunking_with_other_settings(options):
    gappy = with_gaps(paper(400) * np.geomspace(1, 100, 64), 0.2)
    whole = OnlineAdaptivePCA(missing="impute", **options).learn_and_impute(gappy)
    model = OnlineAdaptivePCA(missing="impute", **options)
    np.testing.assert_array_equal(np.vstack([model.learn_and_impute(row[None]) for row in gappy]), whole)


@pytest.mark.parametrize(
    ("solver", "standardize"),
    [("exact", True), ("subspace", False), slow("exact", False), slow("subspace", True)],
)
def test_inputs_that_begin_to_vary_late_do_no_harm(solver, standardize):
    X = load_digits().data  # some pixels are zero for hundreds of rows, three of them always
    gaps = np.random.default_rng(1).random(X.shape) < 0.05
    model = OnlineAdaptivePCA(missing="impute", standardize=standardize, solver=solver)
    filled = model.fit(np.where(gaps, np.nan, X)).impute(np.where(gaps, np.nan, X))
    spread = X.std(axis=0)
    some = gaps & (spread > 0)
    errors = ((filled - X) / np.where(spread > 0, spread, 1.0))[some]
    by_means = ((X.mean(axis=0) - X) / np.where(spread > 0, spread, 1.0))[some]
    assert np.mean(errors**2) < 0.6 * np.mean(by_means**2)
    if standardize:
        np.testing.assert_allclose(model.scale_, np.where(spread > 0, spread, 1.0), rtol=0.6)
        assert (model.scale_[spread == 0] == 1).all()
