"""Durations and time stamps in all their forms."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from eigenstream.io.durations import as_seconds, seconds

NOON = 1_704_110_400.0  # 2024-01-01 12:00 UTC


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("10min", 600),
        ("2h", 7200),
        ("90s", 90),
        ("1d", 86400),
        ("1h30min", 5400),
        ("1.5 hours", 5400),
        ("2 weeks", 1_209_600),
        ("250ms", 0.25),
        (timedelta(minutes=3), 180),
        (np.timedelta64(5, "m"), 300),
        (pd.Timedelta("10min"), 600),
    ],
    ids=repr,
)
def test_durations_in_seconds(value, expected):
    assert seconds(value) == expected


@pytest.mark.parametrize("value", ["", "10", "min", "-5s", "10 parsecs", "5min later"])
def test_what_is_no_duration(value):
    with pytest.raises(ValueError, match="is not a duration: expected numbers with units, such as '10min'"):
        seconds(value)


@pytest.mark.parametrize("value", ["0s", timedelta(0), timedelta(-1), np.timedelta64("NaT", "s")], ids=repr)
def test_what_is_no_time(value):
    with pytest.raises(ValueError, match="must be longer than 0"):
        seconds(value)


@pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")
def test_a_timedelta_needs_a_unit():
    with pytest.raises(ValueError, match="has no unit"):
        seconds(np.timedelta64(5))


@pytest.mark.parametrize(
    "stamps",
    [
        [NOON],
        [int(NOON)],
        np.array(["2024-01-01T12"], dtype="datetime64[h]"),
        np.array(["2024-01-01T12:00"], dtype="datetime64[ns]"),
        [datetime(2024, 1, 1, 12)],
        [datetime(2024, 1, 1, 12, tzinfo=UTC)],
        [datetime(2024, 1, 1, 13, tzinfo=timezone(timedelta(hours=1)))],
        [np.datetime64("2024-01-01T12:00:00")],
        pd.DatetimeIndex(["2024-01-01 12:00"]),
        pd.DatetimeIndex(["2024-01-01 13:00"], tz="Europe/Berlin"),
        pd.Series(pd.DatetimeIndex(["2024-01-01 13:00"], tz="Europe/Berlin")),
        [pd.Timestamp("2024-01-01 12:00")],
    ],
    ids=lambda stamps: type(stamps).__name__,
)
def test_stamps_in_seconds(stamps):
    np.testing.assert_array_equal(as_seconds(stamps), [NOON])


def test_dates_are_good_to_a_microsecond():
    stamps = np.datetime64("2024-01-01T12:00:00", "ns") + np.arange(5) * np.timedelta64(1000, "ns")
    np.testing.assert_allclose(as_seconds(stamps) - NOON, np.arange(5) * 1e-6, atol=3e-7)


@pytest.mark.parametrize(
    ("stamps", "message"),
    [
        ([1.0, np.nan], "number 1 is nan"),
        ([np.inf, 1.0], "number 0 is inf"),
        (pd.DatetimeIndex(["2024-01-01", None]), "number 1 is NaT"),
        ([datetime(2024, 1, 1), None], "number 1 is None"),
    ],
)
def test_missing_stamps_are_refused(stamps, message):
    with pytest.raises(ValueError, match=message):
        as_seconds(stamps)


@pytest.mark.parametrize("stamps", [["2024-01-01"], [True], [object()]], ids=["text", "truth", "object"])
def test_other_things_are_no_stamps(stamps):
    with pytest.raises(TypeError, match=r"seconds, (a )?datetime64 or"):
        as_seconds(stamps)
