"""The examples for a plant: alert rules and dashboard ask for what a watch really serves."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from eigenstream.cli import main
from eigenstream.io.sources import ReadOptions
from eigenstream.jobs import Request, prepare
from eigenstream.jobs.notices import Command, Notices
from tests.plant_files import write_plant

pytest.importorskip("prometheus_client")
from eigenstream.jobs.prometheus import MEANINGS, Metrics
from tests.test_prometheus import scraped

yaml = pytest.importorskip("yaml")

PLANT = Path(__file__).parents[1] / "examples" / "plant"
NAME = re.compile(r"\beigenstream_[a-z0-9_]+")


def expressions():
    """All that rules and dashboard ask Prometheus, by where it stands."""
    rules = yaml.safe_load((PLANT / "alert-rules.yml").read_text())
    found = {rule["alert"]: rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    board = json.loads((PLANT / "grafana-dashboard.json").read_text())
    for panel in board["panels"]:
        found |= {f"{panel['title']} {one['refId']}": one["expr"] for one in panel["targets"]}
    found |= {one["name"]: one["query"] for one in board["templating"]["list"]}
    return found | {one["name"]: one["expr"] for one in board["annotations"]["list"]}


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Numbers that a watch of one plant and a watch of a fleet serve, with notices."""
    monkeypatch.chdir(tmp_path)
    write_plant(tmp_path / "plant.csv", 1200)
    lines = Path("plant.csv").read_text().splitlines()
    keyed = [f"u{i % 2},{line}" for i, line in enumerate(lines[1:])]
    Path("fleet.csv").write_text("\n".join([f"unit,{lines[0]}", *keyed]) + "\n")
    found = {}
    for source, key in (("plant.csv", None), ("fleet.csv", "unit")):
        asked = Request(
            source,
            reading=ReadOptions(exclude="text", key=key),
            parameters={"standardize": True, "confirm": "1/1"},
        )
        with prepare(asked, save=f"{source}.m") as job:
            notices = Notices([Command(f"{sys.executable} -c pass")])
            metrics = Metrics(job.source, notices=notices)
            job.watchers = (notices, metrics)
            try:
                job.run()
                found |= scraped(metrics.url)
            finally:
                metrics.close()
    return found


def test_rules_and_dashboard_ask_for_what_is_served(served):
    names, statistics = {name for name, _ in served}, {label for _, label in served if label}
    asked = expressions()
    assert len(asked) > 20
    for where, expression in asked.items():
        unknown = set(NAME.findall(expression)) - names
        assert not unknown, f"{where} asks for {unknown}"
        for label in re.findall(r'statistic="([^"]*)"', expression):
            assert label in statistics, where
    used = {name for expression in asked.values() for name in NAME.findall(expression)}
    assert {name.removesuffix("_total").removeprefix("eigenstream_") for name in used} >= set(MEANINGS) - {
        "notices_told"
    }


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool of Prometheus is not installed")
@pytest.mark.parametrize(
    "words", [("check", "config", "prometheus.yml"), ("test", "rules", "alert-rules-test.yml")], ids=str
)
def test_prometheus_takes_the_rules(words):
    done = subprocess.run(["promtool", *words], cwd=PLANT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout + done.stderr


def test_the_program_for_alarms_writes_a_line_for_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_plant(tmp_path / "plant.csv", 2100)
    program = f"{sys.executable} {PLANT / 'notify.py'} alarms.log"
    words = ["watch", "plant.csv", "--exclude", "text", "--on-alarm", program]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    lines = Path("alarms.log").read_text().splitlines()
    assert len(lines) == sum(": alarm " in line for line in done.stdout.splitlines()) > 0
    assert re.fullmatch(r"row \d+: alarm (began|ended|accepted), severity [\d.e+]+; .+ \d+%.*", lines[0])
