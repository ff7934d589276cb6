"""The questions in the order of the page."""

from types import ModuleType

from evaluation.questions import (
    accuracy,
    forgetting,
    memory,
    missing,
    monitoring,
    outliers,
    power_laws,
    rank,
    time,
)

QUESTIONS: list[ModuleType] = [
    rank,
    accuracy,
    time,
    missing,
    outliers,
    forgetting,
    memory,
    power_laws,
    monitoring,
]
