"""One pass of a stream through a model, such that a crash at any moment loses nothing.

Rows are scored, learnt from and written batch by batch. Every so often the model, its position in the source
and the length of the output are written down together, in one atomic replacement. A job that continues from
there reads, learns and writes exactly what an uninterrupted one would have.

>>> import tempfile, pathlib, numpy as np
>>> from eigenstream.jobs import Request, prepare
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> np.save(folder / "sensors.npy", np.random.default_rng(0).standard_normal((1000, 8)))
>>> asked = Request(str(folder / "sensors.npy"), str(folder / "scores.csv"), parameters={"random_state": 0})
>>> with prepare(asked, save=folder / "sensors.model", resume=True) as job:
...     outcome = job.run()
>>> outcome.rows
1000

Killed at any moment, the same lines carry on. `score` is for a model that stays as it is.
"""

from __future__ import annotations

from .job import Job
from .model_file import ModelFile, RunError
from .preparation import prepare
from .record import Record, Request
from .scoring import score
from .watcher import AlarmEvent, Outcome, Watcher

__all__ = [
    "AlarmEvent",
    "Job",
    "ModelFile",
    "Outcome",
    "Record",
    "Request",
    "RunError",
    "Watcher",
    "prepare",
    "score",
]
