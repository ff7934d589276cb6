"""Watching a stream: statistics of each row, limits that correct themselves, alarms, inputs to blame."""

from .drift import Drift as Drift
from .events import Alarm as Alarm
from .events import Contributors as Contributors
from .events import Notice as Notice
from .history import ControlHistory as ControlHistory
from .inputs import KINDS as KINDS
from .model import MonitoredModel as MonitoredModel
from .model import load as load
from .monitor import Monitor as Monitor
from .reference import STATISTICS as STATISTICS
from .settings import MonitorSettings as MonitorSettings
from .verdicts import COLUMNS as COLUMNS
from .verdicts import Verdict as Verdict
from .verdicts import Verdicts as Verdicts
