"""`eigenstream fill` and `eigenstream forecast`."""

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from eigenstream import load
from eigenstream.cli import main
from eigenstream.io import refilled
from eigenstream.io.refilled import CsvDialect

from .forks import killed_at_each_change


def command(*arguments, given=None):
    result = CliRunner().invoke(main, list(map(str, arguments)), input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def call(*arguments, code=0):
    result = command(*arguments)
    assert result.exit_code == code, result.output
    return result.output


def plant(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.standard_normal((rows, 4)), axis=0) + np.array([10, 20, 300, 5])
    X[:, 1] = 1.5 * X[:, 0] + 0.1 * rng.standard_normal(rows)
    return X, rng.random(X.shape) < 0.1


@pytest.fixture
def european(tmp_path):
    """Semicolons, decimal commas, -200 for missing, date and time apart, empty columns at the end."""
    X, gone = plant()
    lines = ["Date;Time;CO(GT);PT08;NMHC;T;;\r\n"]
    for t, row in enumerate(X):
        cells = [f"{v:.{d}f}".replace(".", ",") for v, d in zip(row, (1, 2, 0, 3), strict=True)]
        cells = ["-200" if missing else cell for cell, missing in zip(cells, gone[t], strict=True)]
        lines.append(f"{1 + t // 24:02d}/03/2004;{t % 24:02d}.00.00;{';'.join(cells)};;\r\n")
    path = tmp_path / "air.csv"
    path.write_bytes("".join([*lines, ";;;;;;;\r\n"]).encode())
    return path


def cells_of(path, delimiter=";"):
    with path.open(newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def table(path, X, names="abcdef"):
    """A CSV file; NaN is an empty cell."""
    lines = [",".join("" if np.isnan(v) else f"{v:.4f}" for v in row) for row in X]
    path.write_text("\n".join([",".join(names[: X.shape[1]]), *lines]) + "\n")
    return path


def test_gaps_that_are_left_are_named_with_row_and_column_and_ahead_fills_them(tmp_path):
    X, _ = plant()
    X[0, 1] = X[5, 0] = X[7, 3] = np.nan
    X[:4, 2] = np.nan
    source = table(tmp_path / "gaps.csv", X)
    said = call("fill", source, "--output", tmp_path / "whole.csv")
    assert "7 gaps: 2 filled, 5 left as they are\n" in said
    assert "b in row 0, c in row 0, c in row 1, and 2 more (the first row is row 0); --ahead fills" in said
    said = call("fill", source, "--output", tmp_path / "both.csv", "--ahead")
    assert "7 gaps: 7 filled\n" in said
    assert "--ahead" not in said


def test_a_column_without_a_value_is_named_and_can_be_left_out(tmp_path):
    X, _ = plant()
    X[:, 2] = X[0, 1] = X[9, 3] = np.nan
    source = table(tmp_path / "gaps.csv", X)
    text = source.read_text().splitlines()  # and a column of words, which stays out all the same
    source.write_text("\n".join(f"{line},{'ward' if i else 'place'}" for i, line in enumerate(text)) + "\n")
    for ahead in ([], ["--ahead"]):
        said = call("fill", source, "--output", tmp_path / f"whole{len(ahead)}.csv", *ahead)
        assert "c has no value at all: --exclude c leaves it out" in said
        assert ("b in row 0" in said) == (not ahead)
        assert "c in row" not in said
    said = call("fill", source, "--output", tmp_path / "fewer.csv", "--exclude", "c")
    assert "300 rows, 2 gaps: 1 filled" in said
    assert "no value" not in said


@pytest.mark.parametrize("batch", [7, 300])
def test_a_number_that_comes_again_and_again_far_from_all_others_may_mean_a_gap(european, tmp_path, batch):
    said = call("fill", european, "--output", tmp_path / "whole.csv", "--batch-rows", batch)
    times = european.read_text().count("-200")
    assert f"-200 stands there {times} times, in " in said
    assert "if that means a gap, --na -200 fills it" in said
    X, _ = plant()
    X[::3, 0] = 0  # a machine that is off
    X[:, 3] = np.round(X[:, 3])
    assert "--na" not in call("fill", table(tmp_path / "off.csv", X), "--output", tmp_path / "off-whole.csv")
    X[::9, 1] = 9999  # the largest, too
    said = call("fill", table(tmp_path / "most.csv", X), "--output", tmp_path / "most-whole.csv")
    assert "9999 stands there 34 times, in b for one" in said


def test_empty_lines_at_the_end_are_copied_and_are_no_rows(european, tmp_path):
    """As spreadsheets leave them."""
    european.write_bytes(european.read_bytes() + b";;;;;;;\r\n" * 49)
    said = call("fill", european, "--na", "-200", "--output", tmp_path / "whole.csv")
    assert said.startswith("300 rows, ")
    assert "50 lines of delimiters alone are no rows" in said
    whole = (tmp_path / "whole.csv").read_bytes()
    assert whole.endswith(b";;;;;;;\r\n" * 50)
    assert whole.count(b"\r\n") == 351
    plain = tmp_path / "plain.csv"
    X, _ = plant()
    lines = [";".join(f"{v:.2f}" for v in row) for row in X]
    lines[200] = f";;{X[200, 2]:.2f};"
    plain.write_text("\n".join(["a;b;c;d", *lines, ";;;", ";;;"]) + "\n")
    said = json.loads(call("fill", plain, "--output", tmp_path / "filled.csv", "--json"))
    assert said == {"rows": 300, "gaps": 3, "filled": 3, "left": 0, "skipped": 0, "empty": 2}
    filled = (tmp_path / "filled.csv").read_text().splitlines()
    assert filled[-2:] == [";;;", ";;;"]
    assert "" not in filled[201].split(";")


@pytest.mark.parametrize("ahead", [False, True])
def test_a_european_file_is_filled_by_one_command_and_equal_in_every_cell_that_was_there(
    european, tmp_path, ahead
):
    output = tmp_path / "whole.csv"
    result = command("fill", european, "--output", output, "--na", "-200", *(["--ahead"] if ahead else []))
    assert result.exit_code == 0, result.output
    before, after = cells_of(european), cells_of(output)
    assert [len(row) for row in before] == [len(row) for row in after]
    for old, new in zip(before, after, strict=True):
        assert all(a == b or a == "-200" for a, b in zip(old, new, strict=True))
    whole = pd.read_csv(output, sep=";", decimal=",")
    assert whole.iloc[:300, 2:6].notna().all().all()
    X, gone = plant()
    off = np.abs(whole.iloc[:300, 2:6].to_numpy() - X)[gone]
    assert np.median(off[50:]) < 1.0
    filled = [
        (old[2 + j], new[2 + j]) for old, new in zip(before[1:-1], after[1:-1], strict=True) for j in (0, 2)
    ]
    assert all("," in new for old, new in filled[::2] if old == "-200")  # one decimal, as others have
    assert all("," not in new for old, new in filled[1::2] if old == "-200")
    assert output.read_bytes().count(b"\r\n") == european.read_bytes().count(b"\r\n")
    assert "1 line of delimiters alone is no row" in result.output


def test_flags_and_deviations_in_more_columns_or_in_a_file(european, tmp_path):
    whole, table = tmp_path / "whole.csv", tmp_path / "filled.csv"
    command("fill", european, "--output", whole, "--na", "-200", "--flag", "--std")
    rows = cells_of(whole)
    assert rows[0][-5:] == ["CO(GT)_std", "PT08_std", "NMHC_std", "T_std", "filled"]
    before = cells_of(european)
    for old, new in zip(before[1:-1], rows[1:-1], strict=True):
        gaps = {name for name, cell in zip(before[0], old, strict=True) if cell == "-200"}
        assert set(filter(None, new[-1].split("+"))) == gaps
        assert {name for name, cell in zip(before[0][2:6], new[-5:-1], strict=True) if cell} == gaps
    command("fill", european, "--output", whole, "--na", "-200", "--flag", table, "--overwrite")
    listed = pd.read_csv(table)
    assert list(listed) == ["row", "column", "value", "std"]
    assert len(listed) == sum(row.count("-200") for row in before)
    assert (listed["std"] > 0).all()


def test_standard_input_gzip_and_quotes(tmp_path):
    X, gone = plant()
    lines = ['time,"name, long",a,b,c,d\n']
    for t, row in enumerate(X):
        cells = ["" if missing else f"{v:.3f}" for v, missing in zip(row, gone[t], strict=True)]
        lines.append(f'2024-01-01T00:{t // 60:02d}:{t % 60:02d},"x, ""{t}""",{",".join(cells)}\n')
    text = "".join(lines).encode()
    packed, output, from_pipe = tmp_path / "a.csv.gz", tmp_path / "out.csv", tmp_path / "pipe.csv"
    packed.write_bytes(gzip.compress(text))
    assert command("fill", packed, "--output", output).exit_code == 0
    assert command("fill", "-", "--output", from_pipe, given=text).exit_code == 0
    assert from_pipe.read_bytes() == output.read_bytes()
    for old, new in zip(csv.reader(io.StringIO(text.decode())), cells_of(output, ","), strict=True):
        assert all(a in ("", b) for a, b in zip(old, new, strict=True))
    assert '"x, ""7"""' in output.read_text()


def test_json_lines_and_matrices(tmp_path):
    X, gone = plant()
    gappy = np.where(gone, np.nan, X)
    lines = [
        json.dumps({"who": "é", **{n: None if v != v else v for n, v in zip("abcd", row, strict=True)}})
        for row in gappy.tolist()
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "a.npy", gappy)
    assert command("fill", tmp_path / "a.jsonl", "--output", tmp_path / "b.jsonl", "--flag").exit_code == 0
    assert command("fill", tmp_path / "a.npy", "--output", tmp_path / "b.npy").exit_code == 0
    whole = np.load(tmp_path / "b.npy")
    np.testing.assert_array_equal(whole[~gone], X[~gone])
    assert np.isfinite(whole).all()
    rows = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert all(row["who"] == "é" for row in rows)
    np.testing.assert_allclose([[row[n] for n in "abcd"] for row in rows], whole, rtol=1e-5)
    assert [row["filled"] for row in rows] == [
        [n for n, g in zip("abcd", row, strict=True) if g] for row in gone
    ]


def test_known_ahead_a_gap_of_a_walk_is_about_a_straight_line(tmp_path):
    X = np.cumsum(np.random.default_rng(1).standard_normal((600, 3)), axis=0)
    gappy = X.copy()
    gappy[300:310, 0] = np.nan
    np.save(tmp_path / "a.npy", gappy)
    command("fill", tmp_path / "a.npy", "--output", tmp_path / "b.npy", "--ahead")
    straight = np.interp(np.arange(300, 310), [299, 310], X[[299, 310], 0])
    np.testing.assert_allclose(np.load(tmp_path / "b.npy")[300:310, 0], straight, atol=1.5)


def test_known_ahead_a_column_that_begins_late_is_filled_by_its_relation_to_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    X = np.cumsum(rng.standard_normal((400, 2)), axis=0) @ rng.standard_normal((2, 5)) + 100
    X += 0.1 * rng.standard_normal(X.shape)
    gappy = X.copy()
    gappy[:200, 1] = np.nan
    np.save("a.npy", gappy)
    call("fill", "a.npy", "--output", "b.npy", "--ahead", "--flag", "flags.csv")
    off, std = np.load("b.npy")[:200, 1] - X[:200, 1], pd.read_csv("flags.csv")["std"]
    assert np.sqrt(np.mean(off**2)) < 0.3 * X[:, 1].std()
    assert np.mean(np.abs(off) < 3 * std) > 0.5


def test_a_command_that_fails_leaves_no_output_and_is_given_once_more(european, tmp_path, monkeypatch):
    output, asked = tmp_path / "whole.csv", ("fill", european, "--na", "-200", "--output")
    command(*asked, tmp_path / "reference.csv")
    row, calls = CsvDialect.row, []

    def interrupted(self, line, cells):
        calls.append(line)
        if len(calls) == 200:
            raise KeyboardInterrupt
        return row(self, line, cells)

    monkeypatch.setattr(refilled.CsvDialect, "row", interrupted)
    assert command(*asked, output).exit_code != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["air.csv", "reference.csv"]
    monkeypatch.undo()
    assert command(*asked, output).exit_code == 0
    assert output.read_bytes() == (tmp_path / "reference.csv").read_bytes()


def test_forecasts_go_on_from_a_model_that_has_filled(european, tmp_path):
    model = tmp_path / "air.model"
    command("fill", european, "--output", tmp_path / "whole.csv", "--na", "-200", "--save", model)
    result = command("forecast", model, "--steps", 3)
    table = pd.read_csv(io.StringIO(result.output), dtype=str).astype(float)  # exact in any version
    assert list(table)[:5] == ["step", "CO(GT)", "PT08", "NMHC", "T"]
    np.testing.assert_array_equal(table.iloc[:, 1:5], load(model).forecast(3).rows)
    assert (table["T_std"].diff()[1:] > 0).all()
    again = command("forecast", model, "--output", tmp_path / "next.csv")
    assert again.exit_code == 0
    assert (tmp_path / "next.csv").read_text().count("\n") == 2


def test_what_cannot_be_filled_is_said(european, tmp_path):
    output = tmp_path / "out.csv"
    assert "is not a file" in command("fill", tmp_path / "nothing.csv", "--output", output).output
    assert "same file" in command("fill", european, "--output", european, "--na", "-200").output.lower()
    output.write_text("mine")
    assert "--overwrite" in command("fill", european, "--output", output, "--na", "-200").output
    assert output.read_text() == "mine"
    np.save(tmp_path / "a.npy", np.ones((5, 2)))
    assert (
        "no more columns"
        in command("fill", tmp_path / "a.npy", "--output", tmp_path / "b.npy", "--std").output
    )
    command("run", tmp_path / "a.npy", "--save", tmp_path / "m", "--quiet")
    assert "--missing impute" in command("forecast", tmp_path / "m").output
    assert (
        "fills no gaps"
        in command("fill", european, "--output", tmp_path / "c.csv", "--model", tmp_path / "m").output
    )


def test_parquet_keeps_its_types_and_its_other_cells(tmp_path, monkeypatch):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.standard_normal(400))
    whole = pa.table(
        {
            "name": [f"r{i}" for i in range(400)],
            "count": pa.array(np.rint(100 * level).astype(np.int64)),
            "heat": pa.array((2 * level).astype(np.float32)),
            "flow": pa.array(-level),
        }
    )
    columns = [whole.column(i).to_pylist() for i in range(4)]
    columns[1][300], columns[2][200], columns[3][100] = None, None, float("nan")
    gappy = pa.table(
        {field.name: pa.array(one, type=field.type) for field, one in zip(whole.schema, columns, strict=True)}
    )
    pq.write_table(gappy, "gappy.parquet")
    said = call("fill", "gappy.parquet", "--output", "whole.parquet", "--std", "--flag")
    assert "400 rows, 3 gaps: 3 filled" in said
    found = pq.read_table("whole.parquet")
    assert found.schema.names == [*whole.schema.names, "count_std", "heat_std", "flow_std", "filled"]
    assert [found.schema.field(name).type for name in whole.schema.names] == whole.schema.types
    for name, gap, close in (("count", 300, 250), ("heat", 200, 3.0), ("flow", 100, 2.0)):
        now, true = found.column(name).to_pylist(), whole.column(name).to_pylist()
        assert now[:gap] + now[gap + 1 :] == true[:gap] + true[gap + 1 :]
        assert abs(now[gap] - true[gap]) < close
        assert found.column("filled")[gap].as_py() == name
        assert found.column(f"{name}_std")[gap].as_py() > 0


def test_spreadsheets_zip_and_several_files(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.standard_normal(300))
    lines = [f"r{t},{level[t]:.3f},{-level[t]:.2f}" for t in range(300)]
    lines[250] = f"r250,,{-level[250]:.2f}"
    text = "\n".join(("name,a,b", *lines)) + "\n"
    Path("one.csv").write_text(text)
    with zipfile.ZipFile("two.csv.zip", "w") as archive:
        archive.writestr("data/two.csv", text)
    book = openpyxl.Workbook()
    book.active.append(["name", "a", "b"])
    for line in lines:
        name, a, b = line.split(",")
        book.active.append([name, float(a) if a else None, float(b)])
    book.active["B3"].number_format = "0.0"
    book.save("three.xlsx")
    call("fill", "one.csv", "--output", "whole.csv")
    whole = Path("whole.csv").read_text().splitlines()
    assert [one for one in whole if one not in text.splitlines()] == [whole[251]]
    call("fill", "two.csv.zip", "--output", "unpacked.csv")
    assert Path("unpacked.csv").read_bytes() == Path("whole.csv").read_bytes()
    call("fill", "three.xlsx", "--output", "whole.xlsx", "--flag")
    sheet = openpyxl.load_workbook("whole.xlsx").active
    assert sheet["B252"].value == pytest.approx(float(whole[251].split(",")[1]), abs=1e-3)
    assert (sheet["D1"].value, sheet["D252"].value) == ("filled", "a")
    assert (sheet["B3"].value, sheet["B3"].number_format) == (float(lines[1].split(",")[1]), "0.0")
    said = call("fill", "one.csv", "two.csv.zip", "--output", "filled")
    assert said.count("300 rows, 1 gaps: 1 filled") == 2
    assert Path("filled/one.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert Path("filled/two.csv").read_text() != Path("whole.csv").read_text()  # more is known by then
    call("fill", "filled", "--output", "again")
    assert Path("again/one.csv").read_bytes() == Path("whole.csv").read_bytes()  # nothing was left to fill
    call("fill", "one.c*", "--output", "matching")
    assert Path("matching/one.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert "same name" in call("fill", "one.csv", "filled/one.csv", "--output", "other", code=2)
    assert "one by one" in call("fill", "one.csv", "two.csv.zip", "--output", "other", "--ahead", code=2)


def test_json_lines_stay_as_they_are_written_but_for_gaps(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    level = np.cumsum(np.random.default_rng(0).standard_normal(200))
    lines = [
        f'{{"t": {t}, "a": {v:.2f}0, "who": "\\u00e9", "b": {-v:.3f}, "n": {{"k": [1]}}}}'
        for t, v in enumerate(level)
    ]
    lines[150] = lines[150].replace(f'"a": {level[150]:.2f}0', '"a": null')
    lines[160] = lines[160].replace(f'"a": {level[160]:.2f}0, ', "")
    Path("a.jsonl").write_text("\n".join(lines) + "\n")
    call("fill", "a.jsonl", "--output", "b.jsonl", "--columns", "a,b", "--std")
    written = Path("b.jsonl").read_text().splitlines()
    call("fill", "a.jsonl", "--output", "c.jsonl", "--columns", "a,b")
    plain = Path("c.jsonl").read_text().splitlines()
    assert [t for t in range(200) if plain[t] != lines[t]] == [150, 160]
    for t in (150, 160):
        row = json.loads(plain[t])
        assert list(row) == ["t", "a", "who", "b", "n"]
        assert '"who": "\\u00e9"' in plain[t]
        assert row["a"] == pytest.approx(level[t], abs=2)
        assert list(json.loads(written[t])["std"]) == ["a"]


def test_json_names_that_the_first_line_lacks_are_filled_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    level = np.cumsum(np.random.default_rng(0).standard_normal(200))
    rows = [{"a": round(v, 3), "b": round(-v, 3)} for v in level]
    del rows[0]["b"], rows[150]["b"]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "2 gaps: 1 filled, 1 left" in call("fill", "a.jsonl", "--output", "b.jsonl")
    found = [json.loads(line) for line in Path("b.jsonl").read_text().splitlines()]
    assert found[0] == rows[0]
    assert found[150]["b"] == pytest.approx(-level[150], abs=2)


def test_packed_output_other_encodings_and_names_of_a_job(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    level = np.cumsum(np.random.default_rng(0).standard_normal(200))
    lines = ["Zeit,Höhe,Tiefe", *(f"r{t},{v:.2f},{-v:.2f}" for t, v in enumerate(level))]
    lines[150] = f"r149,,{-level[149]:.2f}"
    Path("a.csv").write_bytes(("\n".join(lines) + "\n").encode("latin-1"))
    asked = "--encoding", "latin-1", "--std", "--flag"
    call("fill", "a.csv", "--output", "b.csv", *asked)
    written = Path("b.csv").read_text("latin-1").splitlines()
    assert written[0] == "Zeit,Höhe,Tiefe,Höhe_std,Tiefe_std,filled"
    assert written[150].endswith(",Höhe")
    call("fill", "a.csv", "--output", "b.csv.gz", *asked)
    assert gzip.decompress(Path("b.csv.gz").read_bytes()) == Path("b.csv").read_bytes()
    call(
        "run",
        "a.csv",
        "--encoding",
        "latin-1",
        "--exclude",
        "Zeit",
        "--missing",
        "impute",
        "--save",
        "m",
        "--quiet",
    )
    assert call("forecast", "m").startswith("step,Höhe,Tiefe,Höhe_std")


def test_units_of_columns_do_not_matter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, gone = plant()
    for name, units in (("a", np.ones(4)), ("b", np.array([1, 1e6, 1, 1e-4]))):
        np.save(f"{name}.npy", np.where(gone, np.nan, X * units))
        call("fill", f"{name}.npy", "--output", f"{name}_whole.npy")
    whole = np.load("b_whole.npy") / np.array([1, 1e6, 1, 1e-4])
    np.testing.assert_allclose(whole, np.load("a_whole.npy"), rtol=1e-6)


def test_a_model_learns_a_file_once_and_files_that_are_there_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, gone = plant()
    for name, part in (("a", slice(150)), ("b", slice(150, None))):
        np.save(f"{name}.npy", np.where(gone, np.nan, X)[part])
    call("fill", "a.npy", "--output", "a_whole.npy", "--save", "m")
    first = Path("m").read_bytes()
    asked = "fill", "b.npy", "--output", "b_whole.npy", "--model", "m", "--save", "m"
    call(*asked)
    output, model = Path("b_whole.npy").read_bytes(), Path("m").read_bytes()
    assert "nothing to do" in call(*asked)
    assert "nothing to do" in call(*asked, "--overwrite")
    assert (Path("b_whole.npy").read_bytes(), Path("m").read_bytes()) == (output, model)
    Path("m").write_bytes(first)  # as if killed after the output, before the model
    call(*asked)
    assert (Path("b_whole.npy").read_bytes(), Path("m").read_bytes()) == (output, model)
    Path("b_whole.npy").unlink()
    assert "is not there" in call(*asked, code=2)
    call("fill", "a.npy", "b.npy", "--output", "folder")
    both = [Path("folder", name).read_bytes() for name in ("a.npy", "b.npy")]
    Path("folder/b.npy").unlink()
    call("fill", "a.npy", "b.npy", "--output", "folder")
    assert [Path("folder", name).read_bytes() for name in ("a.npy", "b.npy")] == both
    Path("folder/a.npy").write_bytes(b"mine")
    assert "not what this command writes" in call("fill", "a.npy", "b.npy", "--output", "folder", code=1)


def test_a_killed_command_is_given_once_more_to_the_same_bytes(european, tmp_path, monkeypatch):
    """Killed at each change of a file: a part of the output or of the model is never there."""
    monkeypatch.chdir(tmp_path)
    Path("before.csv").write_bytes(b"".join(european.read_bytes().splitlines(keepends=True)[:100]))
    call("fill", "before.csv", "--output", "first.csv", "--na", "-200", "--save", "first")
    asked = ("fill", str(european), "--output", "whole.csv", "--na", "-200", "--model", "m", "--save", "m")
    Path("m").write_bytes(Path("first").read_bytes())
    call(*asked)
    reference = Path("whole.csv").read_bytes(), Path("m").read_bytes()

    def prepare():
        Path("whole.csv").unlink(missing_ok=True)
        Path("m").write_bytes(Path("first").read_bytes())

    kills = 0
    for _ in killed_at_each_change(lambda: main(list(asked), standalone_mode=False), prepare):
        kills += 1
        assert not Path("whole.csv").exists() or Path("whole.csv").read_bytes() == reference[0]
        call(*asked)
        assert (Path("whole.csv").read_bytes(), Path("m").read_bytes()) == reference
        assert not [
            path for path in tmp_path.iterdir() if path.name.endswith(".tmp") and "whole" in path.name
        ]
    assert kills >= 4


@pytest.mark.parametrize("ahead", [(), ("--ahead",)])
def test_rows_that_are_missing_by_their_times_let_time_pass(tmp_path, monkeypatch, ahead):
    """Without a half-life, too: a walk is less sure after a pause of 60 steps."""
    monkeypatch.chdir(tmp_path)
    X = np.cumsum(np.random.default_rng(2).standard_normal((400, 3)), axis=0)
    minutes = np.arange(400) + 60 * (np.arange(400) >= 300)
    for name, times in (("even", np.arange(400)), ("uneven", minutes)):
        cells = [[f"{v:.3f}" for v in row] for row in X]
        cells[299][0] = cells[300][0] = ""
        stamps = [f"2024-01-01T{m // 60:02d}:{m % 60:02d}:00" for m in times]
        lines = ["time,a,b,c", *(",".join((one, *row)) for one, row in zip(stamps, cells, strict=True))]
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")
        call("fill", f"{name}.csv", "--output", f"{name}_whole.csv", "--time-column", "time", "--std", *ahead)
    even, uneven = (pd.read_csv(f"{name}_whole.csv")["a_std"] for name in ("even", "uneven"))
    assert uneven[300] > (1.1 if ahead else 1.5) * even[300]
    if not ahead:
        assert uneven[299] == even[299]


def test_text_of_two_bytes_a_character_stays_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, gone = plant()
    cells = [
        ["" if g else f"{v:.2f}" for v, g in zip(*row, strict=True)] for row in zip(X, gone, strict=True)
    ]
    text = "\r\n".join(("é,b,c,d", *map(",".join, cells))) + "\r\n"
    Path("a.csv").write_bytes(text.encode())
    Path("wide.csv").write_bytes(text.encode("utf-16"))
    call("fill", "a.csv", "--output", "whole.csv")
    call("fill", "wide.csv", "--output", "wide_whole.csv")
    assert Path("wide_whole.csv").read_bytes() == Path("whole.csv").read_bytes().decode().encode("utf-16")


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_names_of_new_columns_are_quoted_as_those_of_the_file(tmp_path, delimiter):
    names = ["Bahamas, The", "Gap; wide", 'the "third"', "plain"]
    X, gone = plant(60)
    with (tmp_path / "a.csv").open("w", newline="") as file:
        lines = csv.writer(file, delimiter=delimiter)
        lines.writerow(names)
        lines.writerows(
            ["" if m else f"{v:.2f}" for v, m in zip(*row, strict=True)] for row in zip(X, gone, strict=True)
        )
    call("fill", tmp_path / "a.csv", "--output", tmp_path / "b.csv", "--std", "--flag")
    header, *rows = cells_of(tmp_path / "b.csv", delimiter)
    assert header == [*names, *(f"{name}_std" for name in names), "filled"]
    assert {len(row) for row in rows} == {9}
    assert {name for row in rows for name in names if name in row[-1]} == set(names)


def write_xlsx(frame, path):
    """Write a frame by openpyxl itself: pandas asks for newer versions than the package needs."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (list(frame.columns), *frame.astype(object).where(frame.notna(), None).values.tolist()):
        book.active.append(row)
    book.save(path)


def read_xlsx(path):
    openpyxl = pytest.importorskip("openpyxl")
    names, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    return pd.DataFrame(rows, columns=names, dtype=float)


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "xlsx": lambda frame, path: write_xlsx(frame, path),
}
READERS = {
    "csv": pd.read_csv,
    "jsonl": lambda path: pd.read_json(path, lines=True),
    "parquet": pd.read_parquet,
    "xlsx": lambda path: read_xlsx(path),
}


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("by", ["run", "fill"])
def test_columns_go_by_their_names_as_in_the_file_that_was_learnt(by, ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, _ = plant()
    frame = pd.DataFrame(X * [1, 10, 100, 1000], columns=list("abcd"))
    learnt, gappy = frame[:200].to_csv("learnt.csv", index=False), frame[200:].reset_index(drop=True)
    gappy = gappy.mask(np.random.default_rng(1).random(gappy.shape) < 0.1)
    gappy.iloc[0] = frame.iloc[200]
    assert learnt is None
    if by == "run":
        call("run", "learnt.csv", "--missing", "impute", "--standardize", "--save", "m")
    else:
        call("fill", "learnt.csv", "--output", "copy.csv", "--save", "m")
    write, read = WRITERS[ending], READERS[ending]
    others = {"same": gappy, "shuffled": gappy[list("cdab")], "more": gappy.assign(new=1.5)[["new", *"badc"]]}
    found = {}
    for name, other in others.items():
        write(other, f"{name}.{ending}")
        said = call("fill", f"{name}.{ending}", "--model", "m", "--output", f"{name}-whole.{ending}")
        assert ("not read, column that the model does not know: new" in said) == (name == "more")
        found[name] = read(f"{name}-whole.{ending}")
        assert list(found[name].columns) == list(other.columns)
        np.testing.assert_allclose(found[name][list("abcd")], found["same"][list("abcd")], rtol=1e-12)
    assert not found["same"].isna().any(axis=None)
    write(gappy.drop(columns="b"), f"fewer.{ending}")
    said = call("fill", f"fewer.{ending}", "--model", "m", "--output", f"fewer-whole.{ending}", code=1)
    assert "there is no column 'b'; there are a, c, d" in said
    assert not Path(f"fewer-whole.{ending}").exists()
    if ending == "csv":  # the second of two files, too
        call("fill", "learnt.csv", "shuffled.csv", "--output", "both")
        pd.testing.assert_frame_equal(read("both/shuffled.csv"), found["shuffled"], rtol=0.2)
