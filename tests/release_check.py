"""Build wheel and sdist, install the wheel where nothing else is, and use it. ``make release-check`` runs it.

    python tests/release_check.py python3.11 python3.12 python3.13

Each Python gets an environment of its own outside of the checkout, with the wheel and what it needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHIPPED = ("src", "tests", "docs", "examples", "benchmarks", "evaluation", "paper")
"""Folders of the sdist: whoever has it can run the tests and build the documentation."""
BESIDE = ("pyproject.toml", "Makefile", "conftest.py", "README.md", "CHANGELOG.md", "LICENSE", "CITATION.cff")
TRY = """
import importlib, json, sys, eigenstream
for name in eigenstream.__all__:
    assert getattr(eigenstream, name) is not None
print(json.dumps([eigenstream.__version__, eigenstream.__file__, sys.version.split()[0]]))
"""


def main(pythons: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel, sdist = built(Path(folder))
        check_wheel(wheel)
        check_sdist(sdist)
        for i, python in enumerate(pythons):
            try_out(python, wheel, Path(folder, f"{i}"))
        kept = ROOT / "dist"
        kept.mkdir(exist_ok=True)
        for file in (wheel, sdist):
            (kept / file.name).write_bytes(file.read_bytes())
            print(f"dist/{file.name}: {file.stat().st_size:,} bytes")


def built(folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist, by tools in an environment of their own; the wheel is made from the sdist."""
    tools = environment(sys.executable, folder / "tools", "build", "twine")
    run(tools / "python", "-m", "build", "--outdir", folder / "dist", ROOT)
    (wheel,), (sdist,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    run(tools / "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def check_wheel(wheel: Path) -> None:
    """The package, its types and its entry point, and nothing beside it."""
    names = zipfile.ZipFile(wheel).namelist()
    outside = [name for name in names if not name.startswith(("eigenstream/", "eigenstream-"))]
    assert not outside, f"the wheel has files outside of the package: {outside}"
    assert "eigenstream/py.typed" in names
    assert not [name for name in names if "__pycache__" in name]


def check_sdist(sdist: Path) -> None:
    """What it takes to test, document and build once more."""
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    missing = [folder for folder in SHIPPED if not any(name.startswith(f"{folder}/") for name in names)]
    missing += [name for name in BESIDE if name not in names]
    assert not missing, f"the sdist lacks {missing}"


def try_out(python: str, wheel: Path, folder: Path) -> None:
    """Every public name, and both commands, as a new user has them."""
    commands = environment(python, folder / "environment", str(wheel))
    version, place, with_python = json.loads(run(commands / "python", "-c", TRY, cwd=folder))
    assert Path(place).is_relative_to(folder), f"{place} is not what was installed"
    assert version in run(commands / "eigenstream", "--version", cwd=folder)
    assert version in run(commands / "python", "-m", "eigenstream", "--version", cwd=folder)
    learnt = run(commands / "eigenstream", "run", "--rows", "0:2000", "--rate", "1e9", "--json", cwd=folder)
    assert json.loads(learnt.splitlines()[-1])["rank"] == 3
    (folder / "sensors.csv").write_text(sensors())
    alarms = run(commands / "eigenstream", "watch", "sensors.csv", "--exit-code", cwd=folder, status=3)
    assert "row 900" in alarms, alarms
    assert "heat" in alarms, alarms
    print(f"Python {with_python}: eigenstream {version} works")


def sensors(rows: int = 1000, broken: int = 900) -> str:
    """Five sensors that follow two waves, one of which breaks."""
    lines, state = ["feed,flow,heat,level,speed"], 1
    for t in range(rows):
        noise = []
        for _ in range(5):
            state = state * 48271 % 2147483647  # a generator that needs no library
            noise.append(state / 2147483647 - 0.5)
        waves = (t * 37 % 101 / 50, t * 53 % 89 / 44)
        row = [waves[0], waves[1], waves[0] + waves[1], waves[0] - waves[1], 2 * waves[1]]
        row = [value + 0.2 * error for value, error in zip(row, noise, strict=True)]
        row[2] += 10.0 if t >= broken else 0.0
        lines.append(",".join(f"{value:.6f}" for value in row))
    return "\n".join(lines) + "\n"


def environment(python: str, folder: Path, *packages: str) -> Path:
    """The commands of a new environment that has these packages."""
    run(python, "-m", "venv", folder)
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    run(commands / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return commands


def run(*command: Any, cwd: Path | None = None, status: int = 0) -> str:
    """What a command says on standard output; an error with all that it said unless it ends as expected."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=variables, capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
