"""A streaming model as a module of PyTorch, and one that follows the output of a layer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch

from ...learners.arrays import as_came, wrap
from ...learners.arrays.torch import TensorArray, real

DOCUMENT = "document"


class StreamingPCA(torch.nn.Module):
    """PCA that learns from what passes through it in ``train()``, and only transforms in ``eval()``.

    Takes ``(..., n_features)`` and returns ``(..., max_components)``, columns beyond the rank exactly zero.
    In training mode the scores are those from before learning (as of the last block: 64 rows, 256 on a GPU),
    constants to autograd. In evaluation mode they are those of everything learnt, and gradients flow through
    them to the input. The module has no parameters to optimize. It lives on the device of the rows that came
    last.

    ``state_dict`` holds all of it, as tensors whose shapes depend on what was learnt; ``load_state_dict``
    takes over the parameters, too, and continues exactly.

    Parameters
    ----------
    n_components
        As of `eigenstream.OnlineAdaptivePCA`.
    **parameters
        As of `eigenstream.OnlineAdaptivePCA`: ``max_components``, ``half_life``, ``standardize``, ...

    Attributes
    ----------
    model
        The model: ``n_components_``, ``components_``, ``explained_variance_`` and the other
        attributes of `OnlineAdaptivePCA`, and ``save(path)``, which writes a file for `eigenstream.load`.

    Examples
    --------
    >>> pca = StreamingPCA(max_components=4)
    >>> for _ in range(20):
    ...     scores = pca(torch.randn(64, 3) @ torch.eye(3, 200) * 5 + torch.randn(64, 200))
    >>> pca.model.n_components_, tuple(scores.shape)
    (3, (64, 4))
    """

    def __init__(self, n_components: Any = "auto", **parameters: Any) -> None:
        # Here, since it needs more than NumPy and PyTorch, which is all that `arrays` needs.
        from ...model.stream_model import StreamModel

        super().__init__()
        self.model = StreamModel(**{"solver": "subspace", "n_components": n_components, **parameters})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[-1])
        scores = self.learn(rows) if self.training else self.transform(rows)
        return scores.reshape(*x.shape[:-1], -1).to(x.dtype if x.is_floating_point() else scores.dtype)

    def learn(self, rows: torch.Tensor) -> torch.Tensor:
        """Learn from rows in order; returns each row's score before learning from it."""
        with torch.no_grad():
            scores: torch.Tensor = as_came(self.model.learn_many(self._finite(rows)), rows)
        return scores

    def partial_fit(self, rows: torch.Tensor) -> Self:
        """Learn from rows in order."""
        with torch.no_grad():
            self.model.partial_fit(self._finite(rows))
        return self

    def transform(self, rows: torch.Tensor) -> torch.Tensor:
        """Scores of each row by everything learnt; gradients flow to the rows."""
        if not self.model.is_fitted:
            raise RuntimeError("this StreamingPCA has not learnt anything yet: run it in train() first")
        self._check_width(rows)
        scores: torch.Tensor = as_came(self.model.transform(TensorArray(real(rows))), rows)  # type: ignore[arg-type]
        return scores

    def _finite(self, rows: torch.Tensor) -> Any:
        """Rows that can be learnt from."""
        self._check_width(rows)
        if self.model.missing == "raise" and not bool(torch.isfinite(rows).all()):
            raise ValueError(
                "the rows contain NaN or infinite values: remove them first, or learn with missing='skip' or "
                "missing='impute'"
            )
        return wrap(rows)

    def _check_width(self, rows: torch.Tensor) -> None:
        expected = self.model.n_features_in_ if self.model.is_fitted else rows.shape[-1]
        if rows.ndim != 2 or rows.shape[1] != expected:
            raise ValueError(f"expected rows of {expected} features, got shape {tuple(rows.shape)}")

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        arrays, document = self.model.content() if self.model.is_fitted else ({}, None)
        text = json.dumps(document).encode()
        destination[prefix + DOCUMENT] = torch.tensor(list(text), dtype=torch.uint8)
        for name, array in arrays.items():
            destination[prefix + name] = torch.from_numpy(np.array(array))

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, torch.Tensor],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if prefix + DOCUMENT not in state_dict:
            missing_keys.append(prefix + DOCUMENT)
            return
        stored = {
            name.removeprefix(prefix): tensor.detach().cpu().numpy()
            for name, tensor in state_dict.items()
            if name.startswith(prefix)
        }
        try:
            document = json.loads(stored.pop(DOCUMENT).tobytes())
            if document is None:
                self.model = type(self.model)(**self.model.parameters)
            else:
                self.model = self.model.from_stored(stored, document, prefix + DOCUMENT)
        except ValueError as error:
            error_msgs.append(f"what {prefix!r} holds is not the state of a StreamingPCA: {error}")


def follow(model: torch.nn.Module, layer: str, pca: Any, *, dim: int = -1) -> Any:
    """Learn from the output of a layer whenever the model runs.

    Parameters
    ----------
    model
        Any module.
    layer
        The name of one of its layers, as in ``model.named_modules()``; its output must be a tensor.
    pca
        Who learns: a `StreamingPCA`, as long as it is in training mode, or an `OnlineAdaptivePCA`.
    dim
        Which dimension of the output holds the features; all others together are rows. 1 for the channels of
        a convolution.

    Returns
    -------
    A handle: its ``remove()``, or leaving ``with follow(...):``, ends it.
    """
    layers = dict(model.named_modules())
    if layer not in layers:
        names = ", ".join(repr(name) for name in layers if name)
        raise ValueError(f"the model has no layer {layer!r}; expected one of {names}")

    def learn(_module: Any, _inputs: Any, output: Any) -> None:
        if not isinstance(output, torch.Tensor):
            raise TypeError(
                f"layer {layer!r} puts out a {type(output).__name__}, expected a tensor: follow a layer "
                "inside it"
            )
        if getattr(pca, "training", True):
            features = output.detach().movedim(dim, -1)
            pca.partial_fit(features.reshape(-1, features.shape[-1]))

    return layers[layer].register_forward_hook(learn)
