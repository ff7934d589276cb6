"""A life of a job: a process that ends by itself or is killed, and what is seen of it meanwhile."""

import os
import resource
import subprocess
import sys
import time
from threading import Thread
from urllib.request import urlopen

from tests.soak.lookers import Rude

ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "default"}
# Where files may not grow, Python would leave compiled modules cut short, for good.
ENVIRONMENT |= {"PYTHONDONTWRITEBYTECODE": "1"}
POLL = 0.2
PAGE_EVERY = 3.0
"""Seconds between two loads of the page, each of which costs its server about a second."""


class Life:
    """Run ``eigenstream`` until it ends or this many seconds have passed; then it is killed.

    Parameters
    ----------
    arguments
        Of the command line.
    folder
        Where it runs.
    seconds
        How long it may live.
    file_size
        Most bytes that a file may have, as if the disk were full then; None: no limit.
    """

    def __init__(self, arguments, folder, seconds, file_size=None):
        self.scrapes = self.pages = self.cut = 0
        self.memory = []
        """Resident memory in MiB, about five times a second."""
        self.urls = {}
        self.errors = []

        def limit():
            if file_size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

        with open(folder / "alarms.jsonl", "ab") as alarms:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "eigenstream", *arguments],
                cwd=folder, env=ENVIRONMENT, stdout=alarms, stderr=subprocess.PIPE, text=True,
                preexec_fn=limit,
            )  # fmt: skip
        listener = Thread(target=self._listen)
        listener.start()
        self._rude = {}
        ends = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < ends:
            self._look()
            time.sleep(POLL)
        self.killed = self.process.poll() is None
        if self.killed:
            self.process.kill()
        self.code = self.process.wait()
        listener.join()
        for rude in self._rude.values():
            self.cut += rude.cut
            rude.close()

    def _listen(self):
        for line in self.process.stderr:
            for name in ("live page", "metrics"):
                if line.startswith(f"{name}: "):
                    self.urls[name] = line.removeprefix(f"{name}: ").strip()
            if "rror" in line or "Warning" in line or "Traceback" in line:
                self.errors.append(line.strip())

    def _look(self):
        try:
            with open(f"/proc/{self.process.pid}/status") as file:
                self.memory += [int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS:")]
            for name, url in list(self.urls.items()):
                if name not in self._rude:
                    self._rude[name] = Rude(url)
                self._rude[name].bother()
            if "metrics" in self.urls:
                urlopen(self.urls["metrics"], timeout=10).read()
                self.scrapes += 1
            if "live page" in self.urls and self.pages * PAGE_EVERY < self.scrapes * POLL:
                urlopen(self.urls["live page"], timeout=10).read()
                self.pages += 1
        except OSError:
            pass  # it is just ending, or there are too many lookers
