"""Traces of inputs around alarms: their values, what they should have been, and the usual band."""

import numpy as np
import pytest

from eigenstream.io.sources import ReadOptions
from eigenstream.jobs import Request, Watcher, prepare
from eigenstream.jobs.traces import AROUND, INPUTS, LONGEST, Traces
from eigenstream.model import StreamModel
from eigenstream.model.delays import embedded
from eigenstream.model.expectation import BAND, expectations
from eigenstream.model.filling import expected_by
from eigenstream.model.history import STATISTIC_NAMES
from eigenstream.monitoring import MonitoredModel, MonitorSettings
from eigenstream.plotting import draw_control, plot_trace
from eigenstream.streams import Fault
from tests.live_traces import judge
from tests.marks import slow
from tests.plant_files import NAMES, plant_rows

FAULTS = (Fault(NAMES.index("valve"), 1200, 1240), Fault(NAMES.index("heat"), 1600, 1650, size=10.0))


def covariance(reading):
    """Of a row, in its own units, as the distribution says that gaps are filled by."""
    known = expected_by(reading)
    C = (known.axes.T * known.variances) @ known.axes + known.noise * np.eye(len(known.mean))
    scale = np.ones(len(known.mean)) if known.gain is None else 1 / known.gain
    return known.mean, scale[:, None] * C * scale


@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"lags": 1}], ids=str)
@pytest.mark.parametrize("inputs", [[0, 3]], ids=str)
def test_an_expectation_is_the_conditional_one(parameters, inputs):
    X = plant_rows(900, ())[:, :6]
    model = StreamModel(**parameters).partial_fit(X)
    rows = embedded(X[:20], parameters.get("lags", 0))
    mean, C = covariance(model.reading())
    others = np.setdiff1d(np.arange(len(mean)), inputs)
    gain = np.linalg.solve(C[np.ix_(others, others)], C[np.ix_(others, inputs)])
    expected, deviation = expectations(model.reading(), rows, inputs)
    np.testing.assert_allclose(expected, mean[inputs] + (rows[:, others] - mean[others]) @ gain, rtol=1e-6)
    rest = C[np.ix_(inputs, inputs)] - C[np.ix_(inputs, others)] @ gain
    np.testing.assert_allclose(deviation, np.sqrt(np.diag(rest)), rtol=1e-6)


def watched(X, size, **parameters):
    model = MonitoredModel(MonitorSettings(false_alarm_rate=1e-6), standardize=True, **parameters)
    model.features, traces = list(NAMES), Traces()
    for start in range(0, len(X), size):
        judge(model, traces, X, start, min(start + size, len(X)))
    return model, traces.found


@pytest.mark.parametrize(("size", "lags"), [(1024, 0), slow(37, 0), (300, 1)])
def test_each_alarm_has_the_traces_of_the_inputs_to_blame(size, lags):
    X = plant_rows(1800, FAULTS)
    model, traces = watched(X, size, lags=lags)
    assert [trace.began for trace in traces] == [alarm.began for alarm in model.alarms_] == [1200, 1600]
    for trace, fault in zip(traces, FAULTS, strict=True):
        assert trace.names[0] == NAMES[fault.sensor]
        assert 1 <= len(trace.names) <= INPUTS
        np.testing.assert_array_equal(trace.rows, np.arange(trace.began - AROUND, trace.last + 1 + AROUND))
        own = [NAMES.index(one) for one in trace.names]
        np.testing.assert_array_equal(trace.values, X[trace.rows][:, own])
        off = np.abs(trace.values - trace.expected) > BAND * trace.deviation
        usual = (trace.rows < trace.began) | (trace.rows > trace.last)
        faulty = (trace.rows >= fault.start) & (trace.rows < fault.stop)
        assert off[faulty, 0].mean() > 0.9  # what the fault did to it stands out of the band
        assert off[usual].mean() < 0.05


def test_a_trace_is_bounded_however_long_the_alarm_is():
    X = plant_rows(2600, [Fault(NAMES.index("valve"), 1200, 10**9)])
    _, traces = watched(X, 300)
    assert max(len(trace.rows) for trace in traces) == LONGEST


def test_pictures_show_traces():
    X = plant_rows(1800, FAULTS)
    model, traces = watched(X, 500)
    figure = draw_control(model, "a plant", trace=traces[0])
    charts = len(STATISTIC_NAMES)
    assert len(figure.axes) == charts + len(traces[0].names)
    assert figure.axes[charts].get_ylabel() == "valve"
    axis = plot_trace(traces[1], times=lambda counts: 1.7e9 + 60.0 * counts)
    assert axis.get_xlabel() == "time (UTC)"
    np.testing.assert_array_equal(axis.get_lines()[1].get_ydata(), traces[1].values[:, 0])
    assert len(draw_control(model, "a plant").axes) == charts


def test_a_job_that_is_resumed_reads_the_rows_around_earlier_alarms_again(tmp_path):
    """Alarms from before have their traces, whole where they go on, also where rows were left out."""
    X = plant_rows(1800, FAULTS)
    lines = [",".join(map(repr, row)) for row in X.tolist()]
    for number in (3, 700, 1190):
        lines[number] = "no numbers"
    (tmp_path / "x.csv").write_text("\n".join([",".join(NAMES), *lines]) + "\n")
    reading = ReadOptions(batch_rows=100, on_bad_row="skip", rows=(0, None))
    parameters = {"standardize": True, "false_alarm_rate": 1e-6, "confirm": "1/1"}
    asked = Request(str(tmp_path / "x.csv"), reading=reading, parameters=parameters)
    with prepare(asked) as job:
        job.watchers = (whole := Traces(),)
        job.run()
    with prepare(asked, save=tmp_path / "m", every_rows=100) as job:
        job.watchers = (Until(1230),)
        with pytest.raises(KeyboardInterrupt):
            job.run()
    with prepare(asked, save=tmp_path / "m", resume=True) as job:
        traces = Traces()
        traces.recall(job)
        assert [trace.began for trace in traces.found] == [1197]
        job.watchers = (traces,)
        job.run()
    assert len(whole.found) == len(traces.found) == 2
    for one, other in zip(whole.found, traces.found, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.values, other.values)


class Until(Watcher):
    """Ends a job, after it has saved, once this many rows have come."""

    def __init__(self, rows):
        self.rows = rows

    def learnt(self, model, batch):
        if batch.count >= self.rows:
            raise KeyboardInterrupt
