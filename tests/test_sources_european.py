"""Files as plants in Europe write them, zipped files and spreadsheets: read at the first try."""

import gzip
import io
import json
import subprocess
import sys
import warnings
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import eigenstream
from eigenstream import cli, sources
from eigenstream.io.sources import SourceError, csv_lines
from eigenstream.io.sources.contents import PACKED
from eigenstream.io.sources.time_formats import formats_of
from tests.jobs import call
from tests.source_files import read, rows_of

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")

START = datetime(2004, 3, 10, 18)
DATA = np.round(np.random.default_rng(3).standard_normal((300, 3)) @ np.diag([3, 2, 1]) + 20, 2)


def air_quality(X=DATA, *, header=True, first=START):
    """Date and time apart, decimal commas, -200 for no value, columns and lines of nothing at the end."""
    lines = ["Date;Time;CO(GT);T;RH;;"] if header else []
    for i, row in enumerate(X):
        when = first + timedelta(hours=i)
        values = [str(value).replace(".", ",") for value in row]
        lines.append(f"{when:%d/%m/%Y};{when:%H.%M.%S};{';'.join(values)};;")
    return "\r\n".join([*lines, *[";;;;;;"] * 5]) + "\r\n"


def test_a_european_file_is_read_at_the_first_try(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gaps = DATA.copy()
    gaps[50, 1] = -200
    (tmp_path / "air.csv").write_text(air_quality(gaps))
    said = call(
        *("run", "air.csv", "--time-column", "Date+Time", "--na", "-200", "--missing", "impute"),
        *("--save", "m", "--output", "s.csv"),
    )
    for word in ("a comma is taken for the decimal mark", "5 lines of delimiters alone", "%d/%m/%Y %H.%M.%S"):
        assert word in said.replace("\n", " ")
    model = eigenstream.load("m")
    assert model.n_samples_seen_ == 300
    assert model.tally_.imputed == 1
    head, first, *_ = (tmp_path / "s.csv").read_text().splitlines()
    assert head == "row,Date+Time,component_0,component_1,component_2"
    assert first == "0,10/03/2004 18.00.00,,,", "blanks, not zeros, before the model starts"
    # Tomorrow's file goes on, and a job that was cut short, too.
    (tmp_path / "next.csv").write_text(air_quality(DATA[:100], first=START + timedelta(hours=300)))
    call("run", "next.csv", "--model", "m", "--save", "m", "--quiet")
    assert eigenstream.load("m").n_samples_seen_ == 400


def test_without_a_header_names_are_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "air.csv").write_text(air_quality(header=False))
    (tmp_path / "names.txt").write_text("Date\nTime\nCO\nT\nRH\n")
    for names in ("Date,Time,CO,T,RH", "names.txt"):
        call("run", "air.csv", "--names", names, "--time-column", "Date+Time", "--save", "m", "--overwrite")
        assert json.loads(call("export", "m", "m.json", "--overwrite") and (tmp_path / "m.json").read_text())[
            "inputs"
        ] == ["CO", "T", "RH"]
    said = call("run", "air.csv", "--names", "a,b", code=1)
    assert "2 names were given for 5 columns (--names gives each column its name)" in said
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    assert "its columns have names of their own" in call("run", "x.jsonl", "--names", "b", code=1)


def test_names_for_other_sources_without_any(tmp_path):
    np.save(tmp_path / "x.npy", DATA)
    with sources.open(tmp_path / "x.npy", titles="a,b,c", columns="c,a") as source:
        assert source.names == ["c", "a"]
    (tmp_path / "x.jsonl").write_text("[1, 2]\n[3, 4]\n")
    with sources.open(tmp_path / "x.jsonl", titles="a,b", keep="a") as source:
        assert (source.names, source.kept) == (["b"], ["a"])
    for wrong in ([], ["a", ""], [1], 5, "a,,b"):
        with pytest.raises(SourceError, match="titles must be names of columns"):
            sources.open(tmp_path / "x.npy", titles=wrong)


def test_columns_without_names_are_called_by_their_numbers(tmp_path, monkeypatch):
    """An input was called 4 and column 6 in errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text(air_quality(header=False).replace(";;\r\n", "\r\n"))
    options = {"time_column": "0+1"}
    with sources.open(tmp_path / "x.csv", **options) as source:
        assert (source.names, source.kept) == (["x2", "x3", "x4"], ["0+1"])
    call("run", "x.csv", "--time-column", "0+1", "--save", "m", "--quiet")
    assert eigenstream.load("m").position_["names"] == ["x2", "x3", "x4"]
    # It goes on with the next file, with names or without.
    (tmp_path / "y.csv").write_text(air_quality(first=START + timedelta(days=30)))
    call("run", "y.csv", "--model", "m", "--save", "m", "--quiet", "--exclude", "text")
    assert eigenstream.load("m").n_samples_seen_ == 600
    (tmp_path / "z.csv").write_text("a,b,c\n1,2,3\n")
    assert "there is no column" in call("run", "z.csv", "--model", "m", "--save", "m", code=1)


def test_the_decimal_mark_is_that_of_the_first_number_that_has_one(tmp_path, monkeypatch):
    """However rows come, and where a job goes on in the middle."""
    monkeypatch.setattr(csv_lines, "LOOK", 20)
    whole = "".join(f"18.00.00;{i};7\n" for i in range(15))
    (tmp_path / "x.csv").write_text("t;a;b\n" + whole + "18.00.00;1,5;2\n" * 3)
    options = {"exclude": "t"}
    for size in (1, 4, 1000):
        batches, positions = read(tmp_path / "x.csv", batch_rows=size, **options)
        rows = np.vstack([batch.rows for batch in batches])
        assert rows[-1].tolist() == [1.5, 2]
        for position in positions[:-1]:
            rest = rows_of(tmp_path / "x.csv", batch_rows=size, position=position, **options)
            np.testing.assert_array_equal(rest, rows[-len(rest) :])
    (tmp_path / "x.csv").write_text("a;b\n" + "1,5;2\n" * 60)
    for decimal in (None, ","):
        assert rows_of(tmp_path / "x.csv", batch_rows=7, decimal=decimal).tolist() == [[1.5, 2]] * 60
    (tmp_path / "x.csv").write_text("a;b\n1.5;2\n3;4\n1,5;2\n")
    _, positions = read(tmp_path / "x.csv", batch_rows=1, rows=(0, 2))
    with pytest.raises(SourceError, match=r"line 4.*'1,5' is not a number"):
        read(tmp_path / "x.csv", batch_rows=1, position=positions[-1] | {"rows": 2})
    (tmp_path / "x.csv").write_text("t;a\n" + "1;2\n" * 25 + "1;2,5\n")
    with pytest.raises(SourceError, match=r"line 27.*'2,5' is not a number \(decimal=','"):
        read(tmp_path / "x.csv")
    with pytest.raises(SourceError, match="stored position is not one"):
        read(tmp_path / "x.csv", position=positions[-1] | {"decimal": "x"})


def test_a_wrong_delimiter_gets_a_hint_about_delimiters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for content, given, right in (
        ("a,b\n1,2\n", ";", ","),
        (air_quality(), ",", "';'"),
        ("a b c\n1 2 3\n", ",", "' '"),
        ("a;b,x;c\n4,0;5;6\n", ",", "';'"),
    ):
        (tmp_path / "x.csv").write_text(content)
        said = call("run", "x.csv", "--delimiter", given, code=1)
        assert f"--delimiter {right} fits the first line" in said
        said = call("run", "x.csv", "--delimiter", given, "--exclude", "a", code=1)
        assert f"--delimiter {right} fits the first line" in said
        assert "--skip-lines" not in said


@pytest.mark.parametrize(
    "written",
    [
        "%d.%m.%Y %H:%M", "%d/%m/%y %H.%M.%S", "%m-%d-%Y %I:%M:%S %p", "%d-%b-%Y %H:%M:%S,%f", "%Y/%m/%d",
        "%A, %d %B %Y %H:%M", "%b %d, %Y %H:%M:%S %z", "%d.%m.%YT%H:%M", "%d %b %Y, %Hh%M",
    ],
)  # fmt: skip
def test_formats_of_times_by_example(written, tmp_path):
    """The example decides, whatever day it is; the first time of a file does where it leaves no doubt."""
    utc = datetime.fromisoformat("2024-12-31T23:59:58.250000+00:00")
    example = utc.strftime(written)
    assert len(formats_of(example)) == 1
    times = [datetime.fromisoformat(f"2024-{month}-05T08:30:01+00:00") for month in ("02", "07", "11")]
    lines = "".join(f'"{time.strftime(written)}";1\n' for time in times)
    (tmp_path / "x.csv").write_text("t;a\n" + lines)
    with sources.open(tmp_path / "x.csv", time_column="t", time_format=example) as source:
        found = np.concatenate([batch.times for batch in source])
    expected = [datetime.strptime(time.strftime(written), written) for time in times]
    assert found.tolist() == [time.replace(tzinfo=time.tzinfo or utc.tzinfo).timestamp() for time in expected]


def test_day_and_month_are_never_guessed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("t,a\n03/04/2024,1\n04/04/2024,2\n")
    said = call("run", "x.csv", "--time-column", "t", "--on-bad-row", "skip", code=1)
    assert "may be the 3 April or the 4 March (--time-format 31/12/2024 says: the day first;" in said
    assert "day and month cannot be told apart" in call(
        "run", "x.csv", "--time-column", "t", "--time-format", "03/04/2024", code=1
    )
    assert "it is no time either" in call(
        "run", "x.csv", "--time-column", "t", "--time-format", "tomorrow", code=1
    )
    (tmp_path / "x.csv").write_text("t,a\n03/04/2024,1\n03/14/2024,2\n")
    with sources.open(tmp_path / "x.csv", time_column="t") as source:
        assert np.diff(next(iter(source)).times).tolist() == [10 * 86400]
    said = call("run", "x.csv", code=1)
    assert "--time-column t takes it as the time of each row" in said
    (tmp_path / "x.csv").write_text(air_quality())
    assert "--time-column Date+Time takes it" in call("run", "x.csv", code=1)


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_a_zipped_file_is_read_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    zipped("x.zip", **{"in/air.csv": air_quality(), "__MACOSX/x": "", "in/.hidden": "x"})
    options = {"time_column": "Date+Time"}
    np.testing.assert_array_equal(rows_of("x.zip", **options), DATA)
    batches, positions = read("x.zip", batch_rows=70, **options)
    for batch, position in zip(batches, positions, strict=True):
        rest, _ = read("x.zip", batch_rows=70, position=position, **options)
        assert sum(len(one.rows) for one in rest) == 300 - batch.count
    zipped("x.zip", **{"air.csv": air_quality(DATA + 1)})
    with pytest.raises(SourceError, match="does not begin as it did"):
        sources.open("x.zip", position=positions[0], **options)
    zipped("two.zip", a="a,b\n1,2\n", b="a,b\n3,4\n")
    assert "two.zip holds 2 files: a, b (--array a chooses one of them)" in call("run", "two.zip", code=1)
    assert rows_of("two.zip", array="b").tolist() == [[3, 4]]
    with pytest.raises(SourceError, match="there is no 'c'"):
        sources.open("two.zip", array="c")
    zipped("none.zip")
    with pytest.raises(SourceError, match="holds 0 files: none"):
        sources.open("none.zip")
    with pytest.raises(SourceError, match="cannot be followed"):
        sources.open("x.zip", follow=True)
    zipped("latin.zip", a="T/°C;b\n1,5;2\n".encode("latin-1"))
    assert rows_of("latin.zip", encoding="latin-1").tolist() == [[1.5, 2]]
    zipped("wide.zip", a="a;b\n1,5;2\n".encode("utf-16"))
    assert rows_of("wide.zip", encoding="utf-16").tolist() == [[1.5, 2]]
    assert rows_of("wide.zip").tolist() == [[1.5, 2]]  # its byte order mark says so
    Path("wide.csv.gz").write_bytes(gzip.compress("a;b\n1,5;2\n".encode("utf-16")))
    assert rows_of("wide.csv.gz").tolist() == [[1.5, 2]]


def spreadsheet(rows, *more):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name).append([1, 2])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_a_spreadsheet_is_read_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [["made\nby x"], [], ["time", "a", "b\t1"]]
    rows += [[START + timedelta(hours=i), i / 8, None if i == 7 else -i] for i in range(20)]
    (tmp_path / "x.xlsx").write_bytes(spreadsheet(rows))
    options = {"time_column": "time", "skip_lines": 1, "allow_nan": True}
    with sources.open("x.xlsx", batch_rows=6, **options) as source:
        assert source.names == ["a", "b 1"]
        batches = list(source)
        positions = [batch.position for batch in batches]
    found = np.vstack([batch.rows for batch in batches])
    np.testing.assert_array_equal(found[:, 0], np.arange(20) / 8, strict=True)
    assert np.flatnonzero(np.isnan(found[:, 1])).tolist() == [7]
    assert np.diff(np.concatenate([batch.times for batch in batches])).tolist() == [3600] * 19
    rest = rows_of("x.xlsx", batch_rows=6, position=positions[1], **options)
    np.testing.assert_array_equal(rest, found[12:])
    (tmp_path / "y").write_bytes(spreadsheet([["a", "b"], [1, 2], [3, "off"]], "other"))
    with pytest.raises(SourceError, match=r"holds 2 sheets: Sheet, other \(array='Sheet' chooses"):
        sources.open("y")
    assert rows_of("y", array="other").tolist() == [[1, 2]]
    with pytest.raises(SourceError, match="there is no sheet 'z'; there are Sheet, other"):
        sources.open("y", array="z")
    with pytest.raises(SourceError, match=r"y, line 3, column 1 \(b\): 'off' is not a number"):
        rows_of("y", array="Sheet")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(SourceError, match=r"pip install 'eigenstream\[xlsx\]'"):
        sources.open("x.xlsx")


def forged_sheet(body, texts=b"<sst/>"):
    """A spreadsheet whose sheet and texts are these bytes of XML."""
    made, content = io.BytesIO(spreadsheet([["a", "b"], [1, 2]])), io.BytesIO()
    with zipfile.ZipFile(made) as good, zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bad:
        for name in good.namelist():
            replaced = {"xl/worksheets/sheet1.xml": body, "xl/sharedStrings.xml": texts}.get(name)
            bad.writestr(name, good.read(name) if replaced is None else replaced)
    return content.getvalue()


HEAD = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
LAUGHS = b"".join(b'<!ENTITY a%d "%b">' % (i + 1, b"&a%d;" % i * 10) for i in range(12))
FORGED = {
    "a long row": lambda: (HEAD + b"<row>" + b"<c/>" * (5 << 18),),
    "many rows": lambda: (HEAD + b"<row></row>" * (9 << 17),),
    "rows in disguise": lambda: (HEAD + b"<row/>" * (1 << 20),),
    "many texts": lambda: (HEAD, b"<sst>" + b"<si/>" * (7 << 19)),
    "laughs": lambda: (b'<!DOCTYPE x [<!ENTITY a0 "ha">' + LAUGHS + b"]>" + HEAD + b"&a12;",),
    "an entity elsewhere": lambda: (
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>' + HEAD
        + b'<row r="1"><c t="str"><v>&e;</v></c></row></sheetData></worksheet>',
    ),
    "a cell far out": lambda: (HEAD + b'<row r="1"><c r="&#90;ZZZZZ1"><v>1</v></c></row></sheetData>',),
    "a row far down": lambda: (
        HEAD + b'<row r="9999999"><c r="A9999999"><v>1</v></c></row></sheetData></worksheet>',
    ),
    "no XML": lambda: (b"\x00\x01",),
    "no sheet": lambda: (b"",),
}  # fmt: skip


@pytest.mark.parametrize("shift", range(-24, 4, 3))
def test_a_spreadsheet_is_read_wherever_blocks_of_its_sheet_end(shift, tmp_path):
    """Half of real spreadsheets of some blocks were refused: one ended within the name of a cell."""
    cell = b'<c r="%s%d"><v>%d</v></c>'
    rows = [
        b'<row r="%d">%b</row>' % (i, b"".join(cell % (name, i, i) for name in (b"A", b"B", b"C")))
        for i in range(1, 1500)
    ]
    body = HEAD + b"".join(rows) + b"</sheetData></worksheet>"
    at = body.index(b'<c r="B', PACKED - 200) + 8
    inside = body[: len(HEAD)] + b" " * (PACKED - at + shift) + body[len(HEAD) :]
    assert inside[PACKED - 30 : PACKED + 30].count(b'r="') > 0
    (tmp_path / "x.xlsx").write_bytes(forged_sheet(inside))
    assert rows_of(str(tmp_path / "x.xlsx")).shape == (1499, 3)
    where = inside.index(b'r="', PACKED - 40)  # a place that does not exist, about where the block ends
    (tmp_path / "y.xlsx").write_bytes(forged_sheet(inside[: where + 3] + b"ZZZZ" + inside[where + 3 :]))
    with pytest.raises(SourceError, match="not a spreadsheet as programs write them"):
        rows_of(str(tmp_path / "y.xlsx"))


CHILD = """
import resource, sys, itertools, warnings, time
import openpyxl, pyarrow.compute
from eigenstream import sources
warnings.simplefilter("ignore")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (600 << 20),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for path in sys.argv[1:]:
    try:
        with sources.open(path, batch_rows=256, on_bad_row="skip", allow_nan=True) as source:
            print("read", sum(len(batch.rows) for batch in itertools.islice(source, 20)), path, flush=True)
    except ValueError as error:
        print("refused", str(error)[:200].replace("\\n", " "), flush=True)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says how much is in use")
def test_forged_archives_are_refused_in_little_memory(tmp_path):
    paths = [tmp_path / f"{i}.xlsx" for i in range(len(FORGED))]
    for parts, path in zip(FORGED.values(), paths, strict=True):
        path.write_bytes(forged_sheet(*parts()))
    with zipfile.ZipFile(tmp_path / "zeros.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", bytes(40 << 20))
    with zipfile.ZipFile(tmp_path / "bz2.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("x", b"1,2\n" * 9)
    content = bytearray((tmp_path / "zeros.zip").read_bytes())
    content[len(content) // 2] ^= 255
    (tmp_path / "damaged.zip").write_bytes(content)
    paths += [tmp_path / name for name in ("zeros.zip", "bz2.zip", "damaged.zip")]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told = dict(zip([*FORGED, "zeros", "bz2", "damaged"], done.stdout.splitlines(), strict=True))
    assert done.returncode == 0, (told, done.stderr[-2000:])
    assert [name for name, line in told.items() if line.startswith("read")] == [], told
    assert "MemoryError" not in done.stdout


def test_damaged_archives_are_refused_or_read(tmp_path):
    rng, seeds = np.random.default_rng(0), [spreadsheet([["a", "b"], *[[i, 1.5] for i in range(9)]])]
    zipped(tmp_path / "x.zip", a="a,b\n" + "1,2\n" * 50)
    seeds.append((tmp_path / "x.zip").read_bytes())
    read = 0
    for case in range(120):
        made = bytearray(seeds[case % 2])
        for _ in range(int(rng.integers(1, 4))):
            made[int(rng.integers(len(made)))] = int(rng.integers(256))
        (tmp_path / "x").write_bytes(made)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows_of(tmp_path / "x", on_bad_row="skip", allow_nan=True)
            read += 1
        except ValueError as error:
            assert str(error).isprintable()  # noqa: PT017
    assert 5 < read < 115


ROWS = [[0.5 + i, 1.5 - i, 2.25 * i] for i in range(70)]


def learnt_from(path, **options):
    with sources.open(str(path), **options) as source:
        return np.vstack([batch.rows for batch in source]), source.names, source.notes


@pytest.mark.parametrize("label", ["{}", '"{}"', '"Mazda RX{}"'])
def test_a_column_that_the_header_lacks_names_rows_as_r_writes_them(tmp_path, label):
    path = tmp_path / "r.csv"
    lines = [f"{label.format(i + 1)},{a},{b},{c}" for i, (a, b, c) in enumerate(ROWS)]
    path.write_text("\n".join(['"a","b","c"', *lines]) + "\n")
    rows, names, notes = learnt_from(path)
    np.testing.assert_array_equal(rows, ROWS)
    assert names == ["a", "b", "c"]
    assert "the first one, row.names, is not learnt" in notes[0]
    if label == "{}":
        rows, names, _ = learnt_from(path, columns="row.names,a")
        assert (names, rows[3].tolist()) == (["row.names", "a"], [4, 3.5])
    path.write_text("a,b,c\n" + "".join(f"{a},{b},{c},\n" for a, b, c in ROWS))
    np.testing.assert_array_equal(learnt_from(path)[0], ROWS)  # rows that end in a comma have no index


def test_empty_columns_at_the_end_are_none_without_a_header_too(tmp_path):
    path = tmp_path / "export.csv"
    lines = ["{};{};{};;;".format(*row).replace(".", ",") for row in ROWS]
    lines[0] = lines[0].rpartition(";;;")[0].rpartition(";")[0] + ";;;;"  # a gap is no end
    path.write_text("\n".join(lines) + "\n")
    rows, names, notes = learnt_from(path, allow_nan=True)
    assert np.isnan(rows[0, 2])
    np.testing.assert_array_equal(rows[1:], ROWS[1:])
    assert names is None
    assert any("3 columns at the end have no value in the first rows" in note for note in notes)
    with pytest.raises(sources.SourceError, match="2 names were given for 3 columns"):
        learnt_from(path, titles="a,b")
    assert learnt_from(path, titles="a,b,c", allow_nan=True)[1] == ["a", "b", "c"]


@pytest.mark.parametrize("clock", ["{:02d}:00", "{:02d}.00.00"])
def test_a_dotted_date_and_the_time_beside_it_are_told_to_be_one(tmp_path, clock):
    path = tmp_path / "tag.csv"
    lines = [f"{1 + i // 24:02d}.01.2024;{clock.format(i % 24)};{i};{i * i}" for i in range(60)]
    path.write_text("\n".join(["Datum;Uhrzeit;T;P", *lines]) + "\n")
    for options in ({}, {"time_column": "Datum"}, {"time_column": "Uhrzeit"}):
        with pytest.raises(sources.SourceError, match=r"time_column='Datum\+Uhrzeit' takes"):
            learnt_from(path, **options)
    assert len(learnt_from(path, time_column="Datum+Uhrzeit")[0]) == 60


def test_quoted_decimal_commas_between_commas_are_read_where_options_say_so(tmp_path):
    path = tmp_path / "q.csv"
    lines = [",".join(f'"{x}"'.replace(".", ",") for x in row) for row in ROWS]
    path.write_text("\n".join(["a,b,c", *lines]) + "\n")
    with pytest.raises(sources.SourceError, match=r"delimiter=',' says .* decimal=',' reads it as a number"):
        learnt_from(path)
    np.testing.assert_array_equal(learnt_from(path, delimiter=",", decimal=",")[0], ROWS)


def test_a_file_of_names_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1,2,3\n4,5,6\n")
    said = CliRunner().invoke(cli.main, ["run", str(path), "--names", "missing.txt"])
    assert said.exit_code == 2
    assert "there is no file 'missing.txt'" in said.output
