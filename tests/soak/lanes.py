"""Lanes of the soak: a source that grows, a job that is killed and resumed, and a comparison at the end."""

import json
import random
import shutil
import signal
import socket
import subprocess
import time
from threading import Event, Thread

import numpy as np

from eigenstream.monitoring import MonitoredModel, MonitorSettings
from tests.bank_content import content
from tests.soak.life import Life
from tests.soak.plant import NAMES, Plant, write

PER_LOG = 150_000
"""Rows of a log before it is rotated."""
ROUND = 240.0
"""Seconds of a round of the lanes that begin anew."""
LONGEST = 1800
"""Seconds that the rest of a round, or a job left alone, may take on a busy computer."""
UNITS = 200
COLUMNS = ("t2", "spe", "distance", "t2_limit", "spe_limit", "distance_limit", "severity", "alarm", "since")
OFTEN = ["--checkpoint-rows", "20000", "--checkpoint-seconds", "2", "--json"]
FULL = "cannot be written: File too large"
ROTATED = ("was replaced by another file while it was followed", "log.csv has become shorter")
"""What is said of a log that has another name now: while it is followed, or to who comes back to it."""


class Lane:
    """Abstract: lives of a job, one after the other, and what became of them."""

    name: str

    def __init__(self, folder, seconds, seed):
        self.folder, self.rng = folder / self.name, random.Random(seed)
        self.folder.mkdir()
        self.began, self.ends = time.monotonic(), time.monotonic() + seconds
        self.seconds, self.rows, self.rounds = seconds, 0, 0
        self.kills = self.full = self.scrapes = self.pages = self.cut = 0
        self.memory = []
        """Moment and largest memory, in MiB, of each life that lasted."""
        self.complaints = []

    def run(self):
        """Go on until the time is over or something is wrong."""
        try:
            while time.monotonic() < self.ends and not self.complaints:
                self.one_round()
                print(f"{self.name}: {self.rows:,} rows, {self.kills} kills, {self.full} full", flush=True)
        except Exception as error:
            self.complaints.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            self.close()

    def close(self):
        """End what the lane has started."""

    def live(self, command, folder, output, seconds=None, expected=()):
        """One life, with a full disk now and then; ``expected`` says how else it may end."""
        path = folder / output
        size = path.stat().st_size if path.exists() else 0
        room = size + 30_000 if self.rng.random() < 0.4 else None
        life = self.count(Life(command, folder, seconds or self.lifetime(), room))
        if life.killed:
            self.kills += 1
        elif any(FULL in error for error in life.errors) and room:
            self.full += 1
        elif not any(said in error for error in life.errors for said in expected):
            self.complaints.append(f"ended with {life.code}: {life.errors}")
        return life

    def lifetime(self):
        """Mostly seconds; now and then half a minute, in which memory would show a leak."""
        return self.rng.uniform(20, 40) if self.rng.random() < 0.1 else self.rng.uniform(3, 18)

    def finish(self, command, folder):
        """Read the rest, killed once more on the way."""
        for seconds in (self.rng.uniform(1, 3), LONGEST):
            life = self.count(Life(command, folder, seconds))
            self.kills += life.killed
            if not life.killed and life.code:
                self.complaints.append(f"the rest ended with {life.code}: {life.errors}")
        if life.killed:
            self.complaints.append(f"the rest took more than {LONGEST} s")

    def count(self, life):
        self.scrapes, self.pages, self.cut = (
            self.scrapes + life.scrapes, self.pages + life.pages, self.cut + life.cut,
        )  # fmt: skip
        if len(life.memory) > 20:  # about four seconds: it has got to work
            self.memory.append((time.monotonic() - self.began, max(life.memory)))
        return life

    def quarters(self):
        """Memory of lives in each quarter of the time; a complaint if it grows.

        The largest but a tenth: many lives end before they have got to work.
        """
        parts = [[], [], [], []]
        for moment, memory in self.memory:
            parts[min(int(4 * moment / self.seconds), 3)].append(memory)
        found = [float(np.quantile(part, 0.9)) for part in parts if part]
        enough = min(len(parts[0]), len(parts[-1])) >= 8  # a few lives say little: they end at any point
        if enough and found[-1] > 1.25 * found[0]:
            self.complaints.append(f"memory grew from {found[0]:.0f} to {found[-1]:.0f} MiB")
        return ", ".join(f"{one:.0f}" for one in found) + " MiB"


class LogLane(Lane):
    """`watch --follow` on a log that is rotated; one monitor goes on from log to log."""

    name = "log"

    def __init__(self, folder, seconds, seed):
        super().__init__(folder, seconds, seed)
        self.plant, self.rotated = Plant(), 0
        self.reference = MonitoredModel(MonitorSettings(accept_after=500), standardize=True, random_state=0)
        self.reference.features = NAMES

    def one_round(self):
        log, output = self.folder / "log.csv", f"verdicts-{self.rounds}.csv"
        first, last = self.rows, self.rows + PER_LOG
        writer = Thread(target=write, args=(self.plant, log, first, last))
        writer.start()
        while not log.exists() or not log.stat().st_size:
            time.sleep(0.01)
        going_on = ["--model", "monitor"] if self.rounds else []
        options = ["--time-column", "t", "--live", "--metrics", "0", "--accept-after", "500", *OFTEN]
        command = [*going_on, "--save", "monitor", "--resume", "--output", output, *options]
        while (writer.is_alive() or self.rng.random() < 0.6) and not self.complaints:
            if self.rounds == 0 or (self.folder / "monitor").exists():
                self.live(["watch", "log.csv", *command, "--follow"], self.folder, output)
        writer.join()
        old = self.folder / f"log-{self.rounds}.csv"
        rotation = Thread(target=self.rotate, args=(log, old))
        rotation.start()
        life = self.live(["watch", "log.csv", *command, "--follow"], self.folder, output, 20, ROTATED)
        self.rotated += any(said in error for error in life.errors for said in ROTATED)
        rotation.join()
        self.finish(["watch", old.name, *command], self.folder)
        if self.complaints:
            return
        self.compare(output, first, last)
        self.rows, self.rounds = last, self.rounds + 1
        for path in (old, self.folder / output):
            path.unlink()

    def rotate(self, log, old):
        """Give the log another name while it is followed; another one begins."""
        time.sleep(self.rng.uniform(1, 4))
        log.rename(old)
        log.write_text(",".join(["t", *NAMES]) + "\n")

    def compare(self, output, first, last):
        """Every row once, in order, and every number as one uninterrupted monitor says it."""
        from pyarrow import csv

        table = csv.read_csv(self.folder / output)
        if not np.array_equal(table["row"].to_numpy(), np.arange(last - first)):
            self.complaints.append(f"{output}: {table.num_rows:,} rows where {last - first:,} were written")
            return
        parts = [
            self.reference.judge_many(self.plant.numbers(start, min(start + 4096, last))).matrix()
            for start in range(first, last, 4096)
        ]
        expected = np.vstack(parts)
        for i, name in enumerate(COLUMNS[:-1]):
            found = table[name].to_numpy().astype(np.float64)
            if not np.array_equal(found, expected[:, i], equal_nan=True):
                differ = int(np.flatnonzero((found != expected[:, i]) & ~np.isnan(found))[0])
                self.complaints.append(f"{output}: {name} differs from row {differ:,} on")

    def alarmed(self):
        """Number of alarms of the monitor that nothing happened to."""
        return 0 if self.reference.monitor is None else self.reference.monitor.counts.alarms

    def alarms(self):
        """Number of lines about alarms; a line may be torn by a kill."""
        lines = (self.folder / "alarms.jsonl").read_text().splitlines()
        return sum(json.loads(line)["event"] == "alarm" for line in lines if line.endswith("}"))


class RoundLane(Lane):
    """Abstract: rounds that begin anew; at the end of each, a job left alone reads the same source."""

    output = "scores.csv"
    model = "model"

    def one_round(self):
        work, calm = self.folder / "work", self.folder / "calm"
        for folder in (work, calm):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        self.begin(work)
        stop, sent = Event(), []
        feeder = Thread(target=self.feed, args=(work, stop, sent))
        feeder.start()
        ends = min(time.monotonic() + min(ROUND, self.seconds / 2), self.ends)
        command = self.command()
        while time.monotonic() < ends and not self.complaints:
            self.live([*command, "--resume", "--follow"], work, self.output)
        stop.set()
        feeder.join()
        self.finish([*command, "--resume"], work)
        self.hand_over(work, calm)
        alone = Life(command, calm, LONGEST)
        if alone.killed or alone.code:
            self.complaints.append(f"the job left alone ended with {alone.code}: {alone.errors}")
        for name in (self.output, self.model) if not self.complaints else ():
            if content(work / name) != content(calm / name):
                self.complaints.append(f"round {self.rounds}: {name} differs from that of a job left alone")
        if self.complaints:
            return
        lines = (work / self.output).read_bytes().count(b"\n") - 1
        if lines != sum(sent):
            self.complaints.append(f"round {self.rounds}: {lines:,} rows where {sum(sent):,} were sent")
        self.rows, self.rounds = self.rows + lines, self.rounds + 1

    def begin(self, folder):
        """Make the source."""

    def hand_over(self, work, calm):
        """Give the source to the job that is left alone."""


class FleetLane(RoundLane):
    """`run --key`: one model per unit, most of which wait in the file."""

    name = "fleet"

    def __init__(self, folder, seconds, seed):
        super().__init__(folder, seconds, seed)
        self.source = np.random.default_rng(seed)

    def begin(self, folder):
        (folder / "fleet.csv").write_text(",".join(["unit", *NAMES]) + "\n")

    def command(self):
        often = ["--checkpoint-rows", "4000", "--checkpoint-seconds", "2", "--json", "--batch-rows", "1000"]
        return ["run", "fleet.csv", "--key", "unit", "--max-models", "60", "--save", self.model,
                "--output", self.output, *often]  # fmt: skip

    def feed(self, folder, stop, sent):
        """About five hundred rows per second, in pieces that cut through lines."""
        with open(folder / "fleet.csv", "a") as file:
            while not stop.is_set():
                rows = self.source.standard_normal((100, len(NAMES))).round(4).tolist()
                units = self.source.integers(UNITS, size=len(rows)).tolist()
                lines = [
                    f"u{unit}," + ",".join(map(repr, row)) for unit, row in zip(units, rows, strict=True)
                ]
                text = "\n".join(lines) + "\n"
                for part in (text[:-17], text[-17:]):
                    file.write(part)
                    file.flush()
                sent.append(len(rows))
                stop.wait(0.2)

    def hand_over(self, work, calm):
        shutil.copyfile(work / "fleet.csv", calm / "fleet.csv")


class RedisLane(RoundLane):
    """`watch` on a stream of a Redis server, which stops for seconds now and then."""

    name = "redis"
    output = "verdicts.csv"

    def __init__(self, folder, seconds, seed):
        super().__init__(folder, seconds, seed)
        self.plant, self.pauses = Plant(), 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.server = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
             "--appendonly", "no", "--dir", str(self.folder)],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.client = self.connected()

    def connected(self):
        import redis

        client = redis.Redis(port=self.port)
        while True:
            try:
                client.ping()
                return client
            except redis.ConnectionError:
                time.sleep(0.05)

    def begin(self, folder):
        self.client.flushall()
        self.add(0, 100)

    def add(self, first, last):
        pipeline = self.client.pipeline(transaction=False)
        for row in self.plant.numbers(first, last).tolist():
            pipeline.xadd("plant", dict(zip(NAMES, map(repr, row), strict=True)))
        pipeline.execute()

    def command(self):
        return ["watch", f"redis://127.0.0.1:{self.port}/0?stream=plant", "--save", self.model,
                "--output", self.output, "--metrics", "0", "--accept-after", "500", *OFTEN]  # fmt: skip

    def feed(self, folder, stop, sent):
        """About five hundred entries per second; now and then the server stands still."""
        sent.append(100)
        while not stop.is_set():
            self.add(sum(sent), sum(sent) + 100)
            sent.append(100)
            if self.rng.random() < 0.01:
                self.server.send_signal(signal.SIGSTOP)
                time.sleep(2)
                self.server.send_signal(signal.SIGCONT)
                self.pauses += 1
            stop.wait(0.2)

    def close(self):
        self.server.kill()
        self.server.wait()
