"""Meaning of the parameters of `OnlineAdaptivePCA`: checks, and the defaults behind "auto"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..array_types import as_numbers
from ..io.durations import is_duration, seconds
from ..learners.arrays import host
from ..learners.sparse import numbers
from ..rank import FixedRank, Rule, VarianceShare, rule_of
from ..regularizers import Regularizer, kind_of
from .network import NAMED, Network
from .plan import DEVICE_BLOCK, LEARNERS, Plan, automatic_solver, window_of
from .reading import SCORES

DEFAULT_CAPACITY = 32
"""Components at most where nobody says: what scores, histories and files of a wide stream have to hold."""

MISSING = ("raise", "skip", "impute")
OUTLIERS = ("keep", "cap")


def plan_for(parameters: Mapping[str, Any], n: int, dtype: Any, *, launches: bool = False) -> Plan:
    """The plan for rows of this width and type, with everything "auto" decided.

    Parameters
    ----------
    parameters
        The parameters of `OnlineAdaptivePCA` by name.
    n, dtype
        Width and type of the rows as they come.
    launches
        True if they live on a device of its own: blocks are long if rows are learnt there.
    """
    kind, alpha = chosen_alpha(parameters["regularizer"], parameters["n_components"], parameters["alpha"])
    lags = checked_lags(parameters["lags"])
    n *= lags + 1
    timed = is_duration(parameters["half_life"])
    beta = 1.0 if timed else discount(parameters["half_life"])
    asked = parameters["solver"]
    _refuse_rule_for_paper(asked, parameters["n_components"], alpha)
    known = NAMED if isinstance(asked, str) else {}
    network = asked if isinstance(asked, Network) else known.get(asked)
    name = asked if network is None else "network"
    k, chosen = capacity_and_solver(alpha, parameters["max_components"], n, name, window_of(beta))
    _refuse_for_network(parameters, chosen)
    plan = Plan(
        kind=kind,
        alpha=alpha,
        n=n,
        k=k,
        solver=chosen,
        dtype=dtype,
        beta=beta,
        center=bool(parameters["center"]),
        standardize=bool(parameters["standardize"]),
        seconds=seconds(parameters["half_life"]) if timed else None,
        lags=lags,
        cap_outliers=cap_outliers(parameters["outliers"], chosen),
        **(network or NAMED["network"]).settings(n, k, beta),
        seed=seed(parameters["random_state"]),
    )
    there = launches and plan.anywhere and parameters["missing"] == "raise"
    return replace(plan, longest_block=DEVICE_BLOCK) if there else plan


def check_words(parameters: Mapping[str, Any]) -> None:
    """An error unless ``missing`` and ``scores`` are words that exist."""
    for name, words in (("missing", MISSING), ("scores", tuple(SCORES))):
        if parameters[name] not in words:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}, got {parameters[name]!r}")


def chosen_alpha(
    regularizer: str | Regularizer, n_components: object, alpha: float | None
) -> tuple[type[Regularizer], float | Rule]:
    """The kind of regularizer, and its alpha or the rule that finds it."""
    kind = kind_of(regularizer)
    if isinstance(regularizer, Regularizer):
        if alpha is not None:
            raise ValueError(
                f"{regularizer!r} brings its own alpha, but alpha={alpha!r} was given too: "
                f"give a name such as {kind.name!r} with alpha, or leave alpha out"
            )
        alpha = regularizer.alpha
    if alpha is None:
        try:
            return kind, rule_of(n_components)
        except ValueError as error:
            raise ValueError(f"n_components: {error}") from None
    if n_components != "auto":
        raise ValueError(
            f"n_components={n_components!r} is the number of components, or how to find it; "
            f"alpha={alpha!r} is the paper's regularization coefficient, which decides about their number by "
            "itself: give one of them"
        )
    if isinstance(alpha, str | Rule):
        raise ValueError(
            f"alpha is the paper's regularization coefficient, a number >= 0, got {alpha!r}: the number of "
            "components, or how to find it, is n_components"
        )
    return kind, float(kind(alpha).alpha)


def capacity_and_solver(
    alpha: float | Rule, max_components: int | None, n: int, solver: str, window: float = np.inf
) -> tuple[int, str]:
    """``max_components_`` and the learner to use for this width.

    A number of components is its own capacity. For a share of the variance there is no default capacity where
    the exact learner is used, which knows the whole spectrum anyway.
    """
    names = ("auto", *LEARNERS)
    if solver not in names:
        words = ", ".join(map(repr, (*names, *(NAMED.keys() - set(names)))))
        raise ValueError(f"solver must be one of {words} or an eigenstream.Network, got {solver!r}")
    k = _capacity(alpha, max_components, n)
    chosen = automatic_solver(n, k, window) if solver == "auto" else solver
    whole = max_components is None and isinstance(alpha, VarianceShare) and chosen == "exact"
    return n if whole else k, chosen


def _capacity(alpha: float | Rule, max_components: int | None, n: int) -> int:
    most = min(n, DEFAULT_CAPACITY)
    if max_components is not None:
        if not isinstance(max_components, int | np.integer) or not 1 <= max_components <= n:
            raise ValueError(
                f"max_components must be None or a whole number from 1 to n_features={n}, got "
                f"{max_components!r}"
            )
        most = int(max_components)
    if not isinstance(alpha, FixedRank):
        return most
    if alpha.number > n:
        raise ValueError(
            f"n_components={alpha.number} is more than the data have: expected at most n_features={n}"
        )
    if max_components is not None and max_components < alpha.number:
        raise ValueError(
            f"n_components={alpha.number} is more than max_components={max_components}: leave max_components "
            "out, since a number of components is its own capacity"
        )
    return alpha.number


def cap_outliers(value: str, solver: str) -> bool:
    """True if rows that are far off are scaled down."""
    if value not in OUTLIERS:
        raise ValueError(f"outliers must be 'keep' or 'cap', got {value!r}")
    if value == "cap" and solver == "network":
        raise ValueError(
            "outliers='cap' needs solver='exact' or 'subspace': the network learns from every row as it is"
        )
    return value == "cap"


def _refuse_for_network(parameters: Mapping[str, Any], solver: str) -> None:
    """An error for what the paper's network has no rule for."""
    if solver != "network":
        return
    if parameters["standardize"]:
        raise ValueError(
            "standardize=True needs solver='exact' or 'subspace': the network learns from every row as it "
            "is; put a StandardScaler before it"
        )
    if is_duration(parameters["half_life"]):
        raise ValueError(
            f"half_life={parameters['half_life']!r} needs solver='exact' or 'subspace': the network forgets "
            "at the same pace with every row; give it a half_life in samples"
        )


def _refuse_rule_for_paper(solver: object, n_components: object, alpha: float | Rule) -> None:
    """An error for the paper's network by name with a rule, which moves alpha by what no synapse knows."""
    if isinstance(solver, str) and solver == "paper" and isinstance(alpha, Rule):
        raise ValueError(
            "solver='paper' learns locally, with the alpha it is given, and got none: n_components="
            f"{n_components!r} would move alpha by the whole spectrum. Give alpha, such as alpha=0.1 (with "
            "'input-output': a tenth of the input's variance) or alpha=calibrate_alpha(X, 'input-output', "
            "n_components=3), or take solver='network', which finds alpha by itself"
        )


def checked_lags(value: Any) -> int:
    """Number of predecessors that each row is learnt with."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
        raise ValueError(f"lags must be a whole number >= 0, got {value!r}")
    return int(value)


def discount(half_life: float | None) -> float:
    """beta, the discount of activities per sample: ``beta^(2 half_life) = 1/2``."""
    if half_life is None:
        return 1.0
    if isinstance(half_life, str) or not 0 < half_life < np.inf:
        raise ValueError(
            f"half_life must be None, a number of samples > 0, or a duration such as '10min', got "
            f"{half_life!r}"
        )
    return float(0.5 ** (0.5 / float(half_life)))


def seed(random_state: Any) -> int:
    """One number that all randomness follows from."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state) % 2**63  # what a compiled loop can hold
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31))


LARGEST_POWER: dict[Any, float] = {np.float64: 1e135, np.float32: 1e20}
"""Squared length that a row may have. What is made of it then stays finite over 10^8 samples: its square
where eigenvalues are read off, its power 3/2 where N in the precision of the data meets a row."""

LARGEST_WEIGHT = 1e9
"""Weight that a row may have, for the same reason."""


# Values: what fits into the caches of a core. Copies of all rows at once take several times as long.
AT_ONCE = 1 << 16
"""Number of values that are looked at together."""


def squares_fit(rows: NDArray[np.floating[Any]]) -> bool:
    """True if all values are finite and the squares of all rows can be summed: one pass, no temporary."""
    rows = numbers(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(rows, np.ndarray) and rows.flags.c_contiguous:
            values = rows.ravel()  # in a third of the time, of float32 in a tenth
            return bool(values.dot(values) < LARGEST_POWER[rows.dtype.type])
        return bool(np.einsum("ij,ij->", rows, rows, dtype=np.float64) < LARGEST_POWER[rows.dtype.type])


def refuse_huge(rows: NDArray[np.floating[Any]]) -> None:
    """An error where squares would overflow. NaN is ignored here; the caller handles it."""
    if squares_fit(rows):
        return
    rows = host(numbers(rows))
    power = max(map(_largest_power, np.array_split(rows, len(rows) * rows.shape[1] // AT_ONCE + 1)))
    if not power < LARGEST_POWER[rows.dtype.type]:
        largest = float(np.nanmax(np.abs(rows)))
        raise ValueError(
            f"values up to {largest:g} are too large for {rows.dtype}: squares would overflow; rescale them"
        )


def _largest_power(rows: NDArray[np.floating[Any]]) -> float:
    """The largest sum of squares of a row, without its NaN."""
    values = np.where(np.isnan(rows), 0, rows)
    with np.errstate(over="ignore"):
        return float(np.einsum("ij,ij->i", values, values, dtype=np.float64).max(initial=0.0))


def refuse_gaps(rows: NDArray[np.floating[Any]], missing: str) -> None:
    """An error where values are infinite, or missing although ``missing`` does not allow it."""
    if squares_fit(rows):
        return
    values = host(numbers(rows))
    allowed = np.isfinite(values) if missing == "raise" else ~np.isinf(values)
    if allowed.all():
        return
    row, column = np.argwhere(~allowed)[0]
    value = values[row, column]
    what, then = "infinity", "leave such rows out"
    if np.isnan(value):
        what = "NaN"
        then = "leave out rows with missing values by missing='skip', or fill them in by missing='impute'"
    raise ValueError(f"Input contains {what}: row {row}, column {column} is {value}: {then}")


SMALLEST: dict[Any, float] = {np.float64: 1e-150, np.float32: 1e-19}
SMALLEST_OF_NETWORK: dict[Any, float] = {np.float64: 1e-75, np.float32: 1e-15}
"""Values below these have squares, or products of squares, that count as zero."""


def refuse_tiny(rows: NDArray[np.floating[Any]], solver: str) -> None:
    """An error where everything is so small that squares would vanish. Zeros are no values."""
    limit = (SMALLEST_OF_NETWORK if solver == "network" else SMALLEST)[rows.dtype.type]
    values = numbers(rows)
    if (np.abs(values[:1]) >= limit).any():  # the first row is enough as a rule
        return
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if 0 < largest < limit:
        raise ValueError(
            f"values up to {largest:g} are too small for {rows.dtype}: squares would vanish; rescale them"
        )


def row_weights(sample_weight: ArrayLike | None, rows: int) -> NDArray[np.float64] | None:
    """One weight per row, or None for ones."""
    if sample_weight is None:
        return None
    given = np.asarray(as_numbers(sample_weight, "sample_weight"), dtype=np.float64)
    if given.shape != (rows,):
        raise ValueError(f"sample_weight must be {rows} numbers, one per row, got shape {given.shape}")
    if not np.all((given >= 0) & np.isfinite(given)):
        raise ValueError("sample_weight must be finite and >= 0; found negative, NaN or infinite weights")
    if np.any(given > LARGEST_WEIGHT):
        raise ValueError(
            f"sample_weight must be at most {LARGEST_WEIGHT:g}, got {given.max():g}: divide all weights by a "
            "common factor, which changes nothing else"
        )
    return given
