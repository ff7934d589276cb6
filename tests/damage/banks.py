"""Damaged and forged banks, and the check that they give an error or a bank, and touch nothing."""

import hashlib
import json
import os
import struct
import zlib

import numpy as np

from eigenstream.io import checkpoint
from eigenstream.keyed import Bank, MonitorBank, is_bank, open_bank
from eigenstream.keyed.bank_file import PAGE, SLOT, SLOT_SIZE, START
from tests.damage.command_line import command
from tests.damage.signed import VALUES, forged, with_other_array, with_other_entry
from tests.damage.ways import damaged

ROWS = np.random.default_rng(3).standard_normal((240, 4)) * [5, 3, 1, 1]
UNITS = [f"u{i % 5}" for i in range(240)]
BANKS = ["models", "monitors", "by job", "by watching job"]
FACTS = ["parameters", "width", "dtype", "position", "samples", "calls", "monitors", "features", "alarms"]
HUGE = [0, 1, START - 1, START, 2**20, 2**31, 2**32, 2**40, 2**62, 2**63 - 1]


def prepare_banks(folder):
    """Save banks of models and monitors, in Python and by jobs, each with several commits."""
    rows = zip(UNITS, ROWS.tolist(), strict=True)
    lines = ["unit,a,b,c,d", *(f"{unit},{','.join(map(repr, row))}" for unit, row in rows)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    for name, kind in (("models", Bank), ("monitors", MonitorBank)):
        with kind(folder / name, max_models=3) as bank:
            for start in (0, 80, 160):
                part = slice(start, start + 80)
                (bank.learn_many if kind is Bank else bank.judge_many)(UNITS[part], ROWS[part])
                bank.save({"row": start})
    pace = ["--batch-rows", "60", "--checkpoint-rows", "60", "--quiet"]
    for name, word in (("by job", "run"), ("by watching job", "watch")):
        command([word, folder / "rows.csv", "--key", "unit", "--save", folder / name, *pace])
        assert is_bank(folder / name)


def check_bank(number, folder):
    """A bank with damaged bytes, by a command as well: if it is read at all, it is what was saved."""
    rng, name = np.random.default_rng([4, number]), BANKS[number % len(BANKS)]
    path, good = folder / "x", (folder / name).read_bytes()
    path.write_bytes(damaged_bank(rng, good))
    by_command(number, folder, name)
    with open_bank(folder / name) as bank:
        before = held(bank)
    with open_bank(path) as bank:
        found = held(bank)
    assert found == before or len(found) == len(before)  # a slot that is no more leads to an earlier commit
    return "the same bank" if found == before else "an earlier commit"


def check_forged_bank(number, folder):
    """A bank that nobody has written, under checksums that are right: an error, or a bank that works."""
    rng, name = np.random.default_rng([5, number]), BANKS[number % len(BANKS)]
    path, good = folder / "x", (folder / name).read_bytes()
    forged = FORGERIES[rng.integers(len(FORGERIES))](rng, good)
    path.write_bytes(forged)
    if rng.random() < 0.1:
        os.truncate(path, int(rng.choice(HUGE[3:8])))
    by_command(number, folder, name)
    with open_bank(path) as bank:
        held(bank)
        learn = bank.judge_many if isinstance(bank, MonitorBank) else bank.learn_many
        learn(UNITS[:40], ROWS[:40])
        bank.save()
    return "a bank that works"


def held(bank):
    return {key: bank.model(key).to_bytes() for key in bank}


def by_command(number, folder, name):
    """One of the commands that take a bank; nothing of the folder is touched but what it is to write."""
    path = folder / "x"
    word = "watch" if "watch" in name else "run"
    words = [
        ["inspect", path],
        ["inspect", path, "--json"],
        ["inspect", path, "--key", "u3"],
        ["export", path, folder / "out.json", "--key", "u1", "--overwrite"],
        [word, folder / "rows.csv", "--key", "unit", "--save", path, "--resume", "--quiet"],
        [word, "--key", "unit", "--save", path, "--resume", "--quiet"],
    ][number // len(BANKS) % 6]
    before = files(folder)
    command(words)
    after = files(folder)
    assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == set()


def files(folder):
    mine = ("x", "out.json", ".x.job")
    return {file.name: file.stat().st_mtime_ns for file in folder.iterdir() if file.name not in mine}


def damaged_bank(rng, good):
    """Bytes changed in the head, the slots, or anywhere."""
    if rng.random() < 0.3:
        content, place = bytearray(good), (1 + int(rng.integers(2))) * PAGE + int(rng.integers(SLOT_SIZE))
        content[place] ^= 1 << int(rng.integers(8))
        return bytes(content)
    return damaged(rng, good, 2 * PAGE + SLOT_SIZE)


def last_slot(content):
    """The slot of the last commit, and its number, offset and length."""
    found = []
    for slot in (0, 1):
        read = content[(1 + slot) * PAGE :][: SLOT.size]
        number, offset, length, _ = SLOT.unpack(read)
        found.append((number, slot, offset, length))
    return max(found)


def with_slot(content, slot, number, offset, length, checksum):
    changed = bytearray(content)
    packed = struct.pack("<3Q32s", number, offset, length, checksum)
    whole = packed + hashlib.sha256(packed).digest()
    changed[(1 + slot) * PAGE : (1 + slot) * PAGE + len(whole)] = whole
    return bytes(changed)


def record_of(content):
    """The last record, with all models of the bank."""
    _, _, offset, length = last_slot(content)
    record = json.loads(content[offset : offset + length])
    models, before = {model[0]: model for model in record["models"]}, record["before"]
    while before is not None:
        earlier = json.loads(content[before[0] : before[0] + before[1]])
        models = {model[0]: model for model in earlier["models"]} | models
        before = earlier["before"]
    return record | {"models": list(models.values())}


def with_record(content, record, text=None):
    """The file with another last record, appended and led to by the older slot."""
    number, slot, _, _ = last_slot(content)
    written = text if text is not None else json.dumps(record).encode()
    forged = with_slot(
        content, 1 - slot, number + 1, len(content), len(written), hashlib.sha256(written).digest()
    )
    return forged + written


def other_slot(rng, content):
    """A slot that leads anywhere."""
    number, _, offset, length = last_slot(content)
    values, others = [number + 1, offset, length], [*HUGE, len(content), offset + 1, 2**64 - 1]
    values[rng.integers(3)] = others[rng.integers(len(others))]
    checksum = hashlib.sha256(content[offset : offset + length]).digest()
    return with_slot(content, int(rng.integers(2)), *values, checksum)


def swapped_slots(rng, content):
    return content[:PAGE] + content[2 * PAGE : 3 * PAGE] + content[PAGE : 2 * PAGE] + content[START:]


def other_text(rng, content):
    """A record that is no record."""
    deep = int(rng.integers(1, 60_000))
    texts = [
        b"", b"null", b"[]", b"{}", b"[" * deep, b'{"before":' * deep, rng.bytes(200), b"\xff" * 50,
        b'{"before":null,"facts":"{}","models":[]}', b'{"before":null,"facts":"","models":[]}',
        json.dumps({"before": None, "facts": "[" * deep, "models": []}).encode(),
        json.dumps({"before": None, "facts": '{"samples": 1' + "0" * deep + "}", "models": []}).encode(),
        bytes(50_000),
    ]  # fmt: skip
    return with_record(content, None, texts[rng.integers(len(texts))])


def other_record(rng, content):
    """One value of the record is another: of the place before, or of the index."""
    record = record_of(content)
    record["before"] = record["before"] or [START, 10, "0" * 64]
    holders = [record, record["before"], *record["models"], *record["models"]]
    holder = holders[rng.integers(len(holders))]
    at = (
        list(holder)[rng.integers(len(holder))]
        if isinstance(holder, dict)
        else int(rng.integers(len(holder)))
    )
    match rng.integers(6):
        case 0:
            del holder[at]
        case 1 if isinstance(holder, list):
            holder.insert(at, VALUES[rng.integers(len(VALUES))])
        case 2 if isinstance(holder[at], int):
            holder[at] = int(rng.choice([*HUGE, -1, -(2**63)]))
        case 3 if isinstance(holder[at], int):
            holder[at] += int(rng.choice([-1, 1, 8, 1000]))
        case _:
            holder[at] = [*VALUES, "\ud800", "a" * 70, -(2**80)][rng.integers(len(VALUES) + 3)]
    return with_record(content, record)


def cycle(rng, content):
    """Records that lead to themselves, to each other, or on for ever."""
    _, _, offset, length = last_slot(content)
    record, checksum = record_of(content), hashlib.sha256(content[offset : offset + length]).hexdigest()
    record["before"] = [int(rng.choice([offset, len(content), len(content) - 5])), length, checksum]
    if rng.random() < 0.5:
        return with_record(content, record)
    for _ in range(rng.integers(60, 70)):
        _, _, offset, length = last_slot(content)
        checksum = hashlib.sha256(content[offset : offset + length]).hexdigest()
        record |= {"before": [offset, length, checksum], "models": []}
        content = with_record(content, record)
    return content


def many_models(rng, content):
    """An index that names one state many thousand times."""
    record = record_of(content)
    one = record["models"][0]
    record["models"] += [[f"key {i}", *one[1:]] for i in range(20_000)]
    return with_record(content, record)


def other_facts(rng, content):
    record = record_of(content)
    facts = json.loads(record["facts"])
    if rng.random() < 0.5:
        facts[FACTS[rng.integers(len(FACTS))]] = VALUES[rng.integers(len(VALUES))]
    else:
        with_other_entry(rng, facts)
    record["facts"] = json.dumps(facts)
    return with_record(content, record)


def other_state(rng, content):
    """A model of the bank is another, or something else."""
    record = record_of(content)
    listed = record["models"][rng.integers(len(record["models"]))]
    arrays, document = checkpoint.unpacked(content[listed[4] : listed[4] + listed[5]], "a state")
    if rng.random() < 0.6:
        with_other_entry(rng, document)
    else:
        with_other_array(rng, arrays)
    state = forged(checkpoint.packed, arrays, document) if rng.random() < 0.9 else rng.bytes(3000)
    listed[4:] = [len(content), len(state), zlib.crc32(state)]
    return with_record(content + state, record)


def from_another(rng, content):
    """The models of the bank with facts of another kind, or the other way round."""
    record = record_of(content)
    facts = json.loads(record["facts"])
    if rng.random() < 0.5:
        facts["monitors"] = None if facts["monitors"] else {"false_alarm_rate": 0.01}
    else:
        facts["width"] = int(rng.integers(1, 9))
        facts["parameters"] |= {"lags": int(rng.integers(0, 3))}
    record["facts"] = json.dumps(facts)
    return with_record(content, record)


FORGERIES = [
    other_slot, swapped_slots, other_text, other_record, other_record, cycle, many_models, other_facts,
    other_facts, other_state, other_state, from_another,
]  # fmt: skip
