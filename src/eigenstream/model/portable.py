"""A frozen model as plain JSON, which any language can read: what it takes to score rows, and nothing else.

JSON and not ONNX, because mean, axes and gains are all there is: twenty lines read them anywhere, without a
runtime, and the names of the inputs come along.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..io import files
from ..learners.arrays import host

FORMAT, VERSION = "eigenstream frozen model", 1


def export_json(
    model: Any,
    path: str | os.PathLike[str],
    names: Sequence[str] | None = None,
) -> None:
    """Write what a model has learnt as JSON: rows can be scored by it, it cannot learn on.

    Parameters
    ----------
    model
        A fitted `AdaptivePCA`, `OnlineAdaptivePCA` or `StreamModel`, or a fitted monitor, whose model is
        written.
    path
        The file; it holds the old content or the new, never a part.
    names
        Names of the inputs, for a model that has none.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from eigenstream import OnlineAdaptivePCA, export_json
    >>> model = OnlineAdaptivePCA().fit([[1.0, 2.0], [3.0, 5.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_json(model, Path(folder, "model.json"))
    ...     json.loads(Path(folder, "model.json").read_text())["mean"]
    [2.0, 3.5]
    """
    text = json.dumps(document(model, names), ensure_ascii=False, allow_nan=False)
    files.replace(path, text.encode("utf-8", "surrogateescape"))


def document(model: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The content that `export_json` writes, as plain values.

    The scores of a row ``x``, put beside its predecessors if there are lags, are
    ``gains * (axes @ ((x - mean) / scale))``, with zeros up to ``width``.
    """
    from importlib.metadata import version

    if hasattr(model, "get_params"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)
    model = getattr(model, "model_", model)
    reading = model.reading()
    scores = model.scores if hasattr(model, "scores") else model.parameters["scores"]
    inputs = len(reading.mean)
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "eigenstream_version": version("eigenstream"),
        "inputs": [*map(str, names or model.input_names_[: model.n_features_in_])],
        "lags": inputs // model.n_features_in_ - 1,
        "scores": scores,
        "width": model.max_components_,
        "mean": _plain(reading.mean),
        "scale": None if reading.scale is None else _plain(reading.scale),
        "axes": _plain(reading.kept_axes),
        "gains": _plain(reading.factors(scores, reading.variances.dtype)),
        "variances": _plain(reading.kept_variances),
        "threshold": float(reading.threshold),
        "samples": model.n_samples_seen_,
    }


def _plain(array: Any) -> Any:
    """Numbers as JSON writes them: exactly."""
    return np.asarray(host(array), dtype=np.float64).tolist()
