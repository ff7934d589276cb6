"""Children of a process, for tests that kill them."""

import os
import warnings


def forked():
    """`os.fork`, where libraries may have started threads that do nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on
        return os.fork()
