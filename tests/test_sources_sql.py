"""Tables and queries of databases: each row exactly once, by the column that orders them."""

import json
import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import eigenstream
from eigenstream import sources
from eigenstream.io.sources import SourceError, databases, sql
from tests import jobs
from tests.jobs import call
from tests.source_files import DATA, read, rows_of

PLANT = "sqlite:///plant.db?table=readings&order=id"
START = datetime(2024, 1, 1, tzinfo=UTC)


class Plant:
    """A table that grows."""

    def __init__(self):
        self.connection, self.count = sqlite3.connect("plant.db"), 0
        self.run("CREATE TABLE readings (id INTEGER PRIMARY KEY, time TEXT, unit TEXT, a REAL, b REAL, c, d)")

    def run(self, statement, *values):
        with self.connection as connection:
            connection.execute(statement, values)

    def add(self, X):
        times = [(START + timedelta(seconds=self.count + i)).isoformat(" ") for i in range(len(X))]
        rows = [(self.count + i, times[i], "u", *row) for i, row in enumerate(X.tolist())]
        with self.connection as connection:
            connection.executemany("INSERT INTO readings VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self.count += len(X)


@pytest.fixture
def plant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plant = Plant()
    plant.add(DATA)
    yield plant
    plant.connection.close()


def test_rows_come_in_order_and_go_on_from_every_position(plant, monkeypatch):
    monkeypatch.setattr(sql, "PAGE", 7)
    options = {"time_column": "time", "keep": "unit", "batch_rows": 6}
    batches, positions = read(PLANT, **options)
    np.testing.assert_array_equal(np.vstack([batch.rows for batch in batches]), DATA)
    assert batches[0].texts[0].tolist() == ["2024-01-01 00:00:00+00:00", "u"]
    for i, position in enumerate(positions):
        rest, _ = read(PLANT, position=position, **options)
        assert [batch.rows.tolist() for batch in rest] == [batch.rows.tolist() for batch in batches[i + 1 :]]


def test_a_query_is_read_as_a_table(plant):
    query = "SELECT id, a + b AS s, unit || ':1' AS u FROM readings WHERE id %25 2 = 0 AND a <> 0;"
    with sources.open(f"sqlite:///plant.db?query={query}&order=id", key="u") as source:
        assert source.names == ["s"]
        (batch,) = source
    np.testing.assert_array_equal(batch.rows[:, 0], (DATA[:, 0] + DATA[:, 1])[::2])
    assert set(batch.keys) == {"u:1"}
    chosen = rows_of(PLANT, columns="id,d", rows=(10, 12))
    np.testing.assert_array_equal(chosen, np.column_stack(([10, 11], DATA[10:12, 3])))
    assert rows_of(PLANT.replace("=id", "=time,id"), exclude="text").shape == DATA.shape


def test_tomorrow_goes_on_exactly_once(plant):
    """Whatever is killed: run, transform and watch, day after day."""
    given = ("--exclude", "text", "--save", "m", "--output", "s.csv", "--quiet")
    call("run", PLANT, *given)
    assert "nothing new" in call("run", PLANT, *given[:-1], "--resume")
    plant.add(DATA + 1)
    call("run", PLANT, *given, "--resume")
    assert eigenstream.load("m").n_samples_seen_ == 100
    refused = call("run", PLANT, "--exclude", "text", "--model", "m", "--save", "m", code=1)
    assert "was learnt before: it would be counted twice" in refused
    call("run", PLANT, "--exclude", "text", "--save", "whole", "--output", "whole.csv", "--quiet")
    assert Path("s.csv").read_bytes() == Path("whole.csv").read_bytes()
    call("transform", "m", PLANT, "--exclude", "text", "--output", "t.csv")
    assert len(Path("t.csv").read_text().splitlines()) == 101
    assert json.loads(call("inspect", "m", "--json"))["sources"] == ["table 'readings' of plant.db"]
    call("watch", PLANT, "--time-column", "time", "--exclude", "text", "--save", "w", "--quiet")
    assert "sqlite:///plant.db?table=readings&order=id: name that source again" in call(
        "run", "--save", "m", "--resume", code=1
    )


@pytest.mark.parametrize("after", [1, 3])
def test_a_killed_job_ends_as_if_nothing_had_happened(plant, after, monkeypatch):
    plant.add(np.random.default_rng(1).standard_normal((450, 4)))
    address = PLANT.replace("table=readings", "query=SELECT id, a, b, c, d FROM readings")
    jobs.crash(address, save="m", output="s.csv", after=after, every_rows=100)
    jobs.run(address, save="m", output="s.csv", resume=True)
    jobs.run(address, save="n", output="t.csv")
    assert Path("s.csv").read_bytes() == Path("t.csv").read_bytes()
    one, other = eigenstream.load("m"), eigenstream.load("n")
    np.testing.assert_array_equal(one.components_, other.components_)
    assert one.position_["source"] == other.position_["source"]


def test_a_table_is_followed(plant, monkeypatch):
    monkeypatch.setattr(sql, "POLL", 0.01)
    found = []
    with sources.open(PLANT, exclude="text", follow=True, idle=0.3) as source:
        for batch in source:
            found.append(batch.rows)
            if len(found) == 1:
                plant.add(DATA[:5])
    np.testing.assert_array_equal(np.vstack(found), np.vstack((DATA, DATA[:5])))


def test_changes_to_what_was_read_are_noticed(plant):
    options = {"exclude": "text", "batch_rows": 20}
    _, positions = read(PLANT, rows=(0, 20), **options)
    plant.run("INSERT INTO readings SELECT -1, time, unit, a, b, c, d FROM readings WHERE id = 0")
    with pytest.raises(SourceError, match=r"1 rows have come since that stand before id 19.*late=allow"):
        sources.open(PLANT, position=positions[0], **options)
    with sources.open(PLANT + "&late=allow", position=positions[0], **options) as source:
        assert next(iter(source)).rows[0].tolist() == DATA[20].tolist()
        assert "they are not read" in source.notes[0]
    plant.run("DELETE FROM readings WHERE id < 19")
    with sources.open(PLANT, position=positions[0], **options) as source:
        assert next(iter(source)).rows[0].tolist() == DATA[20].tolist()
    plant.run("UPDATE readings SET a = 7 WHERE id = 19")
    with pytest.raises(SourceError, match="the row with id 19, read last, has changed"):
        sources.open(PLANT, position=positions[0], **options)
    plant.run("DELETE FROM readings WHERE id = 19")
    with sources.open(PLANT, position=positions[0], **options) as source:
        assert next(iter(source)).rows[0].tolist() == DATA[20].tolist()
    plant.run("DELETE FROM readings")
    plant.count = 0
    plant.add(DATA[:10])
    with pytest.raises(SourceError, match="is gone, and others before it are there"):
        sources.open(PLANT, position=positions[0], **options)


REFUSED = [
    ("table=readings", "does not say which column orders the rows"),
    ("order=id", "expected either a table or a query"),
    ("table=readings&query=SELECT 1&order=id", "expected either a table or a query"),
    ("table=none&order=id", "no such table: none"),
    ("table=readings&order=none", "there is no column 'none'; there are id, time"),
    ("table=readings&order=unit", "two rows have unit u: their order cannot be known"),
    ("query=SELECT NULL AS id, 1 AS a&order=id", "1 rows have no id"),
    ("table=readings&order=id&late=some", "late must be allow or refuse"),
    ("table=readings&order=id&mode=rw", "'mode' is no option"),
    ("table=readings&order=id&order=a", "given twice"),
    ("query=SELECT * FROM readings WHERE 1 = 0&order=id", "is empty: there is nothing to learn from"),
    ("query=DELETE FROM readings&order=id", "cannot be read: near"),
    ("query=SELECT 1 AS id); DELETE FROM readings; --&order=id", "cannot be read: "),
    ("query=SELECT id, load_extension('x') AS a FROM readings&order=id", "cannot be read: "),
    ("query=SELECT id, x'00ff' AS a FROM readings&order=id", "is not a number"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_addresses_and_tables_that_make_no_sense_get_a_sentence(words, message, plant):
    with pytest.raises(SourceError, match=message) as error:
        read(f"sqlite:///plant.db?{words}", exclude=None if "x'" in words else "text")
    assert str(error.value).isprintable()
    assert plant.connection.execute("SELECT count(*) FROM readings").fetchone() == (50,)


def test_files_that_are_none(plant):
    with pytest.raises(SourceError, match=r"there is no SQLite file 'none.db'"):
        sources.open("sqlite:///none.db?table=a&order=b")
    assert not Path("none.db").exists()
    with pytest.raises(SourceError, match=r"by its address, sqlite:///PATH\?table=NAME&order=COLUMN"):
        sources.open("plant.db")
    Path("bad.db").write_bytes(Path("plant.db").read_bytes()[:3000])
    with pytest.raises(SourceError, match=r"bad.db cannot be read: "):
        sources.open(PLANT.replace("plant", "bad"))
    refused = call("run", PLANT, "--exclude", "text", "--save", "plant.db", "--overwrite", code=1)
    assert "are the same file" in refused


def test_a_file_made_to_do_harm_does_none(plant, monkeypatch):
    """Views that never end, views that attach, values that are no numbers, texts that are none."""
    monkeypatch.setattr(databases, "MOST_STEPS", 3_000_000)
    plant.run(
        "CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
        "SELECT x AS id, x AS a FROM c"
    )
    with pytest.raises(SourceError, match="it took more than 3,000,000 steps"):
        rows_of(PLANT.replace("readings", "endless"))
    plant.run("CREATE VIEW large AS SELECT id, hex(zeroblob(100000000)) AS a FROM readings")
    with pytest.raises(SourceError, match="cannot be read: string or blob too big"):
        rows_of(PLANT.replace("readings", "large"))
    plant.run("UPDATE readings SET c = 'off' WHERE id = 3")
    plant.run("UPDATE readings SET c = '\x1b[31m' WHERE id = 4")
    plant.run("UPDATE readings SET c = CAST(x'ff31' AS TEXT), unit = CAST(x'ff' AS TEXT) WHERE id = 5")
    plant.run("UPDATE readings SET c = NULL, d = '1.5' WHERE id = 6")
    plant.run("UPDATE readings SET d = 9e999 WHERE id = 7")
    told = []
    with sources.open(PLANT, key="unit", exclude="time", on_bad_row="skip", allow_nan=True) as source:
        source.on_skip = told.append
        (batch,) = source
    assert batch.numbers.tolist() == [0, 1, 2, 6, *range(8, 50)]
    assert np.isnan(batch.rows[3, 2])
    assert batch.rows[3, 3] == 1.5
    assert told[0] == "table 'readings' of plant.db, id 3, 'c': 'off' is not a number"
    assert all(map(str.isprintable, told))
    monkeypatch.setattr(sql, "LARGEST_PAGE", 100)
    assert len(rows_of(PLANT, keep="time,unit", on_bad_row="skip", allow_nan=True)) == 46


def test_forged_positions_are_refused(plant):
    _, positions = read(PLANT, exclude="text", batch_rows=20)
    for change in (
        {"last": []}, {"last": [None]}, {"last": [{"eval": "1"}]}, {"last": [{"datetime": "x"}]}, {"last": 5},
        {"row": 5, "last": None}, {"row": -1}, {"last": [{}]}, {"fingerprint": 5},
    ):  # fmt: skip
        with pytest.raises(SourceError, match=r"stored position|does not begin as it did"):
            sources.open(PLANT, exclude="text", position=positions[0] | change)


def server_binaries():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
    return None if initdb is None else Path(initdb).parent


class Postgres:
    """A PostgreSQL server on loopback, with a password."""

    def __init__(self, folder):
        self.folder, self.port = folder, None
        root = os.geteuid() == 0
        self.who = {"user": "postgres"} if root else {}
        if root:
            shutil.chown(folder, "postgres")
        for path in (folder, *folder.parents) if root else ():
            if path.owner() != "postgres" and path != Path("/tmp"):
                path.chmod(path.stat().st_mode | 0o011)
        (folder / "password").write_text("hunter2")
        (folder / "password").chmod(0o644)
        self.call("initdb", "-D", "data", "-U", "me", "-A", "scram-sha-256", "--pwfile", "password", "-N")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def call(self, name, *arguments):
        command = [server_binaries() / name, *arguments]
        with (self.folder / "log").open("a") as log:
            subprocess.run(
                command, cwd=self.folder, check=True, stdout=log, stderr=log, timeout=120, **self.who
            )

    def start(self):
        settings = [
            "listen_addresses=127.0.0.1",
            f"port={self.port}",
            "fsync=off",
            "unix_socket_directories=",
        ]
        ready, log_file = "ready to accept connections", self.folder / "log"
        before = log_file.read_text().count(ready)
        command = [server_binaries() / "postgres", "-D", "data", *(w for s in settings for w in ("-c", s))]
        with log_file.open("a") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stderr=log, stdout=log, **self.who)
        until = time.monotonic() + 60
        while log_file.read_text().count(ready) == before:  # its port is open before
            assert time.monotonic() < until, log_file.read_text()
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def have_postgres_user():
    try:
        return os.geteuid() != 0 or bool(pwd.getpwnam("postgres"))
    except KeyError:
        return False


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    pytest.importorskip("pg8000", reason="pg8000 is not installed")
    if server_binaries() is None or not have_postgres_user():
        pytest.skip("PostgreSQL is not installed")
    server = Postgres(tmp_path_factory.mktemp("postgres"))
    yield server
    server.stop()


def test_postgresql_day_after_day(postgres, tmp_path, monkeypatch):
    import sqlalchemy

    monkeypatch.chdir(tmp_path)
    place = f"postgresql+pg8000://me:hunter2@127.0.0.1:{postgres.port}/postgres"
    engine = sqlalchemy.create_engine(place, poolclass=sqlalchemy.NullPool)

    def add(X, first):
        with engine.begin() as connection:
            for i, row in enumerate(X.tolist()):
                values = {"t": START + timedelta(seconds=first + i), **dict(zip("abcd", row, strict=True))}
                connection.execute(
                    sqlalchemy.text("INSERT INTO \"r:1\" VALUES (:t, 'x', :a, :b, :c, :d)"), values
                )

    with engine.begin() as connection:
        connection.execute(
            sqlalchemy.text(
                'CREATE TABLE "r\\:1" '
                "(time TIMESTAMPTZ, unit TEXT, a REAL, b NUMERIC(30, 20), c FLOAT8, d FLOAT8)"
            )
        )
    add(DATA, 0)
    address, given = f"{place}?table=r:1&order=time", ("--time-column", "time", "--exclude", "text")
    told = call("run", address, *given, "--save", "m", "--output", "s.csv")
    np.testing.assert_allclose(rows_of(address, exclude="text,time"), DATA, rtol=1e-6)
    # Another day, and a server that is restarted in between; the password is asked of the environment.
    add(DATA, 1000)
    postgres.stop()
    postgres.start()
    plain = address.replace("me:hunter2@", "me@")
    monkeypatch.setenv("EIGENSTREAM_SQL_PASSWORD", "hunter2")
    told += call("run", plain, *given, "--save", "m", "--output", "s.csv", "--resume")
    assert eigenstream.load("m").n_samples_seen_ == 100
    told += call("run", plain, *given, "--save", "m", "--output", "s.csv", "--resume")
    assert "nothing new" in told
    query = "SELECT time::timestamptz AS t, a FROM \"r:1\" WHERE unit LIKE '%25x%25' AND a > :zero"
    monkeypatch.setattr(databases, "FIRST_PATIENCE", 0.0)
    told += call("run", f"{place}?query={query}&order=t", code=1)
    assert rows_of(f"{place}?query={query.replace(':zero', '-99')}&order=t").shape == (100, 1)
    monkeypatch.setenv("EIGENSTREAM_SQL_PASSWORD", "hunter3")
    told += call("run", plain, *given, code=1)
    told += call("run", address.replace(str(postgres.port), "1"), *given, code=1)
    told += call("inspect", "m")
    assert "EIGENSTREAM_SQL_PASSWORD" in told
    assert "hunter" not in told
    assert b"hunter" not in Path("m").read_bytes()
    assert Path("m").stat().st_mode & 0o777 == 0o600
    # Transactions that end late have rows before the last one read.
    add(DATA[:1], 500)
    assert "1 rows have come since that stand before time" in call(
        "run", address, *given, "--save", "m", "--output", "s.csv", "--resume", code=1
    )


def test_without_sqlalchemy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(SourceError, match=r"postgresql://h/db: .* pip install 'eigenstream\[sql\]'"):
        sources.open("postgresql://me:hunter2@h/db?table=t&order=id")


def test_a_driver_that_is_not_there_is_named():
    pytest.importorskip("sqlalchemy")
    if find_spec("duckdb_engine") is not None:
        pytest.skip("the driver is there")
    with pytest.raises(SourceError, match="no driver for duckdb here: pip install duckdb-engine, or write"):
        sources.open("duckdb:///plant.duckdb?table=t&order=id")
    with pytest.raises(SourceError, match=r"no driver for postgresql\+nobody here: install it"):
        sources.open("postgresql+nobody://HOST/plant?table=t&order=id")
