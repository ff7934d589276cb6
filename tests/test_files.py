"""Files: locks, atomic replacement, names that are one file, names as they are printed."""

import os
import stat
import subprocess
import sys

import pytest

from eigenstream.io import files


def test_a_replaced_file_and_its_name_are_durable(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    files.replace(tmp_path / "x", b"content")
    assert (tmp_path / "x").read_bytes() == b"content"
    assert synced == [False, True]  # the file, then its folder
    assert os.listdir(tmp_path) == ["x"]


def test_a_replacement_that_fails_leaves_the_old_content(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.replace(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def bit_by_bit(path, content):
    """Replace a file while its new content is being written."""
    with files.replacing(path) as file:
        for one in content:
            file.write(bytes([one]))
        files.remove_leftovers(path)  # what is in use is none


@pytest.mark.parametrize("replace", [files.replace, bit_by_bit])
def test_a_link_is_followed_and_permissions_stay(tmp_path, replace):
    (tmp_path / "x").write_bytes(b"old")
    (tmp_path / "x").chmod(0o600)
    (tmp_path / "link").symlink_to("x")
    replace(tmp_path / "link", b"new")
    assert sorted(os.listdir(tmp_path)) == ["link", "x"]
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "x").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600


def test_leftovers_are_removed_by_exact_name(tmp_path):
    ours = ".m.0123456789abcdef.tmp"
    others = [".m.model.0123456789abcdef.tmp", ".m.x.tmp", ".mx.0123456789abcdef.tmp", "m", ".m.lock"]
    for name in (ours, *others):
        (tmp_path / name).touch()
    files.remove_leftovers(tmp_path / "m")
    assert sorted(os.listdir(tmp_path)) == sorted(others)
    (tmp_path / ".mx.0123456789abcdef.tmp").touch()
    files.remove_leftovers(tmp_path / "m[x]")
    assert (tmp_path / ".mx.0123456789abcdef.tmp").exists()


HOLDER = """
import sys
from eigenstream.io.files import LockFile
held = LockFile(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
held.close()
"""


def test_a_lock_is_held_by_one_process_and_leaves_nothing(tmp_path):
    path = tmp_path / ".m.lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError):
            files.LockFile(path)
        other.communicate("\n", timeout=30)
    files.LockFile(path).close()
    assert os.listdir(tmp_path) == []


def test_a_lock_file_that_was_removed_meanwhile_does_not_count(tmp_path, monkeypatch):
    """Between opening and locking, its last holder removes the file: what is locked then is nobody's."""
    path, removed, lock = tmp_path / ".m.lock", [], files.lock

    def lock_too_late(handle):
        if not removed:
            path.unlink()
            removed.append(True)
        return lock(handle)

    monkeypatch.setattr(files, "lock", lock_too_late)
    held = files.LockFile(path)
    assert path.exists()
    with pytest.raises(BlockingIOError):
        files.LockFile(path)
    held.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("1,2\n")
    (tmp_path / "soft.csv").symlink_to("a.csv")
    os.link("a.csv", "hard.csv")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "part-000000.parquet").touch()
    (tmp_path / "linked").symlink_to("parts")
    os.link("parts/part-000000.parquet", "part.parquet")
    (tmp_path / "array.zarr").mkdir()
    (tmp_path / "array.zarr" / "zarr.json").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("a.csv", "a.csv"),
        ("a.csv", "./parts/../a.csv"),
        ("a.csv", "soft.csv"),
        ("soft.csv", "hard.csv"),
        ("parts", "parts/"),
        ("linked", "parts"),
        ("parts/part-000000.parquet", "linked"),
        ("parts", "parts/new.parquet"),
        ("parts", "part.parquet"),
        ("array.zarr", "array.zarr/scores.csv"),
        ("part.parquet", "parts"),
        ("missing.csv", "missing.csv"),
    ],
)
def test_names_of_one_file_are_refused(folder, source, output):
    with pytest.raises(ValueError, match="are the same file, or one lies in the other"):
        files.refuse_shared({"source": source, "output": output})
    with pytest.raises(ValueError, match="are the same file"):
        files.refuse_shared({"output": output, "model": None, "source": source})


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("a.csv", "b.csv"),
        ("parts", "scores.parquet"),
        ("parts", "parts/m.model"),
        (None, "a.csv"),
        ("-", "-"),
    ],
)
def test_names_of_different_files_are_not(folder, source, output):
    files.refuse_shared({"source": source, "model": "m", "output": output})


def test_names_are_printable():
    assert files.shown("a[red]$x$.csv") == "a[red]$x$.csv"
    assert files.shown(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\N{REPLACEMENT CHARACTER}"
    assert files.shown("a\nb\x1b[2J") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[2J"
    assert files.shown("größe 10 µm.csv") == "größe 10 µm.csv"
