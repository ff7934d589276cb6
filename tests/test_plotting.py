"""Pictures show the model's own numbers, and matplotlib loads only with the first of them."""

import subprocess
import sys

import numpy as np
import pytest

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, StreamMonitor, plotting, streams
from eigenstream.monitoring import MonitoredModel
from eigenstream.plotting.palette import BLUE, ORANGE, RED

pytest.importorskip("matplotlib")
from matplotlib import pyplot
from matplotlib.colors import same_color
from matplotlib.figure import Figure

NAMES = ["feed", "valve $a_b$", "flow", "a name that is far too long for an axis", "heat", "p", "q", "r"]
BROKEN = streams.Fault(4, 1500, 1600, size=10.0)


@pytest.fixture
def axis():
    """An axis of a figure that pyplot does not know."""
    return Figure().subplots()


@pytest.fixture(scope="module")
def online():
    """A model of a stream with four components among 64 inputs."""
    return OnlineAdaptivePCA(half_life=200).fit(np.vstack([*streams.paper_stream(1500, random_state=0)]))


@pytest.fixture(scope="module")
def watched():
    """A monitor that alarmed at one input, and its last verdicts."""
    import pandas as pd

    monitor = StreamMonitor(confirm=(2, 3))
    rows = np.vstack([*streams.plant(2000, faults=[BROKEN], random_state=0)])
    verdicts = monitor.learn_many(pd.DataFrame(rows, columns=NAMES))
    return monitor, verdicts, pd.DataFrame(rows, columns=NAMES)


def labelled(axis):
    return {line.get_label(): line for line in axis.get_lines()}


def legend(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def test_the_spectrum_is_the_models_own(online, axis):
    assert plotting.plot_spectrum(online, axis) is axis
    lines = labelled(axis)
    kept, rest = lines["kept"].get_ydata(), lines["not kept"].get_ydata()
    np.testing.assert_array_equal(np.concatenate((kept, rest)), online.spectrum_)
    assert len(kept) == online.n_components_
    assert set(lines["threshold"].get_ydata()) == {online.threshold_}
    assert same_color(lines["kept"].get_color(), BLUE)
    assert same_color(lines["threshold"].get_color(), RED)
    assert axis.get_yscale() == "log"


def test_spectra_of_models_offline_and_of_monitors(watched, axis, rng):
    offline = AdaptivePCA(max_components=5).fit(rng.standard_normal((100, 8)) * [9, 7, 1, 1, 1, 1, 1, 1])
    lines = labelled(plotting.plot_spectrum(offline, axis))
    shown = np.concatenate((lines["kept"].get_ydata(), lines["not kept"].get_ydata()))
    np.testing.assert_array_equal(shown, offline.spectrum_)
    assert len(shown) == 5
    monitor, _, _ = watched
    lines = labelled(plotting.plot_spectrum(monitor, Figure().subplots()))
    np.testing.assert_array_equal(lines["kept"].get_ydata(), monitor.model_.explained_variance_)


def test_tracks_and_ranks_are_the_history(online, axis):
    history = online.spectrum_history_
    assert plotting.plot_tracks(online, axis) is axis
    threshold = next(line for line in axis.get_lines() if same_color(line.get_color(), RED))
    np.testing.assert_array_equal(threshold.get_xdata(), history.sample)
    np.testing.assert_array_equal(threshold.get_ydata(), history.threshold)
    assert legend(axis) == ["kept", "the rest, mean", "threshold"]
    below = plotting.plot_rank_history(history, Figure().subplots())
    np.testing.assert_array_equal(below.get_lines()[0].get_ydata(), history.rank)


@pytest.mark.parametrize("solver", ["exact", "subspace"])
@pytest.mark.parametrize("asked", [{}, {"n_components": 2}, {"max_components": 4}], ids=str)
def test_the_grey_line_is_the_mean_of_the_rest(solver, asked, axis, rng):
    X = rng.standard_normal((2048, 20)) * np.r_[6.0, 5.0, np.linspace(1, 0.1, 18)]
    model = OnlineAdaptivePCA(solver=solver, random_state=0, **asked).fit(X)
    plotting.plot_tracks(model, axis)
    assert legend(axis)[1] == "the rest, mean"
    assert axis.get_lines()[0].get_ydata()[-1] == pytest.approx(model.noise_variance_, rel=0.1)


def test_the_rank_of_a_model_is_drawn_to_its_last_sample(online):
    """The last look at the spectrum, at which the rank may have changed, may have been long before."""
    history = online.spectrum_history_
    assert history.sample[-1] < online.n_samples_seen_
    for axis in (plotting.plot_rank_history(online), plotting.draw_history(online, "x").axes[1]):
        line = axis.get_lines()[0]
        np.testing.assert_array_equal(line.get_xdata(), [*history.sample, online.n_samples_seen_])
        np.testing.assert_array_equal(line.get_ydata(), [*history.rank, online.n_components_])


def test_rounding_does_not_stretch_the_axis(online, axis):
    history = online.spectrum_history_
    spoiled = history.variances.copy()
    spoiled[0, -1] = 1e-17
    plotting.plot_tracks(history._replace(variances=spoiled), axis)
    assert axis.get_ylim()[0] > 1e-6


BEGAN = 1_700_000_000.0
"""The time from which these streams count, in seconds since 1970."""


def test_times_make_an_axis_of_dates(online, axis):
    plotting.plot_rank_history(online, axis, times=lambda counts: BEGAN + 60.0 * counts)
    assert axis.get_xlabel() == "time (UTC)"
    first = int(online.spectrum_history_.sample[0])
    assert axis.get_lines()[0].get_xdata()[0] == np.datetime64(int(BEGAN) + 60 * first, "s")


def test_times_that_are_no_dates_stay_numbers(online, axis):
    plotting.plot_rank_history(online, axis, times=lambda counts: counts / 2)
    assert axis.get_xlabel() == "time"
    assert axis.get_lines()[0].get_xdata()[0] == online.spectrum_history_.sample[0] / 2


def with_a_pause(counts):
    """A sample per minute; after sample 700 the stream pauses for ten days."""
    return BEGAN + 60.0 * counts + 864_000.0 * (counts > 700)


def pieces(line):
    """First and last dates of the pieces of a line that are drawn."""
    dates, drawn = line.get_xdata(), np.isfinite(line.get_ydata())
    edges = np.diff(drawn.astype(int), prepend=0, append=0)
    return [*zip(dates[np.flatnonzero(edges == 1)], dates[np.flatnonzero(edges == -1) - 1], strict=True)]


def at(count):
    return np.datetime64(int(with_a_pause(count)), "s")


def test_lines_over_time_are_broken_at_a_pause(online):
    figure = plotting.draw_history(online, "x", with_a_pause)
    threshold = next(line for line in figure.axes[0].get_lines() if same_color(line.get_color(), RED))
    rank, first = figure.axes[1].get_lines()[0], int(online.spectrum_history_.sample[0])
    looks = int(online.spectrum_history_.sample[-1])
    assert pieces(threshold) == [(at(first), at(700)), (at(701), at(looks))]
    assert pieces(rank) == [(at(first), at(700)), (at(701), at(online.n_samples_seen_))]
    sides = np.isin(rank.get_xdata(), [at(700), at(701)]) & np.isfinite(rank.get_ydata())
    assert set(rank.get_ydata()[sides]) == {4}


def test_lines_are_whole_where_no_pause_can_be_seen(online):
    for times in (lambda counts: 60.0 * counts, lambda counts: 60.0 * counts + 600 * (counts > 700)):
        line = plotting.plot_rank_history(online, Figure().subplots(), times=times).get_lines()[0]
        assert len(pieces(line)) == 1
        assert len(line.get_xdata()) == len(online.spectrum_history_.sample) + 1


def test_control_charts_pause_and_so_do_alarms(watched):
    _, verdicts, _ = watched
    last = int(
        verdicts.row[np.flatnonzero(verdicts.alarm)[-1]]
    )  # the stream pauses right after the last alarm
    pause = lambda counts: BEGAN + 60.0 * counts + 864_000.0 * (counts > last + 1)  # noqa: E731
    axis = plotting.plot_control_chart(verdicts, Figure().subplots(), times=pause)
    value, limit = axis.get_lines()
    assert len(pieces(value)) == len(pieces(limit)) == 2
    corners = [patch.get_patch_transform().transform(patch.get_path().vertices) for patch in axis.patches]
    days = sum(np.ptp(corner[:, 0]) for corner in corners)
    assert days * 24 * 60 == pytest.approx(verdicts.alarm.sum())


def test_a_pause_among_few_rows_with_equal_times_is_found():
    from eigenstream.plotting.axes import pauses

    seconds = np.array([0, 0, 1, 1, 1, 2, 2, 90, 90, 91.0])
    counts = np.arange(1, 11)
    np.testing.assert_array_equal(pauses(counts, lambda c: seconds[c - 1]), [7])
    np.testing.assert_array_equal(pauses(counts[[0, 1, 9]], lambda c: np.where(c > 7, 90.0, 0.1 * c)), [])
    assert len(pauses(counts, lambda c: np.zeros(len(c)))) == 0


def test_offline_models_have_no_history(rng):
    model = AdaptivePCA().fit(rng.standard_normal((50, 4)))
    with pytest.raises(TypeError, match=r"AdaptivePCA has no history.*plot_spectrum"):
        plotting.plot_tracks(model)


def test_nothing_learnt_nothing_drawn():
    from sklearn.exceptions import NotFittedError

    for draw in (plotting.plot_spectrum, plotting.plot_tracks, plotting.plot_components):
        for model in (AdaptivePCA(), OnlineAdaptivePCA(), StreamMonitor()):
            with pytest.raises(NotFittedError):
                draw(model)


def test_components_as_a_table_name_the_inputs(watched, axis):
    monitor, _, _ = watched
    assert plotting.plot_components(monitor, axis) is axis
    np.testing.assert_array_equal(axis.get_images()[0].get_array(), monitor.model_.components_)
    shown = [text.get_text() for text in axis.get_xticklabels()]
    assert shown[:3] == NAMES[:3]
    assert len(shown[3]) == 24
    assert shown[3].endswith("…")
    assert not axis.get_xticklabels()[1].get_parse_math()


def test_few_components_have_room_beside_long_names(watched):
    """Names that stand upright take their own room; one image does not fill a page."""
    monitor, _, _ = watched
    axis = plotting.plot_components(monitor, count=1)
    axis.figure.canvas.draw()
    assert axis.get_window_extent().height > 0.9 * axis.figure.dpi
    assert axis.yaxis.label.get_window_extent().y0 >= 0
    digits = AdaptivePCA().fit(np.vstack([*streams.paper_stream(500, random_state=0)]))
    one, two = (plotting.plot_components(digits, shape=(8, 8), count=count).figure for count in (1, 2))
    assert max(one.get_size_inches()) < 5 < two.get_size_inches()[0]
    pyplot.close("all")


@pytest.mark.parametrize(("count", "shown"), [(None, 4), (2, 2)])
def test_components_as_images(online, axis, count, shown):
    plotting.plot_components(online, axis, shape=(4, 16), count=count)
    images = [image.get_array() for image in axis.get_images()]
    assert len(images) == shown
    for image, component in zip(images, online.components_[:shown], strict=True):
        np.testing.assert_array_equal(image, component.reshape(4, 16))
    spans = sorted((image.get_extent()[0], image.get_extent()[3]) for image in axis.get_images())
    assert len(set(spans)) == shown


def test_impossible_components_are_refused(online, rng):
    with pytest.raises(ValueError, match=r"shape=\(5, 5\) must be .* 64 pixels"):
        plotting.plot_components(online, shape=(5, 5))
    noise = OnlineAdaptivePCA().fit(rng.standard_normal((500, 8)))
    with pytest.raises(ValueError, match="keeps no component"):
        plotting.plot_components(noise)


@pytest.mark.parametrize("statistic", ["t2", "spe", "distance", "severity"])
def test_a_chart_of_verdicts_shows_each_row(watched, axis, statistic):
    _, verdicts, _ = watched
    assert plotting.plot_control_chart(verdicts, axis, statistic=statistic) is axis
    value, limit = axis.get_lines()
    np.testing.assert_array_equal(value.get_xdata(), verdicts.row)
    judged = getattr(verdicts, statistic) > 0
    np.testing.assert_array_equal(value.get_ydata()[judged], getattr(verdicts, statistic)[judged])
    if statistic == "severity":
        assert set(limit.get_ydata()) == {1.0}
    else:
        told = np.isfinite(getattr(verdicts, f"{statistic}_limit"))
        np.testing.assert_array_equal(np.isfinite(limit.get_ydata()), told)
    corners = [patch.get_patch_transform().transform(patch.get_path().vertices) for patch in axis.patches]
    assert sum(np.ptp(corner[:, 0]) for corner in corners) == verdicts.alarm.sum()
    assert same_color(axis.patches[0].get_facecolor()[:3], ORANGE)


def test_a_chart_of_a_monitor_shows_its_whole_stream(watched, axis):
    monitor, _, _ = watched
    plotting.plot_control_chart(monitor, axis)
    history = monitor.control_history_
    value, limit = axis.get_lines()
    expected, one = history.chart("severity")
    np.testing.assert_array_equal(value.get_ydata(), expected)
    assert set(limit.get_ydata()[np.isfinite(one)]) == {1.0}
    assert axis.get_xlim() == (0, 2000)
    assert legend(axis) == ["largest per interval", "limit", "alarm"]
    with pytest.raises(ValueError, match=r"statistic must be one of 't2', .*, got 'T2'"):
        plotting.plot_control_chart(monitor, statistic="T2")


def test_monitors_of_the_command_line_are_drawn_alike(watched):
    monitor, _, rows = watched
    plain = MonitoredModel(monitor._monitor.settings, standardize=True)
    plain.features = NAMES
    plain.judge_many(rows.to_numpy())
    ours = [line.get_ydata() for axis in plotting.draw_control(monitor, "").axes for line in axis.get_lines()]
    theirs = [line.get_ydata() for axis in plotting.draw_control(plain, "").axes for line in axis.get_lines()]
    assert len(ours) == 12
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(mine, other)
    shares = plotting.plot_contributions(plain, Figure().subplots())
    assert shares.get_yticklabels()[0].get_text() == "heat"


def test_contributions_of_the_last_alarm(watched, axis):
    monitor, _, _ = watched
    assert plotting.plot_contributions(monitor, axis) is axis
    alarm = monitor.alarms_[-1]
    assert [bar.get_width() for bar in axis.patches] == [share for _, share in alarm.contributors]
    assert axis.get_yticklabels()[0].get_text() == "heat"
    assert axis.get_xlabel().endswith(f"at row {alarm.peak_row:,}")


def test_contributions_of_a_row(watched, axis):
    monitor, _, rows = watched
    row = rows.iloc[1000].copy()
    row["feed"] += 20 * rows["feed"].std()
    plotting.plot_contributions(monitor, axis, row=row, statistic="spe", count=3)
    added = monitor.contributions(row.to_frame().T)["spe"][0]
    assert len(axis.patches) == 3
    assert axis.patches[0].get_width() == pytest.approx(added[0] / added.sum())
    assert axis.get_yticklabels()[0].get_text() == "feed"
    chosen = plotting.plot_contributions(monitor, Figure().subplots(), row=row.to_frame().T)
    verdict = monitor.judge(row.to_frame().T).one(0)
    ratios = {"T²": verdict.t2 / verdict.t2_limit, "SPE": verdict.spe / verdict.spe_limit}
    ratios["distance"] = verdict.distance / verdict.distance_limit
    assert chosen.get_xlabel() == f"share of {max(ratios, key=ratios.get)}"


def test_contributions_that_cannot_be(watched, rng):
    monitor, _, rows = watched
    with pytest.raises(ValueError, match="one row of the input, got 2"):
        plotting.plot_contributions(monitor, row=rows[:2])
    with pytest.raises(ValueError, match="statistic must be one of"):
        plotting.plot_contributions(monitor, row=rows[:1], statistic="severity")
    young = StreamMonitor().partial_fit(rng.standard_normal((3, 4)))
    with pytest.raises(ValueError, match="there was no alarm"):
        plotting.plot_contributions(young)
    with pytest.raises(ValueError, match="knows too little"):
        plotting.plot_contributions(young, row=np.ones(4))


def test_without_an_axis_a_new_figure_is_made(online):
    first, second = plotting.plot_spectrum(online), plotting.plot_rank_history(online)
    assert first.figure is not second.figure
    assert first.figure.number in pyplot.get_fignums()
    pyplot.close("all")


def test_matplotlib_loads_with_the_first_picture_and_is_named_where_it_lacks():
    code = """
import sys, eigenstream
eigenstream.plotting.plot_spectrum
assert "matplotlib" not in sys.modules
sys.modules["matplotlib"] = None
model = eigenstream.OnlineAdaptivePCA().fit([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]])
for draw in (eigenstream.plotting.plot_spectrum, eigenstream.plotting.plot_tracks):
    try:
        draw(model)
    except ImportError as error:
        print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["a picture needs matplotlib: pip install 'eigenstream[plot]'"] * 2
