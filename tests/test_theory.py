import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import theory
from eigenstream.regularizers import REGULARIZERS, InputOutput, Regularizer, ScaleDependent, SquaredOutput


class Mixed(Regularizer):
    """Something of each of the three: its curve is none of theirs."""

    name = "mixed"
    increment = (0.5, 0.02, 0.3)


@given(st.integers(2, 100), st.integers(1, 99), st.integers(1, 20), st.integers(1, 50))
def test_table_one_is_what_the_regularizers_do(a, b, n1, n2):
    if a <= b:
        return
    spectrum = theory.two_level_spectrum(a, b, n1, n2)
    for row in theory.alpha_table(a, b, n1, n2):
        low, high = row.regularizer.alpha_range(spectrum, n1)
        assert row.low == pytest.approx(low, rel=1e-9)
        assert row.high == pytest.approx(high, rel=1e-9)
        alpha = low + (0.3 * (high - low) if high < math.inf else 1.0)
        assert row.output_top_eigenvalue(alpha) == pytest.approx(row.regularizer(alpha).shrink(spectrum)[0])


@pytest.mark.parametrize(
    ("name", "strict", "expected"),
    [
        ("scale-dependent", False, (1275 / 5050, 3775 / 5050)),
        ("scale-dependent", True, (1225 / 4950, 3725 / 4950)),
        ("input-output", False, (100 / 5050, 1.0)),
        ("input-output", True, (0.0, 1.0)),
        ("squared-output", False, (100 / 5050, 1.0)),
        ("squared-output", True, (0.0, 1.0)),
    ],
)
def test_transmission_curve_reaches_exactly(name, strict, expected):
    curve = theory.transmission_curve(name, strict=strict)
    assert curve.n_pairs == (4950 if strict else 5050)
    assert curve.nearest_to_ideal() == expected
    assert curve.noise_counts.dtype.kind == "i"


@pytest.mark.parametrize("kind", [*REGULARIZERS.values(), Mixed])
def test_curve_counts_what_the_regularizers_transmit(kind):
    """At a few alphas, every pair is asked directly (away from the critical values, where floats tie)."""
    curve = theory.transmission_curve(kind)
    n1, n2 = 10, 10
    for step in np.linspace(0, len(curve.alpha) - 2, 5).astype(int):
        alpha = (curve.alpha[step] + curve.alpha[step + 1]) / 2
        signal = noise = 0
        for a in range(1, 101):
            for b in range(1, a + 1):
                theta = kind(alpha).threshold(theory.two_level_spectrum(a / 100, b / 100, n1, n2))
                signal += a / 100 > theta + 1e-12
                noise += b / 100 > theta + 1e-12
        assert (signal, noise) == (curve.signal_counts[step], curve.noise_counts[step])


def test_curves_fall_and_do_not_depend_on_the_numbers_of_modes(kind):
    one, other = theory.transmission_curve(kind), theory.transmission_curve(kind, n1=3, n2=17)
    points = [set(zip(c.noise_counts.tolist(), c.signal_counts.tolist(), strict=True)) for c in (one, other)]
    assert points[0] == points[1]
    assert np.all(np.diff(one.noise_counts) <= 0)
    assert np.all(np.diff(one.signal_counts) <= 0)
    assert one.noise_counts[0] == one.signal_counts[0] == one.n_pairs


def test_phase_diagram_is_table_one_over_ratios():
    ratios = np.linspace(0, 1, 21)
    diagrams = theory.phase_diagram(ratios, n1=7, n2=13)
    for i, r in enumerate(ratios[:-1]):
        rows = {row.regularizer: row for row in theory.alpha_table(1.0, r, 7, 13)}
        for diagram in diagrams:
            assert diagram.low[i] == pytest.approx(rows[diagram.regularizer].low)
            assert diagram.high[i] == pytest.approx(rows[diagram.regularizer].high)
    assert all(diagram.low[-1] == diagram.high[-1] for diagram in diagrams)  # r = 1: no alpha will do


def test_squared_output_has_the_larger_range():
    input_output, squared_output = theory.phase_diagram(np.linspace(0.01, 0.99, 99))
    assert np.all(squared_output.high > input_output.high)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: theory.alpha_table(1.0, 1.0, 2, 2), "a > b"),
        (lambda: theory.alpha_table(1.0, -1.0, 2, 2), "b >= 0"),
        (lambda: theory.two_level_spectrum(1.0, 0.5, 0, 2), "n1 >= 1"),
        (lambda: theory.phase_diagram([1.5]), "between 0 and 1"),
        (lambda: theory.phase_diagram([0.5], n1=0), "n1=0"),
        (lambda: theory.transmission_curve("nuclear"), "nuclear"),
    ],
)
def test_bad_questions_are_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


# --- dynamics --------------------------------------------------------------------------------------------

LAM = np.array([6.0, 5.0, 4.0, 2.0, 0.5])


def flat(point):
    return np.concatenate([np.ravel(part) for part in point])


@pytest.mark.parametrize("kind", [ScaleDependent, InputOutput, SquaredOutput])
def test_linearized_dynamics_are_the_slope_of_the_averaged_flow(kind):
    """Eigenvalues of a Jacobian by differences, at a point that is stationary."""
    regularizer, C = kind.for_threshold(LAM, 3.0), np.diag(LAM)
    point = theory.stationary_point(LAM, regularizer, 3, (0, 1))
    assert np.max(np.abs(flat(theory.averaged_flow(point, C, regularizer)))) < 1e-12
    start, h = flat(point), 1e-5

    def flow(values):
        moved = theory.NetworkMoments(values[:15].reshape(3, 5), values[15:-1].reshape(3, 3), values[-1])
        return flat(theory.averaged_flow(moved, C, regularizer))

    steps = h * np.eye(len(start))
    J = np.array([(flow(start + step) - flow(start - step)) / (2 * h) for step in steps]).T
    found = theory.jacobian_eigenvalues(point, LAM, regularizer)
    # Double eigenvalues without as many eigenvectors are right to the root of the rounding only.
    np.testing.assert_allclose(found, np.sort(np.linalg.eigvals(J).real)[::-1], atol=1e-3)


@pytest.mark.parametrize("kind", [ScaleDependent, InputOutput])
@pytest.mark.parametrize("kept", [(0, 1, 2), (0, 2), (1, 2), (0, 1)])
def test_relaxation_rates_are_the_eigenvalues(kind, kept):
    k, regularizer = 3, kind.for_threshold(LAM, 3.0)
    point = theory.stationary_point(LAM, regularizer, k, kept)
    found = theory.jacobian_eigenvalues(point, LAM, regularizer)
    rates = [r for group in theory.relaxation_rates(LAM, point.theta, k, kept).values() for r in group]
    p = len(kept)
    rotations = p * (k - p) + p * (p - 1) // 2
    rest = len(found) - len(rates) - rotations
    expected = np.sort(np.r_[rates, np.zeros(rotations), -np.ones(rest)])[::-1]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert (found[0] > 1e-6) == (kept != (0, 1, 2))


def test_modes_below_the_threshold_have_no_stationary_point():
    assert theory.stationary_point(LAM, ScaleDependent(3.0), 3, (0, 3)) is None


def test_the_best_window_has_the_least_error():
    speed, lam, noise, n = 2e-3, 4.0, 0.5, 30
    best = theory.best_window(speed, lam, noise, n)
    errors = [theory.axis_error(w, speed, lam, noise, n) for w in (0.9 * best, best, 1.1 * best)]
    assert errors[1] < min(errors[0], errors[2])


def test_the_window_of_least_bias_has_it():
    speed, lam, theta, noise = 5e-4, 4.0, 1.0, 0.5
    best = theory.least_bias_window(speed, lam, theta, noise)
    biases = [
        theory.output_bias(w, lam, theta, speed=speed, noise=noise) for w in (0.9 * best, best, 1.1 * best)
    ]
    assert biases[1] > max(biases[0], biases[2])


@pytest.mark.parametrize(("p", "window"), [(1, 25), (3, 50)])
def test_outputs_lack_as_much_variance_as_predicted(p, window):
    """A network of its own beside the report's: the rules written out, equal modes, threshold 1."""
    lam, theta, T, skipped = 2.0, 1.0, 20_000, 500
    rng = np.random.default_rng(p)
    X = np.sqrt(lam) * rng.standard_normal((T, p))
    N, S, powers = lam * np.eye(p), (lam - theta) * np.eye(p), []
    for x in X:
        y = np.linalg.solve(S + theta * np.eye(p), N @ x)
        powers.append(y @ y)
        N += (np.outer(y, x) - N) / window
        S += (np.outer(y, y) - S) / window
    closed_form = np.sum(X[skipped:] ** 2) - theta * p * (T - skipped)
    bias = np.sum(powers[skipped:]) / closed_form - 1
    assert bias == pytest.approx(theory.output_bias(window, lam, theta, n_modes=p), rel=0.25)


def test_what_turns_too_fast_is_lost():
    assert theory.output_bias(100, 4.0, 1.0, speed=1.0, noise=0.5) == -1
    assert theory.output_bias(1e9, 4.0, 1.0) == pytest.approx(0, abs=1e-8)


def test_settling_diverges_above_the_bound_and_not_below():
    rng = np.random.default_rng(0)
    A = np.eye(5) + 0.4 * rng.standard_normal((5, 5)) * (1 - np.eye(5))
    bound = theory.jacobi_bound(A)
    for eta, grows in ((0.98 * bound, False), (1.02 * bound, True)):
        size = np.linalg.norm(np.linalg.matrix_power(np.eye(5) - eta * A, 3000))
        assert (size > 1) == grows
