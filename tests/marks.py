"""Marks that several tests share."""

import pytest


def slow(*arguments):
    """A case that `make test` leaves to `make test-slow`: one more of a kind that it has, or a long one."""
    return pytest.param(*arguments, marks=pytest.mark.slow)
