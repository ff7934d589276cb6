"""Threads of the linear algebra libraries: small matrices are many times slower with more than one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

# Features. Below this width a second thread costs more than it brings: small matrices were many times slower.
WIDE = 4096
"""From this width on, products over the features are large enough for several threads."""


def threads_for(width: int) -> AbstractContextManager[object]:
    """Within its block, linear algebra on input of this width: in one thread unless it is wide.

    Sums over threads are rounded differently. With one thread, what a model learns from narrow input does not
    depend on how many there are.
    """
    return nullcontext() if width >= WIDE else one_thread()


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def forget_libraries() -> None:
    """Look for libraries anew: one has been loaded."""
    _controller.cache_clear()


def one_thread() -> AbstractContextManager[object]:
    """Within its block, linear algebra runs in one thread (of every library that NumPy may use)."""
    controller = _controller()
    if all(library.num_threads == 1 for library in controller.lib_controllers):
        return nullcontext()
    limited: AbstractContextManager[object] = controller.limit(limits=1)
    return limited
