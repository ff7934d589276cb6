"""`--metrics`: numbers that Prometheus reads, on this computer only, while learning goes on."""

import http.client
import os
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest

from eigenstream.io.sources import ReadOptions
from eigenstream.jobs import Request, Watcher, prepare
from tests.plant_files import write_plant

pytest.importorskip("prometheus_client")
from prometheus_client.parser import text_string_to_metric_families

from eigenstream.jobs.prometheus import Metrics

ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
COMMON = {
    "eigenstream_rows_read_total",
    "eigenstream_rows_learnt_total",
    "eigenstream_rows_skipped_total",
} | {
    "eigenstream_rank",
    "eigenstream_threshold",
}
WATCHED = {"eigenstream_rows_alarmed_total", "eigenstream_alarms_total", "eigenstream_accepted_total"} | {
    f"eigenstream_{name}"
    for name in ("statistic", "limit", "severity", "alarm_on", "drift", "drift_on", "inputs_out_of_order")
}


def scraped(url):
    """Values by name and, where there is one, statistic."""
    with urlopen(url, timeout=30) as answer:
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, sample.labels.get("statistic")): sample.value for sample in samples}


class Scraping(Watcher):
    """Asks after every batch, as if it were somebody else."""

    def __init__(self, url):
        self.url, self.seen = url, []

    def learnt(self, model, batch):
        self.seen.append(scraped(self.url))


@pytest.fixture
def plant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_plant(tmp_path / "plant.csv", 2100)
    return "plant.csv"


def job(source, **parameters):
    reading = ReadOptions(exclude="text", batch_rows=100)
    asked = Request(source, reading=reading, parameters={"standardize": True, **parameters})
    return prepare(asked, save="m", every_rows=500)


@pytest.mark.parametrize("parameters", [{}, {"false_alarm_rate": 1e-4}], ids=["run", "watch"])
def test_what_is_served_parses_and_is_what_the_model_says(plant, parameters):
    with job(plant, **parameters) as prepared:
        metrics = Metrics(prepared.source)
        try:
            scraping = Scraping(metrics.url)
            prepared.watchers = (metrics, scraping)
            prepared.run()
            last = scraped(metrics.url)
        finally:
            metrics.close()
    names = COMMON | (WATCHED if parameters else set()) | {"eigenstream_last_checkpoint_timestamp_seconds"}
    assert {name for name, _ in last} == names
    reads = [seen["eigenstream_rows_read_total", None] for seen in scraping.seen]
    assert reads == [100.0 * (i + 1) for i in range(21)]
    model = prepared.model
    assert last["eigenstream_rows_learnt_total", None] == model.n_samples_seen_
    assert last["eigenstream_rank", None] == model.n_components_
    if parameters:
        counts = model.monitor.counts
        assert last["eigenstream_alarms_total", None] == counts.alarms > 0
        assert last["eigenstream_rows_alarmed_total", None] == counts.alarmed
        history = model.control_history_
        for i, name in enumerate(("t2", "spe", "distance")):
            assert last["eigenstream_limit", name] == history.limits[-1, i]
        assert [seen["eigenstream_alarm_on", None] for seen in scraping.seen][20] == 0
        assert max(seen["eigenstream_severity", None] for seen in scraping.seen) > 0
        drift = model.monitor.drift_of(model.monitor.reference)._asdict()
        assert {name: last["eigenstream_drift", name] for name in drift} == pytest.approx(drift, abs=0.1)


def test_only_this_computer_is_answered(plant):
    with job(plant) as prepared:
        metrics = Metrics(prepared.source)
        try:
            assert metrics._server.address[0] == "127.0.0.1"
            with pytest.raises(ConnectionError):
                socket.create_connection(("127.0.0.2", metrics._server.address[1]), timeout=5)
            with pytest.raises(
                OSError, match=r"cannot serve metrics on 127\.0\.0\.1, port .*: choose another"
            ):
                Metrics(prepared.source, port=metrics._server.address[1])
        finally:
            metrics.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("127.0.0.1:9", 200), ("[::1]", 200), ("evil.example", 403), ("", 403)],
)
def test_a_name_that_somebody_points_here_is_told_nothing(plant, host, status):
    with job(plant) as prepared:
        metrics = Metrics(prepared.source)
        try:
            connection = http.client.HTTPConnection("127.0.0.1", metrics._server.address[1], timeout=30)
            connection.request("GET", "/metrics", headers={"Host": host})
            assert connection.getresponse().status == status
            connection.close()
        finally:
            metrics.close()


def test_who_asks_and_does_not_listen_holds_nobody_up(plant):
    with job(plant, false_alarm_rate=1e-3) as prepared:
        metrics = Metrics(prepared.source)
        stuck = [socket.create_connection(metrics._server.address) for _ in range(8)]
        try:
            for half in stuck:
                half.sendall(b"GET /metrics HTTP/1.1\r\nHost: x")  # and never the rest
            prepared.watchers = (metrics,)
            assert prepared.run().rows == 2100
            assert scraped(metrics.url)["eigenstream_rows_read_total", None] == 2100
        finally:
            for half in stuck:
                half.close()
            metrics.close()


def test_without_the_package_the_error_says_what_to_install(plant, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with job(plant) as prepared, pytest.raises(ImportError, match=r"pip install 'eigenstream\[metrics\]'"):
        Metrics(prepared.source)


@pytest.mark.parametrize("command", ["run", "watch"])
def test_the_command_line_serves_while_it_follows(plant, command):
    arguments = [sys.executable, "-m", "eigenstream", command, plant, "--exclude", "text", "--follow"]
    with subprocess.Popen(
        [*arguments, "--metrics", "0", "--quiet"],
        env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            url = process.stderr.readline().removeprefix("metrics: ").strip()
            assert url.startswith("http://127.0.0.1:")
            while scraped(url).get(("eigenstream_rows_read_total", None)) != 2100:
                assert process.poll() is None
            assert (("eigenstream_alarms_total", None) in scraped(url)) == (command == "watch")
        finally:
            process.terminate()
    assert process.returncode == 143


def test_of_a_fleet_keys_and_alarms_of_all_are_served(plant):
    asked = Request(plant, reading=ReadOptions(key="time", batch_rows=700), parameters={"confirm": "1/1"})
    with prepare(asked) as prepared:
        metrics = Metrics(prepared.source)
        prepared.watchers = (metrics,)
        try:
            prepared.run()
            last = scraped(metrics.url)
        finally:
            metrics.close()
    assert last["eigenstream_keys", None] == len(prepared.model) == 2100
    assert last["eigenstream_alarms_total", None] == prepared.model.alarms
    assert last["eigenstream_keys_alarmed", None] == 0
