"""Recipes of docs/files.md for brokers: the commands as they stand there, against brokers on loopback."""

import re
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.documents import ROOT, blocks_of
from tests.jobs import call
from tests.source_files import DATA

KCAT = shutil.which("kcat")
COMMANDS = [
    line
    for block in blocks_of(ROOT / "docs" / "files.md")
    for line in block.code.splitlines()
    if "HOST" in line
]


def command(start):
    (found,) = [line for line in COMMANDS if line.startswith(start)]
    return found


@pytest.fixture
def kafka():
    """The broker that librdkafka brings for tests: it lives in a producer that has nothing to send."""
    words = [KCAT, "-P", "-t", "none", "-b", "none", "-X", "test.mock.num.brokers=1", "-d", "mock"]
    broker = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = None
    while found is None:
        line = broker.stderr.readline()
        assert line, "the broker does not start"
        found = re.search(r"bootstrap.servers=(127\.0\.0\.1:\d+)", line)
    drain = threading.Thread(target=broker.stderr.read, daemon=True)
    drain.start()
    yield found[1]
    broker.kill()  # it would wait for its own brokers, which are gone
    broker.wait(30)
    drain.join()
    broker.stdin.close()
    broker.stderr.close()


@pytest.mark.skipif(KCAT is None, reason="kcat is not installed")
def test_kafka_through_a_pipe(kafka, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f'{{"a": {a}, "b": {b}}}\n' for a, b, _, _ in DATA.tolist())
    produce = [KCAT, "-P", "-b", kafka, "-t", "sensors", "-p", "0"]
    subprocess.run(produce, input=rows, text=True, timeout=30, check=True)
    consume, watch = command("kcat -C").split(" | ")
    assert watch == "eigenstream watch - --on-bad-row skip"
    lines = subprocess.run(
        [*shlex.split(consume.replace("HOST:9092", kafka)), "-e"], capture_output=True, timeout=30, check=True
    ).stdout
    words = [sys.executable, "-m", "eigenstream", *shlex.split(watch)[1:]]
    done = subprocess.run(words, input=lines, check=True, capture_output=True)
    assert b"50 rows" in done.stderr


@pytest.mark.parametrize("topic", ["plant/line1", "plant/#", "fleet/+"])
def test_mqtt_as_the_documents_say(topic, tmp_path, monkeypatch):
    pytest.importorskip("paho.mqtt.client", reason="paho-mqtt is not installed")
    from tests.mqtt_broker import SERVER, Broker, Publisher

    if SERVER is None:
        pytest.skip("mosquitto is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("eigenstream.io.sources.mqtt.DISCOVERY", 0.2)
    broker = Broker(tmp_path)
    publisher = Publisher(broker)
    done = threading.Event()

    def publish():
        while not done.is_set():
            for i in range(3):
                content = "1.5" if "#" in topic else {"a": i, "b": 2}
                publisher.send(topic.replace("+", str(i)).replace("#", f"t{i}"), content)
            done.wait(0.05)

    sender = threading.Thread(target=publish)
    sender.start()
    try:
        line = command(f"eigenstream watch 'mqtt://HOST/{topic}")
        words = shlex.split(
            line.replace("HOST", f"127.0.0.1:{broker.port}").replace("--every 1s", "--every 100ms")
        )
        ending = threading.Timer(2.5, done.set)
        ending.start()
        call(*words[1:], "--follow", "--idle", "1", "--quiet", "--rows", ":10")
    finally:
        done.set()
        sender.join()
        publisher.close()
        broker.stop()
    assert Path(words[words.index("--save") + 1]).exists()
