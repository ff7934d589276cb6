"""Soak: see the package. ``python -m tests.soak --minutes 30 --report tests/soak/report.md``."""

import argparse
import json
import random
import shutil
import sys
import time
from pathlib import Path
from threading import Thread

import numpy as np

from eigenstream.monitoring import MonitoredModel, MonitorSettings
from tests.soak.plant import NAMES, Plant, write
from tests.soak.watcher import Life

PER_LOG = 150_000
"""Rows of a log before it is rotated."""
COLUMNS = ("t2", "spe", "distance", "t2_limit", "spe_limit", "distance_limit", "severity", "alarm", "since")
OPTIONS = ["--time-column", "t", "--json", "--live", "--metrics", "0", "--accept-after", "500"]
OPTIONS += ["--checkpoint-rows", "20000", "--checkpoint-seconds", "2"]
FULL = "cannot be written: File too large"
ROTATED = ("was replaced by another file while it was followed", "log.csv has become shorter")
"""What is said of a log that has another name now: while it is followed, or to who comes back to it."""


class Soak:
    """Log after log until the time is over."""

    def __init__(self, folder, seconds, seed):
        self.folder, self.ends, self.rng = folder, time.monotonic() + seconds, random.Random(seed)
        self.plant, self.began = Plant(), time.monotonic()
        self.reference = MonitoredModel(MonitorSettings(accept_after=500), standardize=True, random_state=0)
        self.reference.features = NAMES
        self.rows = self.logs = self.kills = self.full = self.rotated = self.scrapes = self.pages = 0
        self.memory = []
        """The largest memory of each life that lasted, in MiB."""
        self.complaints = []

    def run(self):
        while time.monotonic() < self.ends and not self.complaints:
            self.one_log()
            print(f"{self.rows:,} rows, {self.kills} kills, {len(self.complaints)} complaints", flush=True)

    def one_log(self):
        log, output = self.folder / "log.csv", f"verdicts-{self.logs}.csv"
        first, last = self.rows, self.rows + PER_LOG
        writer = Thread(target=write, args=(self.plant, log, first, last))
        writer.start()
        while not log.exists() or not log.stat().st_size:
            time.sleep(0.01)
        going_on = ["--model", "monitor"] if self.logs else []
        command = ["log.csv", *going_on, "--save", "monitor", "--resume", "--output", output, *OPTIONS]
        while writer.is_alive() or self.rng.random() < 0.6:
            if self.logs == 0 or (self.folder / "monitor").exists():
                self.live([*command, "--follow"], output)
        old = self.folder / f"log-{self.logs}.csv"
        rotation = Thread(target=self.rotate, args=(log, old))
        rotation.start()
        self.live([*command, "--follow"], output, seconds=20)
        rotation.join()
        self.finish([str(old.name), *going_on, *command[1 + len(going_on) :]], output)
        self.compare(output, first, last)
        self.rows, self.logs = last, self.logs + 1
        for path in (old, self.folder / output):
            path.unlink()

    def rotate(self, log, old):
        """Give the log another name while it is followed; another one begins."""
        time.sleep(self.rng.uniform(1, 4))
        log.rename(old)
        log.write_text(",".join(["t", *NAMES]) + "\n")

    def live(self, command, output, seconds=None):
        """One life, with a full disk now and then."""
        path = self.folder / output
        size = path.stat().st_size if path.exists() else 0
        room = size + 100_000 if self.rng.random() < 0.3 else None
        life = Life(command, self.folder, seconds or self.rng.uniform(2, 12), room)
        self.count(life)
        if life.killed:
            self.kills += 1
        elif any(FULL in error for error in life.errors) and room:
            self.full += 1
        elif any(said in error for error in life.errors for said in ROTATED) and seconds:
            self.rotated += 1
        else:
            self.complaints.append(f"ended with {life.code}: {life.errors}")

    def finish(self, command, output):
        """Read the rest of a log that has another name now, killed once more on the way."""
        for seconds in (self.rng.uniform(1, 3), 600):
            life = Life(command, self.folder, seconds)
            self.count(life)
            self.kills += life.killed
            if not life.killed and life.code:
                self.complaints.append(f"the rest ended with {life.code}: {life.errors}")
        if life.killed:
            self.complaints.append("the rest of a log took more than 600 s")

    def count(self, life):
        self.scrapes += life.scrapes
        self.pages += life.pages
        if len(life.memory) > 15:  # about three seconds: it has got to work
            self.memory.append(max(life.memory))

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
                differ = int(
                    np.flatnonzero(~np.isclose(found, expected[:, i], rtol=0, atol=0, equal_nan=True))[0]
                )
                self.complaints.append(f"{output}: {name} differs from row {differ:,} on")

    def facts(self):
        third = max(len(self.memory) // 3, 1)
        early, late = np.median(self.memory[:third]), np.median(self.memory[-third:])
        if late > 1.2 * early:
            self.complaints.append(f"memory grew from {early:.0f} to {late:.0f} MiB")
        alarms = {}
        for line in (self.folder / "alarms.jsonl").read_text().splitlines():
            if line.endswith("}"):  # a line may be torn by a kill
                event = json.loads(line)
                alarms[event["state"]] = alarms.get(event["state"], 0) + 1
        seconds = time.monotonic() - self.began
        return {
            "minutes": f"{seconds / 60:.1f}",
            "rows watched, each compared": f"{self.rows:,}",
            "logs rotated": f"{self.logs} ({self.rotated} while they were followed)",
            "kills": self.kills,
            "ends because the disk was full": self.full,
            "loads of /metrics": f"{self.scrapes:,}",
            "loads of the page": f"{self.pages:,}",
            "alarms of the monitor": self.reference.monitor.counts.alarms,
            "lines about alarms (some twice, after kills)": sum(alarms.values()),
            "peak memory of a life, median of the first and of the last third":
                f"{early:.0f} and {late:.0f} MiB",
            "complaints": len(self.complaints),
        }  # fmt: skip


def report(facts, complaints):
    lines = [
        "# Soak",
        "",
        "Written by `make soak`: `eigenstream watch --follow` on a plant of 12 sensors, with kills,",
    ]
    lines += ["rotations, full disks, page loads and scrapes. See `tests/soak/__init__.py`.", ""]
    lines += ["| what | how much |", "|---|---|", *(f"| {what} | {how} |" for what, how in facts.items()), ""]
    lines += [
        "Every row of every output was there once, in order, bit for bit as one uninterrupted monitor says."
    ]
    if complaints:
        lines[-1:] = ["**It failed:**", "", *(f"- {complaint}" for complaint in complaints)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--report", type=Path, default=Path("tests/soak/report.md"))
    parser.add_argument("--folder", type=Path, default=Path("build/soak"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    soak = Soak(options.folder.absolute(), 60 * options.minutes, options.seed)
    soak.run()
    facts = soak.facts()
    options.report.write_text(report(facts, soak.complaints))
    print(options.report.read_text())
    sys.exit(bool(soak.complaints))


if __name__ == "__main__":
    main()
