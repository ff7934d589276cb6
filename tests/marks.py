"""Marks that several tests share."""

import pytest


def slow(*arguments):
    """A case that `make test` leaves to `make test-slow`: one more of a kind that it has, or a long one."""
    return pytest.param(*arguments, marks=pytest.mark.slow)


def others_slow(cases, *kept):
    """Cases of which `make test` has these, and `make test-slow` all."""
    assert set(kept) <= set(cases), f"there is no case {set(kept) - set(cases)}"
    return [case if case in kept else slow(*(case if isinstance(case, tuple) else (case,))) for case in cases]
