"""Sensor sets that the package imputegap carries (MIT licence), read out of its wheel without installing it.

``python -m evaluation --fetch`` downloads the wheel from the package index into build/evaluation/; its
dependencies, gigabytes of them, are not needed. Without the wheel the question is skipped, and says so.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from benchmarks.peers.peer import Array

FOLDER = Path(__file__).resolve().parents[1] / "build" / "evaluation"
PACKAGE = "imputegap"
VERSION = "1.1.2"
SETS = (
    "airq",
    "bafu",
    "chlorine",
    "climate",
    "drift",
    "eeg-alcohol",
    "eeg-reading",
    "electricity",
    "forecast-economy",
    "meteo",
    "motion",
    "soccer",
    "sport-activity",
    "stock-exchange",
    "temperature",
    "traffic",
)
"""All complete sets of the package whose rows are moments and whose columns are sensors."""
WHY_NOT = f"{PACKAGE} {VERSION} is not in build/evaluation: run python -m evaluation --fetch"


def wheel() -> Path | None:
    """Where the wheel lies, if it has been fetched."""
    return next(FOLDER.glob(f"{PACKAGE}-{VERSION}-*.whl"), None)


def fetch() -> bool:
    """Download the wheel, and nothing that it depends on; returns whether that worked."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = f"{PACKAGE}=={VERSION}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(FOLDER), wanted]
    return subprocess.run(command).returncode == 0


def load(name: str, most: int) -> Array | None:
    """The first rows of a set, each sensor standardized; None if the wheel is not there.

    Sensors that never change within these rows are left out.
    """
    X = read(name, most)
    if X is None:
        return None
    X = X[:, np.isfinite(X).all(axis=0)]
    X = X[:, X.std(axis=0) > 0]
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def read(name: str, most: int) -> Array | None:
    """The first rows of a set as they are; None if the wheel is not there."""
    path = wheel()
    if path is None:
        return None
    with ZipFile(path) as archive:
        text = archive.read(f"{PACKAGE}/datasets/{name}.txt").decode()
    lines = [line for line in text.splitlines() if line.strip()]
    if any(letter.isalpha() and letter not in "eEnaN" for letter in lines[0]):
        lines = lines[1:]
    return np.loadtxt(io.StringIO("\n".join(lines[:most]).replace(",", " ")), ndmin=2)
