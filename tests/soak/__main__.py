"""Soak: see the package. ``python -m tests.soak --minutes 30 --report tests/soak/report.md``."""

import argparse
import shutil
import sys
from pathlib import Path
from threading import Thread

from tests.soak.lanes import FleetLane, LogLane, RedisLane

INTRODUCTION = """# Soak

Written by `make soak`: three jobs side by side (`watch` of a log that is rotated, `run` of a fleet of units,
`watch` of a Redis stream), with kills, full disks, pauses of the server, page loads, scrapes, and lookers
that ask a byte at a time. See `tests/soak/__init__.py`.
"""


def facts(log, fleet, redis, minutes):
    lanes = (log, fleet, redis)
    return {
        "minutes": f"{minutes:g}",
        "rows sent, learnt and compared": "; ".join(f"{lane.name} {lane.rows:,}" for lane in lanes),
        "logs rotated": f"{log.rounds} ({log.rotated} while they were followed)",
        "rounds whose model and output were compared with those of a job left alone":
            f"fleet {fleet.rounds}; redis {redis.rounds}",
        "kills": "; ".join(f"{lane.name} {lane.kills}" for lane in lanes),
        "ends because the disk was full": "; ".join(f"{lane.name} {lane.full}" for lane in lanes),
        "pauses of the server": redis.pauses,
        "loads of /metrics, of the page": f"{log.scrapes + redis.scrapes:,}, {log.pages:,}",
        "slow lookers cut": f"{log.cut + redis.cut:,}",
        "alarms of the log's monitor; lines about them (some twice, after kills)":
            f"{log.alarmed():,}; {log.alarms():,}",
        "memory of a life in each quarter, the largest but a tenth":
            "; ".join(f"{lane.name} {lane.quarters()}" for lane in lanes),
    }  # fmt: skip


def report(told, complaints):
    lines = [INTRODUCTION, "| what | how much |", "|---|---|"]
    lines += [*(f"| {what} | {how} |" for what, how in told.items()), ""]
    if complaints:
        lines += ["**It failed:**", "", *(f"- {complaint}" for complaint in complaints)]
    else:
        lines += [
            "Every row of every output was there once, in order, bit for bit as uninterrupted jobs say."
        ]
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
    folder, seconds = options.folder.absolute(), 60 * options.minutes
    lanes = [
        kind(folder, seconds, options.seed + i) for i, kind in enumerate((LogLane, FleetLane, RedisLane))
    ]
    threads = [Thread(target=lane.run) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = facts(*lanes, options.minutes)
    complaints = [f"{lane.name}: {complaint}" for lane in lanes for complaint in lane.complaints]
    options.report.write_text(report(told, complaints))
    print(options.report.read_text())
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
