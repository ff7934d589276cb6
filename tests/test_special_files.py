"""Devices, named pipes, sockets and folders in the place of files: refused with a sentence, left alone."""

import os
import re
import socket
import stat

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import OnlineAdaptivePCA, load, sources
from eigenstream.cli import main
from eigenstream.io import checkpoint, files
from eigenstream.io.sinks import Layout, SinkError, check_output, open_sink
from eigenstream.io.sources import SourceError
from tests.jobs import call

X = np.random.default_rng(0).standard_normal((200, 3))


def device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


def bound(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


KINDS = {"device": device, "named pipe": os.mkfifo, "socket": bound, "folder": os.mkdir}


@pytest.fixture(params=KINDS)
def special(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    KINDS[request.param](tmp_path / "special.csv")
    before = os.lstat("special.csv")
    yield "special.csv", request.param
    after = os.lstat("special.csv")
    assert (before.st_mode, before.st_ino) == (after.st_mode, after.st_ino)


def test_they_are_no_models(special):
    """A named pipe was waited for, for ever; a device was replaced by a file."""
    path, kind = special
    for refused in (
        lambda: files.replace(path, b"x"),
        lambda: files.require_regular(path),
        lambda: checkpoint.read(path),
        lambda: load(path),
        lambda: OnlineAdaptivePCA().fit(X).save(path),
    ):
        with pytest.raises(ValueError, match=f"special.csv is a {kind}, not a regular file"):
            refused()
    with pytest.raises((ValueError, OSError)):
        files.content(path)


def test_they_are_no_outputs(special):
    path, kind = special
    with pytest.raises(SinkError, match=f"output special.csv is a {kind}, not a regular file"):
        check_output(path)
    with pytest.raises(ValueError, match="not a regular file"):
        open_sink(path, Layout(3, np.float64))


def test_commands_refuse_them(special):
    path, kind = special
    np.savetxt("x.txt", X)
    call("run", "x.txt", "--save", "m", "--quiet")
    call("run", "x.txt", "--save", "m2", "--quiet")
    for command in (
        ["run", "x.txt", "--save", path, "--overwrite"],
        ["run", "x.txt", "--output", path, "--overwrite"],
        ["merge", "m", "m2", "--save", path],
        ["merge", "m", "m2", "--save", path, "--overwrite"],
        ["export", "m", path],
        ["export", "m", path, "--overwrite"],
        ["transform", "m", "x.txt", "--output", path, "--overwrite"],
        ["inspect", path],
        ["run", "x.txt", "--model", path],
        ["watch", "x.txt", "--save", path, "--resume"],
    ):
        result = CliRunner().invoke(main, command)
        assert result.exit_code in (1, 2), result.output
        assert isinstance(result.exception, SystemExit)
        assert re.search(
            rf"special.csv' is a directory|special.csv is a {kind}|special.csv exists", result.output
        )


def test_a_named_pipe_is_read_where_it_is_asked_for_and_not_waited_for_otherwise(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match=r"is not a regular file; pass pipes through standard input \(-\)"):
        sources.open(tmp_path / "pipe")


def test_permissions_only_get_stricter(tmp_path):
    path = tmp_path / "m"
    files.replace(path, b"x", private=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for before, private, after in ((0o644, True, 0o600), (0o400, True, 0o400), (0o640, False, 0o640)):
        path.chmod(before)
        files.replace(path, b"x", private=private)
        assert stat.S_IMODE(path.stat().st_mode) == after


def test_a_model_that_names_a_server_is_for_its_owner(tmp_path):
    for document, mode in (({"a": [{"b": "redis://h?stream=s"}]}, 0o600), ({"a": ["x", 1, None]}, 0o644)):
        path = tmp_path / oct(mode)
        os.umask(before := os.umask(0o022))
        assert before == 0o022 or mode == 0o600
        checkpoint.write(path, {}, document)
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_escape_codes_of_a_header_are_never_printed(tmp_path, monkeypatch):
    """A column called ESC[31m coloured the terminal of whoever asked for another."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("\x1b[31ma,b\x07,\x9b2J\n1,2,3\n2,x\x1b[0m,4\n3,4,5\n")
    (tmp_path / "x.jsonl").write_text('{"\\u001b[31ma": 1, "b": "\\u001b]0;x\\u0007"}\n')
    told = call("run", "x.csv", "--columns", "q", code=1)
    assert "there is no column 'q'; there are \ufffd[31ma, b\ufffd, \ufffd2J" in told
    told += call("run", "x.csv", code=1) + call("run", "x.csv", "--on-bad-row", "skip", "--save", "m", code=4)
    told += call("run", "x.jsonl", code=1) + call("inspect", "m") + call("run", "x.csv", "--key", "z", code=1)
    assert [letter for letter in told if not letter.isprintable() and letter != "\n"] == []
