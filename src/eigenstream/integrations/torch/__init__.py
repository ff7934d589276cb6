"""Streaming PCA as a part of a PyTorch model: a module that learns what passes through it, and a hook.

>>> import torch
>>> from eigenstream.integrations.torch import StreamingPCA, follow
>>> net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
>>> pca = StreamingPCA(max_components=8)
>>> with follow(net, "0", pca):
...     for _ in range(10):
...         answer = net(torch.randn(100, 16))
>>> pca.model.n_samples_seen_, pca.eval()(torch.randn(5, 64)).shape
(1000, torch.Size([5, 8]))

`eigenstream.OnlineAdaptivePCA` takes tensors without any of this.
"""

try:
    import torch as torch
except ImportError as error:
    raise ImportError("to use eigenstream with PyTorch, pip install 'eigenstream[torch]'") from error

from .streaming_pca import StreamingPCA as StreamingPCA
from .streaming_pca import follow as follow

__all__ = ["StreamingPCA", "follow"]
