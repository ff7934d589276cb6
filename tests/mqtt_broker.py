"""A broker on loopback for tests, and somebody who publishes."""

import json
import os
import re
import shutil
import socket
import subprocess
import time

from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

SERVER = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")


class Broker:
    """Mosquitto, which keeps what it has acknowledged through restarts."""

    def __init__(self, folder, *lines):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.process = folder, None
        settings = [
            f"listener {self.port} 127.0.0.1",
            "persistence true",
            f"persistence_location {folder}/",
            "autosave_interval 1",
            "autosave_on_changes true",
            "max_queued_messages 0",
            "log_type subscribe",
            "log_type error",
            *(["user root"] if os.geteuid() == 0 else []),
            *(lines or ["allow_anonymous true"]),
        ]
        (folder / "mosquitto.conf").write_text("\n".join(settings) + "\n")
        self.start()

    def start(self):
        with (self.folder / "log").open("a") as log:
            command = [SERVER, "-c", self.folder / "mosquitto.conf"]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + 30
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert time.monotonic() < until, self.log()
            time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def crash(self):
        """Kill it, once what it has acknowledged is on its disk: it saves after each change."""
        database, until, since = self.folder / "mosquitto.db", time.monotonic() + 30, time.monotonic()
        before = None
        while time.monotonic() < min(since + 0.5, until):
            saved = database.stat().st_mtime_ns if database.exists() else None
            if saved is None or saved != before:
                before, since = saved, time.monotonic()
            time.sleep(0.02)
        self.process.kill()
        self.process.wait(30)

    def await_subscriber(self, topic, times=1):
        """Wait until somebody has subscribed to a topic, so often."""
        until = time.monotonic() + 60
        while len(re.findall(rf" 1 {re.escape(topic)}$", self.log(), re.MULTILINE)) < times:
            assert time.monotonic() < until, self.log()
            time.sleep(0.01)

    def log(self):
        return (self.folder / "log").read_text()

    def address(self, topic, **options):
        words = "&".join(f"{name}={value}" for name, value in options.items())
        return f"mqtt://127.0.0.1:{self.port}/{topic}" + ("?" + words if words else "")


class Publisher:
    """Publishes with QoS 1; what it counts as done has been acknowledged."""

    def __init__(self, broker, user=None, password=None):
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, client_id="publisher", clean_session=False)
        self.client.max_inflight_messages_set(1000)
        self.client.reconnect_delay_set(1, 1)
        self.client.username_pw_set(user, password)
        self.client.connect("127.0.0.1", broker.port)
        self.client.loop_start()

    def send(self, topic, content, *, retain=False):
        words = content if isinstance(content, str | bytes) else json.dumps(content)
        return self.client.publish(topic, words, qos=1, retain=retain)

    def send_all(self, topic, contents):
        until = time.monotonic() + 30
        while not self.client.is_connected():
            assert time.monotonic() < until, "the broker is gone"
            time.sleep(0.01)
        for sent in [self.send(topic, content) for content in contents]:
            sent.wait_for_publish(60)
            assert sent.is_published()

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()
