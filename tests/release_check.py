"""Build wheel and sdist, install the wheel where nothing else is, and use it. ``make release-check`` runs it.

    python tests/release_check.py python3.11 python3.12 python3.13

Each Python gets an environment of its own outside of the checkout, with the wheel and what it needs. Beside
that: how large a bare install is and how long it takes, the README as a package index shows it
(build/readme.html, to be looked at), an install from a local index, and the first trial by ``uvx``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BIN = "Scripts" if os.name == "nt" else "bin"
SHIPPED = ("src", "tests", "docs", "examples", "benchmarks", "evaluation", "paper")
"""Folders of the sdist: whoever has it can run the tests and build the documentation."""
BESIDE = (
    "pyproject.toml",
    "hatch_build.py",
    "Makefile",
    "conftest.py",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "CITATION.cff",
)
TOOLS = ("build", "twine", "hatchling", "readme_renderer[md]", "uv")
TRY = """
import importlib, json, sys, eigenstream
for name in eigenstream.__all__:
    assert getattr(eigenstream, name) is not None
print(json.dumps([eigenstream.__version__, eigenstream.__file__, sys.version.split()[0]]))
"""


STYLE = "max-width: 60em; margin: 2em auto; font-family: sans-serif; line-height: 1.5"
REPOSITORY = "https://code.example.org/owner/eigenstream"
"""Stands in for the address that pyproject.toml is to have, to see that all links follow it."""
RENDER = """
import sys
from pathlib import Path
from hatch_build import for_an_index
from readme_renderer.markdown import render
print(render(for_an_index(Path("README.md").read_text("utf-8"), sys.argv[1])))
"""
MOST_MEGABYTES = 320
"""Of a bare install with all that it needs; it was 291 on Linux with Python 3.11."""


def main(pythons: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tools = environment(sys.executable, folder / "tools", *TOOLS)
        wheel, sdist = built(tools, folder)
        check_wheel(wheel)
        check_sdist(sdist)
        check_readme(tools)
        for i, python in enumerate(pythons):
            try_out(python, wheel, folder / f"{i}")
        try_index(folder / "0" / "environment", wheel, folder)
        try_readme(folder / "0" / "environment" / BIN, wheel, folder / "trial")
        try_uvx(tools, wheel, folder / "uv")
        kept = ROOT / "dist"
        kept.mkdir(exist_ok=True)
        for file in (wheel, sdist):
            (kept / file.name).write_bytes(file.read_bytes())
            print(f"dist/{file.name}: {file.stat().st_size:,} bytes")


def built(tools: Path, folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist; the wheel is made from the sdist."""
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


def check_readme(tools: Path) -> None:
    """The README as a package index shows it: no link is relative, its picture and tables are there."""
    html = run(tools / "python", "-c", RENDER, REPOSITORY, cwd=ROOT)
    relative = re.findall(r'(?:src|href)="(?!https?:|#)([^"]*)', html)
    assert not relative, f"a package index cannot follow {relative}"
    assert f'src="{REPOSITORY}/raw/main/docs/' in html, "the README lost its picture"
    assert html.count("<table>") >= 3
    page = ROOT / "build" / "readme.html"
    page.parent.mkdir(exist_ok=True)
    shown = html.replace(f"{REPOSITORY}/raw/main/", "../").replace(f"{REPOSITORY}/blob/main/", "../")
    page.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body style="{STYLE}">{shown}', encoding="utf-8")
    print("build/readme.html: the README as a package index shows it")


def try_out(python: str, wheel: Path, folder: Path) -> None:
    """Every public name, and both commands, as a new user has them."""
    commands = environment(python, folder / "environment")
    before, start = installed(folder), time.perf_counter()
    install(commands, wheel)
    seconds, megabytes = time.perf_counter() - start, installed(folder) - before
    assert megabytes <= MOST_MEGABYTES, f"a bare install takes {megabytes:.0f} MB"
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
    print(
        f"Python {with_python}: eigenstream {version} works; a bare install takes {megabytes:.0f} MB, "
        f"{seconds:.0f} s"
    )


def installed(folder: Path) -> float:
    """Megabytes that lie in an environment."""
    files = (path for path in (folder / "environment").rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6


def try_index(environment: Path, wheel: Path, folder: Path) -> None:
    """Install by name from a local index, as from any other."""
    place = folder / "simple" / "eigenstream"
    place.mkdir(parents=True)
    (place / wheel.name).write_bytes(wheel.read_bytes())
    (place / "index.html").write_text(f'<!DOCTYPE html><a href="{wheel.name}">{wheel.name}</a>')
    index = ("--index-url", place.parent.as_uri(), "--no-deps", "--force-reinstall")
    install(environment / BIN, *index, "eigenstream")
    print("installed by name from a local index")


def try_readme(commands: Path, wheel: Path, folder: Path) -> None:
    """All code of the README as the wheel has it, one block after the other, where there is no checkout."""
    folder.mkdir()
    start = time.perf_counter()
    install(commands, f"eigenstream[plot,gaps] @ {wheel.as_uri()}")
    with zipfile.ZipFile(wheel) as file:
        (metadata,) = (name for name in file.namelist() if name.endswith("/METADATA"))
        blocks = re.findall(r"^```(python|sh)\n(.*?)^```$", file.read(metadata).decode(), re.M | re.S)
    programs = [program for language, code in blocks for program in programs_of(language, code)]
    assert len(programs) >= 6, f"the README has {len(programs)} programs only"
    for program, *arguments in programs:
        run(commands / program, *arguments, cwd=folder)
    seconds = time.perf_counter() - start
    print(f"README: {len(programs)} programs from the wheel alone, {seconds:.0f} s with installing extras")


def programs_of(language: str, code: str) -> list[list[str]]:
    """Programs of a block: itself, or its commands of ours; others set up what is here already."""
    if language == "python":
        return [["python", "-c", code]]
    return [shlex.split(line, comments=True) for line in code.splitlines() if line.startswith("eigenstream ")]


def try_uvx(tools: Path, wheel: Path, folder: Path) -> None:
    """The first trial without installing anything: files to try it on, and a first alarm."""
    folder.mkdir()
    wanted = f"eigenstream=={wheel.name.split('-')[1]}"
    uvx = (tools / "uv", "tool", "run", "--cache-dir", folder / "cache", "--find-links", wheel.parent)
    start = time.perf_counter()
    run(*uvx, "--from", wanted, "eigenstream", "example", cwd=folder)
    watch = ("eigenstream", "watch", "plant.csv", "--time-column", "time", "--confirm", "5/6")
    assert "valve" in run(*uvx, "--from", wanted, *watch, cwd=folder)
    print(f"uvx: example files and a first alarm within {time.perf_counter() - start:.0f} s")


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
    if packages:
        install(folder / BIN, *packages)
    return folder / BIN


def install(commands: Path, *what: Any) -> None:
    run(commands / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)


def run(*command: Any, cwd: Path | None = None, status: int = 0) -> str:
    """What a command says on standard output; an error with all that it said unless it ends as expected."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=variables, capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
