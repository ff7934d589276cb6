"""One process at a time: a lock on an open file, gone with the process however that ends."""

from __future__ import annotations


def lock(handle: int) -> bool:
    """Lock an open file for this process; False if another has it. Without file locks, nobody is refused."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
