"""The README as a package index shows it."""

import importlib.util
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture
def hook(monkeypatch):
    """hatch_build.py; something stands in for hatchling, which loads it where a package is built."""
    interface = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def links(text):
    return re.findall(r"\]\(([^)]+)\)", text)


def test_without_an_address_nothing_is_linked_that_is_not_there(hook):
    text = hook.for_an_index(README, "")
    assert not links(text)
    assert "Compared with other tools" in text
    assert "![" not in text
    assert list(hook.urls("")) == ["Paper"]


def test_with_an_address_every_link_is_whole(hook):
    text = hook.for_an_index(README, "https://host/me/it")
    assert len(links(text)) == len(links(README))
    assert all(link.startswith("https://host/me/it/") for link in links(text))
    assert "(https://host/me/it/raw/main/docs/transformer.png)" in text
    assert "(https://host/me/it/blob/main/docs/evaluation/rank.md)" in text
    assert hook.urls("https://host/me/it")["Source"] == "https://host/me/it"
