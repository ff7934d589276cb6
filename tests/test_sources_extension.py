"""A source of one's own, as somebody outside would plug it in."""

import itertools

import numpy as np
import pytest
from click.testing import CliRunner

import eigenstream
from eigenstream import sources
from eigenstream.cli import main


class Sensor(sources.Reader):
    """A made-up device: rows of two numbers; every tenth cannot be read."""

    kind, name, width, names = "sensor", "sensor 7", 2, ["wind", "sun"]

    def __init__(self, total):
        self.total = total

    def take(self, count):
        numbers = np.arange(self.row, min(self.row + count, self.total))
        if not len(numbers):
            return None
        self.row += len(numbers)
        rows = np.stack((np.sin(numbers), np.cos(3.0 * numbers)), axis=1)
        bad = [
            sources.BadValue(i, f"{self.name}, row {number}", "no answer")
            for i, number in enumerate(numbers)
            if number % 10 == 9
        ]
        return sources.Chunk(rows, numbers, bad)

    def go_to(self, place):
        if place["row"] > self.total:
            raise sources.SourceError(f"{self.name} has forgotten row {place['row']}")
        self.row = place["row"]


def test_a_reader_needs_little_to_be_a_source():
    with sources.Source(Sensor(35), on_bad_row="skip", batch_rows=8) as source:
        batches = list(source)
    numbers = np.concatenate([batch.numbers for batch in batches])
    np.testing.assert_array_equal(numbers, [n for n in range(35) if n % 10 != 9])
    assert [batch.count for batch in batches] == [8, 16, 24, 32]
    assert (source.width, source.names, source.total, source.notes) == (2, ["wind", "sun"], 35, [])
    for batch, rest in zip(batches, itertools.count(1), strict=False):
        again = sources.Source(Sensor(35), on_bad_row="skip", batch_rows=8)
        again.continue_from(batch.position)
        assert [b.rows.tobytes() for b in again] == [b.rows.tobytes() for b in batches[rest:]]


def test_what_is_wrong_is_said_for_a_reader_of_ones_own():
    with pytest.raises(sources.SourceError, match=r"sensor 7, row 9: no answer \(on_bad_row='skip' leaves"):
        list(sources.Source(Sensor(35), batch_rows=5))
    with pytest.raises(sources.SourceError, match="sensor 7 has forgotten row 40"):
        sources.Source(Sensor(35)).continue_from({"rows": 40, "skipped": 0, "row": 40})


def test_an_address_of_ones_own_is_known_to_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sources.SCHEMES, "sensor", lambda address, asked: Sensor(int(address.split("//")[1])))
    with sources.open("sensor://20", rows=(5, 9)) as source:
        (batch,) = source
    assert batch.numbers.tolist() == [5, 6, 7, 8]
    model = str(tmp_path / "model")
    options = ["--on-bad-row", "skip", "--save", model, "--quiet"]
    result = CliRunner().invoke(main, ["run", "sensor://200", *options])
    assert result.exit_code == 0, result.output
    assert eigenstream.load(model).n_samples_seen_ == 180
    result = CliRunner().invoke(main, ["run", "sensor://200", "--quiet"])
    assert "sensor 7, row 9: no answer (--on-bad-row skip leaves such rows out)" in result.output


def test_an_unknown_address_is_refused():
    with pytest.raises(sources.SourceError, match="amqp:// is not read; there are redis"):
        sources.open("amqp://127.0.0.1/sensors")
