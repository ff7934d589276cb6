"""A model or a monitor per key, for thousands of keyed streams on one machine.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> keys = rng.integers(0, 100, 20_000)
>>> rows = rng.standard_normal((20_000, 8)) * np.r_[5.0, 3.0, np.ones(6)]
>>> bank = Bank()
>>> scores = bank.learn_many(keys, rows)
>>> len(bank), bank.model(7).n_components_
(100, 2)
"""

from __future__ import annotations

from .bank import Bank as Bank
from .frames import learn_frame as learn_frame
from .lookup import ModelLookup as ModelLookup
from .merging import merge_banks as merge_banks
from .monitors import MonitorBank as MonitorBank
from .monitors import open_bank as open_bank
from .store import CallInterrupted as CallInterrupted
from .store import Entry as Entry
from .store import Store as Store
from .store import is_bank as is_bank

__all__ = [
    "Bank",
    "CallInterrupted",
    "Entry",
    "ModelLookup",
    "MonitorBank",
    "Store",
    "is_bank",
    "learn_frame",
    "merge_banks",
    "open_bank",
]
