"""A fleet to look at: all keys in one view, on the page, in a picture; thousands without stalling."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main
from eigenstream.io.sources import Batch, ReadOptions
from eigenstream.jobs import Request, prepare
from eigenstream.jobs.fleet import FleetOverview, remembered
from eigenstream.jobs.traces import FleetTraces
from eigenstream.jobs.watcher import in_words
from eigenstream.keyed import Bank, MonitorBank, open_bank
from eigenstream.keyed.overview import POINTS, Overview, level
from eigenstream.plotting import draw_fleet

pytest.importorskip("bokeh")
from eigenstream.live import Page
from eigenstream.live.fleet import FleetBoard
from eigenstream.live.fleet_session import fleet_tiles
from eigenstream.live.session import alarm_entry
from tests.browser import BOUND, drawn, opened, shows

pytestmark = pytest.mark.xdist_group("live page")  # one browser for all of them


def plain(severities: list[float]) -> list[int]:
    """The past of a key by the obvious rule: neighbours are joined while there are too many points."""
    stride = 1
    while (len(severities) - 1) // stride >= POINTS:
        stride *= 2
    largest = [max(level(severities[i : i + stride])) for i in range(0, len(severities), stride)]
    return [int(one) for one in largest] + [0] * (POINTS - len(largest))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_past_of_each_key_is_bounded_and_does_not_depend_on_batches(size: int) -> None:
    rng = np.random.default_rng(0)
    keys = [f"u{i}" for i in rng.choice(4, 1500, p=[0.9, 0.06, 0.03, 0.01])]
    severity = rng.lognormal(sigma=2, size=1500)
    overview = Overview(["u9"])
    for i in range(0, 1500, size):
        overview.take_in(keys[i : i + size], severity[i : i + size])
    glance = overview.glance()
    assert glance.keys[0] == "u9"
    for number, key in enumerate(glance.keys):
        own = [one for name, one in zip(keys, severity.tolist(), strict=True) if name == key]
        assert glance.rows[number] == len(own)
        assert glance.past[number].tolist() == (plain(own) if own else [0] * POINTS)
        np.testing.assert_equal(glance.now[number], np.float32(own[-1]) if own else np.float32(np.nan))


def test_thousands_of_keys_are_taken_in() -> None:
    overview = Overview()
    keys = [f"u{i}" for i in range(5000)]
    for _ in range(3):
        overview.take_in(keys, np.linspace(0.1, 3, 5000))
    overview.alarmed("u4999", True, "valve 80 %")
    glance = overview.glance()
    assert len(glance.keys) == 5000
    assert [glance.keys[i] for i in glance.order[:2]] == ["u4999", "u4998"]
    overview.alarmed("u4999", False, "valve 80 %")
    later = overview.glance()
    assert (later.on.sum(), later.events.sum(), later.why[4999]) == (0, 1, "valve 80 %")
    assert glance.on.sum() == 1  # what was seen stays as it was


def fleet_rows(units: int, rows: int, faulty: int) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((units * rows, 4)) * [4.0, 3.0, 0.5, 0.5]
    keys = [f"unit {i % units}" for i in range(units * rows)]
    X[[i for i in range(len(X) - 5 * units, len(X)) if i % units == faulty], 2] += 30.0
    return keys, X


@pytest.fixture(scope="module")
def watched() -> tuple[MonitorBank, Overview, list[str], np.ndarray]:
    """Monitors of six units, before the last five rows of each, in which one goes wrong."""
    keys, X = fleet_rows(6, 200, 4)
    bank, overview = MonitorBank(standardize=True, features=list("abcd")), Overview()
    overview.take_in(keys[:-30], bank.judge_many(keys[:-30], X[:-30]).severity)
    return bank, overview, keys, X


def test_the_board_shows_what_is_wanted(watched: Any) -> None:
    bank, overview, *_ = watched
    board = FleetBoard()
    board.update_fleet(bank, overview, 100.0, None)
    assert board.latest.chosen == {}
    board.want(["unit 2", "nobody"])
    board.look_if_quiet()
    chosen = board.latest.chosen
    assert list(chosen) == ["unit 2"]
    np.testing.assert_array_equal(
        chosen["unit 2"].watching.history.row, bank.model("unit 2").control_history_.row
    )
    page = files("eigenstream.live").joinpath("page.html").read_text()
    for name in fleet_tiles(board.latest, "rows", True):
        assert f'id="{name}"' in page


def test_the_page_lists_keys_finds_them_and_shows_the_charts_of_one(watched: Any, browser: Any) -> None:
    bank, overview, keys, X = watched
    with (
        Page("fleet.csv", list("abcd"), watching=True, fleet=True, timed=True) as page,
        opened(browser, page) as tab,
    ):
        page.update_fleet(bank, overview, rows_per_second=10.0)
        shows(tab, "#key-count", "6")
        shows(tab, "#on-count", "0")
        bank.on_alarm = lambda key, alarm: overview.alarmed(key, alarm.ended is None, "c 99 %")
        overview.take_in(keys[-30:], bank.judge_many(keys[-30:], X[-30:]).severity)
        traces = FleetTraces()
        traces._kept["unit 4"] = X[[key == "unit 4" for key in keys]][-60:]
        cycles, rows = [[1, 1000.0], [200, 1199.0]], {195: 1174}
        page.update_fleet(
            bank, overview, rows_per_second=10.0, traces=traces.of, places=lambda key, model: (cycles, rows)
        )
        page._board.look()
        tab.wait_for_selector(".key-row[data-key='unit 4'][data-on=true]", timeout=BOUND)
        first = tab.evaluate(
            "[...document.querySelectorAll('.key-row:not([hidden])')].sort((a, b) => "
            "a.getBoundingClientRect().y - b.getBoundingClientRect().y).map((row) => row.dataset.key)"
        )
        assert first[0] == "unit 4"  # on top, since its alarm is on
        assert len(first) == 6
        assert "c 99 %" in tab.locator(".key-row[data-key='unit 4']").inner_text()
        tab.locator(".key-row[data-key='unit 4']").click()
        shows(tab, "#chosen", "unit 4")
        tab.wait_for_function("document.documentElement.dataset.chosen == 'true'", timeout=BOUND)
        assert drawn(tab, "spe", "began") == [1195]  # on the axis of times
        assert "alarm at row 1,174 (its own row 195), time 1195" in tab.locator("#blamed").inner_text()
        tab.wait_for_selector("#traces:not([hidden])", timeout=BOUND)
        assert tab.locator("#blame > div").first.locator("span").first.inner_text() == "c"
        tab.fill("#filter", "unit 3")
        assert tab.locator(".key-row:not([hidden])").count() == 1
        assert tab.locator("#key-found").inner_text() == "1 of 6"
        tab.locator(".key-row[data-key='unit 3']").click()
        shows(tab, "#chosen", "unit 3")
        tab.set_viewport_size({"width": 390, "height": 800})
        tab.wait_for_function("document.documentElement.scrollWidth <= 390", timeout=BOUND)


def test_a_job_keeps_the_overview_and_draws_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    keys, X = fleet_rows(6, 200, 4)
    lines = [f"{key}," + ",".join(map(repr, row)) for key, row in zip(keys, X.tolist(), strict=True)]
    Path("fleet.csv").write_text("\n".join(["unit,a,b,c,d", *lines]) + "\n")
    asked = Request(
        "fleet.csv", reading=ReadOptions(key="unit", batch_rows=100), parameters={"confirm": "1/1"}
    )
    watcher, traces = FleetOverview(Overview()), FleetTraces()
    with prepare(asked) as job:
        job.watchers = (watcher, traces)
        job.run()
        alarms = {key: len(job.model.model(key).alarms_) for key in job.model}
        faulty = job.model.model("unit 4")
        (trace,) = traces.of("unit 4", faulty)
        assert traces.of("unit 3", job.model.model("unit 3")) == ()
    assert trace.names[0] == "c"
    assert trace.began == faulty.alarms_[-1].began == 195
    own = X[[key == "unit 4" for key in keys]]
    np.testing.assert_allclose(trace.values[:, 0], own[trace.rows, 2])
    assert len(trace.rows) > 20
    glance = watcher.overview.glance()
    assert dict(zip(glance.keys, glance.events.tolist(), strict=True)) == alarms
    assert glance.keys[glance.order[0]] == "unit 4"
    assert glance.why[glance.order[0]].startswith("c ")
    figure = draw_fleet(glance, "fleet.csv", ("unit 4", trace))
    assert [axis.get_ylabel() for axis in figure.axes[2:]][: len(trace.names)] == trace.names
    assert figure.axes[0].get_yticklabels()[0].get_text().startswith("unit 4")
    done = CliRunner().invoke(main, ["watch", "fleet.csv", "--key", "unit", "--picture", "f.png", "--json"])
    assert done.exit_code == 0, done.output
    assert Path("f.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(done.stderr.splitlines()[-1])["keys"] == 6


def test_text_page_and_picture_name_the_same_row_and_time_also_tomorrow(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """Units one after the other, each with its own cycles; the second day's alarm is beside the first's."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    for day in range(2):
        lines = []
        for unit in range(3):
            X = rng.standard_normal((150, 4)) * [4.0, 3.0, 0.5, 0.5]
            X[120:124, 2] += 30.0 * (unit == 1)
            lines += [f"u{unit},{200 * day + i}," + ",".join(map(repr, x)) for i, x in enumerate(X.tolist())]
        Path(f"{day}.csv").write_text("\n".join(["unit,cycle,a,b,c,d", *lines]) + "\n")
    asked = ("--key", "unit", "--time-column", "cycle", "--save", "fleet", "--json")
    call = CliRunner().invoke(main, ["watch", "0.csv", *asked])
    assert call.exit_code == 0, call.output
    kept = {}

    def keep(job: Any, glance: Any, name: str) -> Any:
        model = job.model.model("u1")
        kept.update(rows=job.alarm_rows(model, "u1"), alarms=model.alarms_, times=job.places("u1").times)
        return drawn_before(job, glance, name)

    from eigenstream.cli import closing

    drawn_before = closing._fleet_drawn
    monkeypatch.setattr(closing, "_fleet_drawn", keep)
    figures = []
    monkeypatch.setattr(closing, "save_picture", lambda figure, *_: figures.append(figure))
    call = CliRunner().invoke(main, ["watch", "1.csv", "--model", "fleet", *asked, "--picture", "f.png"])
    assert call.exit_code == 0, call.output
    first, second = kept["alarms"]
    assert [first.began, second.began] == [120, 270]  # as the monitor of the key counts
    assert kept["rows"] == {120: 270, 270: 270}  # rows of yesterday's file, and of today's
    np.testing.assert_allclose(kept["times"].at([121, 271]), [120.0, 320.0])
    said = [json.loads(line) for line in call.stdout.splitlines()]
    began = next(one for one in said if one["event"] == "alarm" and one["key"] == "u1")
    assert (began["since"], began["time"]) == (270, 320.0)
    (figure,) = figures
    titles = [axis.get_title() for axis in figure.axes]
    assert "u1: inputs to blame for the alarm at row 270" in titles
    traced = figure.axes[titles.index("u1: inputs to blame for the alarm at row 270")]
    assert 320.0 in traced.get_lines()[-1].get_xdata()
    entry = alarm_entry(first, 120.0, 270)
    assert (entry["when"], entry["where"]) == ("time 120", "row 270 (its own row 120), time 120")
    call = CliRunner().invoke(main, ["watch", "1.csv", *asked[:4]])
    assert "u1, row 270 (cycle 320): alarm began" in call.output


@pytest.fixture(scope="module")
def learnt() -> tuple[Bank, FleetOverview]:
    """Models of six units: the rank of all is 1, but of unit 2, whose second component comes late."""
    rng, bank = np.random.default_rng(2), Bank(half_life=100)
    overview = FleetOverview.over(bank)
    bank.on_rank_change = lambda key, change: overview.rank_changed(change, key)
    for part in range(6):
        keys = [f"unit {i % 6}" for i in range(600)]
        X = rng.standard_normal((600, 6)) * [5.0, 1, 1, 1, 1, 1]
        if part > 2:
            X[2::6, 1] *= 6
        bank.learn_many(keys, X)
        overview.learnt(bank, Batch(X, np.arange(600), 600, 0, dict, keys=keys))
    return bank, overview


def test_a_fleet_that_is_learnt_is_shown_by_its_ranks(learnt: Any) -> None:
    bank, overview = learnt
    glance = overview.overview.glance()
    assert glance.of == "rank"
    assert {key: bank.model(key).n_components_ for key in glance.keys} == dict(
        zip(glance.keys, glance.now.tolist(), strict=True)
    )
    first = glance.order[0]
    assert (glance.keys[first], glance.now[first]) == ("unit 2", 2)
    assert glance.why[first].startswith("1 \N{RIGHTWARDS ARROW} 2 at row ")
    assert glance.events[first] == len(bank.model("unit 2").rank_history_)
    assert np.nanmax(glance.levels[first]) == 2
    figure = draw_fleet(glance, "fleet.csv")
    assert figure.axes[0].get_yticklabels()[0].get_text() == "unit 2  2"
    again = FleetOverview.over(bank).overview.glance()
    assert sorted(again.keys) == sorted(glance.keys)


def test_the_page_of_a_fleet_that_is_learnt_has_the_charts_of_one(learnt: Any, browser: Any) -> None:
    bank, overview = learnt
    with Page("fleet.csv", list("abcdef"), fleet=True) as page, opened(browser, page) as tab:
        page.update_fleet(bank, overview.overview, rows_per_second=10.0)
        shows(tab, "#ranks", "1 to 2")
        tab.locator(".key-row[data-key='unit 2']").click()
        shows(tab, "#chosen", "unit 2")
        tab.wait_for_function("document.documentElement.dataset.chosen == 'true'", timeout=BOUND)
        assert drawn(tab, "rank", "rank")[-1] == 2
        assert "2" in tab.locator("#events tr").first.inner_text()


def test_run_draws_fleets(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    keys, X = fleet_rows(3, 200, 1)
    lines = [f"{key}," + ",".join(map(repr, row)) for key, row in zip(keys, X.tolist(), strict=True)]
    Path("fleet.csv").write_text("\n".join(["unit,a,b,c,d", *lines]) + "\n")
    done = CliRunner().invoke(main, ["run", "fleet.csv", "--key", "unit", "--picture", "g.png"])
    assert done.exit_code == 0, done.output
    assert Path("g.png").read_bytes().startswith(b"\x89PNG")


def test_inspect_draws_all_keys_of_a_bank_from_what_they_remember(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    keys, X = fleet_rows(3, 200, 1)
    lines = [f"{key}," + ",".join(map(repr, row)) for key, row in zip(keys, X.tolist(), strict=True)]
    Path("fleet.csv").write_text("\n".join(["unit,a,b,c,d", *lines]) + "\n")
    for command, title in (("watch", "1 on alarm, 1 alarm"), ("run", "changes of rank")):
        made = CliRunner().invoke(main, [command, "fleet.csv", "--key", "unit", "--save", command, "--quiet"])
        assert made.exit_code == 0, made.output
        with open_bank(command) as bank:
            glance = remembered(bank).glance()
        assert sorted(glance.keys) == ["unit 0", "unit 1", "unit 2"]
        assert title in draw_fleet(glance, "x").get_suptitle()
        if command == "watch":
            assert glance.keys[glance.order[0]] == "unit 1"
            assert glance.why[glance.order[0]].startswith("c ")
        done = CliRunner().invoke(main, ["inspect", command, "--picture", f"{command}.png"])
        assert done.exit_code == 0, done.output
        assert Path(f"{command}.png").read_bytes().startswith(b"\x89PNG")
    done = CliRunner().invoke(main, ["inspect", "run", "--picture", "loadings=x.png"])
    assert "--picture loadings draws one model: name it with --key KEY" in done.output


def test_the_list_of_keys_blames_what_the_panel_of_the_key_blames(tmp_path: Path, monkeypatch: Any) -> None:
    """An alarm goes on, and other inputs are to blame for its peak than for its beginning."""
    monkeypatch.chdir(tmp_path)
    keys, X = fleet_rows(2, 200, 1)
    X[-4:, 3] += 300.0 * (np.arange(4) % 2)
    lines = [f"{key}," + ",".join(map(repr, row)) for key, row in zip(keys, X.tolist(), strict=True)]
    Path("fleet.csv").write_text("\n".join(["unit,a,b,c,d", *lines]) + "\n")
    reading, parameters = ReadOptions(key="unit", batch_rows=2), {"confirm": "1/1"}
    with prepare(Request("fleet.csv", reading=reading, parameters=parameters)) as job:
        watcher = FleetOverview(Overview())
        job.watchers = (watcher,)
        job.run()
        alarm = job.model.model("unit 1").alarms_[-1]
    glance = watcher.overview.glance()
    why = dict(zip(glance.keys, glance.why, strict=True))["unit 1"]
    assert why == in_words(alarm.contributors)
    assert why.startswith("d ")
    shown = alarm_entry(alarm)["contributors"]
    assert ", ".join(f"{name} {percent} %" for name, percent in shown if percent) == why
