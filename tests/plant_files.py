"""A plant as a file: eight named sensors with times, and faults in some of them."""

from datetime import datetime, timedelta

import numpy as np

from eigenstream import streams

NAMES = ["feed", "valve", "flow", "level", "heat", "pressure", "stirrer", "outlet"]
START = datetime(2026, 11, 15, 10)
VALVE, HEAT = NAMES.index("valve"), NAMES.index("heat")
FAULTS = (
    streams.Fault(VALVE, 2000, 2040),
    streams.Fault(HEAT, 3000, 10**9, "biased", 8.0),
)
"""A valve that is off for a while, and a heater that stays off."""


def plant_rows(rows, faults=FAULTS):
    return np.vstack(list(streams.plant(rows, faults=faults, random_state=1)))


def plant_lines(X, first=0):
    """Lines of CSV, numbered from ``first`` in their times."""
    stamps = (START + timedelta(seconds=first + i) for i in range(len(X)))
    return [
        f"{stamp.isoformat(' ')},{','.join(map(repr, row))}\n"
        for stamp, row in zip(stamps, X.tolist(), strict=True)
    ]


HEAD = ",".join(["time", *NAMES]) + "\n"


def write_plant(path, rows, faults=FAULTS):
    X = plant_rows(rows, faults)
    path.write_text(HEAD + "".join(plant_lines(X)))
    return X
