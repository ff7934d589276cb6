"""Run calls in worker processes with one thread each; none is left when `run` returns or raises.

The pool is joblib's (loky): fresh processes, which it can end at once. `joblib.Parallel` would compute in
this process if there is one job, and could not be stopped while a call runs.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from joblib.externals.loky import ProcessPoolExecutor

T = TypeVar("T")

ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""Environment of the workers: sums over threads are rounded differently by their number, so there is one."""
POLL = 0.2
"""Seconds until a request to stop, or the end of the parent, is noticed: at once to the eye, and no load."""


class Stopped(Exception):
    """A request to stop came before all calls were done."""


class Failed(Exception):
    """A call that raised: its name and the exception, which is the cause."""


class Lost(Exception):
    """A worker was ended from outside."""


def run(
    function: Callable[..., None],
    arguments: Mapping[T, tuple[Any, ...]],
    names: Mapping[T, str],
    jobs: int,
    done: Callable[[T], None],
    stopping: Callable[[], bool],
) -> None:
    """Call the function in workers, once for each of the arguments, and report each key that is done.

    Raises
    ------
    Stopped, Failed, Lost
        At the first request to stop, call that raised, or worker ended from outside.
    """
    if stopping():
        raise Stopped
    if not arguments:
        return
    pool = ProcessPoolExecutor(
        min(jobs, len(arguments)), initializer=_follow, initargs=(os.getpid(),), env=ONE_THREAD
    )
    try:
        # Workers start here. They inherit the blocked signal: Ctrl-C, which reaches every process of a
        # terminal, is then for this one alone to answer, even while they are still importing.
        with _blocked(signal.SIGINT):
            waiting = {pool.submit(function, *values): key for key, values in arguments.items()}
        while waiting:
            finished, _ = wait(waiting, timeout=POLL, return_when=FIRST_COMPLETED)
            errors = {}
            for future in finished:
                key = waiting.pop(future)
                if error := future.exception():
                    errors[key] = error
                else:
                    done(key)
            if stopping():
                raise Stopped
            for key, error in errors.items():
                why = f"{names[key]}: {type(error).__name__}: {error}"
                raise (Lost if isinstance(error, BrokenProcessPool) else Failed)(why) from error
    finally:
        with warnings.catch_warnings():
            # Without pgrep and psutil, joblib cannot find the workers' children, and warns: they have none.
            warnings.simplefilter("ignore")
            pool.shutdown(kill_workers=True)


def _follow(parent: int) -> None:
    """End this worker when its parent, given by its process id, has been killed."""

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(POLL)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _blocked(number: signal.Signals) -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
