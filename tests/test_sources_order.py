"""Times as hostile input: which row is out of order is judged by the rows around it."""

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eigenstream import sources
from eigenstream.cli import main
from eigenstream.io.sources import Chunk, Reader, SourceError
from eigenstream.io.sources.options import ReadOptions
from eigenstream.io.sources.source import Source
from eigenstream.io.sources.times import AHEAD, BEFORE, GOOD, OPEN, Clock
from eigenstream.jobs import Request, prepare
from tests.jobs import Crash, Crashing
from tests.marks import slow
from tests.source_files import read

FAR_AHEAD = 3_400_000_000.0  # 2077


class Times(Reader):
    """Rows with the given times, handed out in pieces of the given sizes; a NaN is a row without a time."""

    name, width, kept = "times", 1, ("t",)

    def __init__(self, times, sizes=()):
        self.times, self.sizes = list(times), list(sizes)

    def take(self, count):
        if self.sizes:
            count = min(count, self.sizes.pop(0))
        texts = ["x" if np.isnan(time) else repr(time) for time in self.times[self.row : self.row + count]]
        if not texts:
            return None
        numbers = np.arange(self.row, self.row + len(texts))
        self.row += len(texts)
        kept = np.array(texts, dtype=object)[:, None]
        return Chunk(numbers[:, None] * 1.0, numbers, [], kept)

    def go_to(self, place):
        self.row = place["row"]


def source_of(times, sizes=(), **options):
    reading = {"time_column": "t", "time_format": "s", "on_bad_row": "skip", **options}
    return Source(Times(times, sizes), **reading)


def rows_of(source):
    return [int(row) for batch in source for row in batch.numbers]


@pytest.mark.parametrize("where", [0, 1, 2, 3, 50, 96, 98])
@pytest.mark.parametrize("wrong", [[FAR_AHEAD], [FAR_AHEAD] * 2, [FAR_AHEAD, 2 * FAR_AHEAD]])
def test_rows_far_ahead_are_left_out_and_no_other(where, wrong):
    """One time in the future made every later row a late one: a job went on blind, and said nothing."""
    times = [1_700_000_000.0 + i for i in range(100)]
    source = source_of([*times[:where], *wrong, *times[where:]])
    left = [row for row in range(100 + len(wrong)) if not where <= row < where + len(wrong)]
    if where == 98 and len(wrong) == 2:  # as many rows behind them say the one as the other
        assert set(rows_of(source)) >= set(left[:where])
    else:
        assert rows_of(source) == left
        assert source.skipped == len(wrong)
        assert f"row {where}, time 't': '3400000000.0' is far ahead" in source.first_skip


@pytest.mark.parametrize("pause", [60.0, 3600.0, 86400.0 * 365])
def test_a_pause_is_no_jump(pause):
    times = [float(i) for i in range(50)] + [pause + 50 + i for i in range(50)]
    assert rows_of(source_of(times)) == list(range(100))
    assert rows_of(source_of([*times[:50], times[50]])) == list(range(51))  # the last row of all


def test_rows_that_are_late_are_left_out():
    assert rows_of(source_of([1.0, 2, 3, 2, 4, 3, 5])) == [0, 1, 2, 4, 6]


def test_a_clock_that_was_set_back_for_good_is_noticed_by_the_number_of_rows_left_out():
    source = source_of([1e9 + i for i in range(100)] + [float(i) for i in range(300)])
    assert rows_of(source) == list(range(100))
    assert source.skipped == 300


def test_of_many_rows_at_one_time_none_waits():
    times = np.repeat(np.arange(20.0), 100).tolist()
    assert rows_of(source_of(times, batch_rows=64)) == list(range(2000))


def test_what_waits_is_bounded():
    """Rows behind one that waits must not pile up, whatever their times are."""
    clock = Clock("s")
    clock.judge(np.array([1.0, 2.0, 3.0, 4.0, 1e9]))
    for _ in range(1000):
        assert (clock.judge(np.array([0.5, 3.5])) == [OPEN, BEFORE, BEFORE]).all()
    generator = np.random.default_rng(0)
    for _ in range(20):
        clock = Clock("s")
        for time in generator.choice([0.0, 1.0, 5.0, 1e3, 1e6, 1e9, 1e12], 300):
            clock.judge(np.array([time]))
            assert len(clock.held) <= 12


@pytest.mark.parametrize("text", ["1e300", "-1e16", "inf", "nan", "1e15"])
def test_times_beyond_reason_are_no_times(text):
    assert np.isnan(Clock("s").read([text])[0]) == (text != "1e15")


TIMES = st.one_of(
    st.integers(0, 40).map(float), st.sampled_from([np.nan, 1e3, 1e6, 1e6 + 1, 1e9, 1e15, -1e15, 0.5])
)


@settings(max_examples=300)
@given(
    times=st.lists(TIMES, min_size=1, max_size=60),
    batch_rows=st.integers(1, 9),
    sizes=st.lists(st.integers(1, 9), max_size=60),
)
@example(times=[0.0, 1.0, 2.0, 1e9, 3.0, 4.0, 5.0, 6.0], batch_rows=1, sizes=[])
def test_rows_do_not_depend_on_how_they_come_and_are_continued_exactly(times, batch_rows, sizes):
    whole = list(source_of(times, batch_rows=100))
    numbers, found = (
        [n for batch in whole for n in batch.numbers],
        [t for batch in whole for t in batch.times],
    )
    assert found == sorted(found)
    assert found == [times[n] for n in numbers]
    source = source_of(times, sizes, batch_rows=batch_rows)
    batches = list(source)
    assert [n for batch in batches for n in batch.numbers] == numbers
    assert all(len(batch.rows) == batch_rows for batch in batches[:-1])
    assert source.count + source.skipped == len(times)
    for batch in batches[:: max(1, len(batches) // 5)]:
        again = source_of(times, batch_rows=batch_rows)
        again.continue_from(batch.position)
        rest = list(again)
        assert [n for one in rest for n in one.numbers] == numbers[batch.count :]
        assert [t for one in rest for t in one.times] == found[batch.count :]
        assert all((one.rows[:, 0] == one.numbers).all() for one in rest)
        assert again.skipped == source.skipped


@pytest.mark.parametrize(
    "damage",
    [
        {"rows": "AAAA"},
        {"type": "|O"},
        {"times": [float("nan")] * 5},
        {"where": ["x"] * 99},
        {"texts": [["a", "b"]] * 5},
        {"numbers": list(range(10**5))},
    ],
)
def test_a_forged_position_is_refused(damage):
    times = [0.0, 1.0, 2.0, 1e9, 3.0, 4.0, 5.0]
    held = next(b.position for b in source_of(times, [1] * 7, batch_rows=1) if b.position["waiting"])
    for position in (
        {**held, "waiting": {**held["waiting"], **damage}},
        {**held, "waiting": damage},
        {**held, "clock": ["s", 5, 3.0, 1.0]},
        {**held, "clock": ["s", -1, 1.0, 1.0]},
        {**held, "clock": ["s", 2, 1.0, 1e300]},
    ):
        with pytest.raises(SourceError, match="the stored position is not one in"):
            source_of(times).continue_from(position)


def test_verdicts():
    assert Clock("s").judge(np.array([5.0, 1, 2, 3, 4]), final=True).tolist() == [
        AHEAD,
        GOOD,
        GOOD,
        GOOD,
        GOOD,
    ]
    assert Clock("s").judge(np.array([5.0])).tolist() == [OPEN]


def write_plant(path, rows=1500, wrong=300, fault=700):
    X = np.random.default_rng(0).standard_normal((rows, 4)) @ np.random.default_rng(1).standard_normal((4, 8))
    X[fault : fault + 100] += 40
    times = [f"2024-01-01T{i // 3600:02d}:{i // 60 % 60:02d}:{i % 60:02d}" for i in range(rows)]
    times[wrong] = "2077-01-01T00:00:00"
    lines = [f"{time},{','.join(map(repr, row))}\n" for time, row in zip(times, X.tolist(), strict=True)]
    path.write_text("time," + ",".join(f"x{i}" for i in range(8)) + "\n" + "".join(lines))


def test_a_time_in_the_future_does_not_blind_watch(tmp_path, monkeypatch):
    """A row dated 2077 silenced the 3,999 rows behind it: no alarm, exit status 0."""
    monkeypatch.chdir(tmp_path)
    write_plant(tmp_path / "x.csv")
    options = ["watch", "x.csv", "--time-column", "time", "--on-bad-row", "skip", "--quiet", "--exit-code"]
    result = CliRunner().invoke(main, [*options, "--output", "o.csv"])
    assert result.exit_code == 3, result.output
    numbers = [int(line.split(",")[0]) for line in (tmp_path / "o.csv").read_text().splitlines()[1:]]
    assert numbers == [row for row in range(1500) if row != 300]
    with pytest.raises(SourceError, match=r"line 302, time 'time': '2077-01-01T00:00:00' is far ahead"):
        read(tmp_path / "x.csv", time_column="time")
    with sources.open(tmp_path / "x.csv", time_column="time", on_bad_row="skip") as source:
        assert sum(len(batch.rows) for batch in source) == 1499


@pytest.mark.parametrize("points", [(7, 14, 26), slow(range(1, 38))])
def test_a_job_that_is_killed_while_rows_wait_ends_with_the_same_bytes(points, tmp_path, monkeypatch):
    """Rows that wait for a verdict on their times are part of the position."""
    X = np.random.default_rng(0).standard_normal((120, 3)) * [9, 3, 1]
    times = [float(i) for i in range(120)]
    times[0] = times[20] = times[41] = times[42] = times[77] = 1e9
    times[60], times[100:] = 3.0, [time + 5000 for time in times[100:]]
    lines = [f"{time},{','.join(map(repr, row))}\n" for time, row in zip(times, X.tolist(), strict=True)]
    request = Request(
        "../x.csv",
        "s.csv",
        ReadOptions(batch_rows=3, time_column="t", on_bad_row="skip"),
        parameters={"max_components": 2, "half_life": "50s", "random_state": 0},
    )
    (tmp_path / "x.csv").write_text("t,a,b,c\n" + "".join(lines))
    results = set()
    for batches in (1000, *points):
        folder = tmp_path / str(batches)
        folder.mkdir()
        monkeypatch.chdir(folder)
        with prepare(request, save="m", every_rows=3) as job:
            job.watchers = (Crashing(batches),)
            if batches == 1000:
                job.run()
            else:
                with pytest.raises(Crash):
                    job.run()
        if batches != 1000:
            with prepare(request, save="m", every_rows=3, resume=True) as job:
                job.run()
        results.add(((folder / "m").read_bytes(), (folder / "s.csv").read_bytes()))
    assert len(results) == 1
    numbers = [int(line.split(b",")[0]) for line in results.pop()[1].splitlines()[1:]]
    assert sorted(set(range(120)) - set(numbers)) == [0, 20, 41, 42, 60, 77]
