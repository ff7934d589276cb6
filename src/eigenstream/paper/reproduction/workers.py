"""Processes that compute with one thread each, and are gone when they are no longer wanted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""A sum over threads depends on how many there are: with one, results are the same on any machine's cores."""
POLL = 0.2
"""Seconds until a request to stop is noticed."""


class Stopped(Exception):
    """The end was asked for before it was reached."""


class Failed(Exception):
    """A call that raised: its key, with the exception as the cause."""

    def __init__(self, key: Any) -> None:
        super().__init__(key)
        self.key = key

    @property
    def why(self) -> str:
        return f"{type(self.__cause__).__name__}: {self.__cause__}"


class Lost(Exception):
    """A worker was ended from outside."""


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    function: Callable[..., None],
    arguments: Mapping[T, tuple[Any, ...]],
    jobs: int,
    done: Callable[[T], None],
    stopping: Callable[[], bool],
) -> None:
    """Call the function in other processes, once for each of the arguments, and report each that is done.

    Ends early with `Stopped`, `Failed` or `Lost`; by then no worker is left.
    """
    if stopping():
        raise Stopped
    if not arguments:
        return
    with _pool(min(jobs, len(arguments))) as pool:
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
            _raise_first(errors)


def _raise_first(errors: Mapping[T, BaseException]) -> None:
    for key, error in errors.items():
        raise (Lost if isinstance(error, BrokenProcessPool) else Failed(key)) from error


@contextmanager
def _pool(size: int) -> Iterator[ProcessPoolExecutor]:
    """Workers that end with the block, at once if it ends by an exception."""
    others = multiprocessing.active_children()
    # Spawned, not forked: BLAS and Numba read the number of threads when they are first imported.
    context = multiprocessing.get_context("spawn")
    with _environment(ONE_THREAD), ProcessPoolExecutor(size, context, _end_with_parent) as pool:
        try:
            yield pool
        except BaseException:
            for process in multiprocessing.active_children():
                if process not in others:
                    process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def _end_with_parent() -> None:
    """Leave also when the parent was killed and could say nothing."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _blocked(number: signal.Signals) -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
