"""The file of a bank: commits, readers, writers, full disks, forks and threads."""

import errno
import json
import os
import resource
import signal
import sqlite3
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream import OnlineAdaptivePCA, StreamMonitor
from eigenstream.cli import main
from eigenstream.keyed import Bank, Entry, MonitorBank, Store, is_bank, open_bank
from eigenstream.keyed.bank_file import CHAIN, PAGE, SLOT_SIZE, START, VERSION
from eigenstream.keyed.bank_writer import Writer
from tests.faults import Bytecodes
from tests.forks import forked

ROWS = np.random.default_rng(0).standard_normal((600, 4)) * [4.0, 2.0, 1.0, 1.0]
UMASK = os.umask(0o022)
os.umask(UMASK)
KEYS = [f"unit {i % 6}" for i in range(600)]


def bits(bank):
    return {key: bank.model(key).to_bytes() for key in sorted(bank.keys())}, bank.samples, bank.position_


def saved(path, rows=300, **options):
    with Bank(path, **options) as bank:
        bank.learn_many(KEYS[:rows], ROWS[:rows])
        bank.save({"row": rows})
        return bits(bank)


def opened(path):
    with Bank(path) as bank:
        return bits(bank)


def put(store, call, **states):
    store.put((Entry(key, call, 1), state, call) for key, state in states.items())


def commit(store, call):
    store.commit({"samples": call, "calls": call, "width": 4, "position": call})


def content(store):
    return {entry.key: store.state(entry.key) for entry in store.entries()}


def test_a_store_gives_back_what_was_committed(tmp_path):
    path = tmp_path / "x.bank"
    store = Store(path)
    put(store, 1, a=b"first of a", b=b"of b")
    assert content(store) == {"a": b"first of a", "b": b"of b"}
    assert not path.exists()
    commit(store, 1)
    assert is_bank(path)
    put(store, 2, a=b"second of a")
    store.close()
    store = Store(path)
    assert content(store) == {"a": b"first of a", "b": b"of b"}
    assert (store.fact("samples"), store.fact("position"), store.fact("alarms")) == (1, 1, 0)
    put(store, 2, a=b"second of a", c=b"of c")
    assert [entry.key for entry in store.entries()] == ["a", "c", "b"]
    commit(store, 2)
    with pytest.raises(TypeError, match="not JSON serializable"):
        store.commit({"position": object()})
    store.close()
    with pytest.raises(ValueError, match="is closed: open the bank again"):
        put(store, 3, a=b"third")
    assert sorted(os.listdir(tmp_path)) == ["x.bank"]


def test_many_commits_stay_readable_and_the_file_small(tmp_path):
    """More commits than records may follow each other, and far more states than are needed."""
    path, rng = tmp_path / "x.bank", np.random.default_rng(0)
    store, expected, largest = Store(path), {}, 0
    for call in range(1, 4 * CHAIN):
        some = {f"key {i}": rng.bytes(rng.integers(5_000, 15_000)) for i in rng.integers(0, 40, 3)}
        expected |= some
        put(store, call, **some)
        commit(store, call)
        largest = max(largest, path.stat().st_size)
        if call % 50 == 0:
            store.close()
            store = Store(path)
            assert content(store) == expected
    store.close()
    assert largest < 3 * sum(map(len, expected.values())) + (1 << 20) + START


def test_a_few_of_many_models_are_saved_again_and_again(tmp_path):
    """Each save writes little, and yet a bank is opened by reading no more than this many records."""
    path, store = tmp_path / "x.bank", Store(tmp_path / "x.bank")
    states = {f"key {i}": bytes([i % 256]) * 300 for i in range(1000)}
    put(store, 1, **states)
    commit(store, 1)
    chains, sizes = [], [path.stat().st_size]
    for call in range(2, 3 * CHAIN):
        states[f"key {call}"] = bytes([call % 256]) * 301
        put(store, call, **{f"key {call}": states[f"key {call}"]})
        commit(store, call)
        reader = Store(path)
        chains.append(len(reader._commit.chain))
        sizes.append(path.stat().st_size)
        assert content(reader) == states
        reader.close()
    store.close()
    assert (max(chains), min(chains)) == (CHAIN, 1)
    assert np.median(np.diff(sizes)) < 2000


def test_a_file_that_is_mostly_holes_is_refused(tmp_path):
    """It takes no room on the disk, and may claim to hold more than fits into memory."""
    path = tmp_path / "x.bank"
    before = saved(path)
    os.truncate(path, path.stat().st_size + 500_000)
    assert opened(path) == before
    os.truncate(path, 1 << 40)
    with pytest.raises(ValueError, match="is a damaged bank of models: it claims 1,099,511,627,776 bytes"):
        Bank(path)


def test_models_put_away_again_and_again_without_a_save_do_not_fill_the_disk(tmp_path):
    store, rng, expected = Store(tmp_path / "x.bank"), np.random.default_rng(0), {}
    put(store, 1, a=b"committed")
    commit(store, 1)
    for call in range(2, 400):
        some = {f"key {i}": rng.bytes(rng.integers(10_000, 30_000)) for i in rng.integers(0, 20, 5)}
        expected |= some
        put(store, call, **some)
        assert content(store) == expected | {"a": b"committed"}
        assert (tmp_path / "x.bank").stat().st_size < 4_000_000
    assert content(Store(tmp_path / "x.bank")) == {"a": b"committed"}
    commit(store, 400)
    store.close()
    assert content(Store(tmp_path / "x.bank")) == expected | {"a": b"committed"}


def test_the_same_calls_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        with Bank(tmp_path / name, max_models=2) as bank:
            for start in range(0, 600, 100):
                bank.learn_many(KEYS[start : start + 100], ROWS[start : start + 100])
                bank.save(start)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_readers_see_one_commit_at_any_time_while_the_file_is_written(tmp_path, monkeypatch):
    """A reader opens the file before, after and in the middle of each write, sync and rename of a writer."""
    path, seen, states = tmp_path / "x.bank", [], [{}]

    def looking(name):
        original = getattr(os, name)

        def call(*arguments, **options):
            if name == "pwrite" and len(arguments[1]) > 1:
                half = len(arguments[1]) // 2
                original(arguments[0], arguments[1][:half], arguments[2])
                look()
            result = original(*arguments, **options)
            look()
            return result

        return call

    def look():
        if path.exists():
            reader = Store(path)
            seen.append(reader)
            assert content(reader) in states

    store = Store(path)
    for name in ("pwrite", "fsync", "replace", "link", "ftruncate"):
        monkeypatch.setattr(os, name, looking(name))
    for call in range(1, 60):
        states = [states[-1], states[-1] | {"ab"[call % 2]: bytes([call]) * 40_000}]
        put(store, call, **{"ab"[call % 2]: bytes([call]) * 40_000})
        commit(store, call)
        assert content(Store(path)) == states[-1]
    assert len({os.fstat(reader._handle).st_ino for reader in seen}) > 1  # the file was written anew
    before = [content(reader) for reader in seen]
    store.close()
    path.unlink()
    assert [content(reader) for reader in seen] == before


def test_a_second_writer_is_told_and_nothing_is_written_over(tmp_path):
    path = tmp_path / "x.bank"
    saved(path)
    one, two = Bank(path), Bank(path)
    one.learn_many(KEYS[300:400], ROWS[300:400])
    two.learn_many(KEYS[300:350], ROWS[300:350])
    one.save("one")
    for attempt in (two.save, lambda: Bank(path, fresh=True).save()):
        with pytest.raises(RuntimeError, match=r"is writing to .*x\.bank: wait until it has ended"):
            attempt()
    with Bank(path) as reader:
        assert bits(reader) == bits(one)
    one.close()
    with pytest.raises(RuntimeError, match=r"x\.bank has been saved or replaced by another process"):
        two.save()
    two.close()
    assert opened(path)[2] == "one"


@pytest.mark.parametrize("fresh", [False, True])
def test_a_file_that_came_to_be_meanwhile_is_left_alone(tmp_path, fresh):
    path = tmp_path / "x.bank"
    late = Bank(path, fresh=fresh)
    late.learn_many(KEYS[:50], ROWS[:50])
    before = saved(path)
    with pytest.raises(RuntimeError, match="has been saved or replaced by another process"):
        late.save()
    late.close()
    assert opened(path) == before
    assert os.listdir(tmp_path) == ["x.bank"]


def test_a_file_that_was_removed_or_moved_is_written_again(tmp_path):
    path = tmp_path / "x.bank"
    with Bank(path) as bank:
        bank.learn_many(KEYS[:100], ROWS[:100])
        bank.save(1)
        path.rename(tmp_path / "moved")
        bank.learn_many(KEYS[100:200], ROWS[100:200])
        bank.save(2)
        assert opened(path) == bits(bank)
    assert opened(tmp_path / "moved")[2] == 1


def test_what_a_killed_writer_left_is_cut_off_and_its_temporary_files_go(tmp_path):
    path = tmp_path / "x.bank"
    before = saved(path)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"rubbish" * 1000)
    left, others = (
        f".x.bank.{'0' * 16}.tmp",
        [".x.bank.1.tmp", f".x.bank.more.{'0' * 16}.tmp", "x.bank-journal"],
    )
    for name in (left, *others):
        (tmp_path / name).write_bytes(b"left")
    assert opened(path) == before
    assert path.stat().st_size > size  # readers change nothing
    assert (tmp_path / left).exists()
    with Bank(path) as bank:
        bank.save()
    assert path.stat().st_size < size + 2000
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "x.bank"])


def test_a_bank_is_read_without_permission_to_write(tmp_path):
    path = tmp_path / "x.bank"
    before = saved(path)
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert opened(path) == before
        assert CliRunner().invoke(main, ["inspect", str(path)]).exit_code == 0
    finally:
        tmp_path.chmod(0o700)
    with Bank(path, fresh=True) as bank:
        bank.save()
    assert path.stat().st_mode & 0o777 == 0o400


def test_a_bank_that_names_a_server_is_for_its_owner_alone(tmp_path):
    path = tmp_path / "x.bank"
    with Bank(path) as bank:
        bank.learn_many(KEYS[:100], ROWS[:100])
        bank.save({"source": "plant.csv"})
        assert path.stat().st_mode & 0o077 == 0o666 & 0o077 & ~UMASK
        bank.save({"source": {"address": "redis://127.0.0.1/0?stream=plant"}})
        assert path.stat().st_mode & 0o777 == 0o600
        bank.save({"source": "plant.csv"})
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_forged_journal_of_sqlite_does_nothing(tmp_path):
    """A journal beside an SQLite file could name any file for deletion: nobody follows one any more."""
    path, victim = tmp_path / "x.bank", tmp_path / "data.csv"
    before = saved(path)
    victim.write_text("a,b\n1,2\n")
    name, magic = str(victim).encode(), bytes.fromhex("d9d505f920a163d7")
    head = magic + struct.pack(">5I", 0, 0, path.stat().st_size // 4096, 512, 4096)
    tail = struct.pack(">I", 262145) + name + struct.pack(">2I", len(name), sum(name)) + magic
    journal = head.ljust(512, b"\0") + tail
    for ending in ("-journal", "-wal", "-shm"):
        (tmp_path / f"x.bank{ending}").write_bytes(journal)
    listed = sorted(os.listdir(tmp_path))
    for words in (["inspect", path], ["inspect", path, "--key", "unit 1"], ["inspect", path, "--json"]):
        assert CliRunner().invoke(main, list(map(str, words))).exit_code == 0
    assert opened(path) == before
    assert sorted(os.listdir(tmp_path)) == listed
    assert victim.read_text() == "a,b\n1,2\n"
    assert (tmp_path / "x.bank-journal").read_bytes() == journal


def test_a_database_is_not_a_bank_and_its_views_are_not_run(tmp_path):
    """A view in a database could count for ever, or fill the memory, as soon as it was read."""
    path = tmp_path / "x.bank"
    database = sqlite3.connect(path)
    database.execute("PRAGMA application_id = 0x65696762")
    database.execute(
        "CREATE VIEW models AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
        "SELECT count(*) AS key FROM c"
    )
    database.close()
    assert not is_bank(path)
    with pytest.raises(ValueError, match="is not a bank of models"):
        Bank(path)
    done = CliRunner().invoke(main, ["inspect", str(path)])
    assert (done.exit_code, isinstance(done.exception, SystemExit)) == (1, True)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_only_regular_files_are_opened(tmp_path, kind):
    path = {"folder": tmp_path, "pipe": tmp_path / "pipe", "device": Path("/dev/null")}[kind]
    if kind == "pipe":
        os.mkfifo(path)
    assert not is_bank(path)
    for fresh in (False, True):
        with pytest.raises(ValueError, match="not a regular file: name a file"):
            Bank(path, fresh=fresh)
    late = Bank(tmp_path / "late")
    late.learn_many(KEYS[:50], ROWS[:50])
    os.mkfifo(tmp_path / "late")
    with pytest.raises(ValueError, match="is a named pipe, not a regular file"):
        late.save()
    late.close()


def test_another_format_version_is_named(tmp_path):
    path = tmp_path / "x.bank"
    saved(path)
    content = bytearray(path.read_bytes())
    content[18:22] = (VERSION + 1).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"has format version 2, this eigenstream reads version 1: use the"):
        Bank(path)


def test_a_torn_slot_leads_to_the_commit_before(tmp_path):
    path = tmp_path / "x.bank"
    with Bank(path) as bank:
        for start in (0, 100):
            bank.learn_many(KEYS[start : start + 100], ROWS[start : start + 100])
            bank.save(start)
    content = bytearray(path.read_bytes())
    newest = max((0, 1), key=lambda slot: content[(1 + slot) * PAGE])
    for cut in range(SLOT_SIZE):
        torn = content.copy()
        torn[(1 + newest) * PAGE + cut] ^= 255
        path.write_bytes(torn)
        assert opened(path)[2] == 0
    content[PAGE : 3 * PAGE] = bytes(2 * PAGE)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is a damaged bank of models: it has no commit"):
        Bank(path)


def test_every_changed_byte_is_found_or_changes_nothing(tmp_path):
    path = tmp_path / "x.bank"
    before = saved(path, 40)
    content = path.read_bytes()
    for at in np.random.default_rng(0).integers(0, len(content), 100):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        try:
            found = opened(path)
        except ValueError as error:
            found = before if "x.bank" in str(error) else error
        assert found == before


@pytest.mark.parametrize("most", [None, 2])
def test_a_full_disk_is_an_error_that_names_the_file_and_the_next_save_works(tmp_path, most):
    """A call that cannot put models away learns nothing; the file keeps its last commit until then."""
    path, limit = tmp_path / "x.bank", resource.getrlimit(resource.RLIMIT_FSIZE)
    before = saved(path)
    with Bank(path, max_models=most) as bank:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1000, limit[1]))
        try:
            with pytest.raises(OSError, match=r"File too large: .*x\.bank") as failure:
                bank.save(bank.learn_many(KEYS[300:], ROWS[300:]) is None)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert failure.value.errno == errno.EFBIG
        assert opened(path) == before
        if bank.samples == 300:
            assert bits(bank) == before
            bank.learn_many(KEYS[300:], ROWS[300:])
        bank.save("after")
        assert opened(path) == bits(bank)
    with Bank() as whole:
        whole.learn_many(KEYS[:300], ROWS[:300])
        whole.learn_many(KEYS[300:], ROWS[300:])
        assert bits(whole)[0] == opened(path)[0]


CALLS = ("pwrite", "fsync", "replace", "link", "unlink", "ftruncate", "open")


class FailingDisk:
    """Lets one call of the system fail, or it and all after it, until the disk is mended."""

    def __init__(self, patch, at, lasting):
        self.calls, self.at, self.lasting, self.mended = 0, at, lasting, False
        for name in CALLS:
            patch.setattr(os, name, self.watched(getattr(os, name)))

    def watched(self, original):
        def call(*arguments, **options):
            self.calls += 1
            if not self.mended and (self.calls == self.at or (self.lasting and self.calls > self.at)):
                raise OSError(errno.EIO, "Input/output error")
            return original(*arguments, **options)

        return call

    def retried(self, path, call):
        """Make a call, once more if it fails; returns whether it failed."""
        try:
            call()
        except OSError as error:
            if str(path) not in str(error):
                raise AssertionError("the error does not name the file") from error
            self.mended = True
            call()
            return True
        return False


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("first", [True, False])
def test_an_error_of_the_disk_at_any_call_loses_nothing(tmp_path, monkeypatch, first, lasting):
    """The first save of a bank, or later ones: after the error the same call works, with nothing missing."""
    at, calls, failures = 0, 1, 0
    while at < calls:
        at, path = at + 1, tmp_path / f"{at}.bank"
        if not first:
            saved(path, max_models=2)
        with Bank(path, max_models=2) as bank, monkeypatch.context() as patch:
            disk = FailingDisk(patch, at, lasting)
            for start in (300, 500):
                part = slice(start, start + 100)
                failures += disk.retried(path, lambda part=part: bank.learn_many(KEYS[part], ROWS[part]))
                failures += disk.retried(path, lambda start=start: bank.save(start))
            calls, disk.mended = disk.calls, True
            assert opened(path) == bits(bank)
            assert (bank.samples, bank.position_) == (200 if first else 500, 500)
        with Bank(path) as bank:
            bank.save()  # removes what the disk would not let go of
    assert failures > 10
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_after_an_interruption_at_any_bytecode_of_a_save_the_next_one_is_whole(tmp_path):
    def begun(name):
        bank = Bank(tmp_path / name, max_models=2)
        bank.learn_many(KEYS[:300], ROWS[:300])
        bank.save("before")
        bank.learn_many(KEYS[300:], ROWS[300:])
        return bank

    faults = Bytecodes()
    with begun("whole") as bank, faults.at():
        bank.save("after")
    for point in np.random.default_rng(0).integers(1, faults.seen, 25):
        with begun(f"{point}") as bank:
            expected = bits(bank)
            with pytest.raises(faults.error), faults.at(int(point)):
                bank.save("after")
            assert bits(bank)[:2] == expected[:2]
            assert opened(bank.store.path)[2] in ("before", "after")
            bank.save("later")
            assert opened(bank.store.path) == bits(bank) == (*expected[:2], "later")


def test_a_job_on_a_full_disk_ends_with_a_sentence_and_is_resumed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{key},{','.join(map(repr, row))}" for key, row in zip(KEYS, ROWS.tolist(), strict=True)]
    Path("x.csv").write_text("\n".join(["unit,a,b,c,d", *lines]) + "\n")
    words = ["run", "x.csv", "--key", "unit", "--quiet", "--batch-rows", "60", "--checkpoint-rows", "120"]
    words += ["--max-models", "3"]
    assert CliRunner().invoke(main, [*words, "--save", "whole"]).exit_code == 0
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (20_000, 60_000, 90_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limit[1]))
        try:
            done = CliRunner().invoke(main, [*words, "--save", "x.bank", "--resume"])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert done.exit_code == 1
        assert isinstance(done.exception, SystemExit)
        assert "x.bank cannot be written: File too large" in done.output
    assert CliRunner().invoke(main, [*words, "--save", "x.bank", "--resume"]).exit_code == 0
    assert opened("x.bank")[:2] == opened("whole")[:2]


def in_child(work):
    """What a forked process answers; it has 20 seconds."""
    reading, writing = os.pipe()
    child = forked()
    if not child:
        try:
            signal.alarm(20)
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(said)


def attempt(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "done"


@pytest.mark.parametrize("kind", [OnlineAdaptivePCA, StreamMonitor])
def test_after_a_fork_models_and_monitors_learn_on_in_both(tmp_path, kind):
    model = kind().fit(ROWS[:300])

    def work(name):
        model.partial_fit(ROWS[300:])
        model.save(tmp_path / name)

    assert in_child(lambda: attempt(lambda: work("child"))) == "done"
    work("parent")
    assert (tmp_path / "child").read_bytes() == (tmp_path / "parent").read_bytes()


@pytest.mark.parametrize("kind", [Bank, MonitorBank])
@pytest.mark.parametrize("path", [None, "x.bank"])
def test_after_a_fork_both_go_on_and_only_the_first_writes(tmp_path, kind, path):
    """The threads of a bank do not survive a fork: a child that waited for them would hang."""
    file = None if path is None else tmp_path / path
    options = {"workers": 2} if kind is Bank else {}
    bank = kind(file, max_models=None if path else 2, **options)
    learn = bank.learn_many if kind is Bank else bank.judge_many
    learn(KEYS[:300], ROWS[:300])
    bank.save("before")

    def work():
        said = attempt(lambda: learn(KEYS[300:], ROWS[300:]))
        held = {key: bank.model(key).to_bytes().hex() for key in sorted(bank)}
        return said, held, attempt(bank.save), attempt(bank.close)

    learnt, held, save, close = in_child(work)
    assert (learnt, close) == ("done", "done")
    assert save == "done" if path is None else "RuntimeError" in save and "x.bank is written by" in save
    assert bank.samples == 300
    learn(KEYS[300:], ROWS[300:])
    bank.save("after")
    assert {key: bank.model(key).to_bytes().hex() for key in sorted(bank)} == held or path is None
    if path is not None:
        assert {key: one.hex() for key, one in bits(open_bank(file))[0].items()} == {
            key: bank.model(key).to_bytes().hex() for key in sorted(bank)
        }
        assert os.listdir(tmp_path) == ["x.bank"]
    bank.close()


@pytest.mark.parametrize("kind", [Bank, MonitorBank])
def test_threads_are_refused_and_no_row_is_lost(kind):
    """Of calls from several threads at once, each is counted and learnt or refused, as of a single model."""
    bank = kind(max_models=2)
    learn = bank.learn_many if kind is Bank else bank.judge_many
    inside, go_on, said = threading.Event(), threading.Event(), []

    def wait(*event):
        inside.set()
        go_on.wait(20)

    bank.on_rank_change = wait
    first = threading.Thread(target=lambda: said.append(attempt(lambda: learn(KEYS, ROWS))))
    first.start()
    assert inside.wait(20)
    for _ in range(3):
        assert "another thread is learning with this model" in attempt(lambda: learn(KEYS, ROWS))
        assert "another thread is learning with this model" in attempt(bank.save)
        assert "another thread is learning with this model" in attempt(lambda: bank.model("unit 1"))
    go_on.set()
    first.join()
    bank.on_rank_change = None
    bank.save()
    counts = [bank.model(key).n_samples_seen_ for key in bank]
    assert said == ["done"]
    assert (bank.samples, counts) == (600, [100] * 6)


def test_of_four_threads_every_call_counts_or_is_refused():
    bank, taken, said = Bank(max_models=2, workers=2), [], []

    def work():
        for start in range(0, 600, 60):
            part = slice(start, start + 60)
            answer = attempt(lambda part=part: bank.learn_many(KEYS[part], ROWS[part]))
            (taken if answer == "done" else said).append(answer)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bank.samples == 60 * len(taken) == sum(bank.model(key).n_samples_seen_ for key in bank)
    assert all("another thread is learning" in answer for answer in said)
    assert len(taken) + len(said) == 40
    bank.close()


def test_a_store_in_memory_forgets_states_that_nobody_needs():
    store = Store(":memory:")
    for call in range(1, 200):
        put(store, call, a=bytes(call), b=bytes(2 * call))
        assert content(store) == {"a": bytes(call), "b": bytes(2 * call)}
        assert len(store._memory) <= 6
    commit(store, 200)
    assert store.fact("samples") == 200


def test_a_writer_leaves_no_lock_and_no_file_behind(tmp_path):
    path = tmp_path / "x.bank"
    store = Store(path)
    put(store, 1, a=b"state")
    assert isinstance(store._writer, Writer)
    assert len(os.listdir(tmp_path)) == 1
    del store
    assert os.listdir(tmp_path) == []
    before = saved(path)
    saved(path, fresh=True)
    assert opened(path) == before
