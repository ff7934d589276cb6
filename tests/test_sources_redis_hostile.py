"""Redis as hostile input: values that are not text, streams that lose entries, passwords that stay secret."""

import os
import re
import shutil
import stat

import numpy as np
import pytest

import eigenstream
from eigenstream import sources
from eigenstream.io.files import without_secret
from eigenstream.io.sources import SourceError, redis_address
from tests.jobs import call
from tests.source_files import DATA, NAMES, read, rows_of
from tests.test_sources_redis import Server

redis = pytest.importorskip("redis", reason="redis-py is not installed")
pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def stream(server):
    server.client.flushall()
    server.add("sensors", DATA)
    return server.address("sensors")


def test_bytes_that_are_no_text_make_a_bad_row_where_they_are_read(server, stream):
    """A value that is not UTF-8 stopped a job for good, with on_bad_row="skip" too, even if excluded."""
    server.client.xadd("sensors", {"a": "1", "b": b"\xff\xfe", "c": "1", "d": "1"}, "9999999999999-1")
    with pytest.raises(SourceError, match=r"entry 9999999999999-1, 'b': '\ufffd\ufffd' is not a number"):
        read(stream)
    np.testing.assert_array_equal(rows_of(stream, on_bad_row="skip"), DATA)
    assert len(rows_of(stream, exclude="b")) == 51
    with pytest.raises(SourceError, match=r"entry 9999999999999-1, 'b': '\ufffd\ufffd' is not text"):
        read(stream, key="b")
    assert len(rows_of(stream, key="b", on_bad_row="skip")) == 50
    server.client.xadd("sensors", {"a": "1", "b": "1", "c": "1", "d": "1", b"\xff": "1"}, "9999999999999-2")
    assert len(rows_of(stream, on_bad_row="skip")) == 51


def test_names_that_are_no_text_can_be_excluded(server):
    server.client.flushall()
    server.client.xadd("sensors", {b"\xff": "1", "a": "2"})
    with pytest.raises(SourceError, match="the name of field 0 is not text in UTF-8; exclude it"):
        read(server.address("sensors"))
    assert rows_of(server.address("sensors"), columns="a").tolist() == [[2.0]]


@pytest.mark.parametrize("refilled", [0, 20, 49, 50, 51, 120])
def test_a_stream_that_was_lost_and_refilled_is_noticed(refilled, server, stream):
    """After FLUSHALL, other entries were taken for the continuation of those learnt, with exit status 0."""
    _, positions = read(stream, batch_rows=25)
    server.client.flushall()
    server.add("sensors", np.ones((refilled, 4)))
    with pytest.raises(SourceError, match=r"it was emptied or filled anew|it was filled anew|is empty"):
        sources.open(stream, position=positions[-1], batch_rows=25)


def test_a_stream_that_is_lost_while_it_is_followed_is_noticed(server, stream):
    for damage in (
        lambda: server.client.flushall(),
        lambda: (server.client.flushall(), server.add("sensors", np.ones((30, 4)))),
        lambda: (server.client.flushall(), server.add("sensors", np.ones((90, 4)))),
        lambda: (server.add("sensors", DATA), server.client.xtrim("sensors", maxlen=10, approximate=False)),
        lambda: (server.add("sensors", DATA[:2]), server.client.xdel("sensors", newest(server))),
    ):
        server.client.flushall()
        server.add("sensors", DATA)
        with sources.open(stream, follow=True, idle=5.0, batch_rows=50) as source:
            batches = iter(source)
            assert next(batches).count == 50
            damage()
            with pytest.raises(SourceError, match=r"emptied|filled anew|removed before they were read"):
                list(batches)


def newest(server):
    return server.client.xinfo_stream("sensors")["last-generated-id"]


def test_what_was_read_may_be_removed(server, stream):
    """Trimming and deleting what was read is what streams are for."""
    _, positions = read(stream, batch_rows=25)
    server.client.xtrim("sensors", maxlen=0, approximate=False)
    server.add("sensors", DATA[:7])
    np.testing.assert_array_equal(rows_of(stream, position=positions[-1]), DATA[:7])
    server.client.flushall()
    server.add("sensors", DATA)
    _, positions = read(stream, batch_rows=25)
    server.client.xdel("sensors", positions[0]["id"])
    np.testing.assert_array_equal(rows_of(stream, position=positions[0]), DATA[25:])


def test_gaps_are_read_over_where_that_is_asked_for(server, stream):
    _, positions = read(stream, batch_rows=25)
    server.client.flushall()
    server.add("sensors", DATA[:20])
    with sources.open(stream + "&gaps=allow", position=positions[-1]) as source:
        np.testing.assert_array_equal(np.vstack([batch.rows for batch in source]), DATA[:20])
        assert "it was emptied or filled anew" in source.notes[0]
    server.client.flushall()
    server.client.xadd("sensors", dict.fromkeys(NAMES, "7"), "5-1")  # ids that begin anew
    with sources.open(stream + "&gaps=allow", position=positions[-1]) as source:
        assert np.vstack([batch.rows for batch in source]).tolist() == [[7.0] * 4]


def test_servers_before_redis_7_are_asked_for_the_last_entry(server, stream, monkeypatch):
    """They do not count entries that were added."""
    _, positions = read(stream, batch_rows=25)
    state = redis.client.Pipeline.xinfo_stream

    def old(self, name):
        state(self, name)
        self.response_callbacks = {
            **self.response_callbacks,
            "XINFO STREAM": lambda found, **_: {
                key: value
                for key, value in parsed(found, **_).items()
                if key not in ("entries-added", "max-deleted-entry-id")
            },
        }

    parsed = redis.Redis().response_callbacks["XINFO STREAM"]
    monkeypatch.setattr(redis.client.Pipeline, "xinfo_stream", old)
    np.testing.assert_array_equal(rows_of(stream, position=positions[0]), DATA[25:])
    server.client.xtrim("sensors", maxlen=10, approximate=False)
    with pytest.raises(SourceError, match="read last, is gone, and perhaps others that were not read"):
        sources.open(stream, position=positions[0])
    np.testing.assert_array_equal(rows_of(stream), DATA[40:])


@pytest.fixture
def locked(server, stream):
    server.client.config_set("requirepass", "hunter2")
    yield stream.replace("redis://", "redis://:hunter2@")
    server.client.execute_command("AUTH", "hunter2")
    server.client.config_set("requirepass", "")


def test_passwords_are_neither_stored_nor_shown(locked, server, tmp_path, monkeypatch):
    """The password of a server stood in the model file, for all to read, in `inspect`, and in messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(redis_address, "FIRST_PATIENCE", 0.0)
    told = call("run", locked, "--save", "m", "--output", "s.csv")
    told += call("inspect", "m") + call("inspect", "m", "--json")
    told += call("run", locked, "--model", "m", "--save", "m", code=1)
    told += call("run", locked, "--save", "m2", "--columns", "q", code=1)
    told += call("run", locked.replace("sensors", "none"), "--save", "m2", code=1)
    told += call("run", locked.replace("stream", "foo"), "--save", "m2", code=1)
    told += call("run", locked.replace("127.0.0.1", "127.0.0.1:1"), "--save", "m2", code=1)
    told += call("run", locked.replace(str(server.port), "hunter2"), "--save", "m2", code=1)
    told += call("run", locked.replace("redis", "kafka"), "--save", "m2", code=1)
    told += call("run", locked.replace("@", "/@"), "--save", "m2", code=1)
    server.add("sensors", DATA[:5])
    told += call("run", locked, "--save", "m", "--resume", "--output", "s.csv")
    assert "hunter" not in told
    for path in tmp_path.iterdir():
        assert b"hunter" not in path.read_bytes(), path
    assert stat.S_IMODE(os.stat("m").st_mode) == 0o600
    assert eigenstream.load("m").n_samples_seen_ == len(DATA) + 5


def test_the_password_may_come_from_the_environment(locked, server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = locked.replace(":hunter2@", "")
    told = call("run", plain, "--save", "m", code=1)
    assert "EIGENSTREAM_REDIS_PASSWORD" in told
    monkeypatch.setenv("EIGENSTREAM_REDIS_PASSWORD", "hunter2")
    call("run", plain, "--save", "m", "--quiet")
    server.add("sensors", DATA[:5])
    call("run", plain, "--save", "m", "--resume", "--quiet")
    assert eigenstream.load("m").n_samples_seen_ == len(DATA) + 5


def test_a_model_does_not_choose_which_server_is_asked(stream, server, tmp_path, monkeypatch):
    """`--resume` connected to the server that the model names, without being asked to."""
    monkeypatch.chdir(tmp_path)
    call("run", stream, "--save", "m", "--quiet")
    asked = server.client.info("stats")["total_connections_received"]
    told = call("run", "--save", "m", "--resume", code=1)
    assert re.search(r"m was learning from redis://127.0.0.1:\d+/0\?stream=sensors: name that source", told)
    assert server.client.info("stats")["total_connections_received"] == asked
    assert "nothing new" in call("run", stream, "--save", "m", "--resume")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("redis://127.0.0.1/0?stream=x&foo=bar", "'foo' is no option of an address; there are db"),
        ("redis://127.0.0.1:port/0?stream=x", "is not an address such as|not what it should be"),
        ("redis://127.0.0.1:1/0?stream=x&socket_timeout=soon", "not what it should be"),
        ("redis://[/0?stream=x", "is not an address such as"),
        ("redis://127.0.0.1/0?stream=x&gaps=some", "gaps must be allow or refuse, got 'some'"),
        ("redis://127.0.0.1/word?stream=x", "does not answer|not what it should be"),
    ],
)
def test_addresses_that_make_no_sense_get_a_sentence(address, message, monkeypatch):
    """An option that the client does not know ended in a traceback."""
    monkeypatch.setattr(redis_address, "FIRST_PATIENCE", 0.0)
    with pytest.raises(SourceError, match=message):
        sources.open(address)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("redis://:hunter2@h/0?stream=s", "redis://h/0?stream=s"),
        ("redis://me:hunter2@h/0?stream=s", "redis://h/0?stream=s"),
        ("redis://hunter2@h?stream=s", "redis://h?stream=s"),
        ("redis://h?stream=s&password=hunter2&db=1", "redis://h?stream=s&db=1"),
        ("s3://h/b?X-Amz-Signature=hunter2&AWSAccessKeyId=hunter2", "s3://h/b"),
        ("https://h/p?access_token=hunter2#hunter2", "https://h/p"),
        ("mqtt://h/t?api_key=hunter2&sig=hunter2&x=1", "mqtt://h/t?x=1"),
        ("redis://:hun@ter/2@h/0?stream=s", "redis://h/0?stream=s"),
        ("redis://:hunter?2@h/0?stream=s", None),
        ("redis://[:hunter2@?stream=s", None),
        ("REDIS://:hunter2@h", "REDIS://h"),
        ("C:/data.csv", "C:/data.csv"),
        ("-", "-"),
    ],
)
def test_addresses_without_their_secrets(address, shown):
    found = without_secret(address)
    assert "hunter" not in found
    assert shown is None or found == shown
