"""Gross outliers with ``outliers="cap"``: the three cases that hide components without it, and its limits."""

import functools

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA
from tests.marks import slow
from tests.online_model import paper, stored

pytestmark = pytest.mark.filterwarnings("ignore:the rank has reached max_components:UserWarning")


def spoiled(case, rng):
    X = paper(8000)
    if case == "one row in 2,000":
        X[500::2000] = 1000.0
    elif case == "1 % random rows":
        rows = rng.random(8000) < 0.01
        X[rows] = 1000 * rng.standard_normal((rows.sum(), 64))
    elif case == "one cell of -999":
        X[1234, 5] = -999.0
    elif case == "in the first rows":
        X[10] = 1000.0
    return X


@functools.cache
def undisturbed(solver, half_life):
    return OnlineAdaptivePCA(solver=solver, half_life=half_life).fit(paper(8000))


@pytest.mark.parametrize(
    ("solver", "half_life"), [("exact", 500), ("subspace", None), slow("exact", None), slow("subspace", 500)]
)
@pytest.mark.parametrize(
    "case", ["one row in 2,000", "1 % random rows", "one cell of -999", "in the first rows"]
)
def test_capped_outliers_do_no_harm(solver, half_life, case, rng):
    options = {"solver": solver, "half_life": half_life}
    clean = undisturbed(solver, half_life)
    capped = OnlineAdaptivePCA(outliers="cap", **options).fit(spoiled(case, rng))
    assert capped.n_components_ == clean.n_components_ == 4
    tolerance = 0.05 if case == "1 % random rows" else 0.01
    np.testing.assert_allclose(capped.explained_variance_[:3], clean.explained_variance_[:3], rtol=tolerance)
    assert capped.tally_.capped >= 1
    kept = OnlineAdaptivePCA(**options).fit(spoiled(case, rng))
    if half_life is None:
        assert kept.spectrum_[0] > 2 * clean.spectrum_[0]  # what the cap prevents


@pytest.mark.parametrize("solver", ["exact", "subspace"])
@pytest.mark.parametrize(("row", "rows"), [(20, 1800), (70, 900)])
def test_an_early_outlier_is_no_component(solver, row, rows):
    """Neither in the first block, before there are axes to measure by, nor in the next."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        axes = np.linalg.qr(rng.standard_normal((20, 20)))[0][:3]
        X = (rng.standard_normal((rows, 3)) * [9, 6, 4]) @ axes + rng.standard_normal((rows, 20))
        X[row] = 1000 * rng.standard_normal(20)
        assert OnlineAdaptivePCA(solver=solver, outliers="cap").fit(X).n_components_ == 3


def test_a_new_component_of_a_stream_without_noise_is_no_outlier(rng):
    """What rows without noise are off by is next to nothing, and ten times that as well."""
    X = rng.standard_normal((3000, 3)) @ rng.standard_normal((3, 8))
    X[1000:] += rng.standard_normal((2000, 1)) @ rng.standard_normal((1, 8))
    assert OnlineAdaptivePCA(outliers="cap").fit(X).spectrum_[3] > 0.1


@pytest.mark.parametrize("solver", ["exact", "subspace"])
def test_gaussian_rows_are_left_alone(solver):
    kept, capped = (OnlineAdaptivePCA(solver=solver, outliers=o).fit(paper(3000)) for o in ("keep", "cap"))
    assert capped.tally_.capped == 0
    np.testing.assert_array_equal(kept.components_, capped.components_)


def test_few_heavy_tailed_rows_are_capped(rng):
    model = OnlineAdaptivePCA(outliers="cap").fit(rng.standard_t(3, (5000, 20)))
    assert 0 < model.tally_.capped < 0.03 * 5000


@pytest.mark.parametrize("half_life", [200, 1000])
def test_a_jump_in_scale_is_followed(half_life):
    """By 10^6, within five windows."""
    X = paper(12 * half_life)
    X[4 * half_life :] *= 1e6
    model = OnlineAdaptivePCA(half_life=half_life, outliers="cap")
    model.partial_fit(X[: 4 * half_life + int(5 * half_life / np.log(2))])
    top = OnlineAdaptivePCA(half_life=half_life).fit(X).explained_variance_[0]
    assert model.explained_variance_[0] > 0.3 * top  # the rest is forgetting as usual
    assert model.n_components_ == 4


def test_any_chunking_gives_the_same_bits(rng):
    X = spoiled("1 % random rows", rng)[:900]
    whole, parts = (OnlineAdaptivePCA(outliers="cap", random_state=0) for _ in range(2))
    whole.fit(X)
    for chunk in np.split(X, [1, 50, 333, 334]):
        parts.partial_fit(chunk)
        assert parts.explained_variance_ is not None  # reading in between leaves nothing behind
    assert stored(parts) == stored(whole)


def test_the_network_learns_rows_as_they_are():
    with pytest.raises(ValueError, match="solver='exact' or 'subspace'"):
        OnlineAdaptivePCA(outliers="cap", solver="network").fit(paper(50))
    with pytest.raises(ValueError, match="'keep' or 'cap'"):
        OnlineAdaptivePCA(outliers="drop").fit(paper(50))
