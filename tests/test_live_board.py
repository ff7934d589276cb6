"""What the live page keeps of a model: copied now and then, in bounded memory, without a wait for anybody."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA, streams
from eigenstream.live import Page, board
from eigenstream.live.board import MOST_COMPONENTS, MOST_POINTS, Board, Moment, merged, thinned
from eigenstream.model.history import LIMIT, SpectrumHistory, Thinned

pytest.importorskip("bokeh")
from eigenstream.live import figures
from eigenstream.live.charts import Charts
from tests.live_model import learnt


class Clock:
    """Stands still unless moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(board, "monotonic", clock)
    return clock


@pytest.mark.parametrize("n", [1, MOST_POINTS, MOST_POINTS + 1, 3000])
def test_thinning_is_bounded_and_keeps_the_peaks(n: int) -> None:
    rows = np.random.default_rng(0).standard_normal((MOST_COMPONENTS + 3, n))
    thin = thinned(rows)
    assert thin.values.shape == (MOST_COMPONENTS, min(n, MOST_POINTS)) == (MOST_COMPONENTS, len(thin.start))
    np.testing.assert_array_equal(
        abs(thin.values).max(axis=1), abs(rows[:MOST_COMPONENTS]).max(axis=1).astype("f4")
    )
    if n <= MOST_POINTS:
        np.testing.assert_array_equal(thin.values, rows[:MOST_COMPONENTS].astype("f4"))


def test_no_components_are_thinned_to_none() -> None:
    assert thinned(np.zeros((0, 2000))).values.shape == (0, MOST_POINTS)


def test_the_whole_and_the_recent_part_make_one_timeline() -> None:
    past = SpectrumHistory(
        np.array([10, 20, 30]), np.ones((3, 4)), np.full(3, 0.5), np.array([1, 2, 3]), np.ones(3)
    )
    recent = [Moment(t, np.array([3.0, 2.0]), 0.7, 9, 1.0, 0.0) for t in (20, 25, 40)]
    sample, variances, threshold, rank, _ = merged(past, recent)
    assert sample.tolist() == [10, 20, 25, 30, 40]
    assert rank.tolist() == [1, 2, 9, 3, 9]
    assert threshold.tolist() == [0.5, 0.5, 0.7, 0.5, 0.7]
    np.testing.assert_array_equal(variances[2], [3, 2, np.nan, np.nan])


def test_moments_are_spread_over_the_whole_in_bounded_memory() -> None:
    spread: Thinned[Moment] = Thinned(lambda moment: moment.sample)
    for t in range(10_000):
        spread.add(Moment(t, np.zeros(0), 0.0, 0, 0.0, 0.0))
        assert len(spread.moments) <= LIMIT
    samples = [m.sample for m in spread.moments]
    assert samples[0] == 0
    assert len(set(np.diff(samples))) == 1
    assert samples[-1] > 10_000 - 2 * (samples[1] - samples[0])


def test_between_two_looks_an_update_copies_nothing(clock: Clock) -> None:
    model, wall = learnt(), Board()
    wall.update(model, 1.0, None)
    first = wall.latest
    clock.now += 0.9 * board.REFRESH
    wall.update(model, 1.0, None)
    assert wall.latest is first
    clock.now += 0.2 * board.REFRESH
    wall.update(model, 1.0, None)
    assert first is not None
    assert wall.latest is not None
    assert wall.latest.version == first.version + 1


def test_a_model_that_takes_long_to_copy_is_looked_at_less_often(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(components: Any) -> Any:
        clock.now += 0.1
        return thinned(components)

    monkeypatch.setattr(board, "thinned", slowly)
    model, wall, taken = learnt(), Board(), 0
    start = clock.now
    for _ in range(1000):
        before = clock.now
        wall.update(model, 1.0, None)
        taken += clock.now > before
        clock.now += 0.05
    assert taken > 5
    assert taken * 0.1 <= 1.05 * board.SHARE * (clock.now - start) + 0.1


def test_the_end_of_a_burst_is_seen(clock: Clock) -> None:
    model, wall = learnt(100), Board()
    assert wall.state == "waiting"
    wall.update(model, 1.0, None)
    wall.update(model.partial_fit(np.eye(64)), 1.0, None)
    wall.look_if_quiet()
    assert wall.latest is not None
    assert wall.latest.now.sample == 100
    clock.now += board.QUIET
    wall.look_if_quiet()
    assert wall.latest.now.sample == 164
    assert wall.state == "running"
    clock.now += board.WAITING
    assert wall.state == "waiting"


def test_a_snapshot_does_not_change_when_the_model_learns_on(clock: Clock) -> None:
    model, wall = learnt(), Board()
    wall.update(model, 1.0, 5)
    taken = wall.latest
    assert taken is not None
    copied = [taken.timeline.variances.copy(), taken.loadings.values.copy(), taken.now.variances.copy()]
    model.partial_fit(np.random.default_rng(1).standard_normal((500, 64)))
    for old, new in zip(
        copied, [taken.timeline.variances, taken.loadings.values, taken.now.variances], strict=True
    ):
        np.testing.assert_array_equal(old, new)


def test_a_long_stream_is_shown_from_its_beginning_in_few_numbers(clock: Clock) -> None:
    model, wall = learnt(3000), Board()  # learnt before there was a page, as after a resume
    for batch in streams.changing_rank(20_000, ranks={0: 2}, batch_size=50, random_state=1):
        clock.now += 1
        wall.update(model.partial_fit(batch), 1.0, None)
    shown = wall.latest
    assert shown is not None
    assert shown.timeline.sample[0] < 200
    assert shown.timeline.sample[-1] == shown.now.sample == 23_000
    assert len(shown.timeline.sample) <= 2 * LIMIT
    assert len(shown.pace.sample) <= 2 * LIMIT
    assert shown.recent == 23_000 - 50 * (LIMIT - 1)
    assert set(np.diff(shown.timeline.sample[shown.timeline.sample >= shown.recent])) <= set(range(1, 51))


def test_a_model_fitted_anew_starts_a_new_page(clock: Clock) -> None:
    model, wall = learnt(1000), Board()
    wall.update(model, 1.0, None)
    clock.now += 1
    wall.update(model.fit(np.random.default_rng(0).standard_normal((50, 64))), 1.0, None)
    assert wall.latest is not None
    assert wall.latest.timeline.sample[-1] == wall.latest.pace.sample[-1] == 50


def test_a_page_that_is_stuck_does_not_hold_up_learning(clock: Clock) -> None:
    """With its process stopped, far more is to be shown than a pipe holds: updates return all the same."""
    model = learnt(1000)
    with Page() as page:
        assert page._server is not None
        os.kill(page._server.pid, signal.SIGSTOP)
        for batch in streams.changing_rank(20_000, ranks={0: 2}, batch_size=50, random_state=1):
            clock.now += 1
            page.update(model.partial_fit(batch))
            page._server.hurry()
        assert page._board.latest is not None
        assert page._board.latest.version == 400


def test_times_take_the_place_of_sample_counts() -> None:
    model, seen = OnlineAdaptivePCA(random_state=0), Board()
    model.partial_fit(np.random.default_rng(0).standard_normal((300, 6)) * [9, 3, 1, 1, 1, 1])
    noon = 1.7e9
    seen.update(model, 1e3, None, [[100, noon], [200, noon + 60], [300, noon + 120]])
    assert seen.latest is not None
    timed, plain = Charts(None, "rows", timed=True), Charts(None, "rows")
    for column in ("timeline", "steps", "pace"):
        counts = plain.show(seen.latest)[column]["sample"]
        times = timed.show(seen.latest)[column]["sample"]
        np.testing.assert_allclose(times, 1e3 * np.interp(counts, [100, 300], [noon, noon + 120]))
    assert timed.frame("whole")["samples"][1] >= 1e3 * (noon + 120)
    assert plain.frame("whole")["samples"] == (-3.0, 303.0)
    assert timed.pace.xaxis[0].axis_label == "time (UTC)"
    assert [row[0] for row in figures.timeline_rows(0, figures.DATE)] == ["time", "rank", "threshold"]
