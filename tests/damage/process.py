"""A process of its own for many cases, with little memory and a limit on time."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

from tests.damage.banks import check_bank, check_forged_bank, prepare_banks
from tests.damage.models import check_model, prepare_models
from tests.damage.signed import check_signed
from tests.damage.sources import check_source, prepare_sources

ROOT = Path(__file__).parents[2]
"""The folder that `tests` lies in."""
ROOM = {"banks": 500 << 20, "forged banks": 500 << 20}
"""Bytes a damaged file may make the process ask for, beyond what it has from the start; 1 GiB of others."""
SECONDS = 20
"""After which a case counts as a hang."""
COMPUTING = {"banks": 1.0, "forged banks": 1.0}
"""Seconds of processor time that a case may take."""
CHECKS = {
    "sources": (prepare_sources, check_source),
    "models": (prepare_models, check_model),
    "signed": (prepare_models, check_signed),
    "banks": (prepare_banks, check_bank),
    "forged banks": (prepare_banks, check_forged_bank),
}


class Hang(BaseException):
    """Not an Exception, so that nobody catches it."""


def work(what, first, last):
    """Go through the cases; prints how they ended, and what should not have happened."""
    prepare, check = CHECKS[what]
    outcomes, failures = Counter(), []
    folder = Path(tempfile.mkdtemp())
    for ringing in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(ringing, ring)
    try:
        prepare(folder)
        limit_memory(ROOM.get(what, 1 << 30))
        for number in range(first, last):
            outcome = outcome_of(check, number, folder, COMPUTING.get(what, 0.0))
            outcomes[outcome.split(":")[0]] += 1
            if outcome.startswith("FAILED"):
                failures.append(f"case {number} {outcome}")
    finally:
        shutil.rmtree(folder)
    print(json.dumps({"outcomes": outcomes, "failures": failures}))


def outcome_of(check, number, folder, computing):
    """How a case ended; ``FAILED`` and why, where it should not have ended so."""
    print(number, file=sys.stderr, end="\r", flush=True)
    signal.alarm(SECONDS)
    signal.setitimer(signal.ITIMER_PROF, computing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return check(number, folder)
    except ValueError as error:
        if "allocate" in str(error) or "emory" in str(error):
            return f"FAILED: too much memory: {error}"
        return "a clear error" if str(error) else "FAILED: no message"
    except (Exception, Hang):
        return f"FAILED: {traceback.format_exc()}"
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        shutil.rmtree(folder / "x") if (folder / "x").is_dir() else (folder / "x").unlink(missing_ok=True)


def ring(*_):
    raise Hang


def limit_memory(room):
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + room, size + room))


def in_a_process(what, first, last):
    """Outcomes and failures of these cases, from a new process."""
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.damage", what, str(first), str(last)],
        cwd=ROOT, env=os.environ | single, capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0, f"the process died: {done.stderr[-3000:]}"
    return json.loads(done.stdout)
