import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenstream import OnlineAdaptivePCA, StreamMonitor, load
from eigenstream.model import StreamModel
from eigenstream.monitoring import MonitoredModel, MonitorSettings

pytest.importorskip("pyspark", reason="needs eigenstream[spark]")
pytest.importorskip("google.protobuf", reason="needs eigenstream[spark]")
from pyspark.sql import functions as F

from eigenstream.integrations.spark import fit, learn_by_key, model_of, stored_models
from eigenstream.integrations.spark.processor import ModelOfKey, in_order
from tests.spark_session import session, started, stream

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
NAMES = [f"x{i}" for i in range(6)]


def table(keys, rows, seed=0):
    """Rows of this many keys in random sequence: two components in noise, for each key with another mean."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(np.repeat(np.arange(keys), rows))
    values = rng.standard_normal((len(places), 6)) * np.r_[4.0, 3.0, np.ones(4)] + places[:, None] % 7
    found = pd.DataFrame(values, columns=NAMES)
    found.insert(0, "offset", np.arange(len(places)))
    found.insert(0, "sensor", [f"sensor {place}" for place in places])
    return found


def write(folder, rows, files):
    """Rows as this many files, in each of them in random sequence."""
    (folder / "rows").mkdir(parents=True)
    for i, places in enumerate(np.array_split(np.arange(len(rows)), files)):
        part = rows.iloc[places].sample(frac=1, random_state=i)
        path = folder / "rows" / f"{i:03d}.parquet"
        part.to_parquet(path, index=False)
        os.utime(path, (1_000_000_000 + i, 1_000_000_000 + i))  # Spark takes the oldest first


def by_itself(rows, model):
    """Scores, and the content of the model's file, of one key on one machine."""
    model.features = NAMES
    scores = model.learn_many(rows[NAMES].to_numpy())
    return scores, model.to_bytes({"order": int(rows["offset"].iloc[-1])})


def assert_each_by_itself(spark, folder, rows, make):
    stored = {row.key: bytes(row.model) for row in stored_models(spark, str(folder / "state")).collect()}
    told = spark.read.parquet(str(folder / "told")).sort("samples").collect()
    own = dict(list(rows.groupby("sensor")))
    assert stored.keys() == own.keys()
    scores, orders = {}, {}
    for row in told:
        scores.setdefault(row.key, []).extend(row.scores)
        orders.setdefault(row.key, []).extend(row.order)
    for key, part in own.items():
        before, content = by_itself(part, make())
        assert stored[key] == content
        assert orders[key] == part["offset"].tolist()
        np.testing.assert_array_equal(np.array(scores[key], dtype=float), before)  # NaN comes as NULL


@pytest.fixture(scope="module")
def spark():
    running = session()
    yield running
    running.stop()


def run(spark, folder, model=None, **options):
    settings = {"key": "sensor", "order": "offset"} | options
    started(spark, folder, learn_by_key(stream(spark, folder), model, **settings)).awaitTermination()


@given(st.lists(st.integers(-5, 5), max_size=12), st.none() | st.integers(-5, 5))
def test_rows_are_taken_by_increasing_order_from_after_the_last(order, last):
    places = in_order(np.array(order, dtype=np.int64), last, "drop")
    expected = sorted({number for number in order if last is None or number > last})
    assert [order[place] for place in places] == expected
    if len(expected) < len(order):
        with pytest.raises(ValueError, match=r"does not come after -?\d: .*late='drop'"):
            in_order(np.array(order, dtype=np.int64), last, "raise")


class State:
    """Stands in for a state variable of Spark, and for the handle that it comes from."""

    def __init__(self):
        self.content = None

    def getValueState(self, *definition):
        return self

    def exists(self):
        return self.content is not None

    def get(self):
        return self.content

    def update(self, value):
        self.content = value


def learn(template, state, rows, late="raise"):
    """One batch of one key, in which rows come in two parts; returns what is told."""
    parts = rows.assign(row=list(rows[NAMES].to_numpy()), order=rows["offset"])[["order", "row"]]
    processor = ModelOfKey(template, late, None)
    processor.init(state)
    (told,) = processor.handleInputRows(("a",), iter([parts.iloc[::2], parts.iloc[1::2]]), None)
    return told.iloc[0]


def template(kind=StreamModel, *settings, **parameters):
    model = kind(*settings, random_state=0, **parameters)
    model.features = NAMES
    return model


@pytest.mark.parametrize("kind", [StreamModel, MonitoredModel])
@pytest.mark.parametrize("sizes", [(300,), (1, 2, 40, 257), (100, 100, 100)])
def test_batches_do_not_matter(kind, sizes):
    rows, state, scores = table(1, 300), State(), []
    for part in np.split(np.arange(300), np.cumsum(sizes)[:-1]):
        told = learn(template(kind), state, rows.iloc[part].sample(frac=1, random_state=0))
        assert told["order"].tolist() == part.tolist()
        scores += list(told["scores"])
    before, content = by_itself(rows, template(kind))
    assert state.content == (content,)
    np.testing.assert_array_equal(np.array(scores), before)
    own = kind.from_bytes(content)
    assert (told["rank"], told["threshold"]) == (own.n_components_, own.threshold_)
    assert (told["samples"], told["late"]) == (own.n_samples_seen_, 0)


def test_alarms_and_changes_of_rank_are_told():
    rows = table(1, 600)
    rows.loc[400:440, "x3"] += 40.0
    told = learn(template(MonitoredModel, MonitorSettings(confirm=(2, 2))), State(), rows)
    own = template(MonitoredModel, MonitorSettings(confirm=(2, 2)))
    alarms, changes = [], []
    own.on_alarm, own.on_rank_change = alarms.append, changes.append
    own.learn_many(rows[NAMES].to_numpy())
    assert [alarm["began"] for alarm in told["alarms"]] == [alarm.began for alarm in alarms]
    assert {"began": 400, "statistic": alarms[0].statistic}.items() <= told["alarms"][0].items()
    assert told["alarms"][0]["contributors"][0]["input"] == "x3"
    assert told["events"] == [change._asdict() for change in changes] != []


def test_late_rows_are_counted_if_wanted():
    rows, state = table(1, 100), State()
    learn(template(), state, rows.iloc[:50])
    with pytest.raises(ValueError, match="key a: a row has order 40, which does not come after 49"):
        learn(template(), state, rows.iloc[40:])
    told = learn(template(), state, rows.iloc[40:], "drop")
    assert (told["late"], told["samples"]) == (10, 100)
    told = learn(template(), state, rows.iloc[40:], "drop")
    assert (told["late"], told["samples"], len(told["scores"])) == (60, 100, 0)
    assert state.content == (by_itself(rows, template())[1],)


def test_a_state_of_other_parameters_is_refused():
    rows, state = table(1, 100), State()
    learn(template(half_life=20.0), state, rows.iloc[:50])
    with pytest.raises(ValueError, match=r"key a: .* with half_life=20\.0, not half_life=30\.0: go on"):
        learn(template(half_life=30.0), state, rows.iloc[50:])
    with pytest.raises(ValueError, match=r"key a: .* learnt with monitor=None, not monitor=\{"):
        learn(template(MonitoredModel, half_life=20.0), state, rows.iloc[50:])
    state.content = (state.content[0][:-1],)
    with pytest.raises(ValueError, match="'a' is not a readable eigenstream model"):
        learn(template(half_life=20.0), state, rows.iloc[50:])


def test_rows_with_gaps_are_refused_or_filled():
    rows = table(1, 100)
    rows.loc[70, "x2"] = np.nan
    with pytest.raises(ValueError, match=r"key a: .*row 70, column 2 is nan"):
        learn(template(), State(), rows)
    state = State()
    learn(template(missing="impute"), state, rows)
    assert state.content == (by_itself(rows, template(missing="impute"))[1],)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("model", "make"),
    [
        (None, lambda: StreamModel(random_state=0)),
        (
            StreamMonitor(OnlineAdaptivePCA(half_life=200), false_alarm_rate=0.01),
            lambda: MonitoredModel(MonitorSettings(false_alarm_rate=0.01), random_state=0, half_life=200),
        ),
    ],
    ids=["models", "monitors"],
)
def test_every_key_is_learnt_as_if_by_itself(spark, tmp_path, model, make):
    rows = table(7, 200)
    write(tmp_path, rows, 3)
    run(spark, tmp_path, model)
    assert_each_by_itself(spark, tmp_path, rows, make)
    content = stored_models(spark, str(tmp_path / "state")).where("key = 'sensor 3'").head().model
    (tmp_path / "model").write_bytes(content)
    for opened in (model_of(content), load(tmp_path / "model")):
        online = opened if model is None else opened.model_
        assert online.position_ == {"order": int(rows["offset"][rows["sensor"] == "sensor 3"].iloc[-1])}
        assert online.feature_names_in_.tolist() == NAMES


@pytest.mark.spark
def test_times_order_rows_and_are_forgotten_by_the_clock(spark):
    rows = table(2, 150)
    # Over the hour that clocks in Europe show twice.
    micros = 1_729_987_200_000_000 + (1e6 * rows["offset"] ** 1.6).astype("int64")
    frame = spark.createDataFrame(rows.assign(offset=micros).sample(frac=1, random_state=0))
    frame = frame.withColumn("offset", F.timestamp_micros("offset"))
    model = OnlineAdaptivePCA(half_life="10min")
    told = learn_by_key(frame, model, key="sensor", order="offset", time="offset")
    told = told.withColumn("order", F.transform("order", F.unix_micros)).sort("key").collect()
    for row, (_, own) in zip(told, rows.groupby("sensor"), strict=True):
        alone = OnlineAdaptivePCA(half_life="10min", random_state=0)
        stamps = micros[own.index].to_numpy()
        scores = alone.learn_many(own[NAMES].to_numpy(), timestamps=stamps.view("datetime64[us]"))
        np.testing.assert_array_equal(np.array(row.scores), scores)
        assert row.order == stamps.tolist()


@pytest.mark.spark
def test_a_key_without_rows_is_forgotten_after_its_time(spark, tmp_path):
    write(tmp_path, table(3, 40), 2)
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    run(spark, tmp_path, ttl="1ms")  # less than a batch takes: every batch starts anew
    for row in spark.read.parquet(str(tmp_path / "told")).collect():
        assert row.samples == len(row.order)
    assert stored_models(spark, str(tmp_path / "state")).columns == ["key", "model"]


@pytest.mark.spark
def test_a_query_tells_which_key_failed_and_why(spark, tmp_path):
    rows = table(3, 40)
    rows.loc[100:, "offset"] -= 90
    write(tmp_path, rows, 2)
    with pytest.raises(Exception, match=r"key sensor \d: a row has order \d+, which does not come after \d+"):
        run(spark, tmp_path)
    run(spark, tmp_path, late="drop")  # on the same checkpoint
    told = spark.read.parquet(str(tmp_path / "told")).collect()
    assert sum(row.late for row in told) == 20
    assert sum(len(row.order) for row in told) == 100
    with pytest.raises(Exception, match="column 'offset' is NULL in some row"):
        learn_by_key(
            spark.createDataFrame([("a", 1, 1.0), ("a", None, 1.0)], "sensor STRING, offset LONG, x DOUBLE"),
            key="sensor",
            order="offset",
        ).collect()


@pytest.mark.spark
def test_wrong_columns_and_settings_are_refused_at_once(spark):
    frame = spark.createDataFrame(table(2, 3))
    for options, message in [
        ({"key": "place"}, "there is no column 'place', expected one of"),
        ({"order": "x1"}, "'x1' is of type double, expected whole numbers or TIMESTAMP"),
        ({"inputs": ["sensor"]}, "'sensor' is of type string, expected numbers"),
        ({"inputs": []}, "there is nothing to learn"),
        ({"late": "keep"}, "late must be 'raise' or 'drop', got 'keep'"),
        ({"time": "offset"}, "half_life=None counts samples"),
        ({"model": OnlineAdaptivePCA(half_life="1h")}, "half_life='1h' needs the time of every row"),
        ({"model": OnlineAdaptivePCA(max_components=9)}, "max_components must be None or a whole number"),
    ]:
        with pytest.raises(ValueError, match=message):
            learn_by_key(frame, **{"key": "sensor", "order": "offset"} | options)
    with pytest.raises(TypeError, match="expected an OnlineAdaptivePCA or a StreamMonitor, got 5"):
        learn_by_key(frame, 5, key="sensor", order="offset")
    provider = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(provider)
    spark.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    with pytest.raises(ValueError, match="in RocksDB only: set it to"):
        learn_by_key(frame, key="sensor", order="offset")
    spark.conf.set(provider, before)


@pytest.mark.spark
def test_one_model_of_all_partitions(spark):
    rows = table(1, 3000).drop(columns="sensor")
    frame = spark.createDataFrame(rows).repartition(5)
    found = fit(frame, inputs=NAMES)
    own = OnlineAdaptivePCA().fit(rows[NAMES])
    assert found.n_samples_seen_ == 3000
    assert found.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(found.mean_, own.mean_, rtol=1e-10)
    np.testing.assert_allclose(found.explained_variance_, own.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(
        found.components_.T @ found.components_, own.components_.T @ own.components_, atol=1e-10
    )
    one = fit(frame.coalesce(1), OnlineAdaptivePCA(half_life=100), order="offset")
    alone = OnlineAdaptivePCA(half_life=100, random_state=0).fit(rows[NAMES])
    np.testing.assert_array_equal(one.components_, alone.components_)
    with pytest.raises(ValueError, match="there are no rows to learn from"):
        fit(frame.limit(0), inputs=NAMES)
    with pytest.raises(ValueError, match="the order of rows matters: name the column by order="):
        fit(frame, OnlineAdaptivePCA(lags=1), inputs=NAMES)
    with pytest.raises(TypeError, match="expected an OnlineAdaptivePCA, which can be merged"):
        fit(frame, StreamMonitor())


def killed(folder, batches):
    """Let a driver finish this many batches, and kill all of it while it works at the next."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.spark_session", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # a group of its own: Java and the workers of Python die with it
    )
    for line in child.stdout:
        begun, ended = map(int, line.split())
        if ended >= batches and begun > ended:
            break
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()


@pytest.mark.spark
def test_two_thousand_keys_survive_killed_drivers_bit_for_bit(spark, tmp_path):
    rows = table(2000, 48)
    write(tmp_path, rows, 8)
    for batches in (2, 5):
        killed(tmp_path, batches)
        assert batches <= len(list(tmp_path.glob("state/commits/[0-9]*"))) < 8
    run(spark, tmp_path, OnlineAdaptivePCA(max_components=3))
    assert len(list(tmp_path.glob("state/commits/[0-9]*"))) == 8
    assert_each_by_itself(spark, tmp_path, rows, lambda: StreamModel(max_components=3, random_state=0))
