"""An item that costs nothing, and that the environment can make wait, fail or die."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenstream.paper.reproduction.item import Claim, ClaimVerdict, Sheet

NAME = "toy"
TITLE = "Toy <b>item</b> & more"
CAPTION = "A caption with a <tag> and x₁²."
ALT = "Some <lines>"
AWKWARD = 'spectra of <script>alert(1)</script> & [bold]such[/bold], "quoted"'
VERDICT = ClaimVerdict.HOLDS


@dataclass(frozen=True)
class Settings:
    n_cases: int
    size: int
    scales: tuple[float, ...] = (1.0, 2.0)


QUICK = Settings(3, 40)
FULL = Settings(4, 60)


@dataclass(frozen=True)
class Case:
    place: int
    size: int
    seed: int


def cases(settings, seed):
    return [Case(place, settings.size, seed) for place in range(settings.n_cases)]


def simulate(case):
    """Eigenvalues, whose last bits depend on how many threads multiply."""
    with Path(os.environ["TOY_LOG"]).open("a") as log:
        log.write(f"{case.place}\n")
    _misbehave(os.environ.get("TOY_TROUBLE"), case.place)
    X = np.random.default_rng([case.seed, case.place]).standard_normal((200, case.size))
    threads = os.environ["OPENBLAS_NUM_THREADS"], os.environ["NUMBA_NUM_THREADS"]
    return {"eigenvalues": np.linalg.eigvalsh(X.T @ X).tolist(), "threads": threads, 1: "keys are words"}


def _misbehave(trouble, place):
    if place == 0 or not trouble:
        return
    if trouble == "fail":
        raise ArithmeticError("no such number")
    if trouble == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    while not Path(trouble).exists():
        time.sleep(0.01)


def draw(settings, tables):
    from eigenstream.plotting import panels

    if os.environ.get("TOY_TROUBLE") == "no figure":
        raise ArithmeticError("no such line")
    figure, axes = panels(1, 1, 4, 3)
    for table in tables:
        axes[0].plot(table["eigenvalues"])
    return figure


def claims(settings, tables):
    top = max(table["eigenvalues"][-1] for table in tables)
    return [
        Claim("Section <0>", AWKWARD, "looking", f"{top!r}", VERDICT),
        Claim(
            "Section 1",
            "something with α ≥ a/b",
            "looking",
            "else",
            ClaimVerdict.CORRECTED,
            ClaimVerdict.CORRECTED,
            "a <reason>",
            quote="as <printed>",
            stated="b₁",
        ),
    ]


def sheets(settings, tables):
    return [Sheet("Toy <table>", ("n₁", "size"), (("1", str(settings.size)),), "a <note>")]
