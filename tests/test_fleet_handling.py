"""Alarms of a fleet that are acknowledged, and keys and their inputs that are shelved, while a job runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main
from eigenstream.io.sources import Batch, ReadOptions
from eigenstream.jobs import Request, Watcher, prepare
from eigenstream.jobs.fleet import FleetOverview
from eigenstream.jobs.handling import Handling, Places
from eigenstream.jobs.prometheus import Metrics
from eigenstream.jobs.record import MOST_MARKS, MOST_SHELVES, Record
from eigenstream.jobs.shelves import of_fleet, shelf_of
from eigenstream.jobs.shelving import Shelving
from eigenstream.jobs.watcher import AlarmEvent, NoticeEvent, ShelfEvent, shelf_document, shelf_in_words
from eigenstream.keyed import open_bank
from eigenstream.keyed.overview import Overview
from eigenstream.monitoring import Alarm, Notice
from eigenstream.monitoring.handled import Subject
from tests.fleet_file import FAULTY, INPUTS, LATE, UNITS, write_fleet
from tests.jobs import Crash, Crashing

BATCH = 100
WATCH = ("watch", "fleet.csv", "--key", "unit", "--time-column", "when", "--false-alarm-rate", "1e-6")


def offered(record: Any = None) -> Handling:
    handling = Handling(record)
    handling.offer(INPUTS, timed=True, keys=("a", "b"))
    handling.list_alarms({"a": [1200, 1600]})
    return handling


def began(key: str, row: int, name: str = "c", time: float | None = None) -> AlarmEvent:
    return AlarmEvent("began", row, time, 1, Alarm(row, row, contributors=((name, 1.0),)), key=key)


def test_a_shelf_of_a_key_holds_what_is_about_it() -> None:
    whole, one = Subject("", "a"), Subject("c", "a")
    drift = NoticeEvent("began", 7, None, Notice("drift", 7), key="a")
    for subject, held in ((whole, [True, True, False, True]), (one, [True, False, False, False])):
        shelf = shelf_of("x=500")._replace(name=subject.name, key=subject.key)
        events = (began("a", 7), began("a", 7, "d"), began("b", 7), drift)
        assert [shelf.holds(event) for event in events] == held
    everywhere = shelf_of("c=500")
    assert [everywhere.holds(event) for event in events] == [True, False, True, False]


@pytest.mark.parametrize(
    ("given", "subject"),
    [
        ("c", Subject("c")), ("m/s", Subject("m/s")), ("unit 1/c", Subject("c", "unit 1")),
        ("unit 1/", Subject("", "unit 1")), ("site/unit 1/c", Subject("c", "site/unit 1")),
        ("site/unit 1/", Subject("", "site/unit 1")), ("unit 1/m/s", Subject("m/s", "unit 1")),
        ("c/", Subject("", "c")), ("c/c", Subject("c", "c")),
        ("/", Subject("/")), ("/c", Subject("/c")), ("unit 1", Subject("unit 1")),
        ("unit 1/x", Subject("unit 1/x")),
    ],
)  # fmt: skip
def test_a_name_tells_an_input_from_a_key(given: str, subject: Subject) -> None:
    assert of_fleet(shelf_of(f"{given}=2h"), ["c", "d", "m/s"]).subject == subject


def test_a_shelf_of_a_key_begins_and_ends_by_the_rows_of_the_key() -> None:
    handling = offered()
    handling.take({"shelve": "", "time": "30min", "key": "a"})
    handling.take({"shelve": "c", "time": "30min", "key": "b"})
    begun, _ = handling.begin(Places((500, 9e9), {"a": (501, 1000.0)}))
    assert [(shelf.subject, shelf.row, shelf.time) for shelf in begun] == [(Subject("", "a"), 501, 1000.0)]
    assert handling.handled().shelved == {
        Subject("", "a"): "time 2800", Subject("c", "b"): "30 min after the next row",
    }  # fmt: skip
    begun, _ = handling.begin(Places((600, 0.0), {"b": (600, 9e9), "a": (601, 1100.0)}))
    assert [shelf.subject for shelf in begun] == [Subject("c", "b")]
    handling.forget(Places((700, 1e300), {"b": (700, 9e9 + 1), "a": (699, 2799.0)}))
    assert len(handling.shelves) == 2
    handling.forget(Places((800, 1e300), {}))  # rows of other keys
    assert len(handling.shelves) == 2
    handling.forget(Places((900, 0.0), {"a": (900, 2800.0)}))
    assert [shelf.subject for shelf in handling.shelves] == [Subject("c", "b")]
    assert handling.take({"unshelve": "c", "key": "b"})
    assert handling.begin(Places((901, 0.0), {})) == ([], [Subject("c", "b")])


def test_rows_are_those_of_all_keys() -> None:
    handling = Handling()
    handling.shelve([of_fleet(shelf_of("a/=500"), INPUTS), shelf_of("c=900")])
    handling.begin(Places((100, None), {"a": (107, None)}))
    assert [shelf.until() for shelf in handling.shelves] == ["row 607", "row 1,000"]
    handling.forget(Places((607, None), {}))  # also where the key has no more rows
    assert [shelf.subject for shelf in handling.shelves] == [Subject("c")]
    handling.forget(Places((1000, None), {}))
    assert handling.shelves == ()


def test_the_page_takes_off_what_the_command_has_shelved_for_all_keys() -> None:
    handling = offered()
    handling.shelve([shelf_of("c=500")])
    assert not handling.take({"unshelve": "c", "key": "a"})
    assert handling.take({"unshelve": "c"})
    assert handling.shelves == ()


def test_alarms_are_those_of_the_keys_that_are_looked_at() -> None:
    handling = offered()
    assert handling.take({"acknowledge": 1200, "key": "a"})
    handling.list_alarms({"b": [1200]})
    assert not handling.take({"acknowledge": 1600, "key": "a"})
    assert handling.take({"acknowledge": 1200, "key": "b"})
    assert set(handling.handled().acknowledged) == {("a", 1200), ("b", 1200)}
    handling.list_alarms({"a": [1600]})  # the monitor has forgotten its first
    assert set(handling.handled().acknowledged) == {("b", 1200)}
    handling.close()
    handling.list_alarms({"a": [1600]})  # the page stays for a while
    assert not handling.take({"acknowledge": 1600, "key": "a"})


def test_a_record_holds_no_more_than_may_be_read() -> None:
    """Whoever clicks for hours must not make a file that no job can go on from."""
    keys = [f"k{i}" for i in range(MOST_SHELVES + 10)]
    handling = Handling()
    handling.offer(INPUTS, timed=True, keys=keys)
    handling.list_alarms({key: [5] for key in keys})
    for key in keys[: MOST_MARKS + 10]:
        assert handling.take({"acknowledge": 5, "key": key})
    taken = [handling.take({"shelve": "", "time": "2h", "key": key}) for key in keys]
    assert taken == [True] * MOST_SHELVES + [False] * 10
    assert handling.take({"shelve": "", "time": "8h", "key": "k0"})
    record = Record(Request(None), {}, None, INPUTS, handled=handling.record())
    again = Handling(Record.from_document(json.loads(json.dumps(record.document()))).handled)
    assert list(again.handled().acknowledged) == [(key, 5) for key in keys[10 : MOST_MARKS + 10]]
    assert again.shelves == handling.shelves


class Told(Watcher):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, str, int]] = []
        self.shelves: list[ShelfEvent] = []

    def alarmed(self, event: Any) -> None:
        self.events.append((event.key, event.state, event.row))

    def noticed(self, event: Any) -> None:
        self.events.append((event.key, event.notice.kind, event.row))

    def shelved(self, event: ShelfEvent) -> None:
        self.shelves.append(event)


def test_events_of_a_batch_are_held_by_the_clock_of_their_key() -> None:
    handling, told = offered(), Told()
    shelving = Shelving([told], handling)
    handling.take({"shelve": "", "time": "30min", "key": "a"})
    for first, times in ((0, [9e6, 1000.0, 1001.0]), (3, [9e6, 2799.0, 2800.0]), (6, [0.0, 2801.0, 2802.0])):
        keys = ["b", "a", "a"]
        for row, (key, time) in enumerate(zip(keys, times, strict=True), start=first):
            shelving.alarmed(began(key, row, time=time))
        numbers = np.arange(first, first + 3)
        batch = Batch(np.zeros((3, 4)), numbers, first + 3, 0, dict, times=np.array(times), keys=keys)
        shelving.learnt(object(), batch)  # type: ignore[arg-type]
    assert told.events == [
        (key, "began", row) for key, row in (("b", 0), ("b", 3), ("a", 5), ("b", 6), ("a", 7), ("a", 8))
    ]
    assert told.shelves == [ShelfEvent("shelved", 1, 1000.0, "", None, 2800.0, "a")]
    assert shelving.in_words() == ["a is shelved: nobody was told of 3 events"]
    assert handling.handled().shelved == {}


def test_lines_and_documents_name_the_key() -> None:
    whole = ShelfEvent("shelved", 1500, None, "", until_row=2500, key="unit 7")
    assert shelf_in_words(whole) == "the key is shelved until row 2,500 (by the page): nobody is told of it"
    assert shelf_document(whole) == {
        "event": "shelved", "row": 1500, "by": "page", "key": "unit 7", "until_row": 2500,
    }  # fmt: skip
    one = ShelfEvent("unshelved", 1500, None, "c", key="unit 7")
    assert shelf_in_words(one) == "c is no longer shelved (by the page)"
    assert shelf_document(one)["input"] == "c"


class Clicking(Watcher):
    """Clicks after the batch that ends with this row, as the page's thread may."""

    def __init__(self, handling: Handling, row: int, *messages: Any) -> None:
        self.handling, self.row, self.messages = handling, row, messages

    def learnt(self, model: Any, batch: Any) -> None:
        if batch.numbers[-1] == self.row - 1:
            rows = [alarm.began for alarm in model.model(FAULTY).alarms_]
            self.handling.list_alarms({FAULTY: rows})
            assert all(self.handling.take(message) for message in self.messages)


CLICKS = ({"acknowledge": 300, "key": FAULTY}, {"shelve": "", "time": "30min", "key": FAULTY})


def watch(
    *messages: Any, at: int = 1500, crash_after: int | None = None, resume: bool = False, save: str = "m"
) -> tuple[Told, FleetOverview]:
    """Watch fleet.csv, click somewhere; returns what was told and the overview."""
    reading = ReadOptions(time_column="when", key="unit", batch_rows=BATCH)
    asked = Request("fleet.csv", f"{save}.csv", reading, parameters={"false_alarm_rate": 1e-6})
    told = Told()
    with prepare(asked, save=save, resume=resume, every_rows=300, every_seconds=1e9) as job:
        job.handling.offer(INPUTS, timed=True, keys=job.model)
        overview = FleetOverview.over(job.model)
        clicking = Clicking(job.handling, at, *messages)
        crashing = [] if crash_after is None else [Crashing(crash_after)]
        job.watchers = (Shelving([told], job.handling), overview, clicking, *crashing)
        if crash_after is None:
            job.run()
        else:
            with pytest.raises(Crash):
                job.run()
    return told, overview


def handled(path: str) -> Any:
    with open_bank(path) as bank:
        return bank.position_.get("handled")


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_fleet(Path("fleet.csv"))


def test_a_click_changes_who_is_told_and_nothing_in_the_result(fleet: None) -> None:
    (plain, _), (clicked, _) = watch(save="plain"), watch(*CLICKS, save="clicked")
    last = 1501 + 4 * 180  # half an hour later
    held = [event for event in plain.events if event[0] == FAULTY and 1501 <= event[2] < last]
    assert len(held) > 4
    assert clicked.events == [event for event in plain.events if event not in held]
    assert clicked.events[-1][0] == LATE
    (shelf,) = clicked.shelves
    assert (shelf.state, shelf.key, shelf.input, shelf.row) == ("shelved", FAULTY, "", 1501)
    assert shelf.until is not None
    assert shelf.time is not None
    assert shelf.until - shelf.time == 1800
    assert Path("plain.csv").read_bytes() == Path("clicked.csv").read_bytes()
    with open_bank("plain") as one, open_bank("clicked") as other:
        assert all(one.model(key).alarms_ == other.model(key).alarms_ for key in UNITS)
    assert handled("plain") is None
    assert [mark[::2] for mark in handled("clicked")["acknowledged"]] == [[300, FAULTY]]


def test_a_click_before_a_checkpoint_survives_a_kill(fleet: None) -> None:
    watch(*CLICKS, crash_after=19)  # saved at rows 1,500 and 1,800; killed at 1,900
    held = handled("m")
    assert held["shelves"][0][3:] == [1501, 1_700_003_751.0, FAULTY]
    told, overview = watch(resume=True)
    whole, _ = watch(*CLICKS, save="whole")
    assert told.events == [event for event in whole.events if event[2] >= 1800]
    assert [(event.key, event.row) for event in told.shelves] == [(FAULTY, 1801)]  # the log says so again
    assert handled("m")["acknowledged"] == held["acknowledged"]
    assert Path("m.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert overview.overview.glance().on.tolist() == [False, False, True, False]


def test_a_click_after_the_last_checkpoint_is_lost_in_a_kill(fleet: None) -> None:
    killed, _ = watch(*CLICKS, at=1600, crash_after=17)
    assert len(killed.shelves) == 1
    assert handled("m") is None
    (told, _), (plain, _) = watch(resume=True), watch(save="plain")
    assert told.events == [event for event in plain.events if event[2] >= 1500]  # as if nobody had clicked


def test_an_alarm_from_before_the_job_is_on_in_the_overview_and_the_metrics(fleet: None) -> None:
    pytest.importorskip("prometheus_client")
    watch(crash_after=13)  # saved at row 1,200
    reading = ReadOptions(time_column="when", key="unit", batch_rows=BATCH)
    asked = Request("fleet.csv", "m.csv", reading, parameters={"false_alarm_rate": 1e-6})
    with prepare(asked, save="m", resume=True) as job:
        overview, metrics = FleetOverview(Overview()), Metrics(job.source)
        seen = []

        class Looking(Watcher):
            def learnt(self, model: Any, batch: Any) -> None:
                glance = overview.overview.glance()
                on = {key for key, is_on in zip(glance.keys, glance.on.tolist(), strict=True) if is_on}
                seen.append((on, metrics._numbers["keys_alarmed"]))
                for key in on:
                    assert glance.began[glance.keys.index(key)] == model.model(key).alarms_[-1].began

        job.watchers = (overview, metrics, Looking())
        try:
            job.run()
        finally:
            metrics.close()
    assert any(on == {FAULTY} for on, _ in seen)
    assert all(len(on) == number for on, number in seen)


def test_nobody_is_told_of_a_key_that_is_shelved(fleet: None) -> None:
    plain = CliRunner().invoke(main, [*WATCH, "--quiet"])
    told = plain.stdout.splitlines()
    for given, about in ((f"{FAULTY}/", ""), (f"{FAULTY}/c", "c")):
        done = CliRunner().invoke(main, [*WATCH, "--shelve", f"{given}=10h", "--shelve", "unit 9/=2h"])
        assert done.exit_code == 0, done.output
        kept = [line for line in told if not line.startswith(f"{FAULTY}, ")]
        assert done.stdout.splitlines() == kept
        said = " ".join(done.stderr.split())
        subject = f"{about} of {FAULTY}" if about else FAULTY
        assert f"{subject} is shelved: nobody was told of {len(told) - len(kept)} events" in said
        assert "unit 9 is shelved: there was no row of this key" in said
    done = CliRunner().invoke(main, [*WATCH, "--shelve", f"{FAULTY}/=10h", "--json"])
    end = json.loads(done.stderr.splitlines()[-1])
    assert f"{FAULTY} is shelved: nobody was told of {len(told) - len(kept)} events" in end["notes"]
    assert end["alarms"] == sum("alarm began" in line for line in told)  # all are counted


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("unit 1=2h", "there is no input 'unit 1'; inputs are a, b, c, d; an input of one key is KEY/a"),
        ("unit 1/x=2h", "there is no input 'unit 1/x'"),
        ("/=2h", "there is no input '/'"),
    ],
)
def test_shelves_that_cannot_be_are_refused(fleet: None, given: str, says: str) -> None:
    done = CliRunner().invoke(main, [*WATCH, "--shelve", given])
    assert done.exit_code == 2
    assert says in " ".join(done.stderr.replace("│", " ").split())
