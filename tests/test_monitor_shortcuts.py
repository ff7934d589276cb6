"""What a monitor does not compute, or computes later or together, changes nothing that it says."""

from dataclasses import replace

import numpy as np
import pytest

from eigenstream import OnlineAdaptivePCA, StreamMonitor, load
from eigenstream.monitoring import first_learning, judging, monitor
from eigenstream.monitoring.history import WAITING, Stretches
from eigenstream.monitoring.inputs import GROUP, TILE, Inputs
from eigenstream.monitoring.likeness import NEWEST, Likeness
from eigenstream.monitoring.limits import DISTANCE
from eigenstream.monitoring.reference import STATISTICS
from eigenstream.monitoring.trail import SPACING, Trail
from eigenstream.monitoring.trail import TILE as TILE_OF_ROWS
from eigenstream.monitoring.verdicts import COLUMNS
from tests.online_model import with_gaps
from tests.plant import INPUTS, in_control


def rows_with_faults(number, seed=0):
    X = in_control("correlated", number, seed=seed)
    X[number // 4] *= 1e4  # gross: it is drawn towards the mean as it enters averages
    X[number // 2 : number // 2 + 40, 1] += 5
    return X


def said(watching, rows):
    """Everything that `fit` of half of these rows says, and then of the other half."""
    half = len(rows) // 2
    watching.fit(rows[:half])
    verdicts = watching.learn_many(rows[half:]).matrix()
    return [np.array(list(watching.limits_.values())), verdicts, *watching.control_history_]


@pytest.mark.parametrize("missing", ["raise", "skip"])
@pytest.mark.parametrize("kept", [0, 300])
def test_squares_that_are_kept_are_those_that_would_be_found_anew(missing, kept, monkeypatch):
    rows = rows_with_faults(3000)
    rows = with_gaps(rows, 0.01) if missing == "skip" else rows
    monkeypatch.setattr(judging, "LARGEST_PART", 64 * rows.shape[1])
    model = OnlineAdaptivePCA(standardize=True, missing=missing)
    before = said(StreamMonitor(model), rows)
    monkeypatch.setattr(first_learning, "MOST_KEPT", kept)  # none, and those of the first parts
    for one, other in zip(before, said(StreamMonitor(model), rows), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("axes", [3, 12])
def test_averages_are_those_of_the_recursion_however_rows_are_cut(axes):
    rng, width = np.random.default_rng(0), 12
    rows, asked = rng.normal(size=(300, width)), np.flatnonzero(rng.random(300) < 0.3)  # on and off the grid
    asked = np.union1d(asked, np.arange(SPACING - 1, 300, SPACING))
    average, plain = np.zeros(width), []
    for row in rows:
        average = (1 - NEWEST) * average + NEWEST * row
        plain.append(average)
    found = []
    for size in (300, 1, 45):
        trail, parts = Trail.before_first(rows[0]), []
        for start in range(0, 300, size):
            part = rows[start : start + size]
            own = asked[(asked >= start) & (asked < start + size)] - start
            waiting = len(trail.open)
            room = np.zeros((-(-(waiting + len(part)) // TILE_OF_ROWS) * TILE_OF_ROWS, width))
            room[waiting : waiting + len(part)] = part
            averages, trail = trail.after(room, len(part), axes, own, part[-1])
            parts.append(averages)
        found.append([np.concatenate(each) for each in zip(*parts, strict=True) if each[0] is not None])
    along, *lengths, whole = found[0]
    np.testing.assert_allclose(along, np.array(plain)[:, :axes], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(whole, np.array(plain)[asked], rtol=1e-10, atol=1e-14)
    assert len(lengths) == (axes < width)
    for each in lengths:
        np.testing.assert_allclose(each, np.square(np.array(plain)[:, axes:]).sum(axis=1), rtol=1e-10)
    for other in found[1:]:
        for one, again in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, again)


def test_wide_rows_with_gaps_are_judged_alike_however_they_are_cut(monkeypatch):
    monkeypatch.setattr(judging, "LEAST_PART", 64)
    rows = np.random.default_rng(0).normal(size=(1900, 40)) * np.linspace(3, 1, 40)
    rows[1500:1530, 3] += 9
    rows = with_gaps(rows, 0.0005)
    answers = []
    for sizes in ((1100,), (1, 37, 200)):
        monkeypatch.setattr(judging, "LARGEST_PART", 64 * sizes[0])
        model = OnlineAdaptivePCA(solver="subspace", max_components=6, missing="skip")
        watching, start, parts = StreamMonitor(model, false_alarm_rate=0.01).fit(rows[:805]), 805, []
        while start < len(rows):
            size = sizes[len(parts) % len(sizes)]
            parts.append(watching.learn_many(rows[start : start + size]).matrix())
            start += size
        answers.append(np.concatenate(parts))
    assert (answers[0][:, COLUMNS.index("drift")] > 0).any()  # the anchor has looked
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("frozen", [False, True])
def test_the_number_of_rows_judged_at_a_time_changes_no_bit(frozen, monkeypatch):
    rows = rows_with_faults(4000)
    answers = []
    for most in (1, 1 << 16):
        monkeypatch.setattr(monitor, "AT_ONCE", most)
        monkeypatch.setattr(monitor, "LEAST_AT_ONCE", 50 if most == 1 else 512)
        watching = StreamMonitor().fit(rows[:2000])
        answers.append((watching.freeze() if frozen else watching).learn_many(rows[2000:]).matrix())
    np.testing.assert_array_equal(*answers)


def random_rows(number, seed=0):
    rng = np.random.default_rng(seed)
    statistics = rng.random((number, len(STATISTICS)))
    statistics[rng.random(number) < 0.1] = np.nan
    limits = np.repeat(rng.random((number // 10 + 1, len(STATISTICS))), 10, axis=0)[:number]
    return statistics, limits, rng.random(number), rng.random(number) < 0.1


@pytest.mark.parametrize("number", [5, WAITING, 1500])
def test_rows_that_wait_for_their_stretch_are_seen(number):
    parts = random_rows(number)
    whole, single = Stretches(), Stretches()
    whole.add(0, *parts)
    for i in range(number):
        single.add(i, *(part[i : i + 1] for part in parts))
    assert single.number > 0
    for one, other in zip(single.history(), whole.history(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert single.merged().length == whole.merged().length


def test_going_back_forgets_rows_that_wait():
    parts = random_rows(200)
    stretches = Stretches()
    for i in range(WAITING // 2):
        stretches.add(i, *(part[i : i + 1] for part in parts))
    mark, before = stretches.mark(), stretches.history()
    for i in range(WAITING // 2, 200):
        stretches.add(i, *(part[i : i + 1] for part in parts))
    stretches.revert(mark)
    for one, other in zip(stretches.history(), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_monitor_whose_rows_wait_is_saved(tmp_path):
    rows = rows_with_faults(1500)
    whole, watching = StreamMonitor(), StreamMonitor()
    whole.learn_many(rows)
    for row in rows[:1010]:
        watching.learn_one(row)
    watching.save(tmp_path / "monitor")
    watching = load(tmp_path / "monitor")
    watching.learn_many(rows[1010:])
    for one, other in zip(watching.control_history_, whole.control_history_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_statistic_alone_surprises_as_it_does_beside_others_that_are_not_told():
    watching = StreamMonitor().fit(in_control("gaussian", 2000, seed=3))._monitor
    limits, reference = watching.limits, watching.reference
    found = np.r_[np.geomspace(1e-3, 1e6, 50), np.inf, np.nan]
    statistics = np.full((len(found), len(STATISTICS)), np.nan)
    statistics[:, DISTANCE] = found
    expected = limits.of_whole(limits.largest(limits.values_of(statistics, reference))[0])
    np.testing.assert_array_equal(limits.surprise_of(DISTANCE, found, reference), expected)
    assert np.isnan(expected[-1])
    assert expected[-2] > limits.line


@pytest.mark.parametrize("known", [5, INPUTS])
def test_columns_of_the_matrix_of_the_distance(known):
    rows = in_control("gaussian", 1000, seed=4)
    reference = StreamMonitor().fit(rows)._monitor.reference
    axes, variances = reference.axes[:known], reference.variances[:known]
    rest = 0.1 if known < INPUTS else 0.0
    reference = replace(reference, axes=axes, variances=variances, rest=rest, growth=np.ones(known + 1))
    assert bool(reference.others) == (known < INPUTS)
    whole = reference.precise(np.eye(rows.shape[1]))
    for i, column in enumerate(whole):
        np.testing.assert_allclose(reference.precise_column(i), column, atol=1e-12 * np.abs(whole).max())


def test_the_limits_at_a_line_are_those_of_now():
    rows = rows_with_faults(3000)
    together, single = StreamMonitor().fit(rows[:1000]), StreamMonitor().fit(rows[:1000])
    verdicts = together.learn_many(rows[1000:])
    names = [f"{name}_limit" for name in STATISTICS]
    one_by_one = [single.learn_one(row) for row in rows[1000:]]
    found = [[getattr(verdict, name) for name in names] for verdict in one_by_one]
    assert len(np.unique(verdicts.distance_limit)) > 10
    np.testing.assert_array_equal(found, np.column_stack([getattr(verdicts, name) for name in names]))


def test_tiles_and_groups_of_inputs_do_not_depend_on_how_rows_come():
    rows = in_control("gaussian", 12 * GROUP * TILE, seed=6)
    rows[2000:2100, 2] *= 30
    faulty = np.zeros(len(rows), dtype=bool)
    faulty[1500:1530] = True
    whole, parts = Inputs(rows.shape[1], 0.01), Inputs(rows.shape[1], 0.01)
    heard = whole.follow(rows, faulty, ())
    pieces = np.split(np.arange(len(rows)), [8, 16, 17, 23, 24, 1500, 1501, 1507, 2040, 2048])
    heard_in_parts = [notice for piece in pieces for notice in parts.follow(rows[piece], faulty[piece], ())]
    assert heard == heard_in_parts
    assert heard
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, parts.arrays()[name])


def test_notices_are_told_in_the_order_of_their_rows():
    rows = in_control("gaussian", 4000, seed=7)
    rows[3000:3050, 1] = np.nan  # gone after another one is lively
    rows[2600:2640, 2] *= 40
    orders = []
    for chunk in (4000, 1):
        watching = (
            StreamMonitor(OnlineAdaptivePCA(standardize=True, missing="skip")).fit(rows[:2000]).freeze()
        )
        heard = []
        watching.on_notice = heard.append
        for start in range(2000, 4000, chunk):
            watching.learn_many(rows[start : start + chunk])
        assert [notice.told for notice in heard] == sorted(notice.told for notice in heard)
        orders.append((heard, watching.notices_))
    assert {notice.kind for notice in heard} >= {"lively", "gone"}
    assert orders[0] == orders[1]


def test_parts_may_know_another_number_of_axes_than_the_whole():
    reference = StreamMonitor().fit(in_control("gaussian", 500, seed=8))._monitor.reference
    axes = len(reference.variances)
    parts = [Likeness(np.full((3, known + 1), 2.0), 100.0) for known in (1, axes, axes + 2)]
    judging = reference.judging_by(parts)
    assert judging.growth.shape == (axes + 1,)
    assert judging.likeness.sums.shape == (3, axes + 1)
    np.testing.assert_array_equal(judging.likeness.sums[:, :-1], 6.0)


@pytest.mark.parametrize("normal", [0, 500, 777])
@pytest.mark.parametrize("seed", range(6))
def test_inputs_are_named_alike_however_rows_are_cut(seed, normal):
    """Among values that repeat, runs that are usual grow all the time."""
    rng = np.random.default_rng(seed)
    X, faulty = rng.standard_normal((1500, 5)), np.zeros(1500, bool)
    X = np.round(X) if seed % 2 else X
    for _ in range(8):
        i, start = rng.integers(5), rng.integers(1400)
        X[start : start + rng.integers(3, 90), i] = X[start, i] if rng.random() < 0.6 else np.nan
    start = rng.integers(300, 1200)
    faulty[start : start + 80] = seed > 2

    def followed(sizes):
        inputs, notices, at = Inputs(5, 0.01), [], normal
        if normal:
            inputs.learn_normal(X[:normal])
        for size in sizes:
            part = slice(at, at := min(at + size, len(X)))
            notices += inputs.follow(X[part], faulty[part], ())
        return sorted(map(repr, notices)), {name: each.tobytes() for name, each in inputs.arrays().items()}

    whole = followed([1500])
    assert whole[0]
    for sizes in ([1] * 1500, [7] * 300, rng.integers(1, 200, 1500).tolist()):
        assert followed(sizes) == whole
