import numpy as np
import pytest

from eigenstream import calibrate_alpha, streams
from eigenstream.calibration import (
    automatic_alpha,
    automatic_threshold,
    marchenko_pastur_median,
)
from eigenstream.regularizers import SquaredOutput

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


def test_marchenko_pastur_median_against_sampling(rng):
    for n, T in ((200, 200), (200, 400), (200, 4000)):
        X = rng.standard_normal((T, n))
        found = np.median(np.linalg.eigvalsh(X.T @ X / T))
        assert marchenko_pastur_median(n / T) == pytest.approx(found, rel=0.02)
    assert marchenko_pastur_median(1e-9) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(("n", "T"), [(300, 100), (100, 300)])
def test_threshold_is_well_above_white_noise_either_way_round(rng, n, T):
    lam = np.linalg.svd(rng.standard_normal((T, n)), compute_uv=False) ** 2 / T
    edge = (1 + np.sqrt(n / T)) ** 2
    assert automatic_threshold(lam, T, n) == pytest.approx(2 * edge + 1, rel=0.05)
    assert lam[0] == pytest.approx(edge, rel=0.1)


def test_without_noise_the_threshold_is_rounding():
    lam = np.r_[5.0, 3.0, np.full(30, 1e-17)]
    assert 1e-17 < automatic_threshold(lam, 1000) < 1e-10


def test_automatic_alpha_puts_the_threshold_there(kind):
    alpha = automatic_alpha(kind, SPECTRUM, SPECTRUM.sum(), 1.0)
    assert kind(alpha).threshold(SPECTRUM) == pytest.approx(1.0)


def test_squared_output_is_capped():
    assert automatic_alpha(SquaredOutput, SPECTRUM, 1.0, 100.0) == 1e3
    assert automatic_alpha(SquaredOutput, SPECTRUM, 1.0, 5.999999) == 1e3


def test_nothing_to_measure(kind):
    assert kind(automatic_alpha(kind, np.zeros(3), 0.0, 0.0)).threshold(np.zeros(3)) == 0
