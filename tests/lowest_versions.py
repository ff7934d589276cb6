"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

    python tests/lowest_versions.py > build/lowest.txt

Those of tools that only developers need are left out: what matters is what users may have installed.
"""

import re
import tomllib
from pathlib import Path

USED = ("plot", "parquet", "zarr", "redis", "xlsx", "sql", "mqtt", "live", "metrics")
"""Extras with code behind them; not river, which asks for later versions of the others."""


def lowest(project):
    """``name==version`` for each requirement with a lower bound."""
    required = [
        *project["dependencies"],
        *(line for name in USED for line in project["optional-dependencies"][name]),
    ]
    return [re.sub(r"\[.*\]", "", line).replace(">=", "==") for line in required if ">=" in line]


if __name__ == "__main__":
    pyproject = Path(__file__).parent.parent / "pyproject.toml"
    print("\n".join(lowest(tomllib.loads(pyproject.read_text())["project"])))
