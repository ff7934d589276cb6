"""Exceptions at chosen points of a call: at calls of NumPy, and at bytecodes of the package."""

import dis
import gc
import sys
from contextlib import contextmanager

import numpy as np

import eigenstream
from eigenstream.learners import warm

PACKAGE = eigenstream.__path__[0]
OUTERMOST = ("whole", "learn_one")
"""Functions whose RETURN hands the finished call to the user: Python handles no signal at one."""
RETURN = dis.opmap["RETURN_VALUE"]

LAPACK = [(np.linalg, name) for name in ("eigh", "svd", "solve", "qr", "eigvalsh")]
LAPACK += [(warm, "eigenpairs")]
ALLOCATING = [(np, f"{name}{like}") for name in ("zeros", "empty", "full", "ones") for like in ("", "_like")]
MAKING = [(np, name) for name in ("array", "vstack", "column_stack", "concatenate", "stack", "where")]


class Fault(BaseException):
    """Not an Exception, as Ctrl-C is none."""

    @classmethod
    def raised(cls, *given):
        raise cls


class Calls:
    """Counts calls of functions; the one with this number raises."""

    def __init__(self, monkeypatch, functions, error=MemoryError):
        self.patch, self.functions, self.error = monkeypatch, functions, error

    @contextmanager
    def at(self, number=0):
        self.seen = 0
        with self.patch.context() as patch:
            for module, name in self.functions:
                patch.setattr(module, name, self._counted(getattr(module, name), number))
            yield

    def _counted(self, function, number):
        def counted(*given, **named):
            self.seen += 1
            if self.seen == number:
                raise self.error("injected")
            return function(*given, **named)

        return counted


class Bytecodes:
    """Counts bytecodes that the package runs; before the one with this number an exception is raised."""

    error = Fault

    @contextmanager
    def at(self, number=0):
        self.seen, self.number = 0, number
        gc.disable()  # collected objects would run bytecodes of their own
        try:
            # Since Python 3.12, a trace function is not told of bytecodes once its frame runs.
            with self._traced() if sys.version_info < (3, 12) else self._monitored():
                yield
        finally:
            gc.enable()

    @contextmanager
    def _traced(self):
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame, event, argument):
        if event == "opcode" and self._is_it(frame.f_code, frame.f_lasti):
            sys.settrace(None)
            raise Fault
        return self._step

    @contextmanager
    def _monitored(self):
        watch = sys.monitoring
        tool, event = watch.PROFILER_ID, watch.events.INSTRUCTION

        def step(code, offset):
            if not code.co_filename.startswith(PACKAGE):
                return watch.DISABLE
            if self._is_it(code, offset):
                watch.set_events(tool, 0)
                raise Fault
            return None

        watch.use_tool_id(tool, "faults")
        watch.register_callback(tool, event, step)
        watch.restart_events()
        watch.set_events(tool, event)
        try:
            yield
        finally:
            watch.set_events(tool, 0)
            watch.register_callback(tool, event, None)
            watch.free_tool_id(tool)

    def _is_it(self, code, offset):
        """Count a bytecode; True if it is the one to raise at."""
        if code.co_name in OUTERMOST and code.co_code[offset] == RETURN:
            return False
        self.seen += 1
        return self.seen == self.number
