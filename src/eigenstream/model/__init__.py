"""A learner on a stream: schedule, row loop with gaps, scores, readings, joining, and the stored form."""

from .events import RankChange, Tally
from .joining import joined
from .parameters import plan_for
from .plan import Plan, automatic_solver
from .stamps import TimesGoBack, row_times
from .stream_model import StreamModel
from .tracker import Tracker
from .weights import network_response, network_weights
from .widening import widened

__all__ = [
    "Plan",
    "RankChange",
    "StreamModel",
    "Tally",
    "TimesGoBack",
    "Tracker",
    "automatic_solver",
    "joined",
    "network_response",
    "network_weights",
    "plan_for",
    "row_times",
    "widened",
]
