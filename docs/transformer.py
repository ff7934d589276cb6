"""Draw docs/transformer.png: a power transformer with a reading that fails, and what a monitor says.

The record is ETTh1 of the Electricity Transformer Dataset (Zhou et al. 2021, AAAI; CC BY-ND 4.0): the load at
three voltages, in two kinds each, and the temperature of the oil, hourly. It comes out of a wheel that
`python -m evaluation --fetch` downloads. At the root of the repository: python -m docs.transformer
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from evaluation import sensors
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from PIL import Image

from eigenstream import OnlineAdaptivePCA, StreamMonitor
from eigenstream.monitoring import Alarm
from eigenstream.plotting import BLUE, ORANGE, RED

NAMES = [f"{height} {kind} load" for height in ("high", "middle", "low") for kind in ("useful", "useless")]
NAMES += ["oil temperature"]
START, ROWS = datetime(2016, 7, 1), 3650
"""Rows until the end of November; in December the power is off for three days."""
APART = 3.4
"""Between readings in the picture, in standard deviations: enough for most of each."""

COLOURS = 32
"""Of the picture: enough for its lines, and a quarter of the bytes."""


def main() -> None:
    X = sensors.read("z_etth", ROWS)
    if X is None:
        raise SystemExit(sensors.WHY_NOT)
    times = np.array([START + timedelta(hours=i) for i in range(len(X))], "datetime64[s]")
    frame = pd.DataFrame(X, columns=NAMES)
    monitor = StreamMonitor(OnlineAdaptivePCA(half_life="30d", standardize=True), confirm="3/5")
    severity = monitor.learn_many(frame, timestamps=times).severity
    for alarm in monitor.alarms_:
        print(times[alarm.began], times[alarm.last], alarm.contributors[0], alarm.readings[0])
    with BytesIO() as file:
        drawn(times, X, severity, monitor.alarms_).savefig(file, format="png", dpi=110)
        small = Image.open(file).convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS)
        small.save(Path(__file__).with_name("transformer.png"), optimize=True)


def drawn(times: Any, X: Any, severity: Any, alarms: Sequence[Alarm]) -> Any:
    """The readings above, the monitor's severity below, alarms in both."""
    blamed = alarms[-1].contributors[0][0]
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(9, 5.4), sharex=True, height_ratios=[5, 3], layout="constrained"
    )
    heights = -APART * np.arange(len(NAMES))
    for x, name, height in zip(X.T, NAMES, heights, strict=True):
        color = ORANGE if name == blamed else "0.55"
        above.plot(times, (x - np.median(x)) / x.std() + height, lw=0.6, color=color)
    above.set_yticks(heights, NAMES)
    above.set_title("a power transformer, seven readings an hour", loc="left")
    below.plot(times, severity, lw=0.6, color=BLUE)
    below.axhline(1, color="black", lw=0.8, ls="--")
    below.set(ylabel="severity", ylim=(0, 3.2))
    below.set_title("what the monitor says: above 1, a row leaves the usual pattern", loc="left")
    for alarm in alarms:
        for axis in (above, below):
            axis.axvspan(times[alarm.began], times[alarm.last], color=ORANGE, alpha=0.18, lw=0)
    first = next(alarm for alarm in alarms if alarm.contributors[0][0] == blamed)
    name, reads, should = first.readings[0]
    below.annotate(
        f"{times[first.began].item():%-d %B}: {name},\nreads {reads:.1f}, should read {should:+.1f}",
        (times[first.began], 2.3),
        (-8, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        color=RED,
    )
    below.xaxis.set_major_formatter(ConciseDateFormatter(AutoDateLocator()))
    for axis in (above, below):
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0)
    return figure


if __name__ == "__main__":
    main()
