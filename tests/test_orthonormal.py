import numpy as np
import pytest

from eigenstream import streams
from eigenstream.orthonormal import orthogonal_complement, random_orthonormal


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 2), (6, 6), (64, 20)])
def test_rows_are_orthonormal(n, k, rng):
    U = random_orthonormal(n, k, rng)
    np.testing.assert_allclose(U @ U.T, np.eye(k), atol=1e-13)
    assert U.flags.c_contiguous


def test_no_direction_is_preferred(rng):
    """Without the signs of R, LAPACK's QR would make the first entry of the first row negative each time."""
    first = [random_orthonormal(3, 3, rng)[0, 0] for _ in range(400)]
    assert abs(np.mean(first)) < 4 * np.sqrt(1 / 3 / 400)
    assert np.mean(np.square(first)) == pytest.approx(1 / 3, abs=0.06)


def test_complement_is_orthonormal_and_orthogonal_even_to_what_is_nearly_parallel(rng):
    U = random_orthonormal(9, 4, rng)
    rows = U[:3] + 1e-9 * rng.standard_normal((3, 9))
    extra = orthogonal_complement(U, rows)
    np.testing.assert_allclose(extra @ extra.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(extra @ U.T, 0, atol=1e-12)


def test_older_names_give_the_same_bits():
    one, two = (
        draw(7, 3, np.random.default_rng(1)) for draw in (random_orthonormal, streams.random_orthonormal)
    )
    np.testing.assert_array_equal(one, two)
