"""MQTT: what the broker has acknowledged to keep is learnt once, whatever is killed or restarted."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import eigenstream
from eigenstream import sources
from eigenstream.io.sources import SourceError
from tests.jobs import call
from tests.source_files import DATA

mqtt = pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")
from eigenstream.io.sources import mqtt as messages  # noqa: E402
from tests.mqtt_broker import SERVER, Broker, Publisher  # noqa: E402

pytestmark = pytest.mark.skipif(SERVER is None, reason="mosquitto is not installed")


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    broker = Broker(tmp_path_factory.mktemp("mosquitto"))
    yield broker
    broker.stop()


@pytest.fixture
def publisher(broker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    publisher = Publisher(broker)
    yield publisher
    publisher.close()


def objects(X, first=0):
    return [{"n": first + i, **dict(zip("abcd", row, strict=True))} for i, row in enumerate(X.tolist())]


def meanwhile(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_messages_are_kept_and_read_once(broker, publisher):
    address = broker.address("line1", spool="line1.jsonl")
    sender = meanwhile(lambda: (broker.await_subscriber("line1"), publisher.send_all("line1", objects(DATA))))
    given = ("--keep", "n,mqtt_topic", "--on-bad-row", "skip")
    call("run", address, *given, "--save", "m", "--output", "s.csv", "--quiet", "--rows", ":50")
    sender.join()
    assert eigenstream.load("m").n_samples_seen_ == 50
    assert eigenstream.load("m").position_["names"] == ["a", "b", "c", "d"]
    assert Path("line1.jsonl").stat().st_mode & 0o777 == 0o600
    # Nobody is connected, and the broker keeps what comes.
    publisher.send_all("line1", objects(DATA, 50))
    publisher.send_all("line1", ["no number", b"\xff\x1b[31m", "true", "x" * 99] * 4)
    more = ("--resume", "--rows", ":116")
    told = call("run", address, *given, "--save", "m", "--output", "s.csv", *more, code=4)
    assert "is not a JSON object" in told
    assert "\x1b" not in told
    assert eigenstream.load("m").n_samples_seen_ == 100
    with open("s.csv") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["n"]) for row in rows] == list(range(100))
    assert {row["mqtt_topic"] for row in rows} == {"line1"}
    # The same lines, read again as a file.
    again = sources.open("line1.jsonl", columns="a,b,c,d", rows=(0, 100))
    with again:
        np.testing.assert_array_equal(np.vstack([b.rows for b in again]), np.vstack((DATA, DATA)))


def test_topics_are_columns_sampled_at_even_times(broker, publisher, monkeypatch):
    monkeypatch.setattr(messages, "DISCOVERY", 0.3)
    for i, name in enumerate(("feed", "flow", "heat")):
        publisher.send(f"plant/{name}", str(i + 0.5), retain=True).wait_for_publish(10)
    publisher.send("plant/tank", {"level": 7, "unit": "m", "full": True}, retain=True).wait_for_publish(10)
    address = broker.address("plant/#", spool="plant.jsonl")
    done = threading.Event()

    def change():
        value = 0
        while not done.is_set():
            value += 1
            publisher.send("plant/flow", str(value))
            publisher.send("plant/feed", "off" if value % 5 else "NaN")
            publisher.send("plant/late", "1")
            done.wait(0.02)

    found = []
    sender = None
    with sources.open(address, every="100ms", time_column="mqtt_time", allow_nan=True) as source:
        assert source.names == [
            "plant/feed",
            "plant/flow",
            "plant/heat",
            "plant/tank/full",
            "plant/tank/level",
        ]
        for batch in source:
            found.append(batch)
            sender = sender or meanwhile(change)
            if sum(len(one.rows) for one in found) > 12 and np.isnan(batch.rows[-1, 0]):
                break
        done.set()
        sender.join()
        notes = " ".join(source.notes)
    assert "values are no numbers, and are not taken" in notes
    assert "1 topics came later and are no columns, such as plant/late" in notes
    rows, times = np.vstack([b.rows for b in found]), np.concatenate([b.times for b in found])
    assert rows[0].tolist() == [0.5, 1.5, 2.5, 1, 7]
    assert np.isnan(rows[-1, 0])
    assert rows[-1, 1] >= 5
    assert np.allclose(times * 10, np.round(times * 10), atol=1e-2)
    # Tomorrow the columns are the same, whichever topics come.
    with sources.open(address, every="100ms", allow_nan=True) as source:
        assert source.names == [
            "plant/feed",
            "plant/flow",
            "plant/heat",
            "plant/tank/full",
            "plant/tank/level",
        ]
    with pytest.raises(SourceError, match=r"is the spool of another every, '0\.1'"):
        sources.open(address, every="1s")
    for name in ("feed", "flow", "heat", "tank"):
        publisher.send(f"plant/{name}", "", retain=True).wait_for_publish(10)


def test_without_a_spool_messages_are_learnt_as_they_come(broker, publisher):
    def send(times):
        broker.await_subscriber("numbers", times)
        publisher.send_all("numbers", [str(i) for i in range(20)])

    sender = meanwhile(lambda: send(1))
    call("run", broker.address("numbers"), "--rows", ":20", "--save", "m", "--quiet")
    sender.join()
    assert eigenstream.load("m").n_samples_seen_ == 20
    sender = meanwhile(lambda: send(2))
    told = call("run", broker.address("numbers"), "--rows", ":40", "--save", "m", "--resume", code=1)
    assert "messages that are not kept cannot be read again: add ?spool=FILE" in told
    sender.join()


def test_messages_that_nobody_reads_do_not_keep_a_job_from_ending(broker, publisher, monkeypatch):
    monkeypatch.setattr(messages, "WAITING", 5)
    sender = meanwhile(lambda: (broker.await_subscriber("flood"), publisher.send_all("flood", ["1"] * 200)))
    with sources.open(broker.address("flood"), batch_rows=2) as source:
        assert len(next(iter(source)).rows) > 0
        sender.join()


def test_a_key_per_topic(broker, publisher):
    def send():
        broker.await_subscriber("fleet/+")
        for i, row in enumerate(DATA.tolist()):
            publisher.send(f"fleet/{i % 3}", row)

    sender = meanwhile(send)
    address = broker.address("fleet/+", spool="fleet.jsonl")
    call("run", address, "--key", "mqtt_topic", "--rows", ":50", "--save", "b", "--quiet")
    sender.join()
    assert "fleet/2" in call("inspect", "b")


def test_files_that_are_no_spools_are_left_alone(broker, publisher):
    Path("other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match="is not a spool of MQTT messages: name another file"):
        sources.open(broker.address("t", spool="other.csv"))
    assert Path("other.csv").read_text() == "a,b\n1,2\n"
    Path("folder").mkdir()
    with pytest.raises(SourceError, match="is a folder"):
        sources.open(broker.address("t", spool="folder"))
    meanwhile(lambda: (broker.await_subscriber("t"), publisher.send_all("t", ["1"])))
    with (
        sources.open(broker.address("t", spool="s")),
        pytest.raises(SourceError, match="another process writes to this spool"),
    ):
        sources.open(broker.address("t", spool="s"))
    with pytest.raises(SourceError, match="is the spool of another address"):
        sources.open(broker.address("u", spool="s"))
    told = call("run", broker.address("t", spool="s"), "--save", "s", "--overwrite", code=1)
    assert "are the same file" in told
    # A line that a power cut has torn was not acknowledged.
    whole = Path("s").read_bytes()
    Path("s").write_bytes(whole + b'{"mqtt_time": "2024-')
    with sources.open(broker.address("t", spool="s"), follow=True, idle=0.0) as source:
        assert [batch.rows.tolist() for batch in source] == [[[1.0]]]
    assert Path("s").read_bytes() == whole


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("mqtt://127.0.0.1:1/t", "the broker does not answer"),
        ("mqtt://127.0.0.1:port/t", "is not an address such as"),
        ("mqtt://127.0.0.1/", "does not say what to read"),
        ("mqtt:///t", "does not say what to read"),
        ("mqtt://h/t?foo=1", "'foo' is no option of an address; there are spool, client"),
        ("mqtt://h/t?spool=a&spool=b", "the same option twice"),
    ],
)
def test_addresses_that_make_no_sense_get_a_sentence(address, message, monkeypatch):
    monkeypatch.setattr(messages, "PATIENCE", 0.0)
    with pytest.raises(SourceError, match=message):
        sources.open(address)


def test_passwords_are_neither_stored_nor_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run(
        [Path(SERVER).parent.parent / "bin" / "mosquitto_passwd", "-c", "-b", "users", "me", "hunter2"],
        check=True,
    )
    os.chmod("users", 0o644)
    broker = Broker(tmp_path, f"password_file {tmp_path}/users", "allow_anonymous false")
    try:
        publisher = Publisher(broker, "me", "hunter2")
        address = broker.address("t", spool="spool").replace("://", "://me:hunter2@")
        meanwhile(lambda: (broker.await_subscriber("t"), publisher.send_all("t", [str(i) for i in range(9)])))
        given = ("--rows", ":9", "--save", "m")
        told = call("run", address, *given)
        told += call("run", address.replace("hunter2", "hunter3"), *given, "--resume", code=1)
        assert "refuses the user or the password" in told
        monkeypatch.setenv("EIGENSTREAM_MQTT_PASSWORD", "hunter2")
        told += call("run", address.replace(":hunter2", ""), *given, "--resume")
        told += call("inspect", "m")
        told += call("run", "--save", "m", "--resume", code=1)
        assert "a model file does not choose which server is asked" in told
        publisher.close()
    finally:
        broker.stop()
    assert "hunter" not in told
    for name in ("m", "spool"):
        assert b"hunter" not in Path(name).read_bytes()
    assert eigenstream.load("m").n_samples_seen_ == 9


def message(number, content, again=False, topic="t"):
    words = content if isinstance(content, bytes) else json.dumps(content).encode()
    return messages.Message(topic, words, str(number), f"{abs(hash(words)):016x}"[:16], again, lambda: None)


def test_hostile_messages_are_lines_all_the_same():
    """Deep, long, not text, infinite, with names of ours: a row or a bad row, and never two lines."""
    each = messages.Each(begun=True)
    contents = [
        b"[" * 5000, b"\xff\xfe", b"", b"1e999", b"9" * 5000, b'{"a": NaN, "mqtt_topic": 5}', b'"\\ud800\\n"',
        b"true", b"null", b"x" * (1 << 21), b'{"a": {"b": 1}}', b'{"a": 1\n}', b"1_000", b"[]", b"{}",
    ]  # fmt: skip
    lines = each.of([message(i, content, topic="t\n\x1b") for i, content in enumerate(contents)])
    assert len(lines) == len(contents)
    for line in lines:
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert len(line) < 10_000
        found = json.loads(line)
        assert isinstance(found, str) or found["mqtt_topic"] == "t\n\x1b"
    sampled = messages.Sampled(0.001, (), ("nan",))
    sampled.of([message(i, content, topic=f"t{i}") for i, content in enumerate(contents)])
    assert all(value is None or isinstance(value, float) for value in sampled.values.values())


def test_only_what_was_kept_is_taken_for_a_repetition(broker, publisher, tmp_path):
    """The same number and content again, marked as such by the broker; also by a job that comes later."""
    meanwhile(lambda: (broker.await_subscriber("again"), publisher.send_all("again", ["1"])))
    with sources.open(broker.address("again", spool="again")) as source:
        recorder = source.reader.recorder
        for number, content, again in ((7, 5, False), (7, 5, True), (8, 5, True), (7, 6, True), (7, 6, True)):
            recorder._queue.put(message(number, content, again))
        until = time.monotonic() + 10
        while recorder.again < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert any("2 messages came twice, and are counted once" in note for note in source.notes)
    assert [row["value"] for row in lines_of("again")] == [1, 5, 5, 6]
    with sources.open(broker.address("again", spool="again")) as source:
        source.reader.recorder._queue.put(message(8, 5, True))
        while not source.reader.recorder.again:
            time.sleep(0.01)
    assert len(lines_of("again")) == 4


def lines_of(spool):
    return [json.loads(line) for line in Path(spool).read_text().splitlines()[1:]]


JOB = [sys.executable, "-m", "eigenstream", "run"]


def survive(broker, count, kills, restarts, each):
    """Publish while the job is killed and the broker restarted; return the output's numbers, and notes.

    The broker is stopped the first time, and killed from then on.
    """
    publisher = Publisher(broker)
    address = broker.address("killed", spool="killed.jsonl")
    given = [address, "--keep", "n", "--save", "m", "--output", "s.csv", "--checkpoint-seconds", "0.05"]
    X = np.random.default_rng(5).standard_normal((count, 4))
    sent, gate = threading.Event(), threading.Lock()

    def send():
        broker.await_subscriber("killed")
        for start in range(0, count, each):
            with gate:  # what a publisher sends again after a restart would be two messages to the broker
                publisher.send_all("killed", objects(X[start : start + each], start))
            time.sleep(0.05)
        sent.set()

    sender = meanwhile(send)
    endings = iter([broker.stop, *[broker.crash] * restarts][:restarts])
    rng = np.random.default_rng(7)
    for _ in range(kills):
        job = subprocess.Popen([*JOB, *given, "--resume", "--quiet"], stderr=subprocess.DEVNULL)
        before = rows_in("s.csv")
        until = time.monotonic() + 60
        while (
            rows_in("s.csv") < before + count // (2 * kills + 2)
            and time.monotonic() < until
            and not sent.is_set()
        ):
            time.sleep(0.02)
        end = next(endings, None)
        if end is not None:
            with gate:
                end()
                broker.start()
        time.sleep(float(rng.uniform(0, 0.3)))
        job.send_signal(signal.SIGKILL)
        job.wait()
    sender.join(240)
    assert sent.is_set()
    # To the last message; then whether another comes, which would be one twice.
    said = ""
    for more in (["--rows", f":{count}"], ["--rows", f":{2 * count}", "--follow", "--idle", "1"]):
        done = subprocess.run(
            [*JOB, *given, "--resume", *more], capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    publisher.close()
    with open("s.csv") as file:
        return [int(float(row["n"])) for row in csv.DictReader(file)], said


def rows_in(path):
    return Path(path).read_bytes().count(b"\n") if Path(path).exists() else 0


@pytest.mark.parametrize(
    ("count", "kills", "restarts", "each"),
    [(400, 1, 1, 40), pytest.param(10_000, 3, 2, 500, marks=pytest.mark.slow)],
)
def test_nothing_is_lost_whatever_is_killed(count, kills, restarts, each, broker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers, said = survive(broker, count, kills, restarts, each)
    kept = [row["n"] for row in lines_of("killed.jsonl")]
    assert numbers == kept, "each line of the spool is learnt once, in its order"
    assert sorted(numbers) == list(range(count)), "none is lost that the broker has acknowledged, none twice"
    assert eigenstream.load("m").n_samples_seen_ == count
    # How many came twice depends on the moment of the kill: they are counted once, and it is said.
    twice = re.findall(r"([\d,]+) messages came twice, and are counted (\w+)", said)
    assert all(word == "once" and 0 < int(number.replace(",", "")) <= count for number, word in twice)
    assert ("came twice" in said) == bool(twice)
