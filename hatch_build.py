"""The README as a package index shows it, with links that lead somewhere from there, and addresses.

Links and pictures of README.md are relative, which is right in a checkout and on a code host. A package index
needs whole addresses. Where the repository lies is one setting, ``repository`` below
``[tool.hatch.metadata.hooks.custom]`` in pyproject.toml. While it is empty, links become plain words and
pictures are left out.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[([^]]*)\]\((?!\w+:)([^)]+)\)\n*")
LINK = re.compile(r"(?<!!)\[([^]]+)\]\((?!\w+:|#)([^)]+)\)")
PAPER = "https://arxiv.org/abs/1612.03480"


class Addresses(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        repository = self.config["repository"].rstrip("/")
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_an_index(text, repository)}
        metadata["urls"] = urls(repository)


def for_an_index(readme: str, repository: str) -> str:
    """The README as a package index can show it.

    Pictures come from ``REPOSITORY/raw/main``, pages from ``REPOSITORY/blob/main``, as code hosts have them.
    """
    if not repository:
        return LINK.sub(r"\1", PICTURE.sub("", readme))
    shown = PICTURE.sub(rf"![\1]({repository}/raw/main/\2)\n\n", readme)
    return LINK.sub(rf"[\1]({repository}/blob/main/\2)", shown)


def urls(repository: str) -> dict[str, str]:
    """Addresses beside the README on a package index."""
    if not repository:
        return {"Paper": PAPER}
    pages = f"{repository}/blob/main"
    return {
        "Source": repository,
        "Documentation": f"{pages}/docs/index.md",
        "Changes": f"{pages}/CHANGELOG.md",
        "Paper": PAPER,
    }
