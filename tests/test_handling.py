"""Alarms that are acknowledged and inputs that are shelved while a job runs, and the record of both."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenstream.cli.display import AlarmLines
from eigenstream.io.sources import Batch, ReadOptions
from eigenstream.jobs import Request, Watcher, prepare
from eigenstream.jobs.handling import ROWS, TIMES, Handling, Places
from eigenstream.jobs.record import LONGEST_SHELF, MOST_ROWS, Record
from eigenstream.jobs.shelves import shelf_of
from eigenstream.jobs.shelving import Shelving
from eigenstream.jobs.starting_point import StartingPoint
from eigenstream.jobs.watcher import AlarmEvent, ShelfEvent
from eigenstream.monitoring import Alarm, load
from eigenstream.monitoring.handled import Subject
from eigenstream.streams import Fault
from tests.jobs import Crash, Crashing
from tests.plant_files import NAMES, VALVE, write_plant

FAULTS = tuple(Fault(VALVE, start, start + 40, size=10.0) for start in (1200, 1600, 2000, 2400))
BATCH = 100


def offered(record: Any = None, *, timed: bool = True) -> Handling:
    handling = Handling(record)
    handling.offer(NAMES, timed=timed)
    handling.list_alarms({None: [1200, 1600]})
    return handling


def offered_fleet(record: Any = None) -> Handling:
    """What people may do about two keys, of which they look at the first."""
    handling = Handling(record)
    handling.offer(NAMES, timed=True, keys=("a", "b"))
    handling.list_alarms({"a": [1200, 1600]})
    return handling


@pytest.mark.parametrize(
    "message",
    [
        None, 5, "shelve", [], {}, {"shelve": "valve"}, {"shelve": "valve", "time": "9h"},
        {"shelve": "valve", "time": 7200}, {"shelve": "valve", "time": "1000"},
        {"shelve": "valv", "time": "2h"}, {"shelve": "valve\n", "time": "2h"}, {"shelve": "", "time": "2h"},
        {"shelve": ["valve"], "time": "2h"}, {"unshelve": "valve"}, {"unshelve": {}},
        {"acknowledge": 1201}, {"acknowledge": "1200"},
        {"acknowledge": -1}, {"acknowledge": None}, {"acknowledge": [1200]}, {"acknowledge": 1e300},
        {"acknowledge": 1200, "key": "a"}, {"shelve": "valve", "time": "2h", "key": "a"},
        {"shelve": "", "time": "2h", "key": "a"},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_have_been_clicked_is_left(message: Any) -> None:
    handling = offered()
    before = handling.handled()
    assert not handling.take(message)
    assert handling.handled() == before
    assert handling.record() is None


@pytest.mark.parametrize(
    "message",
    [
        {"shelve": "valve", "time": "2h"}, {"shelve": "valve", "time": "2h", "key": "c"},
        {"shelve": "", "time": "2h"}, {"shelve": "", "time": "2h", "key": ""},
        {"shelve": "valv", "time": "2h", "key": "a"}, {"shelve": "", "time": "9h", "key": "a"},
        {"shelve": "valve", "time": "2h", "key": ["a"]}, {"shelve": "valve", "time": "2h", "key": 1},
        {"unshelve": "valve", "key": "a"}, {"unshelve": "", "key": "a"}, {"unshelve": "", "key": {}},
        {"acknowledge": 1200}, {"acknowledge": 1200, "key": "b"}, {"acknowledge": 1201, "key": "a"},
        {"acknowledge": 1200, "key": None}, {"acknowledge": 1200, "key": ["a"]},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_have_been_clicked_in_a_fleet_is_left(message: Any) -> None:
    handling = offered_fleet()
    assert not handling.take(message)
    assert handling.record() is None


def test_a_click_is_noted_once() -> None:
    handling = offered()
    assert handling.take({"acknowledge": 1200})
    assert not handling.take({"acknowledge": 1200})  # the first time stays
    assert list(handling.handled().acknowledged) == [(None, 1200)]
    for _ in range(1000):
        assert handling.take({"shelve": "valve", "time": "8h"})
        assert handling.take({"shelve": "heat", "time": "30min"})
    assert [shelf.name for shelf in handling.shelves] == ["valve", "heat"]
    assert handling.handled().shelved[Subject("valve")] == "8 h after the next row"
    handling.list_alarms({None: [1600]})
    assert not handling.handled().acknowledged
    handling.close()
    assert not handling.take({"acknowledge": 1600})
    assert not handling.take({"shelve": "flow", "time": "2h"})


def test_nothing_is_taken_before_it_is_offered() -> None:
    assert not Handling().take({"shelve": "valve", "time": "2h"})
    assert not Handling().take({"acknowledge": 1200})


def test_a_shelf_begins_with_the_next_row_and_ends_in_time() -> None:
    handling = offered()
    handling.take({"shelve": "valve", "time": "30min"})
    begun, ended = handling.begin(Places((500, 1e9)))
    assert [(shelf.name, shelf.row, shelf.time, shelf.by) for shelf in begun] == [("valve", 500, 1e9, "page")]
    assert ended == []
    assert handling.begin(Places((501, 1e9 + 1))) == ([], [])  # it is said once
    handling.forget(Places((600, 1e9 + 1799)))
    assert handling.handled().shelved == {Subject("valve"): "2001-09-09 02:16:40"}
    handling.forget(Places((601, 1e9 + 1800)))
    assert handling.handled().shelved == {}
    handling.take({"shelve": "valve", "time": "2h"})
    assert handling.take({"unshelve": "valve"})
    assert handling.begin(Places((602, 1e9 + 1801))) == ([], [Subject("valve")])
    by_rows = offered(timed=False)
    assert not by_rows.take({"shelve": "valve", "time": "2h"})
    assert by_rows.take({"shelve": "valve", "time": "1000"})
    by_rows.begin(Places((7, None)))
    assert by_rows.handled().shelved == {Subject("valve"): "row 1,007"}


def test_a_clock_that_begins_anew_does_not_lengthen_a_shelf() -> None:
    """Nor does a file that says that a shelf began in a thousand years."""
    handling = Handling({"acknowledged": [], "shelves": [("valve", None, 1800.0, 500, 1e12)]})
    handling.begin(Places((0, 100.0)))
    handling.forget(Places((9, 1899.0)))
    assert [shelf.time for shelf in handling.shelves] == [100.0]
    handling.forget(Places((10, 1900.0)))
    assert handling.shelves == ()


def test_the_longest_times_are_those_that_a_record_may_hold() -> None:
    assert max(shelf_of(f"x={one}").seconds or 0 for one in TIMES) == LONGEST_SHELF
    assert max(shelf_of(f"x={one}").rows or 0 for one in ROWS) == MOST_ROWS


def test_the_record_holds_what_was_clicked() -> None:
    handling = offered()
    handling.take({"shelve": "valve", "time": "2h"})
    handling.begin(Places((500, 1e9)))
    handling.take({"shelve": "heat", "time": "8h"})  # begins with the next row, maybe after a resume
    handling.take({"acknowledge": 1600})
    handling.shelve([shelf_of("flow=2h")])  # the next command says so again
    record = Record(Request(None), {}, None, NAMES, handled=handling.record())
    stored = Record.from_document(json.loads(json.dumps(record.document())))
    again = Handling(stored.handled)
    assert again.handled().acknowledged == handling.handled().acknowledged
    assert again.shelves == handling.shelves[:2]
    assert [shelf.name for shelf in again.begin(Places((501, 1e9 + 1)))[0]] == [
        "valve",
        "heat",
    ]  # said once more
    assert "handled" not in Record(Request(None), {}, None, None, handled=Handling().record()).document()


@pytest.mark.parametrize(
    "handled",
    [
        5, {}, {"acknowledged": [], "shelves": 5}, {"acknowledged": [[-1, 0.0]], "shelves": []},
        {"acknowledged": [[1, "x"]], "shelves": []}, {"acknowledged": [[1, 1.0, 7]], "shelves": []},
        {"acknowledged": [[1, 1.0]] * 1001, "shelves": []},
        *(
            {"acknowledged": [], "shelves": [shelf]}
            for shelf in (
                ["valve"], ["valve", None, None, None, None], ["valve", 5, 7.0, None, None],
                ["valve", None, 1e9, None, None], ["valve", 10**9, None, None, None],
                ["valve", None, 60.0, 7, None], ["valve", None, -1.0, None, None], [5, 5, None, None, None],
                ["valve", None, 60.0, 7, 1e300], ["valve", 0, None, None, None],
                ["", 5, None, None, None], ["", 5, None, None, None, ""], ["valve", 5, None, None, None, 7],
            )
        ),
    ],
    ids=str,
)  # fmt: skip
def test_a_record_that_cannot_be_is_refused(handled: Any) -> None:
    document = Record(Request(None), {}, None, None).document() | {"handled": handled}
    with pytest.raises(ValueError, match="stored"):
        Record.from_document(document)


class Told(Watcher):
    """Notes what it is told, with the number of the batch."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []
        self.shelves: list[ShelfEvent] = []

    def alarmed(self, event: Any) -> None:
        self.events.append((event.state, event.row))

    def shelved(self, event: ShelfEvent) -> None:
        self.shelves.append(event)


class Clicking(Watcher):
    """Clicks after the batch that ends with this row, as the page's thread may."""

    def __init__(self, handling: Handling, row: int, *messages: Any) -> None:
        self.handling, self.row, self.messages = handling, row, messages

    def learnt(self, model: Any, batch: Any) -> None:
        if batch.numbers[-1] == self.row - 1:
            assert all(self.handling.take(message) for message in self.messages)


CLICKS = ({"acknowledge": 1200}, {"shelve": "valve", "time": "30min"})


def watch(
    *messages: Any, at: int = 1500, crash_after: int | None = None, resume: bool = False, save: str = "m"
) -> Told:
    """Watch plant.csv, click somewhere; returns what was told."""
    asked = Request(
        "plant.csv",
        f"{save}.csv",
        ReadOptions(time_column="time", batch_rows=BATCH),
        parameters={"standardize": True, "false_alarm_rate": 1e-6},
    )
    told = Told()
    with prepare(asked, save=save, resume=resume, every_rows=300, every_seconds=1e9) as job:
        job.handling.offer(NAMES, timed=True)
        job.handling.list_alarms({None: [1200]})
        clicking = Clicking(job.handling, at, *messages)
        crashing = [] if crash_after is None else [Crashing(crash_after)]
        job.watchers = (Shelving([told], job.handling), clicking, *crashing)
        if crash_after is None:
            job.run()
        else:
            with pytest.raises(Crash):
                job.run()
    return told


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_plant(Path("plant.csv"), 2600, FAULTS)


def test_a_click_changes_who_is_told_and_nothing_in_the_result(plant: None) -> None:
    plain, clicked = watch(save="plain"), watch(*CLICKS, save="clicked")
    assert {row // 400 for state, row in plain.events if state == "began"} == {3, 4, 5, 6}
    assert clicked.events == [event for event in plain.events if event[1] < 1500]
    (shelf,) = clicked.shelves
    assert (shelf.state, shelf.row, shelf.input) == ("shelved", 1500, "valve")
    assert shelf.until is not None
    assert shelf.time is not None
    assert shelf.until - shelf.time == 1800
    assert Path("plain.csv").read_bytes() == Path("clicked.csv").read_bytes()
    models = load("plain"), load("clicked")
    assert models[0].alarms_ == models[1].alarms_
    records = [dict(model.position_) for model in models]
    assert "handled" not in records[0]
    assert [mark[::2] for mark in records[1]["handled"]["acknowledged"]] == [[1200, None]]
    assert records[1]["handled"]["shelves"] == [["valve", None, 1800.0, 1500, shelf.time, None]]


def test_a_click_before_a_checkpoint_survives_a_kill(plant: None) -> None:
    watch(*CLICKS, crash_after=19)  # saved at rows 1,500 and 1,800; killed at 1,900
    held = load("m").position_["handled"]
    assert held["shelves"][0][:4] == ["valve", None, 1800.0, 1500]
    told = watch(resume=True)
    assert told.events == []
    assert [(event.input, event.row) for event in told.shelves] == [("valve", 1800)]  # the log says so again
    assert load("m").position_["handled"] == held
    watch(save="plain")
    assert Path("m.csv").read_bytes() == Path("plain.csv").read_bytes()


def test_a_click_after_the_last_checkpoint_is_lost_in_a_kill(plant: None) -> None:
    killed = watch(*CLICKS, at=1600, crash_after=17)
    assert len(killed.shelves) == 1
    assert "handled" not in load("m").position_
    told, plain = watch(resume=True), watch(save="plain")
    assert told.events == [event for event in plain.events if event[1] >= 1500]  # as if nobody had clicked


def test_the_next_source_goes_on_with_times_and_not_with_rows() -> None:
    shelves = [["valve", None, 1800.0, 1500, 1e9], ["heat", 1000, None, 1500, None]]
    handled = {"acknowledged": [[1200, 1e9]], "shelves": shelves}
    record = Record(Request(None), {}, None, NAMES, handled=handled)
    for resumed, names in ((True, ["valve", "heat"]), (False, ["valve"])):
        handling = StartingPoint(None, record, resumed=resumed).handling
        assert [shelf.name for shelf in handling.shelves] == names
        assert list(handling.handled().acknowledged) == [(None, 1200)]


def test_a_shelf_of_a_fleet_ends_for_each_key_by_its_own_clock() -> None:
    handling, told = Handling(), Told()
    handling.shelve([shelf_of("valve=30min")])
    shelving = Shelving([told], handling)
    for first, times in ((0, [1000.0, 9e6]), (2, [0.0, 9e6]), (4, [2799.0, 2800.0])):
        alarm = Alarm(first, first, contributors=(("valve", 1.0),))
        for row, time in enumerate(times, start=first):
            shelving.alarmed(AlarmEvent("began", row, time, 1, alarm, key="ab"[row - first]))
        numbers = np.arange(first, first + 2)
        batch = Batch(np.zeros((2, 8)), numbers, first + 2, 0, dict, times=np.array(times), keys=["a", "b"])
        shelving.learnt(object(), batch)  # type: ignore[arg-type]
    assert told.events == [("began", 1), ("began", 3), ("began", 5)]


@pytest.mark.parametrize("as_json", [False, True])
def test_lines_say_who_is_shelved_until_when_and_by_whom(as_json: bool) -> None:
    out = io.StringIO()
    lines = AlarmLines(lambda: out, as_json=as_json)
    lines.shelved(ShelfEvent("shelved", 1500, 1.7e9, "val\x1b[2J\nve", until=1.7e9 + 7200))
    lines.shelved(ShelfEvent("unshelved", 1600, 1.7e9 + 100, "valve"))
    first, second = out.getvalue().splitlines()
    assert "\x1b" not in first
    if not as_json:
        assert first.startswith("row 1,500 (2023-11-14 22:13:20): val")
        assert first.endswith("is shelved until 2023-11-15 00:13:20 (by the page): nobody is told of it")
        assert second == "row 1,600 (2023-11-14 22:15:00): valve is no longer shelved (by the page)"
        return
    assert json.loads(first) == {
        "event": "shelved", "row": 1500, "input": "val\x1b[2J\nve", "by": "page",
        "time": "2023-11-14T22:13:20", "until": "2023-11-15T00:13:20",
    }  # fmt: skip
    assert json.loads(second)["event"] == "unshelved"
