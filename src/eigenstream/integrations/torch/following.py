"""A model that learns from what a layer of a network puts out while the network runs."""

from __future__ import annotations

from typing import Any

import torch


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
