"""The documents as stories: code blocks of a page are run in their order, as a reader would run them.

A block of ``python`` sees the names of the blocks before it. An expression with a comment that is a value,
such as ``model.n_components_  # 2``, has to have that value. Of ``sh``, each command is run. A block without
a language that follows at once is what they print; ``...`` stands for lines that vary. A block within
an HTML comment is run, too, but not shown.
"""

from __future__ import annotations

import ast
import doctest
import io
import re
import shlex
import tomllib
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from eigenstream.cli import main

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
DOCUMENTS += sorted(path for path in (ROOT / "docs").rglob("*.md") if "gallery" not in path.parts)

FENCE = re.compile(r"^```(?P<language>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NEEDS = {"spark": "spark", "dask": "dask", "torch": "torch", "eigenstream reproduce": "slow"}
ENDING = {"--follow": ["--idle", "0"], "--live": ["--live-seconds", "0"]}
"""What makes a command end by itself that would go on until somebody stops it."""


class Block(NamedTuple):
    language: str
    code: str
    line: int
    follows: bool
    """Whether only blank lines lie between the block before and this one."""

    @property
    def needs(self) -> str | None:
        """The library that is not installed everywhere, or the marker of what takes minutes."""
        for word, need in NEEDS.items():
            if self.language in ("python", "sh") and word in self.code:
                return need
        return None


def blocks_of(path: Path) -> list[Block]:
    text, blocks, end = path.read_text(), [], 0
    for found in FENCE.finditer(text):
        line, between = text[: found.start()].count("\n") + 2, text[end : found.start()]
        blocks.append(Block(found["language"], found["code"], line, not between.strip()))
        end = found.end()
    return blocks


def run_python(block: Block, names: dict[str, object]) -> str:
    """What it prints; values in comments are compared."""
    printed, lines = io.StringIO(), block.code.splitlines()
    with redirect_stdout(printed):
        for node in ast.parse(block.code).body:
            if not isinstance(node, ast.Expr):
                exec(compile(ast.Module([node], []), f"line {block.line}", "exec"), names)
                continue
            value = eval(compile(ast.Expression(node.value), f"line {block.line}", "eval"), names)
            said = value_in(lines[(node.end_lineno or 1) - 1][node.end_col_offset or 0 :])
            if said is not ...:
                assert value == said, f"{ast.unparse(node)} is {value!r}, not {said!r}"
    return printed.getvalue()


def value_in(comment: str) -> object:
    """The value that a comment is, or begins with before a colon; ... if it is words."""
    text = comment.strip().removeprefix("#").strip()
    for part in (text, text.partition(": ")[0]):
        try:
            return ast.literal_eval(part)
        except (SyntaxError, ValueError):
            continue
    return ...


def run_shell(block: Block) -> str:
    """What its commands print to standard output."""
    lines = block.code.replace("\\\n", " ").splitlines()
    return "".join(run_command(shlex.split(line, comments=True)) for line in lines if line.strip())


def run_command(words: list[str]) -> str:
    """Run eigenstream; of other commands, check that what they name is there."""
    match words:
        case []:
            return ""
        case ["eigenstream", "reproduce", *rest]:
            return invoke(["reproduce", "--quick", "--out", "reproduced", *rest], (0, 1))
        case ["eigenstream", *rest]:
            more = [word for option, words in ENDING.items() if option in rest for word in words]
            return invoke([*rest, *more], (0, 3) if "--exit-code" in rest else (0,))
        case ["eval", inner]:
            return run_command(inner.strip("$()").split())
        case ["make", target, *_]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
        case ["pip", "install", what]:
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            named = what.partition("[")[2].rstrip("]")
            assert set(filter(None, named.split(","))) <= set(extras), what
        case [".", script]:
            folder = script.removesuffix("/bin/activate")
            assert f"-m venv {folder}" in (ROOT / "Makefile").read_text(), f"nothing sets up {folder}"
        case ["python", "-m", module, *_]:
            assert find_spec(module), module
        case ["python", script, *_]:
            assert (ROOT / script).exists(), script
        case ["git" | "cd" | "curl" | "kill", *_]:
            pass
        case _:
            raise AssertionError(f"nobody knows how to run {shlex.join(words)}")
    return ""


def invoke(words: list[str], codes: tuple[int, ...]) -> str:
    words = [
        "0" if before == "--metrics" else word for before, word in zip(["", *words], words, strict=False)
    ]
    done = CliRunner().invoke(main, words)
    assert done.exit_code in codes, f"eigenstream {shlex.join(words)}\n{done.output}"
    assert isinstance(done.exception, SystemExit | None), done.exception
    return done.stdout


def tell(blocks: list[Block]) -> None:
    """Run these blocks one after the other, in the present folder."""
    names: dict[str, object] = {}
    printed = None
    for block in blocks:
        try:
            if block.language == "python":
                printed = run_python(block, names)
            elif block.language == "sh":
                printed = run_shell(block)
            elif block.language == "" and block.follows and printed is not None:
                assert_printed(block.code, printed)
        except Exception as error:
            raise AssertionError(f"the block at line {block.line}: {error}") from error


def assert_printed(expected: str, printed: str) -> None:
    said = "\n".join(line.rstrip() for line in printed.splitlines())
    assert doctest.OutputChecker().check_output(expected, said + "\n", FLAGS), f"it prints\n{said}"
