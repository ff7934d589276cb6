"""One model or monitor per key of a streaming DataFrame, and one model of a batch DataFrame.

State lives in Spark's own checkpoints, as the bytes of a model file: a query that was killed goes on, and
every key's model is to the bit what it would be on one machine. ::

    from eigenstream import OnlineAdaptivePCA
    from eigenstream.integrations.spark import learn_by_key, model_of, stored_models

    learnt = learn_by_key(stream, OnlineAdaptivePCA(half_life=500), key="sensor", order="offset", ttl="7d")
    query = learnt.writeStream.option("checkpointLocation", folder).outputMode("update").start(...)
    ...
    models = stored_models(spark, folder)
    model = model_of(models.where("key = 'boiler'").head().model)
"""

from __future__ import annotations

try:
    import google.protobuf  # noqa: F401  # Spark imports it only when a query starts
    import pandas as pandas
    import pyarrow as pyarrow
    import pyspark as pyspark
except ImportError as error:
    raise ImportError("to use eigenstream in Spark, pip install 'eigenstream[spark]'") from error

from .by_key import learn_by_key as learn_by_key
from .by_key import model_of as model_of
from .by_key import stored_models as stored_models
from .by_partition import fit as fit

__all__ = ["fit", "learn_by_key", "model_of", "stored_models"]
