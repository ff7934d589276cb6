"""Streaming PCA and monitoring as parts of river: dictionaries in, features that come and go.

>>> from river import datasets, linear_model, metrics, preprocessing
>>> pca = StreamingPCA(n_components="parallel")
>>> model = preprocessing.StandardScaler() | pca | linear_model.LogisticRegression()
>>> accuracy = metrics.Accuracy()
>>> for x, y in datasets.Phishing():
...     accuracy.update(y, model.predict_one(x))
...     model.learn_one(x, y)
>>> pca.model.n_features_in_, pca.model.n_components_, round(accuracy.get(), 2)
(9, 2, 0.81)
"""

try:
    import river as river
except ImportError as error:
    raise ImportError("to use eigenstream in river, pip install 'eigenstream[river]'") from error

from .anomaly_monitor import AnomalyMonitor as AnomalyMonitor
from .streaming_pca import StreamingPCA as StreamingPCA

__all__ = ["AnomalyMonitor", "StreamingPCA"]
