"""The PyTorch integration: the same answers as NumPy, where the tensors live."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from eigenstream import AdaptivePCA, OnlineAdaptivePCA, StreamMonitor, compare_to_offline, load, merge

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'eigenstream[torch]'")

from benchmarks import gpu  # noqa: E402

from eigenstream.integrations.torch import StreamingPCA, follow  # noqa: E402
from eigenstream.learners.arrays.torch import TensorArray  # noqa: E402
from eigenstream.learners.warm import warm_pairs  # noqa: E402
from eigenstream.model.plan import BLOCK, DEVICE_BLOCK  # noqa: E402

pytestmark = pytest.mark.torch

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=NO_GPU)]
WIDTH = 300


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    # Blocks of NumPy's length, so that models can be compared number by number.
    monkeypatch.setattr("eigenstream.model.parameters.DEVICE_BLOCK", BLOCK)
    return request.param


@pytest.fixture(params=DEVICES)
def long_blocks(request, monkeypatch):
    """A device that models learn from in long blocks: a GPU, or the CPU as if it were one."""
    monkeypatch.setattr(TensorArray, "launches", True)
    return request.param


def sample_rows(rows=500, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal((rows, 6)) * [8, 7, 6, 5, 4, 3]
    noise = rng.standard_normal((rows, WIDTH))
    return (signal @ rng.standard_normal((6, WIDTH)) / 4 + noise + 5).astype(dtype)


def error(tensor, array):
    """Relative to the largest number expected."""
    assert isinstance(tensor, torch.Tensor)
    assert str(tensor.dtype) == f"torch.{array.dtype}"
    return np.abs(tensor.cpu().numpy() - array).max() / (np.abs(array).max() or 1)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"standardize": True}, {"half_life": 100}, {"center": False}, {"scores": "whitened"}],
    ids=str,
)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 1e-3)])
def test_tensors_give_what_numpy_gives(device, parameters, dtype, tolerance):
    X = sample_rows(dtype=dtype)
    T = torch.from_numpy(X).to(device)
    expected, model = OnlineAdaptivePCA(solver="subspace", **parameters), OnlineAdaptivePCA(**parameters)
    assert error(model.learn_many(T), expected.learn_many(X)) < tolerance
    assert model.n_components_ == expected.n_components_ >= 6
    scores = model.transform(T)
    assert scores.device == T.device
    assert error(scores, expected.transform(X)) < tolerance
    assert error(model.squared_residuals(T), expected.squared_residuals(X)) < tolerance
    again = expected.inverse_transform(expected.transform(X))
    assert error(model.inverse_transform(scores), again) < tolerance
    assert error(model.mean_, expected.mean_) < tolerance
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=tolerance)


@pytest.mark.parametrize(
    "parameters",
    [{"solver": "exact"}, {"missing": "skip"}, {"lags": 1}, {"outliers": "cap"}, {"solver": "network"}],
    ids=str,
)
def test_what_needs_the_host_is_learnt_there_and_comes_back(device, parameters):
    X = sample_rows()
    T = torch.from_numpy(X).to(device)
    expected = OnlineAdaptivePCA(**{"solver": "subspace", "random_state": 0} | parameters).fit(X)
    model = OnlineAdaptivePCA(random_state=0, **parameters).fit(T)
    scores = model.transform(T)
    assert scores.device == T.device
    assert error(scores, expected.transform(X)) == 0
    assert error(model.squared_residuals(T), expected.squared_residuals(X)) == 0


def test_the_closed_form_takes_tensors(device):
    X = sample_rows()
    scores = AdaptivePCA().fit_transform(torch.from_numpy(X).to(device))
    assert error(scores, AdaptivePCA().fit_transform(X)) < 1e-8


def test_cutting_into_calls_does_not_change_the_model(device):
    T = torch.from_numpy(sample_rows()).to(device)
    whole, parts = OnlineAdaptivePCA().fit(T), OnlineAdaptivePCA()
    for part in torch.tensor_split(T, [1, 2, 40, 64, 65, 300]):
        parts.partial_fit(part)
    assert torch.equal(whole.components_, parts.components_)
    one = OnlineAdaptivePCA()
    scores = torch.stack([one.learn_one(row) for row in T[:100]])
    torch.testing.assert_close(scores, OnlineAdaptivePCA().learn_many(T[:100]), rtol=0, atol=1e-10)


def test_long_blocks_give_what_short_ones_give(long_blocks):
    X = sample_rows(2000, dtype=np.float32)
    T = torch.from_numpy(X).to(long_blocks)
    model, expected = OnlineAdaptivePCA().fit(T), OnlineAdaptivePCA(solver="subspace").fit(X)
    assert (model._tracker.plan.block, expected._tracker.plan.block) == (DEVICE_BLOCK, BLOCK)
    assert model.n_components_ == expected.n_components_ == 6
    again = expected.inverse_transform(expected.transform(X))
    assert error(model.inverse_transform(model.transform(T)), again) < 1e-3
    assert error(model.squared_residuals(T), expected.squared_residuals(X)) < 1e-3
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-3)


def test_cutting_into_calls_does_not_change_long_blocks(long_blocks):
    T = torch.from_numpy(sample_rows(1100)).to(long_blocks)
    whole, parts = OnlineAdaptivePCA().fit(T), OnlineAdaptivePCA()
    for part in torch.tensor_split(T, [1, 2, 40, 256, 257, 900]):
        parts.partial_fit(part)
    assert torch.equal(whole.components_, parts.components_)
    assert whole.rank_history_ == parts.rank_history_


@pytest.mark.parametrize("cut", [40, 256, 700])
def test_long_blocks_go_on_from_a_file_and_on_the_host(long_blocks, tmp_path, cut):
    X = sample_rows(1100)
    T = torch.from_numpy(X).to(long_blocks)
    expected = OnlineAdaptivePCA().fit(T).transform(T)
    OnlineAdaptivePCA().fit(T[:cut]).save(tmp_path / "model")
    torch.testing.assert_close(load(tmp_path / "model").partial_fit(T[cut:]).transform(T), expected)
    assert error(expected, load(tmp_path / "model").partial_fit(X[cut:]).transform(X)) < 1e-8


def test_what_is_learnt_on_the_host_has_short_blocks(long_blocks):
    T = torch.from_numpy(sample_rows(100)).to(long_blocks)
    for parameters in ({"missing": "skip"}, {"outliers": "cap"}, {"lags": 1}, {"solver": "exact"}):
        assert OnlineAdaptivePCA(**parameters).fit(T)._tracker.plan.block <= BLOCK
    assert OnlineAdaptivePCA(half_life=1000).fit(T)._tracker.plan.block == 2 * BLOCK


def test_models_move_with_the_rows(device):
    X = sample_rows()
    T = torch.from_numpy(X).to(device)
    expected = OnlineAdaptivePCA(solver="subspace").fit(X)
    model = OnlineAdaptivePCA(solver="subspace")
    for start, stop, rows in [(0, 30, X), (30, 150, T), (150, 333, X), (333, 500, T)]:
        model.partial_fit(rows[start:stop])
        assert isinstance(model.components_, type(rows))
    assert error(model.transform(T), expected.transform(X)) < 1e-8
    assert np.abs(model.transform(X) - expected.transform(X)).max() < 1e-8


@pytest.mark.parametrize("cut", [10, 40, 150])
def test_files_move_between_tensors_and_numpy(device, tmp_path, cut):
    X = sample_rows()
    T = torch.from_numpy(X).to(device)
    expected = OnlineAdaptivePCA(solver="subspace").fit(X)
    OnlineAdaptivePCA().fit(T[:cut]).save(tmp_path / "tensors")
    model = load(tmp_path / "tensors")
    assert isinstance(model.mean_, np.ndarray)
    assert np.abs(model.partial_fit(X[cut:]).transform(X) - expected.transform(X)).max() < 1e-8
    OnlineAdaptivePCA(solver="subspace").fit(X[:cut]).save(tmp_path / "numpy")
    model = load(tmp_path / "numpy").partial_fit(T[cut:])
    assert error(model.transform(T), expected.transform(X)) < 1e-8


def test_copies_and_merged_models(device):
    T = torch.from_numpy(sample_rows()).to(device)
    model = OnlineAdaptivePCA().fit(T)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        twin.partial_fit(T[:100])
    assert torch.equal(model.transform(T), OnlineAdaptivePCA().fit(T).transform(T))
    halves = [OnlineAdaptivePCA().fit(T[:256]), OnlineAdaptivePCA().fit(T[256:])]
    assert merge(halves).n_components_ == model.n_components_


def test_what_works_on_the_host_takes_tensors_and_their_models(device):
    X = sample_rows()
    T = torch.from_numpy(X).to(device)
    model, expected = OnlineAdaptivePCA().fit(T), OnlineAdaptivePCA(solver="subspace").fit(X)
    compared = compare_to_offline(model, T)
    assert compared.eigenvalue_error == pytest.approx(compare_to_offline(expected, X).eigenvalue_error)
    verdicts = StreamMonitor(model).partial_fit(T).score_samples(T)
    np.testing.assert_allclose(verdicts, StreamMonitor(expected).partial_fit(X).score_samples(X))
    X[::7, ::5] = np.nan
    for one, rows in ((model, torch.from_numpy(X).to(device)), (expected, X)):
        one.set_params(missing="impute").partial_fit(rows)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_)


def test_whole_numbers_and_half_precision_are_converted(device):
    T = torch.from_numpy(sample_rows()).round().to(device)
    expected = OnlineAdaptivePCA().fit(T).transform(T)
    torch.testing.assert_close(OnlineAdaptivePCA().fit(T.long()).transform(T.long()), expected)
    half = OnlineAdaptivePCA().fit(T.half()).transform(T.half())
    assert half.dtype == torch.float32
    torch.testing.assert_close(half.double(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (torch.full((3, WIDTH), torch.nan), "Input contains NaN"),
        (torch.full((3, WIDTH), torch.inf), "infinity"),
        (torch.zeros(WIDTH), r"expected a matrix .* got shape \(300,\)"),
        (torch.zeros(3, 7), "7 features"),
        (torch.zeros(3, WIDTH, dtype=torch.complex64), "must be real numbers, got torch.complex64"),
        (torch.zeros(3, WIDTH).to_sparse(), "dense tensor"),
    ],
)
def test_refused_tensors_leave_the_model_as_it_was(rows, message):
    T = torch.from_numpy(sample_rows(100))
    model = OnlineAdaptivePCA().fit(T)
    before = model.transform(T)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(rows)
    assert torch.equal(model.transform(T), before)


def test_the_module_learns_in_training_and_transforms_in_evaluation(device):
    X = sample_rows(dtype=np.float32)
    T = torch.from_numpy(X).to(device)
    expected = OnlineAdaptivePCA(solver="subspace", max_components=8)
    pca = StreamingPCA(max_components=8)
    rows = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(T), batch_size=96)
    scores = torch.cat([pca(batch) for (batch,) in rows])
    assert error(scores, expected.learn_many(X)) < 1e-3
    assert not list(pca.parameters())
    pca.eval()
    assert error(pca(T), expected.transform(X)) < 1e-3
    assert pca(T.reshape(5, 100, WIDTH)).shape == (5, 100, 8)
    assert pca.model.n_samples_seen_ == len(X)


def test_gradients_flow_through_the_transform_only(device):
    T = torch.from_numpy(sample_rows()).to(device).requires_grad_()
    pca = StreamingPCA(scores="projected")
    assert not pca(T).requires_grad
    pca.eval()(T).sum().backward()
    expected = pca.model.components_.sum(dim=0).expand_as(T)
    torch.testing.assert_close(T.grad, expected)
    with torch.no_grad():
        assert not pca(T).requires_grad


def test_autocast_changes_nothing(device):
    T = torch.from_numpy(sample_rows(dtype=np.float32)).to(device)
    plain, cast = StreamingPCA(), StreamingPCA()
    scores = plain(T)
    with torch.autocast(device, dtype=torch.bfloat16):
        assert torch.equal(cast(T), scores)
        assert torch.equal(cast.eval()(T), plain.eval()(T))


@pytest.mark.parametrize("cut", [0, 20, 100, 256])
def test_a_loaded_state_continues_exactly(device, tmp_path, cut):
    T = torch.from_numpy(sample_rows()).to(device)
    net = torch.nn.Sequential(torch.nn.Identity(), StreamingPCA(max_components=8, half_life=200))
    if cut:
        net(T[:cut])
    torch.save(net.state_dict(), tmp_path / "state")
    other = torch.nn.Sequential(torch.nn.Identity(), StreamingPCA(max_components=8, half_life=200))
    other.load_state_dict(torch.load(tmp_path / "state", weights_only=True))
    assert torch.equal(net(T[cut:]), other(T[cut:]))
    assert torch.equal(net.eval()(T), other.eval()(T))


def test_a_damaged_state_is_refused():
    pca = StreamingPCA()
    pca(torch.from_numpy(sample_rows()))
    state = pca.state_dict()
    state["learner.lam"] = -state["learner.lam"]
    with pytest.raises(RuntimeError, match=r"not the state of a StreamingPCA.*lam"):
        StreamingPCA().load_state_dict(state)
    with pytest.raises(RuntimeError, match="document"):
        StreamingPCA().load_state_dict({})


def test_module_refusals():
    pca = StreamingPCA()
    with pytest.raises(RuntimeError, match=r"run it in train\(\) first"):
        pca.eval()(torch.zeros(2, 5))
    pca.train()(torch.randn(70, 5))
    with pytest.raises(ValueError, match=r"expected rows of 5 features, got shape \(3, 4\)"):
        pca(torch.zeros(3, 4))
    with pytest.raises(ValueError, match="NaN or infinite"):
        pca(torch.full((3, 5), torch.nan))


def test_following_a_layer(device):
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 16, 3), torch.nn.Flatten(), torch.nn.Linear(16 * 36, 40)
    net = torch.nn.Sequential(*layers).to(device)
    images = torch.randn(80, 3, 8, 8, device=device)
    wide, channels = StreamingPCA(max_components=4), OnlineAdaptivePCA(max_components=4)
    handle = follow(net, "2", wide)
    with follow(net, "0", channels, dim=1):
        output = net(images)
    net(images)
    wide.eval()
    net(images)
    wide.train()
    handle.remove()
    net(images)
    assert wide.model.n_samples_seen_ == 160
    assert channels.n_samples_seen_ == 80 * 36
    assert error(wide.model.mean_, output.detach().mean(dim=0).cpu().numpy()) < 1e-5


def test_the_benchmark_runs_and_checks_the_device(tmp_path, capsys):
    assert gpu.main(["--device", "cpu", "--quick", "--out", str(tmp_path)]) == 0
    assert "| our step |" in (tmp_path / "gpu.md").read_text()
    if not torch.cuda.is_available():
        assert gpu.main(["--out", str(tmp_path)]) == 2
        assert "no CUDA device" in capsys.readouterr().out


def test_following_refuses_what_it_cannot_follow():
    net = torch.nn.Sequential(torch.nn.LSTM(4, 8))
    with pytest.raises(ValueError, match="no layer 'head'; expected one of '0'"):
        follow(net, "head", StreamingPCA())
    with follow(net, "0", StreamingPCA()), pytest.raises(TypeError, match="puts out a tuple"):
        net(torch.zeros(2, 4))


def test_leading_pairs_are_found_where_the_matrix_lives(long_blocks):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((88, 400)) * np.r_[np.linspace(40, 20, 6), np.full(82, 3.0)][:, None]
    M = rows @ rows.T
    for matrix in (M, M[::-1, ::-1].copy(), M):  # each has its own answer, also where steps are replayed
        here = warm_pairs(matrix, 24, 6, 24)
        there = warm_pairs(TensorArray(torch.from_numpy(matrix).to(long_blocks)), 24, 6, 24)
        np.testing.assert_allclose(there[0], here[0], rtol=1e-10)
        np.testing.assert_allclose(np.abs(there[1].T @ here[1])[:6, :6], np.eye(6), atol=1e-8)
    low = torch.from_numpy(rows[:, :5] @ rows[:, :5].T).to(long_blocks)
    assert warm_pairs(TensorArray(low), 24, 3, 24) is None
