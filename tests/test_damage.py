"""Damaged files: always a clear error or a right result; never a crash, a hang or a demand for memory.

`tests.damage` makes and checks them.
"""

import os

import numpy as np
import pytest
from pyarrow import parquet

from eigenstream import sinks, sources
from tests.damage.process import in_a_process
from tests.damage.sources import DATA

linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is measured as on Linux")


@linux
@pytest.mark.parametrize(
    ("what", "first", "last"),
    [
        ("sources", 0, 40),
        ("models", 0, 14),
        ("signed", 0, 10),
        ("banks", 0, 10),
        ("forged banks", 0, 14),
        *(
            pytest.param(what, first, first + 2000, marks=pytest.mark.slow)
            for what in ("sources", "models", "signed", "banks", "forged banks")
            for first in (1000, 3000)
        ),
        pytest.param("forged banks", 5000, 6000, marks=pytest.mark.slow),
    ],
)
def test_damage_gives_a_clear_error_or_a_right_result(what, first, last):
    report = in_a_process(what, first, last)
    print(what, report["outcomes"])
    assert report["failures"] == []
    assert report["outcomes"]["a clear error"] > (last - first) / 4
    # Finite numbers of the right shape that no stream leads to cannot all be told from those of a stream.
    assert report["outcomes"].get("numbers without a spectrum", 0) < (last - first) / 100
    assert sum(report["outcomes"].values()) == last - first


def test_every_flipped_byte_of_scores_is_found(tmp_path):
    """Parts that a job writes carry checksums; what a flip changes beyond them is no number."""
    sink = sinks.open_sink(str(tmp_path / "x.parquet"), sinks.Layout(2, np.float64))
    sink.write(np.arange(40), DATA[:, :2])
    sink.settle(final=True)
    sink.close()
    path = tmp_path / "x.parquet" / "part-000000.parquet"
    good = path.read_bytes()
    end = len(good) - 8 - parquet.read_metadata(path).serialized_size
    refused = 0
    for i in range(4, end):
        path.write_bytes(good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1 :])
        try:
            with sources.open(path, columns="1:", allow_nan=True) as source:
                np.testing.assert_array_equal(np.vstack([batch.rows for batch in source]), DATA[:, :2])
        except ValueError:
            refused += 1
    assert refused > (end - 4) / 2
