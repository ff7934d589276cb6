"""Types of arrays that annotations share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
"""float32 or float64, of any shape."""
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
