"""The model that tests of the live page show."""

from typing import Any

from eigenstream import OnlineAdaptivePCA, streams


def learnt(n_samples: int = 300, **parameters: Any) -> OnlineAdaptivePCA:
    """A model of a stream whose rank changes."""
    model = OnlineAdaptivePCA(random_state=0, **parameters)
    for batch in streams.changing_rank(n_samples, random_state=0):
        model.partial_fit(batch)
    return model
