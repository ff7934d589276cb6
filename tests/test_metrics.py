import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import metrics
from eigenstream.streams import random_orthonormal


def test_eigenvalue_error_of_outputs_is_that_of_their_second_moment(rng):
    Y = rng.standard_normal((50, 3))
    lam = np.linalg.eigvalsh(Y.T @ Y / 50)[::-1]
    optimal = np.array([2.0, 1.0, 0.5, 0.25])
    expected = np.sum((np.append(lam, 0) - optimal) ** 2)
    assert metrics.eigenvalue_error(Y, optimal) == pytest.approx(expected)
    assert metrics.eigenvalue_error(lam[::-1], optimal) == pytest.approx(expected)
    assert metrics.eigenvalue_error(optimal, optimal) == 0


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_subspace_error_is_the_projector_distance(n, seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, n))
    U, V = random_orthonormal(n, m, rng), random_orthonormal(n, m, rng)
    expected = np.linalg.norm(U.T @ U - V.T @ V) ** 2
    mixed = rng.standard_normal((m, m)) @ V  # another basis of the same subspace
    found = metrics.subspace_error(mixed, U)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert metrics.subspace_error(mixed, U, normalize="relative") == pytest.approx(found / (2 * m))
    cosines = np.linalg.svd(U @ V.T, compute_uv=False)
    assert np.cos(metrics.largest_angle(mixed, U)) == pytest.approx(min(cosines.min(), 1), abs=1e-6)


def test_top_of_the_filter_is_compared(rng):
    U = random_orthonormal(6, 6, rng)
    F = np.array([9.0, 5.0, 0.1])[:, None] * U[:3]
    assert metrics.subspace_error(F, U, 2) == pytest.approx(0, abs=1e-24)
    assert metrics.subspace_error(U[3:], U, 3) == pytest.approx(6)
    assert metrics.largest_angle(U[3:], U, 3) == pytest.approx(np.pi / 2)


def test_small_errors_do_not_cancel():
    U = np.eye(4)[:1]
    F = np.array([[1.0, 1e-9, 0, 0]])
    assert metrics.subspace_error(F, U) == pytest.approx(2e-18, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: metrics.eigenvalue_error(np.zeros((2, 2, 2)), [1.0]), r"\(2, 2, 2\)"),
        (lambda: metrics.subspace_error(np.eye(3), np.eye(4)), r"\(3, 3\) and \(4, 4\)"),
        (lambda: metrics.subspace_error(np.eye(3), np.eye(3), 4), "n_components=4"),
        (lambda: metrics.subspace_error(np.eye(3), np.eye(3), 0), "n_components=0"),
        (lambda: metrics.subspace_error(np.eye(3), np.eye(3), normalize="yes"), "normalize"),
    ],
)
def test_bad_questions_are_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()
