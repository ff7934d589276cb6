"""Calls that learn happen whole or not at all, whatever interrupts them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import get_ident
from typing import Any, Protocol, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])
Found = TypeVar("Found")

SHARED = (
    "another thread is learning with this model: models are not shared between threads; use one model per "
    "thread and merge them, or a lock around each call"
)
FORKED = (
    "this process was forked while another thread was learning with this model, which is half done here: "
    "load it from its file, or fork between two calls"
)

BROKEN = "a call with this model failed, and so did going back to before it: load the model from its file"
ATTEMPTS = 100
"""Times that going back is tried: interruptions come one by one, an error that stays comes every time."""


class Callers:
    """The calls that learn with a model at this moment, at most one; copies of the model have their own.

    A dictionary and not a lock: it is left by a single call of C code, which no interruption comes between,
    and a process that is forked finds nothing locked for good. Threads may read a model together. What they
    compute they put into containers that whoever learns replaces, so that no reader changes what is learnt.
    """

    def __init__(self) -> None:
        self.inside: dict[object, int] = {}
        """The thread of each call."""
        self.begun = 0
        """Number of calls so far."""
        self.broken = False
        self.process = os.getpid()

    def __reduce__(self) -> tuple[type[Callers], tuple[()]]:
        return Callers, ()

    def enter(self, call: object) -> None:
        """Enter, or be told that another thread is inside: its rows would be lost."""
        self.inside[call] = get_ident()
        self.begun += 1
        if len(self.inside) > 1:
            raise RuntimeError(self._refusal())

    def leave_undone(self, call: object, revert: Callable[[], None] | None) -> None:
        """Go back, then leave: as often as it takes, should something interrupt that, too.

        To go back sets what a mark holds: it can be begun again. If it fails for good the call stays inside,
        so that nobody goes on with a model of which half is of before and half of after.
        """
        for attempt in range(ATTEMPTS):
            try:
                if revert is not None:
                    revert()
                break
            except BaseException:
                if attempt == ATTEMPTS - 1:
                    self.broken = True
                    raise
        self.inside.pop(call, None)

    def refuse_reader(self) -> None:
        """An error where another thread is inside: what it has done so far belongs to no row count."""
        if any(thread != get_ident() for thread in tuple(self.inside.values())):
            raise RuntimeError(self._refusal())

    def read(self, look: Callable[[], Found]) -> Found:
        """Return the finding of a look; an error if another thread learns meanwhile."""
        self.refuse_reader()
        begun = self.begun
        try:
            found = look()
        except Exception:
            if begun == self.begun:
                raise
        else:
            if begun == self.begun:
                return found
        raise RuntimeError(self._refusal())

    def _refusal(self) -> str:
        if self.broken:
            return BROKEN
        return SHARED if self.process == os.getpid() else FORKED


class Revertible(Protocol):
    """A front end whose calls are whole."""

    @property
    def _callers(self) -> Callers:
        """Whoever learns with it at this moment."""

    def _reverting(self) -> Callable[[], None]:
        """Mark the present state; returns what goes back to it."""


def whole_call(method: Method) -> Method:
    """Decorate a public method that learns: after any exception, the model is as it was before the call.

    The outermost method is decorated, so that nothing happens between the end of the work and the return.
    Within a call no other call that learns may begin, not even in a callback.
    """

    @wraps(method)
    def whole(self: Revertible, *given: Any, **named: Any) -> Any:
        call, callers, revert = object(), self._callers, None
        try:
            callers.enter(call)
            revert = self._reverting()
            result = method(self, *given, **named)
            callers.inside.pop(call, None)
            return result  # Python handles no signal from here to the return
        except BaseException:
            callers.leave_undone(call, revert)
            raise

    return cast(Method, whole)


def reverting(model: Any, learnt: Any) -> Callable[[], None]:
    """Mark the attributes of a front end and what it has learnt; returns what goes back to both.

    Parameters
    ----------
    model
        The front end.
    learnt
        Its tracker or monitor; None before the first row.
    """
    before = vars(model).copy()
    mark = None if learnt is None else learnt.mark()

    def revert() -> None:
        now = vars(model)
        now.update(before)
        for name in now.keys() - before.keys():
            del now[name]
        if learnt is not None:
            learnt.revert(mark)

    return revert
