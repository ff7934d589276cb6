"""Expected values of some inputs of a row, given the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..array_types import Floats, Matrix, Vector
from ..learners.scale import scale_of
from .filling import expected_by, filled_by
from .reading import Reading

BAND = 3.0
"""Standard deviations from the expectation that the usual band takes in: 99.7 % of Gaussian rows."""


class Trace(NamedTuple):
    """Inputs to blame for one alarm, in the rows around it."""

    began: int
    """The first row of the alarm, as the monitor counts rows."""
    last: int
    """The last row so far that exceeded a limit."""
    rows: NDArray[np.int64]
    """Rows of the monitor (m)."""
    names: list[str]
    """Names of the inputs, the one to blame most first (c)."""
    values: NDArray[np.float64]
    """As they came (m, c)."""
    expected: NDArray[np.float64]
    """Expected value of each, given all other inputs (m, c)."""
    deviation: NDArray[np.float64]
    """Standard deviation of each around that while nothing is wrong (c)."""
    source_row: int | None = None
    """Number of the first row of the alarm in its source; None: as the monitor counts."""

    @property
    def at(self) -> str:
        """The first row of the alarm in words."""
        return row_in_words(self.began, self.source_row)


def row_in_words(own: int, source_row: int | None) -> str:
    """The number of a row in its source, if that is known and another than the monitor's own, and that.

    Examples
    --------
    >>> row_in_words(198, 3258), row_in_words(198, None)
    ('row 3,258 (its own row 198)', 'row 198')
    """
    if source_row is None or source_row == own:
        return f"row {own:,}"
    return f"row {source_row:,} (its own row {own:,})"


def expectations(reading: Reading, rows: Floats, inputs: Sequence[int]) -> tuple[Matrix, Vector]:
    """Expectation of some inputs in each row by the other inputs, and their usual deviation from it.

    A row is taken for ``x = mean + U' z + noise`` as in `eigenstream.model.imputation`: with the inputs m
    left out, ``A = I - U_m U_m' + f V^-1`` and ``E z = A^-1 U_o (x_o - mean_o)``; their variance around
    ``mean_m + U_m' E z`` is ``f (1 + diag(U_m' A^-1 U_m))``.

    Parameters
    ----------
    reading
        What the model knows.
    rows
        Rows, with their predecessors beside them if there are lags (T, n); gaps are filled first.
    inputs
        Numbers of the inputs in question (m).

    Returns
    -------
    expected
        In the units of the rows (T, m).
    deviation
        Standard deviation of each input around that (m).
    """
    known, own = expected_by(reading), list(inputs)
    some = known.variances > 0
    U, V = known.axes[some], known.variances[some]
    X = (
        np.asarray(filled_by(reading, rows)[0] if np.isnan(rows).any() else rows, dtype=np.float64)
        - known.mean
    )
    scale = np.ones(len(known.mean)) if known.gain is None else scale_of(known.gain)
    X = np.nan_to_num(X if known.gain is None else X * known.gain)
    X[:, own] = 0.0
    U_m = U[:, own]
    A = np.eye(len(U)) - U_m @ U_m.T + np.diag(known.noise / V)
    z = np.linalg.lstsq(A, U @ X.T, rcond=None)[0]
    spread = np.linalg.lstsq(A, U_m, rcond=None)[0]
    expected = known.mean[own] + (z.T @ U_m) * scale[own]
    variances = known.noise * (1 + np.einsum("ij,ij->j", U_m, spread))
    return np.asarray(expected), np.sqrt(np.maximum(variances, 0.0)) * scale[own]
