"""Threads of the linear algebra libraries: small matrices are many times slower with more than one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

WIDE = 4096
"""From this width on, products over the features are large enough for several threads."""


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[object]:
    """Within its block, linear algebra runs in one thread (of every library that NumPy may use)."""
    controller = _controller()
    if all(library.num_threads == 1 for library in controller.lib_controllers):
        return nullcontext()
    limited: AbstractContextManager[object] = controller.limit(limits=1)
    return limited
