"""Files to try every command of the documentation on; ``eigenstream example`` writes them.

A plant of eight sensors in a row per second, of which three fail in turn; the same in pieces, by day and by
machine. The tests run the commands of every page on them.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from io import BytesIO, StringIO
from itertools import chain
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ..streams import Fault, plant

ROWS, START = 8000, datetime(2026, 11, 15, 10)
SENSORS = ["feed", "valve", "flow", "level", "heat", "pressure", "stirrer", "outlet"]
FAULTS = [
    Fault(SENSORS.index("valve"), 3000, 3060),
    Fault(SENSORS.index("pressure"), 4500, 4600, "noisy"),
    Fault(SENSORS.index("heat"), 6000, ROWS, size=8.0),  # it stays: after 1,000 rows this is the new normal
]
MACHINES = [f"truck-{i}" for i in range(20)]

Lines = list[list[Any]]


def contents() -> dict[str, bytes]:
    """All files by name. They are the same bytes every time."""
    faulty, sound = _rows(FAULTS), _rows(())
    times = [(START + timedelta(seconds=i)).strftime("%Y-%m-%d %H:%M:%S") for i in range(ROWS)]
    timed = [[time, *row] for time, row in zip(times, faulty, strict=True)]
    found = {
        "plant.csv": _table(["time", *SENSORS], timed),
        "reactor.csv": _table(["time", "unit", "batch", *SENSORS], _with_names(timed)),
    }
    for name, part in {"sensors": sound, "normal": sound[:6000], "today": faulty[2000:4000]}.items():
        found[f"{name}.csv"] = _table(SENSORS, part)
    for i, day in enumerate(("monday", "tuesday", "tomorrow", "2024-01", "2024-02")):
        found[f"{day}.csv"] = _table(SENSORS, sound[1000 * i : 1000 * (i + 1)])
    lines = _european(sound)
    found["air.csv"] = "\r\n".join([*lines, *[";" * 6] * 3, ""]).encode()
    found["bare.csv"] = "\r\n".join(line for line in lines[2:] if "-200" not in line).encode()
    found["air.zip"] = _zipped("air.csv", found["air.csv"])
    found["plant.db"] = _database(times, sound)
    return found | _fleets(sound)


def _rows(faults: Iterable[Fault]) -> Lines:
    found = chain.from_iterable(plant(ROWS, faults=list(faults), random_state=0))
    return [[round(float(value), 6) for value in row] for row in found]


def _table(head: list[str], lines: Lines) -> bytes:
    text = StringIO(newline="")
    csv.writer(text).writerows([head, *lines])
    return text.getvalue().encode()


def _with_names(timed: Lines) -> Lines:
    return [[time, "reactor 2", f"B{i // 1000}", *row] for i, (time, *row) in enumerate(timed)]


def _european(lines: Lines) -> list[str]:
    """A table as programs in Europe write it: day and time apart, decimal commas, -200 for no value."""
    words = ["# station 7", "Date;Time;CO(GT);T;RH;;"]
    for i, row in enumerate(lines[:2000]):
        when, values = datetime(2004, 3, 10, 18) + timedelta(hours=i), [round(value, 2) for value in row[:3]]
        values[i % 3] = -200 if i % 50 == 0 else values[i % 3]
        words.append(f"{when:%d/%m/%Y;%H.%M.%S};{';'.join(map(str, values)).replace('.', ',')};;")
    return words


def _zipped(name: str, content: bytes) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    return file.getvalue()


def _database(times: list[str], lines: Lines) -> bytes:
    columns = ", ".join(f"{sensor} REAL" for sensor in SENSORS)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE readings (id INTEGER PRIMARY KEY, time TEXT, {columns})")
        marks = ", ".join("?" * (2 + len(SENSORS)))
        numbered = [(i, times[i], *row) for i, row in enumerate(lines[:2000])]
        connection.executemany(f"INSERT INTO readings VALUES ({marks})", numbered)
        connection.commit()
        return connection.serialize()


def _fleets(sound: Lines) -> dict[str, bytes]:
    """Two days of trucks: on the first, one of them has a sensor that fails; on the second, two are gone."""
    monday = [[MACHINES[i % len(MACHINES)], *row] for i, row in enumerate(sound)]
    for row in monday[6000:7000]:
        if row[0] == "truck-17":
            row[1 + SENSORS.index("pressure")] *= 3
    tuesday = [[f"truck-{2 + i % len(MACHINES)}", *row] for i, row in enumerate(sound[:4000])]
    head = ["vehicle", *SENSORS]
    return {"fleet.csv": _table(head, monday), "fleet-tuesday.csv": _table(head, tuesday)}
