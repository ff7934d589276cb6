import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from eigenstream.regularizers import (
    REGULARIZERS,
    InputOutput,
    Regularizer,
    ScaleDependent,
    SquaredOutput,
    kind_of,
)

PAPER = np.concatenate(([6.0, 5.0, 4.0, 2.0], np.linspace(0.2, 0.0, 60)))


class Mixed(Regularizer):
    """A fourth regularizer: something of each of the three."""

    name = "mixed"
    increment = (0.5, 0.02, 0.3)


@st.composite
def spectra(draw, min_size=1, max_size=12):
    """Sorted spectra with ties and zeros, over many orders of magnitude of scale."""
    values = draw(st.lists(st.integers(0, 40), min_size=min_size, max_size=max_size))
    scale = 10.0 ** draw(st.integers(-6, 6))
    return np.sort(np.array(values) * scale)[::-1]


def quadratic_program(lam, alpha, k, increment):
    """Appendix A solved by a general method: min |lam - d|^2 + alpha (sum d)^2 over d >= 0."""
    r0, r1, r2 = increment
    constant = alpha * (r0 + r1 * lam.sum())
    A = np.eye(k) + alpha * r2 * np.ones((k, k))
    root = np.linalg.cholesky(A)
    return nnls(root.T, np.linalg.solve(root, lam[:k] - constant))[0]


@pytest.mark.parametrize("kind", [*REGULARIZERS.values(), Mixed])
def test_shrink_equals_nonnegative_least_squares_on_thousands_of_spectra(kind, rng):
    for _ in range(3000):
        n = int(rng.integers(1, 15))
        k = int(rng.integers(1, n + 1))
        lam = np.sort(rng.choice([rng.uniform(0, 5, n), rng.integers(0, 4, n).astype(float)]))[::-1]
        alpha = float(rng.choice([0.0, 1e3, 10 ** rng.uniform(-3, 3)]))
        d = kind(alpha).shrink(lam, k)
        expected = quadratic_program(lam, alpha, k, kind.increment)
        np.testing.assert_allclose(d[:k], expected, rtol=1e-12, atol=1e-12 * max(lam[0], 1e-300))
        assert not d[k:].any()


@pytest.mark.parametrize(
    ("kind_", "alpha"), [(ScaleDependent, 2.0), (InputOutput, 2 / 23), (SquaredOutput, 2 / 9)]
)
def test_paper_experiment_has_threshold_two(kind_, alpha):
    assert kind_(alpha).threshold(PAPER) == pytest.approx(2.0, rel=1e-12)
    np.testing.assert_allclose(kind_(alpha).shrink(PAPER)[:3], [4, 3, 2], atol=1e-12)


@given(spectra(), st.floats(0, 1e3), st.integers(1, 12))
def test_threshold_solves_its_own_equation(lam, alpha, k):
    k = min(k, lam.size)
    for kind_ in (*REGULARIZERS.values(), Mixed):
        regularizer = kind_(alpha)
        theta, d = regularizer.threshold(lam, k), regularizer.shrink(lam, k)
        r0, r1, r2 = kind_.increment
        expected = alpha * (r0 + r1 * lam.sum() + r2 * d.sum())
        assert theta == pytest.approx(expected, rel=1e-9, abs=1e-12 * (1 + alpha) * lam[0])
        # Sums over samples instead of means, and only what is above the threshold is known.
        known = lam[: max(np.count_nonzero(d), 1)]
        sums = regularizer.threshold_from(100 * known, 100 * lam.sum(), k, n_samples=100)
        assert sums == pytest.approx(100 * theta, rel=1e-9, abs=1e-12 * (1 + alpha) * lam[0])


def test_threshold_from_an_empty_spectrum_counts_samples_and_input_alone():
    assert Mixed(2.0).threshold_from([], 50.0, n_samples=3) == 2.0 * (0.5 * 3 + 0.02 * 50)
    assert SquaredOutput(2.0).threshold_from([], 50.0) == 0


@given(spectra(min_size=2), st.data())
def test_alpha_range_is_right_at_both_ends(lam, data):
    k = data.draw(st.integers(1, lam.size))
    p = data.draw(st.integers(0, k))
    for kind_ in (*REGULARIZERS.values(), Mixed):
        try:
            low, high = kind_.alpha_range(lam, p, k)
        except ValueError:
            tied = p > 0 and lam[p - 1] <= (lam[p] if p < k else 0)
            assert tied or (p == 0 and kind_ is SquaredOutput)
            continue
        rank = lambda alpha, kind_=kind_: np.count_nonzero(kind_(alpha).shrink(lam, k))  # noqa: E731
        assert low < high
        assert rank(low * (1 + 1e-9)) == p
        if low > 0:
            assert rank(low * (1 - 1e-9)) > p
        if high < math.inf:
            assert rank(high * (1 - 1e-9)) == p
            assert rank(high * (1 + 1e-9)) < p
        else:
            assert rank(max(low, 1.0) * 1e6) == p


@given(spectra(min_size=2), st.floats(0.01, 0.99))
def test_for_threshold_puts_it_there(lam, fraction):
    theta = fraction * lam[0]
    for kind_ in (*REGULARIZERS.values(), Mixed):
        if lam[0] > 0:
            found = kind_.for_threshold(lam, theta).threshold(lam)
            assert found == pytest.approx(theta, rel=1e-9)


def test_alpha_zero_is_plain_pca(kind):
    np.testing.assert_array_equal(kind(0.0).shrink(PAPER), PAPER)
    assert np.count_nonzero(kind(0.0).shrink(PAPER, 5)) == 5


def test_squared_output_always_transmits():
    for alpha in (0.1, 10.0, 1e6):
        d = SquaredOutput(alpha).shrink([3.0, 2.0], max_components=1)
        assert d[0] == pytest.approx(3 / (1 + alpha), rel=1e-6)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (lambda: SquaredOutput.alpha_range([3.0, 2.0], 0), "0 components"),
        (lambda: ScaleDependent.alpha_range([3.0, 2.0, 2.0], 2), "both pass or neither"),
        (lambda: InputOutput.alpha_range([3.0, 0.0], 2), "both pass or neither"),
        (lambda: InputOutput.alpha_range([3.0, 1.0], 3), "n_components=3"),
        (lambda: InputOutput.alpha_range([3.0, 1.0], 2, max_components=1), "max_components"),
        (lambda: SquaredOutput.for_threshold([3.0, 1.0], 3.0), "largest eigenvalue is 3"),
        (lambda: InputOutput.for_threshold([0.0, 0.0], 1.0), "largest eigenvalue is 0"),
        (lambda: ScaleDependent.for_threshold([3.0], -1.0), "threshold"),
        (lambda: ScaleDependent(-0.1), "alpha"),
        (lambda: ScaleDependent(math.nan), "alpha"),
        (lambda: ScaleDependent(math.inf), "alpha"),
        (lambda: ScaleDependent("big"), "alpha"),
        (lambda: ScaleDependent(1.0).threshold([1.0, 2.0]), "largest first"),
        (lambda: ScaleDependent(1.0).threshold([1.0, -0.5]), "negative"),
        (lambda: ScaleDependent(1.0).threshold([1.0, math.nan]), "finite"),
        (lambda: ScaleDependent(1.0).threshold([]), "non-empty"),
        (lambda: ScaleDependent(1.0).threshold([[1.0]]), r"shape \(1, 1\)"),
        (lambda: ScaleDependent(1.0).threshold([1.0], 2), "max_components"),
        (lambda: ScaleDependent(1.0).threshold_from([1.0, 2.0], 3.0), "largest first"),
        (lambda: ScaleDependent(1.0).threshold_from([[1.0]], 3.0), r"shape \(1, 1\)"),
        (lambda: ScaleDependent(1.0).threshold_from([1.0], math.nan), "total=nan"),
        (lambda: ScaleDependent(1.0).threshold_from([1.0], 1.0, n_samples=-1), "n_samples=-1"),
        (lambda: ScaleDependent(1.0).threshold_from([1.0], 1.0, 0), "max_components"),
        (lambda: type("Bad", (Regularizer,), {"increment": (0, 0, 0)}), "Bad.increment"),
        (lambda: type("Bad", (Regularizer,), {"increment": (1, -1, 0)}), "Bad.increment"),
        (lambda: type("Bad", (Regularizer,), {"increment": (1, math.inf, 0)}), "Bad.increment"),
        (lambda: kind_of("nuclear"), "nuclear"),
        (lambda: kind_of(3), "got 3"),
    ],
)
def test_questions_without_an_answer_say_why(question, says):
    with pytest.raises(ValueError, match=says):
        question()


@pytest.mark.parametrize("increment", [(1.0, 0.0), "abc", None, 1.0])
def test_an_increment_is_three_numbers(increment):
    with pytest.raises(TypeError, match="three numbers"):
        type("Bad", (Regularizer,), {"increment": increment})


def test_a_regularizer_is_a_value(kind):
    assert kind(0.5) == kind(0.5) != kind(0.6)
    assert hash(kind(0.5)) == hash(kind(0.5))
    assert pickle.loads(pickle.dumps(kind(0.5))) == kind(0.5)
    assert sorted(kind.increment) == [0, 0, 1]
    assert kind_of(kind.name) is kind_of(kind) is kind_of(kind(0.5)) is kind
    with pytest.raises(AttributeError):
        kind(0.5).alpha = 1.0


def test_shrink_keeps_float32():
    assert InputOutput(0.1).shrink(np.array([3, 1], dtype=np.float32)).dtype == np.float32
    assert InputOutput(0.1).shrink([3, 1]).dtype == np.float64
