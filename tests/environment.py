"""The environment of processes that tests start."""

import os

ENVIRONMENT = {"PYTHONWARNINGS": "error"} | os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Warnings are errors there too, unless the environment says otherwise, as it does for old libraries."""
