"""Cut the power of a job after each call that changes a file, and go on from every disk that may be left.

A program of its own, as `kill_at_calls`, with the same argument; ``images`` says how many random disks
there are for each cut, beside four that are not random; with ``forgetful``, nothing is sure to be on a disk.
Works in the current folder. Prints how many disks there were, from which the job was refused, and what went
wrong.

Only what has been synced is sure to be on a disk: the content of a file as of its last fsync, and the names
in a folder as of the folder's. Of everything later, any part may be there: the content of a file as of any
call since, whole, torn or with zeros where bytes should be; a new name without the old one gone, or the other
way round.
"""

import json
import os
import pickle
import random
import shutil
import sys
from pathlib import Path

from kill_at_calls import CALLS, again, calm, carry_out, content, load_everything, prepared

POOL, LOG = Path("../pool"), Path("../log")
"""Every file that the job has made, by its inode number, so that it can be put back as the same file."""
KEPT, LOST = 1.0, 0.0


class Recorder:
    """Notes the files of the current folder, and what is known to be on the disk, after each call."""

    def __init__(self):
        self.calls, self.log = [], []
        self.original = {name: getattr(os, name) for name in CALLS}
        self.note("begin", [str(path) for path in (Path(), *Path().rglob("*"))])
        for name in CALLS:
            setattr(os, name, self.watched(name, self.original[name]))

    def watched(self, name, original):
        def call(*arguments, **options):
            result = original(*arguments, **options)
            if name != "open" or arguments[1] & os.O_CREAT:
                synced = path_of(arguments[0]) if name == "fsync" else None
                self.calls.append(name)
                self.note(name, [synced] if synced else [])
            return result

        return call

    def note(self, name, synced):
        """The state after a call: names by folder, content by inode number, and which paths were synced."""
        names, contents = {".": {}}, {}
        for path in sorted(Path().rglob("*")):
            inode = path.stat().st_ino
            names[str(path.parent)][path.name] = inode
            if path.is_dir():
                names[str(path)] = {}
            else:
                contents[inode] = path.read_bytes()
            if not (POOL / str(inode)).exists() and path.is_file():
                os.link(path, POOL / str(inode))
        self.log.append((name, synced, names, contents))
        with LOG.open("wb") as file:
            pickle.dump(self.log, file)


def path_of(handle):
    """A name in the current folder of an open file or folder; the one it was opened by may be gone."""
    number = os.fstat(handle).st_ino
    return next((str(path) for path in (Path(), *Path().rglob("*")) if path.stat().st_ino == number), None)


class Disk:
    """What is sure to be on the disk, and what may be, after some of the calls of a log."""

    def __init__(self, log):
        self.names, self.contents = {}, {}
        """All states of a folder or file since it was synced, the first of which is sure."""
        for _, synced, names, contents in log:
            numbers = {names[str(Path(path).parent)].get(Path(path).name) for path in synced}
            for folder, found in names.items():
                states = self.names.setdefault(folder, [{}])
                self.names[folder] = [found] if folder in synced else [*states, found]
            for inode, found in contents.items():
                states = self.contents.setdefault(inode, [b""])
                self.contents[inode] = [found] if inode in numbers else [*states, found]

    def image(self, rng, named, written):
        """Names by folder and contents by inode number; each change survives with these probabilities."""
        names = {}
        for folder, states in self.names.items():
            sure, last = states[0], states[-1]
            both = {name: (sure.get(name), last.get(name)) for name in sure.keys() | last.keys()}
            chosen = {name: new if rng.random() < named else old for name, (old, new) in both.items()}
            names[folder] = {name: inode for name, inode in chosen.items() if inode is not None}
        contents = {inode: self._content(rng, states, written) for inode, states in self.contents.items()}
        return names, contents

    def _content(self, rng, states, written):
        if rng.random() < written:
            return states[-1] if written == KEPT else torn(rng, states[0], rng.choice(states))
        return states[0]


def torn(rng, old, new):
    """The new content up to some byte, then the old; or zeros where the file has grown and nothing came."""
    if len(new) < len(old):
        return rng.choice([old, new])
    same = next((i for i in range(len(old)) if old[i] != new[i]), len(old))
    cut = rng.randrange(same, len(new) + 1)
    begun = new[:cut] + old[cut:]
    return rng.choice([begun, begun + bytes(len(new) - len(begun))])


def lay_out(names, contents):
    """Make the folder ``tried`` look so, with the same files; folders keep their number, too."""
    Path("kept").mkdir(exist_ok=True)
    for path in Path("tried").iterdir():
        if not path.is_dir():
            path.unlink()
        elif (Path("kept") / path.name).exists():  # a later one of the same name
            shutil.rmtree(path)
        else:
            path.rename(Path("kept") / path.name)
    for name, inode in names["."].items():
        if name not in names:
            put(Path("tried") / name, inode, contents)
            continue
        folder = (Path("kept") / name).rename(Path("tried") / name)
        for path in folder.iterdir():
            path.unlink()
        for inner, number in names[name].items():
            put(folder / inner, number, contents)


def put(path, inode, contents):
    file = Path("pool") / str(inode)
    file.write_bytes(contents[inode])
    os.link(file, path)


def gone_on(job, expected):
    """Resume, or begin anew where that is refused; returns whether it was, and a complaint, if any."""
    os.chdir("tried")
    try:
        code, _ = carry_out(again(job["command"]))
        refused = code in (1, 2)
        if refused and not job.get("base"):
            code, _ = carry_out([*(word for word in job["command"] if word != "--overwrite"), "--overwrite"])
        found = content(".")
    finally:
        os.chdir("..")
    if code != 0:
        return refused, None if refused and job.get("base") else f"ends with {code}"
    wrong = {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)}
    return refused, f"differs in {sorted(wrong)}" if wrong else None


def run(job):
    rng, expected = random.Random(job["seed"]), calm(job)
    os.mkdir("pool")
    prepared()
    code, calls = carry_out(job["command"], Recorder)
    os.chdir("..")
    assert code == 0
    log = pickle.loads(Path("log").read_bytes())
    if job.get("forgetful"):
        log = [log[0], *((name, [], *state) for name, _, *state in log[1:])]
    kinds = [(LOST, LOST), (KEPT, KEPT), (KEPT, LOST), (LOST, KEPT), *[(0.5, 0.5)] * job["images"]]
    disks, refusals, complaints = 0, [], []
    for cut in range(1, len(log) + 1, job["step"]):
        disk = Disk(log[:cut])
        for kind in kinds:
            lay_out(*disk.image(rng, *kind))
            refused, complaint = gone_on(job, expected)
            where = f"power cut after call {cut - 1} ({log[cut - 1][0]}), {kind}"
            refusals += [where] if refused else []
            complaints += [f"{where}: {complaint}"] if complaint else []
            disks += 1
    return {"calls": len(calls), "disks": disks, "refusals": refusals, "complaints": complaints}


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    load_everything(wanted)
    print(json.dumps(run(wanted)))
