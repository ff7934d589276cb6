"""Children of a process, for tests that kill them."""

import os
import signal
import warnings
from functools import partial


def forked():
    """`os.fork`, where libraries may have started threads that do nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on
        return os.fork()


def killed_at_each_change(run, prepare):
    """Run in children, each killed at one further `os.replace` or `os.fsync`, until one comes to its end.

    Yields after each kill. ``prepare`` is called before each child.
    """
    for at in range(1, 100):
        prepare()
        child = forked()
        if not child:
            calls = []

            def killed(original, *arguments, calls=calls, at=at):
                calls.append(original)
                if len(calls) == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return original(*arguments)

            os.replace, os.fsync = partial(killed, os.replace), partial(killed, os.fsync)
            run()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            return
        yield
    raise AssertionError("a child did not come to its end")
