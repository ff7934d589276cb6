"""The reference of the command line, docs/command_line.rst: what stands there is what the parser takes.

The page is made of the commands themselves, so their texts are read here: every command line in them, every
option with a value of its kind, and every option that a text names.
"""

import re
import shlex
from pathlib import Path

import click
import pytest

from eigenstream.cli import main

ROOT = Path(__file__).parents[1]
COMMANDS = main.commands
LINE = re.compile(rf"eigenstream ((?:{'|'.join(COMMANDS)})(?: [^\s|()\"`]*[^\s|()\"`.,;:](?![^\s|()\"`]))*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def texts_of(command):
    """Everything that the reference says of a command."""
    options = [one for one in command.params if isinstance(one, click.Option)]
    return [command.help or "", command.epilog or "", *(one.help or "" for one in options)]


def spellings(parameter):
    return (*parameter.opts, *parameter.secondary_opts)


def lines():
    """Every command line in the reference."""
    texts = [(ROOT / "docs" / "command_line.rst").read_text()]
    texts += [" ".join(text.split()) for command in COMMANDS.values() for text in texts_of(command)]
    return sorted({found for text in texts for found in LINE.findall(text)})


def parsed(words):
    """Parse as the command does, without running it; files that it asks for are there."""
    for word in words:
        if re.search(r"\w\.\w+$", word) and not word.startswith("-"):
            Path(word).touch()
    with main.make_context("eigenstream", [*words], allow_extra_args=True) as context:
        name, command, rest = main.resolve_command(context, words)
        with command.make_context(name, [*rest], parent=context) as inner:
            return inner.params


@pytest.mark.parametrize("line", lines())
def test_a_command_line_of_the_reference_is_parsed(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parsed(shlex.split(line))


def test_the_reference_has_an_example_of_every_command():
    assert {line.split()[0] for line in lines()} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_parsed_in_every_spelling(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parameters = COMMANDS[name].params
    needed = [word for one in parameters if one.required for word in given(one, one.opts[0])]
    for option in parameters:
        if isinstance(option, click.Option):
            for spelling in spellings(option):
                parsed([name, *needed, *given(option, spelling)])


def given(parameter, spelling):
    """The words that give a parameter a value; an argument has no name before it."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [spelling]
    named = [spelling] if isinstance(parameter, click.Option) else []
    return [*named, *[VALUES.get(spelling) or value_of(parameter.type)] * max(parameter.nargs, 1)]


VALUES = {"--rows": "1000:5000", "--every": "1s", "--false-alarm-rate": "0.01"}
"""Values of kinds that click does not know."""


def value_of(kind):
    """A value of this kind."""
    if isinstance(kind, click.Choice):
        return kind.choices[-1]
    if isinstance(kind, click.IntRange):
        return str(max(kind.min or 0, 2))
    return "a.csv" if isinstance(kind, click.Path) else "1"


@pytest.mark.parametrize("name", COMMANDS)
def test_options_that_a_text_names_exist(name):
    known = {opt for command in COMMANDS.values() for one in command.params for opt in spellings(one)}
    for text in texts_of(COMMANDS[name]):
        assert set(OPTION.findall(text)) <= known | {"--help", "--version"}, text


def test_quotes_and_dashes_of_the_reference_are_those_to_type():
    assert "smartquotes = False" in (ROOT / "docs" / "conf.py").read_text()
    for text in (text for command in COMMANDS.values() for text in texts_of(command)):
        assert not set(text) & set("\u2013\u2014\u2018\u2019\u201c\u201d"), text
