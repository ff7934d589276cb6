"""Kill the jobs of a timetable again and again, day after day; compare the end with a timetable left alone.

A program of its own, like `kill_at_calls`: it loads everything once and forks for each try. Takes a JSON
object as its argument: ``days``, each with ``files`` (names in the folder of the job, and the files beside it
that they are copies of) and ``command`` (arguments of eigenstream; the model is called ``model``); ``kills``
(most per day), ``rounds`` and ``seed``. With ``afresh``, a job that was killed is not resumed but begun anew:
"overwrite" gives ``--overwrite``, "remove" removes what can be seen. Prints the number of kills, and
complaints.
"""

import json
import os
import random
import shutil
import sys
from functools import partial
from pathlib import Path

from kill_at_calls import MOMENTS, Killer, carry_out, content, load_everything


def prepared(day):
    for name, origin in day["files"].items():
        Path(name).parent.mkdir(exist_ok=True)
        shutil.copyfile(Path("..", origin), name)


def begun_anew(command, how):
    """The command that begins a killed job afresh; without looking at what it left behind."""
    if how == "overwrite":
        return [*command, "--overwrite"]
    for path in Path(".").iterdir():
        if not path.name.startswith(".") and path.name != "logs":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return command


def left_alone(days):
    """What there is after a timetable that nothing happened to, and how often each job changed a file."""
    os.mkdir("calm")
    os.chdir("calm")
    calls = []
    for day in days:
        prepared(day)
        code, called = carry_out(day["command"], partial(Killer, None, None))
        assert code == 0, day["command"]
        calls.append(len(called))
    os.chdir("..")
    return content("calm"), calls


def one_round(job, calls, rng):
    """A timetable with kills; returns their number, and the exit status that was not expected, if any."""
    shutil.rmtree("tried", ignore_errors=True)
    os.mkdir("tried")
    os.chdir("tried")
    kills, wrong = 0, None
    for day, most in zip(job["days"], calls, strict=True):
        prepared(day)
        command = day["command"]
        for _ in range(rng.randrange(job["kills"] + 1)):
            at = rng.randrange(1, 2 + int(most * rng.random()))
            code, _ = carry_out(command, partial(Killer, at, rng.choice(MOMENTS)))
            kills += code < 0
            if code >= 0:
                wrong = wrong or code
                break
            if job.get("afresh"):
                command = begun_anew(day["command"], job["afresh"])
        else:
            wrong = wrong or carry_out(command)[0]
    os.chdir("..")
    return kills, wrong


def run(job):
    rng, complaints, kills = random.Random(job["seed"]), [], 0
    expected, calls = left_alone(job["days"])
    for i in range(job["rounds"]):
        more, wrong = one_round(job, calls, rng)
        kills += more
        found = content("tried")
        differ = {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)}
        if wrong or differ:
            complaints.append(f"round {i}: ended with {wrong}, differs in {sorted(differ)}")
    return {"kills": kills, "complaints": complaints}


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    load_everything({"command": wanted["days"][0]["command"]})
    print(json.dumps(run(wanted)))
