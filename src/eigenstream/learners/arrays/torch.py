"""Tensors that follow NumPy's protocols, so that code written for NumPy runs where the tensors live.

`TensorArray` has just what the subspace learner, its tracker and its readings ask of an array. NumPy's ufuncs
have the same names in PyTorch; the few functions that have not are in `FUNCTIONS`. An operation between a
tensor and an array of the host is done where the tensor lives. What is missing here raises a TypeError that
names it, rather than move numbers to the host in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from .recording import MOST, Recorded, iteration

TYPES = {np.dtype(name): getattr(torch, name) for name in ("float64", "float32", "int64", "bool")}
_RECORDED: dict[Any, Recorded] = {}
NAMES = {theirs: ours for ours, theirs in TYPES.items()}

UFUNCS: dict[str, Callable[..., Any]] = {"invert": torch.bitwise_not}
"""Ufuncs that PyTorch calls otherwise; the others have NumPy's names."""


def wrap(tensor: torch.Tensor) -> TensorArray:
    """A tensor behind NumPy's protocols; no gradients are taken of it."""
    return TensorArray(real(tensor.detach()))


def real(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of real numbers: half precision as float32, whole numbers as float64."""
    if tensor.dtype.is_complex or tensor.layout != torch.strided:
        raise ValueError(
            f"expected a dense tensor of real numbers, got one of type {tensor.dtype} and layout "
            f"{tensor.layout}; convert it first"
        )
    if tensor.dtype not in (torch.float32, torch.float64):
        return tensor.to(torch.float32 if tensor.dtype.is_floating_point else torch.float64)
    return tensor


class TensorArray(NDArrayOperatorsMixin):
    """A tensor behind NumPy's protocols; `unwrapped` is the tensor itself."""

    __slots__ = ("unwrapped",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.unwrapped = tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.unwrapped.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return NAMES[self.unwrapped.dtype]

    @property
    def device(self) -> torch.device:
        return self.unwrapped.device

    @property
    def launches(self) -> bool:
        """True if operations are launched on a device of its own, each at a price."""
        return bool(self.unwrapped.device.type != "cpu")

    @property
    def size(self) -> int:
        return int(self.unwrapped.numel())

    @property
    def T(self) -> TensorArray:
        return TensorArray(self.unwrapped.T)

    def get(self) -> NDArray[Any]:
        """The numbers on the host."""
        return np.asarray(self.unwrapped.detach().cpu().numpy())

    def beside(self, array: Any) -> TensorArray:
        """Another array where this one lives."""
        return TensorArray(self._operand(array).to(self.unwrapped.device, non_blocking=self.launches))

    def astype(self, dtype: Any, copy: bool = True) -> TensorArray:
        return TensorArray(self.unwrapped.to(TYPES[np.dtype(dtype)], copy=copy))

    def copy(self) -> TensorArray:
        return TensorArray(self.unwrapped.clone())

    def sum(self, axis: int | None = None) -> TensorArray:
        return TensorArray(self.unwrapped.sum() if axis is None else self.unwrapped.sum(axis))

    def any(self, axis: int | None = None) -> TensorArray:
        return TensorArray(self.unwrapped.any() if axis is None else self.unwrapped.any(axis))

    def all(self) -> TensorArray:
        return TensorArray(self.unwrapped.all())

    def dot(self, other: Any) -> TensorArray:
        product: TensorArray = self @ other
        return product

    def iterated(
        self, mixture: TensorArray, kept: int, steps: tuple[int, ...], dependent: float
    ) -> tuple[NDArray[Any], NDArray[Any], bool]:
        """`recording.iteration` of this matrix, on the host; CUDA devices record it once for each shape."""
        M, weights = self.unwrapped, mixture.unwrapped
        if M.device.type != "cuda":
            Q, small, fine = iteration(M, weights, kept, steps, dependent)
        else:
            key = M.device, len(M), weights.shape, kept, steps
            if key not in _RECORDED:
                if len(_RECORDED) >= MOST:
                    _RECORDED.clear()
                _RECORDED[key] = Recorded(M, weights, kept, steps, dependent)
            Q, small, fine = _RECORDED[key](M)
        return Q.numpy(), small.numpy(), bool(fine)

    def __len__(self) -> int:
        return len(self.unwrapped)

    def __float__(self) -> float:
        return float(self.unwrapped)

    def __int__(self) -> int:
        return int(self.unwrapped)

    def __bool__(self) -> bool:
        return bool(self.unwrapped)

    def __getitem__(self, key: Any) -> TensorArray:
        return TensorArray(self.unwrapped[self._key(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.unwrapped[self._key(key)] = self._operand(value).to(self.unwrapped)

    def __deepcopy__(self, memo: dict[int, Any]) -> TensorArray:
        return self.copy()

    def __reduce__(self) -> tuple[type[TensorArray], tuple[torch.Tensor]]:
        return TensorArray, (self.unwrapped,)

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise TypeError("a wrapped tensor is not moved to the host by itself: fetch it with host()")

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, where: Any = True, **options: Any
    ) -> Any:
        """``ufunc(*inputs)`` where this tensor lives; the order in memory is PyTorch's business."""
        name = ufunc.__name__
        function = UFUNCS.get(name) or getattr(torch, name, None)
        if method != "__call__" or function is None or set(options) - {"order"}:
            return NotImplemented
        operands = [self._operand(array) for array in inputs]
        target = None if out is None else out[0].unwrapped
        if name == "matmul":
            common = torch.promote_types(operands[0].dtype, operands[1].dtype)
            # Autocast would take float32 for an invitation to compute in half precision.
            with torch.autocast(self.unwrapped.device.type, enabled=False):
                return TensorArray(torch.matmul(*(operand.to(common) for operand in operands)))
        if target is None:
            return TensorArray(function(*operands))
        if where is True:
            return TensorArray(function(*operands, out=target))
        chosen = torch.where(self._operand(where), function(*operands), target)
        return TensorArray(target.copy_(chosen))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        known = FUNCTIONS.get(function)
        return NotImplemented if known is None else known(*args, **kwargs)

    def _operand(self, array: Any) -> torch.Tensor:
        """An operand as a tensor: arrays where this one lives, single numbers where they are."""
        # By way of NumPy a float is a double; PyTorch would make it a single.
        tensor = array.unwrapped if isinstance(array, TensorArray) else torch.as_tensor(np.array(array))
        # The host need not wait until a device has done all that it was asked for; from one it has to.
        return tensor if tensor.ndim == 0 else tensor.to(self.unwrapped.device, non_blocking=self.launches)

    def _key(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return tuple(self._key(part) for part in key)
        if isinstance(key, slice) and key.step is not None:
            raise TypeError(f"a tensor has no slices with steps such as {key}")
        return self._operand(key) if isinstance(key, TensorArray | np.ndarray) else key


def _zeros(prototype: TensorArray, dtype: Any = None, shape: tuple[int, ...] | None = None) -> TensorArray:
    return _filled(prototype, 0, dtype, shape)


def _filled(
    prototype: TensorArray, value: float, dtype: Any = None, shape: tuple[int, ...] | None = None
) -> TensorArray:
    shape = prototype.shape if shape is None else shape
    kind = prototype.unwrapped.dtype if dtype is None else TYPES[np.dtype(dtype)]
    return TensorArray(torch.full(shape, value, dtype=kind, device=prototype.device))


def _squares(subscripts: str, one: TensorArray, other: TensorArray, dtype: Any = None) -> Any:
    """Sums of squares of a matrix over its rows, its columns or both: no temporary of its size."""
    if one.unwrapped.data_ptr() != other.unwrapped.data_ptr():
        raise TypeError(f"einsum({subscripts!r}) of two different tensors has not been needed yet")
    dim = {"ij,ij->j": 0, "ij,ij->i": 1, "ij,ij->": None}[subscripts]
    kind = None if dtype is None else TYPES[np.dtype(dtype)]
    norm = TensorArray(torch.linalg.vector_norm(one.unwrapped, dim=dim, dtype=kind).square())
    return float(norm) if dim is None else norm


def _where(condition: TensorArray, one: float, other: float) -> TensorArray:
    return TensorArray(torch.where(condition.unwrapped, one, other))


def _first_largest(array: TensorArray, axis: int) -> TensorArray:
    tensor = array.unwrapped
    return TensorArray(torch.argmax(tensor.byte() if tensor.dtype == torch.bool else tensor, axis))


def _flat_nonzero(array: TensorArray) -> TensorArray:
    return TensorArray(torch.nonzero(array.unwrapped.flatten()).flatten())


def _largest(array: TensorArray, initial: float) -> float:
    tensor = torch.nan_to_num(array.unwrapped, nan=initial)
    return max(float(tensor.max()), initial) if tensor.numel() else initial


def _eigh(matrix: TensorArray) -> tuple[Any, Any]:
    """On the host as NumPy does it, to the bit; where kernels are launched, fetching would take longer."""
    if not matrix.launches:
        lam, V = np.linalg.eigh(matrix.get())
        return lam, V
    lam, V = torch.linalg.eigh(matrix.unwrapped)
    return TensorArray(lam), TensorArray(V)


def _stacked(arrays: list[TensorArray]) -> TensorArray:
    return TensorArray(torch.vstack([array.unwrapped for array in arrays]))


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.zeros_like: _zeros,
    np.full_like: _filled,
    np.einsum: _squares,
    np.where: _where,
    np.argmax: _first_largest,
    np.flatnonzero: _flat_nonzero,
    np.nanmax: _largest,
    np.vstack: _stacked,
    np.linalg.eigh: _eigh,
}
"""Functions of NumPy, and what computes them on tensors."""
