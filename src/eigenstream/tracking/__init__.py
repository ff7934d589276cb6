"""A learner on a stream: schedule, row loop with gaps, scores, readings, joining, and the stored form."""

from .joining import joined
from .model import StreamModel
from .parameters import plan_for
from .plan import Plan, automatic_solver
from .tracker import RankChange, Tally, Tracker
from .weights import network_weights
from .widening import widened

__all__ = [
    "Plan",
    "RankChange",
    "StreamModel",
    "Tally",
    "Tracker",
    "automatic_solver",
    "joined",
    "network_weights",
    "plan_for",
    "widened",
]
