"""Text is read at once where that gives what reading each line with care gives, and in many dialects."""

import bz2
import codecs
import gzip
import io
import json
import lzma
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenstream import sources
from eigenstream.io.sources import SourceError, cells, lines
from eigenstream.io.sources.csv_lines import CsvParser
from eigenstream.io.sources.json_lines import JsonLines
from eigenstream.io.sources.lines import Complaint
from eigenstream.io.sources.options import ReadOptions
from tests.source_files import DATA, TEXTS, piece_of, read, rows_of

WORDS = [
    "", " ", "NA", "n/a", "NaN", "nan", "-nan", "+nan", "nan(1)", "NAN(abc)", "inf", "-inf", "Infinity",
    "+inf", "infinit", "1e400", "-1e400", "1e-400", "4.9e-324", "2.4703282292062327e-324",
    "2.4703282292062328e-324", "1.7976931348623157e308", "1.7976931348623159e308", "+1", "-0", "00012", "1.",
    ".5", "-.5", ".", "e5", "1e", "1e+05", "1d5", "1f", "0x10", "0b1", "1_000", "1 000", "1,5", "1.5",
    "1\xa0", "\xa01", "\x0b1", "\x1c1", "\u0663", "\uff11", "1\0", "TRUE", "-", "--1", "+-1", '"1"',
    '"1"2', '1"2"', '"NA"', '""', '"', '"1', '1"', '"a,b"', "#", "1#", " 1 ", "\t1\t", "-999", "-999.0",
    "9" * 400, "0." + "0" * 400 + "1", "9007199254740993", "0.1" + "0" * 30 + "1", "1\r", "\r1", "?",
    "Bad Input", "null", "None", "(", "1(",
]  # fmt: skip
FIELD = st.one_of(
    st.floats().map(repr),
    st.floats(width=32).map(str),
    st.decimals(allow_nan=False).map(str),
    st.integers().map(str),
    st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=4),
    st.text('0123456789.eE+-_ ,"', max_size=8),
    st.sampled_from(WORDS),
)
FORMATS = [
    ReadOptions(delimiter=","),
    ReadOptions(delimiter=";", decimal=","),
    ReadOptions(delimiter="\t", na="-999,?,Bad Input,inf"),
    ReadOptions(delimiter=" "),
    ReadOptions(delimiter="|", encoding="latin-1"),
]


def agrees(parser, content):
    """Reading at once may give up, but what it gives is what reading each line gives; bits included."""
    content = [line for line in content if line.strip()]
    quick = parser.quick(piece_of(content)) if content else None
    if quick is None:
        return False
    careful = np.array([parser.row(line) for line in content], dtype=float)
    np.testing.assert_array_equal(quick, careful)
    there = ~np.isnan(careful)
    np.testing.assert_array_equal(np.signbit(quick)[there], np.signbit(careful)[there])
    return True


def csv_parser(options, columns=None):
    first = (options.delimiter or ",").join("abc").encode() + b"\n"
    return CsvParser(first, "x", replace(options, columns=columns), 1, lambda: None)


@settings(max_examples=600)
@given(
    format=st.sampled_from(FORMATS),
    rows=st.lists(st.lists(FIELD, min_size=3, max_size=3), min_size=1, max_size=4),
    columns=st.sampled_from([None, [0], [2, 1], [0, 1, 2]]),
    end=st.sampled_from([b"\n", b"\r\n"]),
    raw=st.binary(max_size=2),
    with_arrow=st.booleans(),
)
def test_csv_at_once_is_csv_line_by_line(format, rows, columns, end, raw, with_arrow):
    content = [format.delimiter.join(fields).encode() + end for fields in rows]
    content[-1] = raw.replace(b"\n", b"") + content[-1]
    with pytest.MonkeyPatch.context() as patch:
        if not with_arrow:
            patch.setattr(cells, "available", lambda: False)
        agrees(csv_parser(format, columns), content)


@pytest.mark.parametrize("word", WORDS)
def test_every_awkward_word_at_once(word):
    for format in FORMATS[:3]:
        line = format.delimiter.join(("1", word, "2")).encode() + b"\n"
        agrees(csv_parser(format), [line, line])
        agrees(csv_parser(format, [0, 2]), [line, line])


@pytest.mark.parametrize(
    "lines",
    [
        [b"1,2,3\n", b"-1.5e-7,+2,.5\n"],
        [b"1,,3\r\n", b"NA, 2 ,nan\r\n"],
        [b'"1",2,"3"\n', b'1,"",3\n'],
        [b"1,inf,-Infinity\n"],
        [b"1,2,3"],
    ],
)
def test_what_is_common_is_read_at_once(lines):
    assert agrees(csv_parser(ReadOptions()), lines)


def test_text_that_hides_delimiters_is_read_at_once():
    lines = [b'"a, ""b""",1,2\r\n', b'"c",3,NA\r\n', b"d, 4 ,5\n"]
    assert agrees(csv_parser(ReadOptions(), [2, 1]), lines)
    assert not agrees(csv_parser(ReadOptions(), [2, 1]), [b'"a,1,2\n', b'b",3,4,5\n'])


JSON_WORDS = [
    "null", "-0", "-0.0", "1e400", "1E5", "NaN", "Infinity", "-Infinity", "Inf", "nan", "01", "1.", ".5",
    "+1", "true", '"1"', '"x,y"', "[1]", "{}", "1e-400", "9" * 400, "1 2", "", "-", "0x1", " 1 ",
    "-01", "1.e5",
    "12345678901234567890", "-.5", "1e", "1e+", "0", "-1", "0.5", "0e1", "1\t", '"', "--1", "-Inf", "1e5.0",
]  # fmt: skip
JSON_VALUE = st.one_of(
    st.floats().map(json.dumps), st.integers().map(json.dumps), st.sampled_from(JSON_WORDS)
)


@pytest.mark.parametrize("word", JSON_WORDS)
@pytest.mark.parametrize("columns", [None, [0], [1]])
def test_every_awkward_value_of_json_at_once(word, columns):
    for first in (b"[0, 0]", b'{"a": 0, "b": 0}'):
        parser = JsonLines(first, "x", ReadOptions(columns=columns), 1)
        for place in (b" 0", b"0]", b"0}"):
            agrees(
                parser, [first + b"\n", first.replace(place, place.replace(b"0", word.encode()), 1) + b"\n"]
            )


@settings(max_examples=600)
@given(
    rows=st.lists(st.lists(JSON_VALUE, min_size=2, max_size=4), min_size=1, max_size=4),
    keys=st.sampled_from([["a", "b", "c", "d"], ["b", "a", "a", "é"], ["a", "b", "\\u0061", "x"]]),
    array=st.booleans(),
    columns=st.sampled_from([None, [1], [1, 0]]),
    space=st.sampled_from(["", " "]),
    tail=st.sampled_from(["", " ", "}", "]", ",", '{"a": 1}', '}{"a": 1', "\r", "\xff"]),
)
def test_json_at_once_is_json_line_by_line(rows, keys, array, columns, space, tail):
    first = b"[0, 0]" if array else b'{"a": 0, "b": 0}'
    parser = JsonLines(first, "x", ReadOptions(columns=columns), 1)
    content = []
    for row in rows:
        cells = row if array else [f'"{key}":{space}{value}' for key, value in zip(keys, row, strict=False)]
        text = f",{space}".join(cells)
        content.append((f"[{text}]" if array else f"{{{text}}}").encode() + b"\n")
    content[-1] = content[-1][:-1] + tail.encode("latin-1") + b"\n"
    agrees(parser, content)


@pytest.mark.parametrize("kind", TEXTS)
def test_without_pyarrow_text_is_read_all_the_same(kind, written, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert not cells.available()
    np.testing.assert_array_equal(rows_of(written[kind], batch_rows=8), DATA)


@pytest.mark.parametrize("bad", [0, 500, 999])
def test_one_bad_line_among_many_is_found_and_the_others_stay_quick(bad, tmp_path, monkeypatch):
    careful = []
    row = CsvParser.row
    monkeypatch.setattr(CsvParser, "row", lambda self, line: careful.append(line) or row(self, line))
    lines = [b"%d,2\n" % i for i in range(1000)]
    lines[bad] = b"x,2\n"
    (tmp_path / "x.csv").write_bytes(b"a,b\n" + b"".join(lines))
    told = []
    rows = rows_of(tmp_path / "x.csv", on_bad_row="skip", on_skip=told.append)
    np.testing.assert_array_equal(rows[:, 0], np.delete(np.arange(1000), bad))
    assert told == [f"{tmp_path / 'x.csv'}, line {bad + 2}, column 0 (a): 'x' is not a number"]
    assert len(careful) <= 32


X = np.array([[1.5, -2.25], [1000.5, 4.0], [5.75, 6.5]])
AWKWARD = {
    "decimal comma, detected": (b"a;b\n1,5;-2,25\n1000,5;4\n5,75;6,5\n", {}),
    "decimal comma, no header, detected": (b"1,5;-2,25\n1000,5;4\n5,75;6,5\n", {}),
    "decimal comma between spaces, detected": (b"1,5 -2,25\n1000,5 4\n5,75 6,5\n", {}),
    "decimal comma, names with commas": (b"T, C;p, bar\n1,5;-2,25\n1000,5;4\n5,75;6,5\n", {}),
    "comments, detected": (b"# made by x\n# and y\na,b\n# more\n1.5,-2.25\n1000.5,4\n #\n5.75,6.5\n", {}),
    "comments before numbers, detected": (b"! made by x, y, z\n1.5,-2.25\n1000.5,4\n5.75,6.5\n", {}),
    "names in a comment": (b"% made by x\n% a;b\n1,5;-2,25\n1000,5;4\n5,75;6,5\n", {"columns": "a,b"}),
    "names in a comment, and a header": (b"# a,b\n1.5,-2.25\n1000.5,4\n5.75,6.5\n", {"header": True}),
    "names that begin with a sign": (b"%RH;T;;\n1,5;-2,25;;\n1000,5;4;;\n5,75;6,5;;\n", {"columns": "RH,T"}),
    "names with a sign": (b"#1,#2\n1.5,-2.25\n1000.5,4\n5.75,6.5\n", {"columns": "#1,#2"}),
    "empty columns at the end": (b"a;b;;\n1,5;-2,25;;\n1000,5;4;;\n5,75;6,5;;\n", {}),
    "empty columns at the end of the header": (b"a;b;;\n1,5;-2,25\n1000,5;4\n5,75;6,5\n", {}),
    "names that are given": (b"1.5,-2.25\n1000.5,4\n5.75,6.5\n", {"titles": "a,b", "columns": "a,b"}),
    "names in the place of others": (b"p,q\n1.5,-2.25\n1000.5,4\n5.75,6.5\n", {"titles": ["a", "b"]}),
    "dates with points": (
        b"day;a;b\n10.03.2004;1,5;-2,25\n11.03.2004;1000,5;4\n12.03.2004;5,75;6,5\n", {"time_column": "day"}
    ),
    "decimal comma": (b"a;b\n1,5;-2,25\n1000,5;4\n5,75;6,5\n", {"decimal": ","}),
    "decimal comma, tabs, no header": (b"1,5\t-2,25\n1000,5\t4\n5,75\t6,5\n", {"decimal": ","}),
    "comments": (b"# made by x\na,b\n# more\n1.5,-2.25\n1000.5,4\n #\n5.75,6.5\n", {"comment": "#"}),
    "preamble": (b"Station 7\nsince 1,2,3\na,b\n1.5,-2.25\n1000.5,4\n5.75,6.5\n", {"skip_lines": 2}),
    "runs of spaces": (b"  1.5   -2.25\n1000.5  4\n   5.75 \t 6.5 \n", {}),
    "runs of spaces, names": (b"  a b\n  1.5   -2.25\n1000.5  4\n   5.75  6.5\n", {}),
    "UTF-16": ("a,b\n1.5,-2.25\n1000.5,4\n5.75,6.5\n".encode("utf-16"), {}),
    "UTF-16, big end": (codecs.BOM_UTF16_BE + "1.5,-2.25\n1000.5,4\n5.75,6.5".encode("utf-16-be"), {}),
    "UTF-16, unmarked": ("1.5,-2.25\n1000.5,4\n5.75,6.5\n".encode("utf-16-le"), {"encoding": "utf-16-le"}),
    "Latin-1": ("T/°C,µ\n1.5,-2.25\n1000.5,4\n5.75,6.5\n".encode("latin-1"), {"encoding": "latin-1"}),
    "gzip, several members": (
        gzip.compress(b"a,b\n1.5,-2.25\n10") + gzip.compress(b"00.5,4\n5.75,6.5\n") + bytes(9), {}
    ),
    "a name for the delimiter": (b"1.5\t-2.25\n1000.5\t4\n5.75\t6.5\n", {"delimiter": "tab"}),
    "names of numbers": (b"0,1,2,3\n1.5,-2.25,0,0\n1000.5,4,0,0\n5.75,6.5,0,0\n", {"columns": "0,1"}),
    "names that are years": (b"2001,2002\n1.5,-2.25\n1000.5,4\n5.75,6.5\n", {"header": True}),
    "text and numbers": (
        b"time,unit,a,b\n2024-01-01,x,1.5,-2.25\n2024-01-02,y,1000.5,4\n2024-01-03,z,5.75,6.5\n",
        {"exclude": "text"},
    ),
    "excluded by pattern": (
        b"k_id,a,b,t_id\n1,1.5,-2.25,2\n1,1000.5,4,2\n1,5.75,6.5,2\n", {"exclude": "*_id"}
    ),
    "JSON with text": (
        b'{"t": "", "a": 1.5, "b": -2.25}\n{"t": "y", "a": 1000.5, "b": 4}\n{"t":"z", "a": 5.75, "b": 6.5}\n',
        {"exclude": "text"},
    ),
    "carriage returns and quotes": (b'"a","b"\r\n"1.5","-2.25"\r\n"1000.5","4"\r\n"5.75","6.5"\r\n', {}),
    "no final line feed": (b"1.5,-2.25\n1000.5,4\n5.75,6.5", {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", AWKWARD)
@pytest.mark.parametrize("with_arrow", [True, False])
def test_awkward_files_are_read_rightly(kind, with_arrow, tmp_path, monkeypatch):
    if not with_arrow:
        monkeypatch.setattr(cells, "available", lambda: False)
    content, options = AWKWARD[kind]
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    np.testing.assert_array_equal(rows_of(path, **options), X)
    _, positions = read(path, batch_rows=1, **options)
    for i, position in enumerate(positions):
        rest, _ = read(path, batch_rows=1, position=position, **options)
        assert [batch.rows.tolist() for batch in rest] == X[i + 1 :, None].tolist()


def spreadsheet():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return content.getvalue()


REFUSED = {
    "decimal comma later": (
        b"a;b\n1.5;2\n1,5;2,5\n",
        r"line 3.*'1,5' is not a number \(decimal=',' reads it",
    ),
    "two marks": (b"a;b\n1.5,2;2\n", r"'1.5,2' is not a number"),
    "preamble": (b"Station 7\na,b\n1,2\n", r"line 2: has 2 fields .* \(skip_lines says"),
    "UTF-16, unmarked": ("1,2\n".encode("utf-16-le"), r"\(encoding='utf-16-le' reads"),
    "Latin-1": ("T/°C,b\n1,2\n".encode("latin-1"), r"line 1: not text in UTF-8 \(encoding='latin-1'"),
    "a word for nothing": (b"a,b\n1,2\n3,Bad Input\n", r"\(na='Bad Input' reads it .*; on_bad_row='skip'"),
    "a sign for nothing": (b"a,b\n1,2\n3,#N/A\n", r"\(na='#N/A' reads it"),
    "a word for nothing in JSON": (b'{"a": 1}\n{"a": "off"}\n', r"\(na='off' reads it"),
    "text": (b"t,a\nx,1\n", r"'x' is not a number \(columns chooses .*; exclude='text' leaves out"),
    "times": (
        b"t,a\n2026-01-01 00:00:00,1\n",
        r"not a number \(time_column='t' takes it as the time of each row; exclude='text' leaves out",
    ),
    "times without names": (b"2026-01-01 00:00:00,1\n", r"not a number \(time_column='0' takes"),
    "times in JSON": (b'{"t": "2026-01-01", "a": 1}\n', r"not a number \(time_column='t' takes it"),
    "comments later": (b"a,b\n1,2\n#3,4\n", r"line 3.*\(comment='#' passes over"),
    "units": (b"a,b\nm,kg\n1,2\n", r"'m' is not a number \(on_bad_row='skip' leaves such rows out"),
    "an empty column": (b"a,,b\n1,,2\n", r"is missing \(NaN\) \(allow_nan says .*; columns chooses"),
    "carriage returns": (b"a,b\r1,2\r3,4\r", r"carriage returns within it"),
    "text in JSON": (b'{"t": "x", "a": 1}\n', r"'t': '\"x\"' is not a number \(columns chooses"),
    "one JSON document": (b'{\n "a": 1\n}\n', r"line 1: expected a JSON object .* on each line"),
    "bzip2": (bz2.compress(b"1,2\n"), r"packed by bzip2, .* standard input"),
    "xz": (lzma.compress(b"1,2\n"), r"packed by xz"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", r"an HDF5 file, which is not read; export it"),
    "a spreadsheet that is none": (spreadsheet(), r"is not a readable XLSX file"),
    "bytes of any kind": (b"\x01\0\xff\xfe\x12\x13\x14\x15\n", r"nor any other kind that is read$"),
    "a gap": (b"a,b\n1,2\n3,\n", r"is missing \(NaN\) \(allow_nan says"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_awkward_files_are_refused_with_the_option_to_use(kind, tmp_path):
    content, message = REFUSED[kind]
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(SourceError, match=message):
        read(tmp_path / "x.csv")


DELIMITED = r"delimiter=',' fits the first line, which has no ';'"


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"1,2\n3,4\n", b"a,b\n1;2\n", b"a,b\nx,y\n"])
def test_a_wrong_delimiter_is_told_of_the_right_one(content, tmp_path):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(SourceError, match=DELIMITED):
        read(tmp_path / "x", delimiter=";")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": ";"}, "must be a point or a comma"),
        ({"decimal": ".", "delimiter": "."}, "cannot both be"),
        ({"comment": ""}, "something that can be seen"),
        ({"skip_lines": -1}, "must be at least 0"),
        ({"encoding": "latin-99"}, "there is no encoding 'latin-99'"),
        ({"exclude": "x*"}, r"no column matches 'x\*'; there are a, b, c, d"),
        ({"exclude": "0:4"}, "no column was asked for"),
    ],
)
def test_dialects_that_make_no_sense(options, message, written):
    with pytest.raises(SourceError, match=message):
        sources.open(written["header"], **options)


def test_names_and_numbers_for_missing_values(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b\n-999,1\n-999.0,?\n3,Bad Input\n 5 ,#n/a\n")
    expected = [[np.nan, 1], [np.nan, np.nan], [3, np.nan], [5, np.nan]]
    for na in ("-999,?,Bad Input,#N/A", [-999, "?", "bad input", "#N/A"]):
        np.testing.assert_array_equal(rows_of(tmp_path / "x.csv", na=na, allow_nan=True), expected)
    (tmp_path / "x.jsonl").write_bytes(b'{"a": 1, "b": -999}\n{"a": "Off", "b": 2}\n')
    rows = rows_of(tmp_path / "x.jsonl", na="-999,off", allow_nan=True)
    np.testing.assert_array_equal(rows, [[1, np.nan], [np.nan, 2]])


def notes_of(path, **options):
    with sources.open(path, **options) as source:
        for _ in source:
            pass
        return source.notes


def test_an_index_that_pandas_wrote_is_noticed(tmp_path):
    frame = pd.DataFrame(DATA, columns=["a", "b", "c", "d"])
    frame.to_csv(tmp_path / "x.csv")
    (note,) = notes_of(tmp_path / "x.csv")
    assert "counts rows, as the index does that pandas writes" in note
    assert "exclude=0 leaves it out" in note
    assert notes_of(tmp_path / "x.csv", exclude="0") == []
    frame.to_csv(tmp_path / "y.csv", index=False)
    assert notes_of(tmp_path / "y.csv") == []
    pd.DataFrame(DATA).to_csv(tmp_path / "z.csv")
    np.testing.assert_array_equal(rows_of(tmp_path / "z.csv", exclude=[0]), DATA)
    assert len(notes_of(tmp_path / "z.csv")) == 2


def test_a_line_that_counts_is_data_where_what_follows_counts_too(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"0,1,2\n3,4,5\n")
    np.testing.assert_array_equal(rows_of(tmp_path / "x.csv"), [[0, 1, 2], [3, 4, 5]])
    (tmp_path / "x.csv").write_bytes(b"0,1,2\n3.5,4.5,5.5\n")
    np.testing.assert_array_equal(rows_of(tmp_path / "x.csv"), [[3.5, 4.5, 5.5]])
    np.testing.assert_array_equal(rows_of(tmp_path / "x.csv", header=False), [[0, 1, 2], [3.5, 4.5, 5.5]])


def test_complaints_are_about_lines_not_pieces():
    parser = csv_parser(ReadOptions())
    assert isinstance(parser.row(b"1,2\n"), Complaint)
    assert parser.row(b"1,2,3\n") == [1, 2, 3]


def test_a_line_that_was_looked_at_ahead_is_not_lost_on_the_way(tmp_path, monkeypatch):
    """Whether 0,1,2 are names is seen in the line after it, which comes behind blank lines and comments."""
    (tmp_path / "x.csv").write_bytes(b"0,1,2\n\n# x\n" * 3 + b"3,4,5\n6,7,8\n")
    for block in (1, 7, 1 << 19):
        monkeypatch.setattr(lines, "BLOCK", block)
        batches, positions = read(tmp_path / "x.csv", batch_rows=1, comment="#")
        assert [batch.rows[0, 0] for batch in batches] == [0, 0, 0, 3, 6]
        for i, position in enumerate(positions):
            rest, _ = read(tmp_path / "x.csv", batch_rows=1, comment="#", position=position)
            assert [batch.rows[0, 0] for batch in rest] == [0, 0, 0, 3, 6][i + 1 :]


@pytest.mark.parametrize("kind", ["gzip", "UTF-16", "gzip of UTF-16", "UTF-16, unmarked"])
def test_standard_input_is_unpacked_and_decoded(kind, piped):
    content = b"a,b,c,d\n" + TEXTS["no header"](DATA)
    encoded = content.decode().encode("utf-16" if kind != "UTF-16, unmarked" else "utf-16-le")
    content = {"gzip": gzip.compress(content), "gzip of UTF-16": gzip.compress(encoded)}.get(kind, encoded)
    encoding = "utf-16-le" if kind == "UTF-16, unmarked" else None
    piped(content)
    batches, positions = read("-", batch_rows=20, encoding=encoding)
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), DATA)
    piped(content)
    np.testing.assert_array_equal(rows_of("-", position=positions[0], encoding=encoding), DATA[20:])


def test_closed_standard_input_is_an_error(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SourceError, match="standard input is closed"):
        sources.open("-")


@pytest.mark.parametrize(
    "lines",
    [
        [b"[1, -2.5e-7]\n", b"[null, 3]\r\n"],
        [b'{"a":1,"b":2}\n', b'{"b": NaN, "c": "x"}\n'],
        [b'{"long name, no": 1, "b": 2}\n', b' {"b": 1e5, "long name, no": -0.0} \n'],
        ['{"ä.b": 1}\n'.encode(), b'{"\\u00e4.b": 18446744073709551616}\n'],
    ],
)
def test_json_lines_are_read_at_once(lines):
    assert agrees(JsonLines(lines[0], "x", ReadOptions(), 1), lines)


@pytest.mark.parametrize(
    "lines",
    [
        [b"[1, 2]\n", b"[1]\n"],
        [b"[1, 2]\n", b"[-0, 2]\n"],
        [b'{"a\\"": 1}\n', b'{"a\\"": 2}\n'],
        [b'{"NaN": 1}\n', b'{"NaN": NaN}\n'],
        [b'{"a": 1}\n', b'{"a": 1, "b": "\\NaN"}\n'],
        [b'{"a": 1}\n', b'{"a": 1, "b": "\xff"}\n'],
        [b'{"a": 1}\n', b'{"a": true}\n'],
        [b"[1]\n", b"[1" + b"0" * 400 + b"]\n"],
    ],
)
def test_json_lines_that_need_care_are_left_to_it(lines):
    assert not agrees(JsonLines(lines[0], "x", ReadOptions(), 1), lines)


YEARS = {
    "a country": "Country Name,1960,1961,1962\nAruba,54211,55438,56225\nChad,1,2,3\n",
    "a quoted line": '"","1940","1945","1950"\n"Food",22.2,44.5,59.6\n"Tobacco",10.5,15.5,1.6\n',
    "a quoted line of numbers alone": '"1940","1945"\n22.2,44.5\n10.5,15.5\n',
    "row names without a name": '"1940","1945"\n"Food",22.2,44.5\n"Tobacco",10.5,15.5\n',
    "all quoted": '"Name","Code","1960","1961","1962",\n"A","B","1.5","2","3",\n"C","D","4","5","6",\n',
    "a total": "Country,Total,1960,1961,1962\nAruba,3,54211,55438,56225\nChad,9,1,2,3\n",
    "an index": ",1960,1961,1962\n0,1.5,2.5,3.5\n1,3.5,4.5,5.5\n",
    "ages": "region,0,5,10,15\nnorth,1.5,2,4,3\nsouth,2.5,3,4,3\n",
}
DATA_LINES = {
    "a plain file": "1,2,3,4\n5.5,6,7,8\n",
    "years in a plain file": "1960,1961,1962,1963\n5.5,6,7,8\n",
    "sensors near 1,500": "pump1,1500,1501,1502\npump2,1510,1498,1503\n",
    "days": "2024-01-01,1,2,3,4\n2024-01-02,4,5,6,7.5\n",
    "days and years": "2024-01-01,1960,1961,1962\n2024-01-02,4,5,6\n",
    "keys and few numbers": "a,1,2,3\nb,1.5,2,4\n",
    "keys and whole numbers": "a,1,2,3,4,5\nb,7,2,9,4,5\n",
    "equal numbers": "a,5,5,5,5\nb,1.5,2,9,4\n",
    "very long numbers": f"a,{'1' * 5000},{'1' * 5000},{'1' * 5000}\nb,1,2,3\n",
    "one line": "a,1960,1961,1962\n",
}


@pytest.mark.parametrize("text", YEARS.values(), ids=YEARS)
def test_a_first_line_of_years_is_taken_for_names(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    with sources.open(tmp_path / "x.csv", exclude="text") as source:
        assert sum(len(batch.rows) for batch in source) == 2
        assert {"1940", "1960", "5"} & set(source.names)
        assert "the first line has" in source.notes[0]
        assert "header=False reads it as data" in source.notes[0]


@pytest.mark.parametrize("text", DATA_LINES.values(), ids=DATA_LINES)
def test_a_first_line_of_data_stays_data(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    options = {"exclude": "text", "on_bad_row": "skip"}
    with sources.open(tmp_path / "x.csv", **options) as source:
        assert sum(len(batch.rows) for batch in source) + source.skipped == text.count("\n")
        assert not any("first line" in note for note in source.notes)


def test_quotes_that_numbers_need_make_no_names(tmp_path):
    (tmp_path / "x.csv").write_text('"7,58","1,5"\n7,2\n')
    (tmp_path / "y.csv").write_text('"7,58","1"\n7,"2,5"\n')
    for name in "xy":
        assert len(rows_of(tmp_path / f"{name}.csv", delimiter=",", decimal=",")) == 2


def test_a_word_above_numbers_proposes_the_header(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,7\n1,2,3\n4,5,6\n")
    with pytest.raises(SourceError, match="header takes the first line for names"):
        list(sources.open(tmp_path / "x.csv"))


def test_text_behind_gaps_is_excluded_as_text(tmp_path):
    lines = [f"None,,{i},x" if i < 5 else f"Driver,left,{i},y" for i in range(200)]
    (tmp_path / "x.csv").write_text("\n".join(["bags,side,a,b", *lines, ""]))
    with sources.open(tmp_path / "x.csv", exclude="text") as source:
        assert source.names == ["a"]
    late = ["a,bags", *(f"{i},None" for i in range(150)), "1,Driver and Passenger", "2,None", ""]
    (tmp_path / "y.csv").write_text("\n".join(late))
    with pytest.raises(SourceError, match="exclude='text,bags' leaves the column out"):
        list(sources.open(tmp_path / "y.csv", exclude="text", allow_nan=True))


def test_names_of_a_model_that_a_file_does_not_have_are_noted(tmp_path):
    (tmp_path / "x.csv").write_text("1,2.5\n3,4.5\n")
    (note,) = notes_of(tmp_path / "x.csv", names=("flow", "heat"))
    assert "columns are taken by their order for flow, heat" in note
    assert notes_of(tmp_path / "x.csv", names=("x0", "x1")) == []


def test_thousands_marks_are_named_where_they_leave_no_column(tmp_path):
    (tmp_path / "x.csv").write_text("Jahr;Zahl\n2001;35.361,0\n2002;36.361,0\n")
    with pytest.raises(SourceError, match=r"thousands='\.'"):
        sources.open(tmp_path / "x.csv", exclude="text", time_column="Jahr")
