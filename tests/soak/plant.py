"""The plant and its log: the same rows again and again, with faults in them, and times that go on."""

import numpy as np

from eigenstream import streams

NAMES = [f"sensor_{i}" for i in range(12)]
POOL = 20_000
FAULTS = (
    streams.Fault(3, 12_000, 12_050),
    streams.Fault(7, 15_000, 15_200, "stuck"),
    streams.Fault(5, 17_000, 17_080, "noisy"),
)
START = 1_700_000_000


class Plant:
    """Rows by their numbers, as numbers and as lines."""

    def __init__(self):
        batches = streams.plant(POOL, faults=FAULTS, n_sensors=len(NAMES), n_causes=3, random_state=0)
        self.rows = np.vstack(list(batches))
        self.texts = [",".join(map(repr, row)) for row in self.rows.tolist()]

    def lines(self, first, last):
        return "".join(f"{START + i},{self.texts[i % POOL]}\n" for i in range(first, last))

    def numbers(self, first, last):
        return self.rows[np.arange(first, last) % POOL]


def write(plant, path, first, last, chunk=2000):
    """Write rows to a log that begins with names, in pieces that cut through lines."""
    with open(path, "w", buffering=1) as log:
        log.write(",".join(["t", *NAMES]) + "\n")
        kept = ""
        for start in range(first, last, chunk):
            text = kept + plant.lines(start, min(start + chunk, last))
            cut = len(text) - 17
            log.write(text[:cut])
            log.flush()
            kept = text[cut:]
        log.write(kept)
