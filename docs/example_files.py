"""Write the files that the commands of the documentation read: python docs/example_files.py [FOLDER]

A plant of eight sensors in a row per second, of which three fail in turn; the same in pieces, by day and by
machine. Every command on every page can be tried on them; the tests do so.
"""

import csv
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from eigenstream.streams import Fault, plant

ROWS, START = 8000, datetime(2026, 11, 15, 10)
SENSORS = ["feed", "valve", "flow", "level", "heat", "pressure", "stirrer", "outlet"]
FAULTS = [
    Fault(SENSORS.index("valve"), 3000, 3060),
    Fault(SENSORS.index("pressure"), 4500, 4600, "noisy"),
    Fault(SENSORS.index("heat"), 6000, ROWS, size=8.0),  # it stays: after 1,000 rows this is the new normal
]
MACHINES = [f"truck-{i}" for i in range(20)]


def write(folder: Path) -> None:
    """All of the files."""
    faulty, sound = rows(FAULTS), rows(())
    times = [(START + timedelta(seconds=i)).strftime("%Y-%m-%d %H:%M:%S") for i in range(ROWS)]
    timed = [[time, *row] for time, row in zip(times, faulty, strict=True)]
    table(folder / "plant.csv", ["time", *SENSORS], timed)
    table(folder / "reactor.csv", ["time", "unit", "batch", *SENSORS], _with_names(timed))
    for name, part in {"sensors": sound, "normal": sound[:6000], "today": faulty[2000:4000]}.items():
        table(folder / f"{name}.csv", SENSORS, part)
    for i, day in enumerate(("monday", "tuesday", "tomorrow", "2024-01", "2024-02")):
        table(folder / f"{day}.csv", SENSORS, sound[1000 * i : 1000 * (i + 1)])
    _european(folder / "air.csv", sound)
    _database(folder / "plant.db", times, sound)
    keyed = [[MACHINES[i % len(MACHINES)], *row] for i, row in enumerate(sound)]
    for row in keyed[6000:7000]:
        if row[0] == "truck-17":
            row[1 + SENSORS.index("pressure")] *= 3  # its sensor is not what it was
    table(folder / "fleet.csv", ["vehicle", *SENSORS], keyed)
    new = [[f"truck-{2 + i % len(MACHINES)}", *row] for i, row in enumerate(sound[:4000])]  # two are gone
    table(folder / "fleet-tuesday.csv", ["vehicle", *SENSORS], new)


def _european(path: Path, lines: list[list[float]]) -> None:
    """As programs in Europe write it: day and time apart, decimal commas, -200 for no value."""
    words = ["# station 7", "Date;Time;CO(GT);T;RH;;"]
    for i, row in enumerate(lines[:2000]):
        when, values = datetime(2004, 3, 10, 18) + timedelta(hours=i), [round(value, 2) for value in row[:3]]
        values[i % 3] = -200 if i % 50 == 0 else values[i % 3]
        words.append(f"{when:%d/%m/%Y;%H.%M.%S};{';'.join(map(str, values)).replace('.', ',')};;")
    path.write_text("\r\n".join([*words, *[";" * 6] * 3, ""]))
    path.with_name("bare.csv").write_text("\r\n".join(line for line in words[2:] if "-200" not in line))
    with ZipFile(path.with_suffix(".zip"), "w", ZIP_DEFLATED) as archive:
        archive.write(path, path.name)
    for made in (path, path.with_name("bare.csv"), path.with_suffix(".zip")):
        print(f"wrote {made}")


def _database(path: Path, times: list[str], lines: list[list[float]]) -> None:
    columns = ", ".join(f"{sensor} REAL" for sensor in SENSORS)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE readings (id INTEGER PRIMARY KEY, time TEXT, {columns})")
        marks = ", ".join("?" * (2 + len(SENSORS)))
        numbered = [(i, times[i], *row) for i, row in enumerate(lines[:2000])]
        connection.executemany(f"INSERT INTO readings VALUES ({marks})", numbered)
    print(f"wrote {path}")


def rows(faults: Iterable[Fault]) -> list[list[float]]:
    found = chain.from_iterable(plant(ROWS, faults=list(faults), random_state=0))
    return [[round(float(value), 6) for value in row] for row in found]


def table(path: Path, head: list[str], lines: Iterable[list]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *lines])
    print(f"wrote {path}")


def _with_names(timed: list[list]) -> list[list]:
    return [[time, "reactor 2", f"B{i // 1000}", *row] for i, (time, *row) in enumerate(timed)]


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
