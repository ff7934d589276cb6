import numpy as np
import pytest

from eigenstream import compare_half_lives, streams


def test_a_changing_stream_asks_for_a_half_life_and_a_stationary_one_for_none():
    changing = np.vstack(list(streams.changing_rank(random_state=0)))
    tried = compare_half_lives(changing, (20, 200, None))
    assert tried.best.half_life == 200
    assert [one.rank for one in tried] == [2, 2, 5]
    stationary = np.vstack(list(streams.paper_stream(3000, random_state=0)))
    assert compare_half_lives(stationary, (20, 200, None)).best.half_life is None


def test_surprise_is_the_likelihood_of_even_noise():
    rng = np.random.default_rng(0)
    (tried,) = compare_half_lives(2 * rng.standard_normal((5000, 20)), [None])
    assert tried.rank == tried.events == tried.kept == 0
    assert tried.surprise == pytest.approx((np.log(4) + 1) / 2, abs=0.02)


def test_it_prints_one_line_each_and_marks_the_best():
    rng = np.random.default_rng(0)
    shown = str(compare_half_lives(rng.standard_normal((300, 5)), (50, None))).splitlines()
    assert len(shown) == 3
    assert [line.endswith("least") for line in shown] == [False, False, True]
    assert shown[2].startswith("never")


def test_parameters_are_passed_on():
    X = np.vstack(list(streams.paper_stream(500, random_state=0)))
    assert compare_half_lives(X, [100], max_components=2)[0].rank == 2
    with pytest.raises(ValueError, match="half_life"):
        compare_half_lives(X, [-1])
