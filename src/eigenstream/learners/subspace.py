"""The subspace learner: the leading directions of the scatter matrix, tracked block by block.

    L (r, n)   L L' = diag(lam),  L'L <= C, the discounted centered scatter matrix

A block of rows R, with D the discount over the block, enters through one small Gram matrix:

    M = [[D diag(lam), sqrt(D) L R'], [., R R']] = P diag(e) P'     largest first, r of them kept
    L <- P' [sqrt(D) L; R]          lam <- e

The features are touched in three products: ``L R'``, ``R R'`` and ``P' [L; R]``. It is exact while the rows
have rank r or less; after that a block lets go of at most its (r+1)-th eigenvalue, or little more where the
leading pairs are found from those of before (see `learners.warm`). This is incremental
singular value decomposition (Brand 2002, doi:10.1007/3-540-47969-4_47) through a Gram matrix: eigenvalues
below 1e-13 of the largest are lost, which no threshold would keep.

Of float32 rows, L and its products are float32, too: they take half of the time and of the memory. What adds
up over a stream is float64: lam, means, sums of squares, and M itself. lam knows the lengths of L better than
L does: whenever ``L L'`` is computed, L is brought back to these. Without that, lengths drifted by a
thousandth in 10^7 rows.

Where inputs are standardized, L is in units of the scale of each input so far. With every block scales move a
little: the columns of L are multiplied by the old scale over the new one, and ``L L'`` is computed itself.

What is as wide as the input lives where the rows do, on a GPU, say (see `learners.arrays`). M is decomposed
there, too; P and lam come to the host, where decisions are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..offline import fixed_signs
from .arrays import beside, elsewhere, host, zeros
from .axes import matched_overlap
from .knowledge import Floats, Knowledge, Matrix, Profile, Vector
from .lags import LagSums, block_sums
from .learner import BlockTotals, Glance, Seen, Steps, center_block
from .marks import Mark, Marked
from .scale import complete_count, gain_of, scale_of
from .sparse import SparseRows
from .stored import LARGEST_VALUE, stored_array
from .symmetric import WIDE
from .threads import one_thread
from .warm import MOST_WARM, warm_pairs

# Columns. A tile of some hundred rows in float64 is 3 MiB: it stays in the second-level cache.
TILE = 4096
"""Columns of ``P' [L; R]`` computed at a time: the result replaces L without a second array of its size."""

# Bytes of a row. 64 rows of so many are 512 KiB: the four passes over them stay in the second-level cache.
CENTERED = 8192
"""Part of the rows of a block that is centered at a time."""

# Columns. Bounds the memory of the product. Of 1,048,576 inputs, a product with a quarter of the columns at a
# time takes twice as long as with all of them (H200): rows lie a power of two apart.
DEVICE_TILE = 1_048_576
"""The same on a device, which is faster with a few large products."""

# Blocks. One product more in 64 blocks, which have three each, is next to no work; it guards against rounding
# errors that drift over millions of rows.
REFRESH = 64
"""Blocks between computations of ``L L'`` itself, which rounding slowly moves away from diag(lam)."""

# A ratio of variances. Noise of n inputs falls by less once there are some rows per input (Marchenko and
# Pastur); correlated inputs fall by more, and what is let go of them makes the components inaccurate.
DECAY = 3.0
"""Directions beyond the components whose variances fall by this factor are more than noise."""

# Directions. Of 64 rows and 32 directions, leading pairs are found in half the time that decomposing 88 rows
# takes, and products are fastest with multiples of eight rows.
LEAST = 32
"""Directions kept at least: fewer would save next to nothing."""

# Directions. With room for k + 72 no rival was more accurate at equal bytes on any of 84 comparisons, see
# benchmarks/results/accuracy.md.
MORE = 72
"""Directions beyond the components that there is room for: about as many as rows in a block."""

# Directions. In these a new component gathers until it stands out: with 24 behind the components, whatever k
# is, two that begin in the middle of 4,000 rows of 400 inputs have errors larger by 30 % (k = 40).
SPARE = 8
"""Directions beyond those asked for where what lies behind the components is noise."""

# A share of the largest eigenvalue. A Gram matrix squares the condition: rounding of float64 is 2e-16 of its
# trace, times the some hundred rows that are summed.
VANISHING: dict[Any, float] = {np.float64: 1e-13, np.float32: 3e-6}
"""Eigenvalues below this share of the largest are rounding errors of the Gram matrix, by the type of L."""

# A factor. Its square root times L, squared again, would underflow: L is left out instead.
FORGOTTEN = 1e-200
"""A discount over a block below which nothing is left of what came before it."""


class Subspace(Marked):
    """Keeps ``L``, the leading directions of the discounted centered scatter matrix.

    Parameters
    ----------
    n
        Width of the input.
    k
        How many components are asked for. More directions are kept inside, up to `MORE` of them: what is let
        go too early makes the others inaccurate, unless it is mere noise.
    block
        Rows per block.
    center
        Whether to subtract the mean.
    standardize
        Whether to divide each input by its standard deviation.
    width
        Width of the whole input, where these are only some of its columns, perhaps none; n if 0. Such shards
        do `enter`, `products` and `turn` each by itself; `leading` gets the sum of their products.
    dtype
        Type of L, that of the rows. Where inputs are standardized, L is float64: it is multiplied by other
        scales with every block, so that nothing else knows its lengths.
    """

    LEARNT = (
        *("rows", "lam", "origin", "offset", "inputs", "gain"),
        *("count", "extra", "blocks", "aligned", "decays", "lags"),
    )

    def __init__(
        self,
        n: int,
        k: int,
        block: int,
        *,
        center: bool = True,
        standardize: bool = False,
        width: int = 0,
        dtype: Any = np.float64,
    ) -> None:
        self.n, self.k, self.block, self.center, self.standardize = n, k, block, center, standardize
        self.width = width or n
        self.most = min(k + MORE, self.width)
        """Number of directions that there is room for."""
        self.dtype: Any = np.float64 if standardize else np.dtype(dtype).type
        self.rows: Any = _padded(self.most + block, n, self.dtype)
        """L ends at row ``most``; below it is `room` for a block."""
        self._marked = False
        """True if a mark may hold `rows`: then L is not changed in place."""
        self.lam: Vector = np.zeros(0)
        self.origin: Vector = np.zeros(n)
        """The first row: means are kept relative to it, so that what is constant vanishes exactly."""
        self.offset: Vector = np.zeros(n)
        """Mean of the input less the origin."""
        self.inputs: Vector = np.zeros(n)
        """Sum of squares of each centered input, in raw units."""
        self.gain: Vector | None = np.zeros(n) if standardize else None
        """Factor of each centered input that brings it into the units of L; None: raw units."""
        self.count, self.extra, self.blocks, self.aligned = 0.0, 0.0, 0, 0
        self.decays = True
        """True if variances go on falling beyond the components: what is let go then is not mere noise."""
        self.lags = LagSums.none(n, k).without_room()
        """Likeness of rows to their predecessors."""

    @property
    def r(self) -> int:
        """Number of known directions."""
        return len(self.lam)

    @property
    def directions(self) -> int:
        """Number of directions kept: a few more than asked for, many more if variances go on falling."""
        return self.most if self.decays else min(max(self.k + SPARE, LEAST), self.width)

    @property
    def L(self) -> Any:
        """The directions, each as long as the root of its eigenvalue (r, n)."""
        return self.rows[self.most - self.r : self.most]

    @property
    def room(self) -> Any:
        """Memory for the block that is learnt. In between, rows that wait for theirs may stand there."""
        return self.rows[self.most : self.most + self.block]

    @property
    def mean(self) -> Vector:
        return self.origin + self.offset

    @property
    def started(self) -> bool:
        return self.count > 0

    def mark(self) -> Mark:
        self._marked = True
        return super().mark()

    def learn(self, rows: Floats, steps: Steps, lacking: Matrix | None = None) -> None:
        R = self.enter(rows, steps)
        if lacking is not None and self.r and isinstance(R, np.ndarray):
            R, lacking = self._beside(R, lacking), None
        self._absorb(R, steps.fading.decay, steps)
        self.blocks += 1
        if lacking is not None:
            self._spread(lacking)

    def enter(self, rows: Floats, steps: Steps) -> Any:
        """The block R, centered and weighted; unless sparse, it stands below L."""
        self._live_beside(rows)
        if self.standardize and self._marked:  # what follows changes L in place
            L = self.L
            self._take_new_rows()
            self.L[:] = L
        sparse = isinstance(rows, SparseRows)
        if not self.started and self.center and not sparse:
            self.origin = rows[0].astype(np.float64)
        if steps.fading.decay < FORGOTTEN:
            self.lam = self.lam[:0]
        if sparse:
            R: Any = rows.astype(np.float64) - self.origin
            block = center_block(R, steps, self.offset, self.count, center=self.center)
            self.inputs = self.inputs * block.decay + R.sums_of_squares()
            self.offset = self.offset + block.shift
        else:
            R = self.room[: len(rows)]
            block = self._center(rows, steps, R)
        self.extra = block.decay * self.extra + block.extra
        self.count = block.effective
        if self.standardize and self.count > 0:
            self._rescale(R)
        return R

    def _center(self, rows: Any, steps: Steps, R: Any) -> BlockTotals:
        """Put rows into R, centered and weighted, and add up means and squares: some columns at a time."""
        origin, count = self.origin.astype(self.dtype, copy=False), self.count
        offset, inputs = self.offset.copy(), self.inputs * steps.fading.decay
        width = CENTERED // R.dtype.itemsize if isinstance(R, np.ndarray) else max(self.n, 1)
        for start in range(0, max(self.n, 1), width):
            some = slice(start, start + width)
            part = R[:, some]
            np.subtract(rows[:, some], origin[some], out=part)
            block = center_block(part, steps, offset[some], count, center=self.center)
            inputs[some] += np.einsum("ij,ij->j", part, part)
            offset[some] += block.shift
        self.inputs, self.offset = inputs, offset
        return block

    def _beside(self, R: Matrix, factor: Matrix) -> Matrix:
        """R with ``factor`` below it: one decomposition absorbs both."""
        start, most = self.most + len(R), self.most + len(R) + len(factor)
        if most > len(self.rows):
            rows = _padded(most, self.n, self.dtype)
            rows[: len(self.rows)] = self.rows
            self.rows, self._marked = rows, False
        self.rows[start:most] = factor
        self._count_inputs(factor)
        return np.asarray(self.rows[self.most : most])

    def _spread(self, factor: Matrix) -> None:
        """Add ``factor' factor`` to the scatter matrix."""
        for start in range(0, len(factor), self.block):
            part = factor[start : start + self.block]
            self.room[: len(part)] = part
            self._count_inputs(part)
            self._absorb(self.room[: len(part)], 1.0)

    def _count_inputs(self, factor: Matrix) -> None:
        """Add the squares of each column of ``factor``, which is in the units of L."""
        raw = factor if self.gain is None else factor * scale_of(self.gain)
        self.inputs = self.inputs + np.einsum("ij,ij->j", raw, raw)

    def known(self, *, axes: bool = True) -> Knowledge:
        sums, scale, share = self.inputs, None, np.full_like(self.inputs, self.extra / self.n)
        if self.gain is not None:
            sums, scale = sums * np.square(self.gain), scale_of(self.gain)
            share *= self.gain > 0
        trace, inputs = float(sums.sum()) + self.extra, sums + share
        profile = Profile.of(inputs, self.L[: self.k])
        U = self.L / np.sqrt(self.lam)[:, None] if axes else np.zeros((self.r, 0))
        return Knowledge(
            self.lam, U, self.count, trace, self.mean, inputs, None, scale, profile, lags=self.lags
        )

    def align(self, rank: int, alpha: float) -> Vector:
        self.aligned = rank
        crowded = rank > 3 * self.k // 4  # too few directions behind the components to tell
        self.decays = crowded or (self.r > rank and bool(self.lam[rank] > DECAY * self.lam[-1]))
        return self.lam[:rank]

    def glance(self, rank: int) -> Glance | None:
        """Bounds that are exact: eigenvalues are known anyway."""
        return Glance(self._eigenvalues(), float(self.lam[rank:].max(initial=0.0)))

    def _eigenvalues(self) -> Knowledge:
        """Eigenvalues and totals, without axes."""
        sums = self.inputs if self.gain is None else self.inputs * np.square(self.gain)
        trace = float(sums.sum()) + self.extra
        return Knowledge(self.lam, np.zeros((self.r, 0)), self.count, trace, self.mean)

    def adopt(self, axes: Matrix, rank: int) -> None:
        self.align(rank, 0.0)

    def moments(self, rank: int) -> None:
        return None

    def spectrum(self) -> Knowledge | None:
        return None if self.width >= WIDE else self._eigenvalues()

    def seen(self, rank: int) -> Seen:
        return Seen(self.mean, self.L[:rank], self.gain, np.sqrt(self.lam[:rank]))

    def place(self, means: Vector) -> None:
        if self.center:
            self.origin = np.where(np.isnan(means), self.origin, self._as_rows(means))

    def variances(self, axes: Floats) -> Vector:
        projections = axes @ self.L.T
        return np.asarray(np.einsum("ij,ij->i", projections, projections, dtype=np.float64) / self.count)

    def restart(self, known: Knowledge, time: int, alpha: float) -> None:
        self.lam = known.lam[: self.most].copy()
        self._take_new_rows()
        self.L[:] = np.sqrt(self.lam)[:, None] * known.U[: self.most]
        self.origin = self._as_rows(known.mean) if self.center else np.zeros(self.n)
        self.offset = known.mean - self.origin if self.center else np.zeros(self.n)
        self.inputs, self.count, self.extra = known.input_sums().copy(), known.effective, 0.0
        self.inputs *= known.trace / max(float(self.inputs.sum()), np.finfo(np.float64).tiny)
        self.lags = LagSums.taken_over(known.lags, self.n, self.k).without_room()
        if known.scale is not None:
            self.gain = 1 / known.scale
            self.inputs *= np.square(known.scale)

    def copy(self) -> Self:
        twin = type(self)(
            *(self.n, self.k, self.block),
            center=self.center,
            standardize=self.standardize,
            width=self.width,
            dtype=self.dtype,
        )
        twin.__dict__ |= {
            name: value for name, value in self.__dict__.items() if name not in ("rows", "_marked")
        }
        if elsewhere(twin.rows, self.rows):
            twin.rows = np.zeros_like(self.rows)
        twin.L[:] = self.L
        return twin

    def arrays(self) -> dict[str, NDArray[Any]]:
        gain = {} if self.gain is None else {"gain": host(self.gain)}
        return (
            self.lags.arrays()
            | gain
            | {
                "L": host(self.L),
                "lam": self.lam,
                "origin": host(self.origin),
                "offset": host(self.offset),
                "inputs": host(self.inputs),
                "totals": np.array([self.count, self.extra]),
                "counters": np.array([self.blocks, self.aligned, self.decays], dtype=np.int64),
            }
        )

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        n, largest = self.n, LARGEST_VALUE[np.float64]
        L = stored_array(arrays, "L", (None, n), self.dtype)
        self.lam = stored_array(arrays, "lam", (len(L),), least=0.0)
        self.origin = stored_array(arrays, "origin", (n,), most=largest)
        self.offset = stored_array(arrays, "offset", (n,), most=largest)
        self.inputs = stored_array(arrays, "inputs", (n,), least=0.0)
        if self.standardize:
            self.gain = stored_array(arrays, "gain", (n,), least=0.0)
        self.count, self.extra = map(float, stored_array(arrays, "totals", (2,), least=0.0))
        counters = stored_array(arrays, "counters", (3,), np.int64, least=0)
        self.blocks, self.aligned, self.decays = int(counters[0]), int(counters[1]), bool(counters[2])
        if len(L) > self.most or self.aligned > self.k or not (self.lam > 0).all():
            raise ValueError(f"its {len(L)} directions and {self.aligned} components do not fit together")
        self.L[:] = L
        self.lags = LagSums.restored(arrays, self.n, self.k)

    def _live_beside(self, rows: Floats) -> None:
        """Move to where these rows live."""
        if not elsewhere(self.rows, rows):
            return
        L, self.rows, self._marked = self.L, _room_like(self.rows, rows), False
        self.L[:] = beside(L, rows)
        for name in ("origin", "offset", "inputs", "gain"):
            if getattr(self, name) is not None:
                setattr(self, name, beside(getattr(self, name), rows))

    def _as_rows(self, values: Vector) -> Vector:
        """The numbers of the type of the rows that are nearest to these: an origin is subtracted as it is."""
        return values.astype(self.dtype).astype(np.float64)

    def _take_new_rows(self) -> None:
        """Leave the present rows to a mark."""
        self.rows, self._marked = _room_like(self.rows, self.rows), False

    def _rescale(self, fresh: Matrix) -> None:
        """Put L and fresh rows into units of a scale that includes them."""
        assert self.gain is not None
        level = np.abs(self.origin) + np.abs(self.offset)
        gain = gain_of(self.inputs, complete_count(self.count, self.extra, self.n), level)
        fresh *= gain
        L = self.L
        L *= scale_of(self.gain) * gain
        tiny = np.finfo(np.float64).tiny
        self.lam = np.maximum(host(np.einsum("ij,ij->i", L, L)), tiny)  # no longer all there is of L L'
        self.gain = gain

    def _absorb(self, R: Any, decay: float, steps: Steps | None = None) -> None:
        """Replace L and lam by the leading directions of L and R; R are rows if there are steps."""
        first = not self.r
        self.turn(*self.leading(self.products(R, decay), decay, steps, R), R)
        if first:  # there is nothing to follow: the largest entry of each axis is positive
            self.L[:] = fixed_signs(self.L)

    def products(self, R: Any, decay: float) -> Matrix:
        """M of L and R, a sum over features, without ``L L'`` unless that has moved: `leading` knows it."""
        r, L = self.r, self.L
        M, sparse = zeros((r + len(R), r + len(R)), L, np.float64), isinstance(R, SparseRows)
        if self._refreshes:
            M[:r, :r] = decay * _inner(L, L)
        cross = np.sqrt(decay) * (R @ L.T if sparse else _inner(R, L))
        M[r:, :r], M[:r, r:] = cross, cross.T
        M[r:, r:] = R.gram() if sparse else _inner(R, R)
        return M

    def leading(
        self, M: Matrix, decay: float, steps: Steps | None = None, R: Any = None
    ) -> tuple[Vector, Matrix]:
        """New eigenvalues, and P by which the new L is ``P' [L; R]``, of the products over all features.

        Where R are rows, ``steps`` says what each of them counts: they are compared with their neighbours.
        """
        r, lengths = self.r, None
        if not self._refreshes:  # diagonal by construction
            M[:r, :r] = np.diag(decay * self.lam)
        elif self.dtype == np.float32:
            lengths = np.sqrt(np.diag(host(M[:r, :r])) / (decay * self.lam))
            M[:r] /= lengths[:, None]
            M[:, :r] /= lengths
        e, P = self._decomposed(M)
        keep = int(np.count_nonzero(e > VANISHING[self.dtype] * max(e[0], 0.0)))
        e, P = self._aligned(e[:keep], P[:, :keep], decay)
        if steps is not None:
            rows = len(steps.weight)  # below them R may hold what filled rows lack
            R = R[:rows] if len(M) > r + rows else R
            self._compare_neighbours(M[r : r + rows, : r + rows], e, P[: r + rows], steps, R)
        self._turn_moves(e, P, decay)
        if decay != 1:
            P[:r] *= np.sqrt(decay)
        if lengths is not None:
            P[:r] /= lengths[:, None]
        return e, P

    def _decomposed(self, M: Matrix) -> tuple[Vector, Matrix]:
        """The leading eigenvalues of M, largest first, and eigenvectors: as many as are kept."""
        r, wanted = self.r, min(self.directions, len(M))
        if 0 < r <= wanted <= MOST_WARM * len(M):
            found = warm_pairs(M, r, min(self.aligned, r), wanted)
            if found is not None:
                return found
        with one_thread():
            e, P = np.linalg.eigh(M)
        others = len(M) - wanted
        return host(e[others:])[::-1], host(P[:, others:])[:, ::-1]

    def _compare_neighbours(self, M: Matrix, e: Vector, P: Matrix, steps: Steps, R: Any) -> None:
        """Add products of rows with their predecessors: M holds ``R [L; R]'``, and so their projections.

        Axes are those from before the block, which have not been fitted to it. Of the first block they are
        its own.
        """
        decay, first = steps.fading.decay, self.lags.directions
        if not self.lags.is_due(decay, whole=len(M) == self.block):
            self.lags = self.lags.passed(decay)
            return
        products, r = host(M), min(self.r, first)
        Y = np.zeros((len(products), first))
        if r:
            Y[:, :r] = products[:, :r] / np.sqrt(decay * self.lam[:r])
        else:
            Y[:, : len(e)] = products @ P[:, :first] / np.sqrt(e[:first])
        gram, rows = products[:, self.r :], None
        total = float(gram.trace())
        if total - float(np.einsum("ij,ij->", Y, Y)) <= VANISHING[self.dtype] * total:
            gram = Y @ Y.T  # the axes leave nothing but rounding, which would pass for slow noise
        if self.lags.inputs.shape[-1]:
            rows = (R.get() if isinstance(R, SparseRows) else host(R)).astype(np.float64, copy=False)
        self.lags = self.lags.after(
            decay, block_sums(gram, Y, rows, steps.fading.scales, self.lags.alike, steps.stretches)
        )

    def _turn_moves(self, e: Vector, P: Matrix, decay: float) -> None:
        """Moves along the new axes; of the first block they are along these already."""
        first = self.lags.directions
        if self.r and self.lags.moves.known:
            overlap = self._overlap(e[:first], P[:, :first], decay)
            self.lags = self.lags.turned_by(overlap[:, :first])

    def turn(self, e: Vector, P: Matrix, R: Any) -> None:
        """``L <- P' [L; R]`` and ``lam <- e``, where R is sparse or stands below L."""
        r, sparse = self.r, isinstance(R, SparseRows)
        V = self.rows[self.most - r : self.most + (0 if sparse else len(R))]
        self.lam, grows = e, self.dtype == np.float32 and len(e) == r
        if grows:
            # L grows by what is new. Added one after the other to numbers of float32 that are 10^4 times as
            # large, single rows would be lost: in 10^7 rows axes drifted by 40 times their sampling errors.
            P[:r] -= np.eye(r)
        dense, tile = beside(P[: len(V)].astype(self.dtype, copy=False), V), _tile(V)
        if self._marked:
            self._take_new_rows()
        L = self.L
        for start in range(0, self.n, tile):
            columns = slice(start, start + tile)
            new = dense.T @ V[:, columns]
            if grows:
                np.add(V[:r, columns], new, out=L[:, columns])
            else:
                L[:, columns] = new
        if sparse:
            L += P[r:].T @ R

    @property
    def _refreshes(self) -> bool:
        """True if the next M needs ``L L'`` itself: its scale has moved, or it is time, see `REFRESH`."""
        return self.standardize or self.blocks % REFRESH == REFRESH - 1

    def _aligned(self, e: Vector, P: Matrix, decay: float) -> tuple[Vector, Matrix]:
        """Order and signs of the first axes like those of their predecessors, by r^2 numbers.

        Signs of the others are fixed: `warm_pairs` starts from them, and every library has its own.
        """
        first = min(self.k, len(e))
        overlap = self._overlap(e[:first], P[:, :first], decay)
        order, signs = matched_overlap(overlap, e[:first], self.aligned, np.ones(first))
        e, P = e.copy(), P.copy()
        e[:first], P[:, :first] = e[order], P[:, order] * signs
        P[:, first:] = fixed_signs(P[:, first:].T).T
        return e, P

    def _overlap(self, e: Vector, P: Matrix, decay: float) -> Matrix:
        """Inner products of new axis i and old axis j: ``P_ji sqrt(e_i / (D lam_j))``."""
        return np.asarray(P[: self.r].T * np.sqrt(e)[:, None] / np.sqrt(decay * self.lam))


def _inner(A: Any, B: Any) -> Any:
    """``A B'`` in float64: products of float32 over some columns, added up."""
    if A.dtype == np.float64:
        return A @ B.T
    total, tile = 0.0, _tile(A)
    for start in range(0, A.shape[1], tile):
        columns = slice(start, start + tile)
        total = total + (A[:, columns] @ B[:, columns].T).astype(np.float64)
    return total


def _tile(array: Any) -> int:
    """Columns of a product that are computed at a time."""
    return TILE if isinstance(array, np.ndarray) else DEVICE_TILE


def _padded(rows: int, n: int, dtype: Any) -> Any:
    """Zeros (rows, n). Where rows would lie a multiple of a page apart, caches hold few of them at a time."""
    size = np.dtype(dtype).itemsize
    return np.zeros((rows, n + 64 // size if n * size % 4096 == 0 else n), dtype)[:, :n]


def _room_like(array: Any, rows: Any) -> Any:
    """Zeros of the shape and type of an array, where these rows live."""
    if isinstance(rows, np.ndarray) or rows.device is None:
        return _padded(array.shape[0], array.shape[1], array.dtype)
    return zeros(array.shape, rows, array.dtype)
