"""Results as files: NAME.md to read, NAME.json to compute with, NAME.png to look at, and an index."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import machine


def name_of(section: ModuleType) -> str:
    return section.__name__.rpartition(".")[2]


def publish(section: ModuleType, results: dict[str, Any], out: Path) -> None:
    """Write the trio of one section."""
    name, facts = name_of(section), machine.facts()
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps({"machine": facts, **results}, indent=1) + "\n")
    section.draw(results).savefig(out / f"{name}.png", metadata={"Software": None})
    measured = "; ".join(f"{key} {value}" for key, value in facts.items())
    text = [
        f"# {section.TITLE}",
        section.report(results),
        f"![{section.TITLE}]({name}.png)",
        f"Measured in {results['seconds']:.0f} s with {measured}. Meanwhile other processes kept "
        f"{results['cores used by others']:.2f} cores busy; unless that is close to 0, times are those of "
        "a busy machine, and figures for two threads mean little.",
    ]
    (out / f"{name}.md").write_text("\n\n".join(text) + "\n")


def index(sections: list[ModuleType], out: Path) -> None:
    """A README that links to whatever sections have been measured."""
    present = [section for section in sections if (out / f"{name_of(section)}.md").exists()]
    links = [f"- [{section.TITLE}]({name_of(section)}.md)" for section in present]
    heading = "# Benchmarks\n\nWritten by `python -m benchmarks`; figures hold for the machine named in each."
    (out / "README.md").write_text("\n".join([heading, "", *links]) + "\n")
