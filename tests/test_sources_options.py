"""Options of reading are one value, stored as one document, from keywords and from the command line alike."""

import inspect
import json

import pytest

from eigenstream import sources
from eigenstream.cli.options import reading
from eigenstream.cli.run import run, watch
from eigenstream.io.sources import ReadOptions, SourceError
from eigenstream.io.sources.options import STORED

OTHER = {
    "columns": ("a", 2, "3:5"),
    "exclude": "text,*_id",
    "rows": (5, 100),
    "batch_rows": 7,
    "on_bad_row": "skip",
    "delimiter": ";",
    "header": False,
    "decimal": ",",
    "comment": "#",
    "skip_lines": 3,
    "encoding": "latin-1",
    "na": ("-999", "?", 7.5),
    "array": "x",
    "thousands": ".",
    "keep": ("note",),
    "time_column": "t",
    "time_format": "iso",
    "key": 1,
    "titles": ("a", "b"),
    "every": "1s",
}


def test_every_stored_option_survives_a_file():
    assert tuple(OTHER) == STORED
    options = ReadOptions(**OTHER, threads=3, follow=True)
    again = ReadOptions.from_document(json.loads(json.dumps(options.document())))
    assert again == ReadOptions(**OTHER)
    assert ReadOptions.from_document({"decimal": ","}) == ReadOptions(decimal=",")


@pytest.mark.parametrize(
    "document", [None, [], {"colour": 1}, {"threads": 2}, {"rows": 5}, {"na": 5}, {"key": -1}]
)
def test_other_documents_are_refused(document):
    with pytest.raises(ValueError, match="the stored options of reading"):
        ReadOptions.from_document(document)


@pytest.mark.parametrize("command", [run, watch], ids=["run", "watch"])
def test_every_stored_option_is_one_of_the_command_line(command):
    """By the same name, so that the command line has no list of its own."""
    assert set(STORED) <= {parameter.name for parameter in command.params}
    given = OTHER | {"columns": "a,b", "na": "-999,?", "keep": "note", "key": "unit", "titles": "a,b"}
    assert reading(given) == ReadOptions(**given)


def test_every_option_is_a_keyword_of_open():
    shown = inspect.signature(sources.open).parameters
    assert {"source", "options", "position", "on_skip", *OTHER, "allow_nan", "names"} <= set(shown)
    assert shown["skip_lines"].default == 0
    with pytest.raises(TypeError, match="colums"):
        sources.open(None, colums="a")


def test_keywords_change_options(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a;b\n1,5;2\n")
    with sources.open(tmp_path / "x.csv", ReadOptions(decimal=",", columns="a"), columns="b,a") as source:
        assert next(iter(source)).rows.tolist() == [[2.0, 1.5]]


def test_an_impossible_option_says_which():
    for options, message in (
        ({"comment": 5}, "comment must be text, got 5"),
        ({"columns": 5}, "columns must be names, numbers or ranges"),
        ({"header": "yes"}, "header must be True, False or None"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"rows": (3, 2)}, r"expected a range of rows such as \(0, 1000\), got \(3, 2\)"),
    ):
        with pytest.raises(SourceError, match=message):
            ReadOptions(**options)
