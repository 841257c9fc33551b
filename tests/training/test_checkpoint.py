import json
import math
from collections import OrderedDict

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reweigh.errors import DataError
from reweigh.files.tensors import pack
from reweigh.training import checkpoint


def same(one, other) -> bool:
    """Equal in value, type and order, tensors bit for bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(bits(one), bits(other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        if math.isnan(one) or math.isnan(other):  # whose sign has no meaning
            return math.isnan(one) and math.isnan(other)
        return math.copysign(1, one) == math.copysign(1, other) and one == other
    return one == other


def bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def round_trip(path, state):
    checkpoint.save(path, state)
    return checkpoint.load(path)


tensors = st.sampled_from(
    [
        torch.tensor(3.5),
        torch.empty(0, 4),
        torch.tensor([float("nan"), float("inf"), -0.0]),
        torch.arange(6).reshape(2, 3),
        torch.tensor([True, False]),
        torch.ones(3, dtype=torch.bfloat16),
        torch.get_rng_state(),
    ]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | tensors
keys = st.integers() | st.text()
states = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner), max_leaves=12
)


@settings(max_examples=30, deadline=None)
@given(state=states)
def test_comes_back_as_it_was(tmp_path_factory, state):
    assert same(round_trip(tmp_path_factory.mktemp("checkpoint") / "c", state), state)


def test_keys_that_read_alike_stay_apart(tmp_path):
    state = {1: torch.zeros(1), "1": torch.ones(1), "a/b": {"c": torch.zeros(2)}, "a": {"b/c": torch.ones(2)}}
    assert same(round_trip(tmp_path / "c", state), state)


def test_shared_and_strided_tensors_come_back_apart(tmp_path):
    base = torch.arange(12.0).reshape(3, 4)
    state = {"base": base, "view": base[1], "transposed": base.T, "again": base, "wide": torch.ones(1).expand(5)}
    loaded = round_trip(tmp_path / "c", state)
    assert same(loaded, {name: value.clone() for name, value in state.items()})
    assert len({tensor.untyped_storage().data_ptr() for tensor in loaded.values()}) == len(state)
    assert all(tensor.data_ptr() % 64 == 0 for tensor in loaded.values())


def test_subclasses_become_their_plain_kind(tmp_path):
    layer = torch.nn.Linear(2, 2)
    loaded = round_trip(tmp_path / "c", {"model": layer.state_dict(), "parameter": layer.weight, "o": OrderedDict(a=1)})
    assert type(loaded["model"]) is dict
    assert type(loaded["o"]) is dict
    assert type(loaded["parameter"]) is torch.Tensor
    assert not loaded["parameter"].requires_grad


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_state_of_an_optimizer(tmp_path, optimizer):
    parameter = torch.nn.Parameter(torch.ones(2))
    instance = optimizer([parameter], lr=0.1)
    parameter.grad = torch.ones(2)
    instance.step()
    state = instance.state_dict()
    assert same(round_trip(tmp_path / "c", state), state)


@pytest.mark.parametrize(
    ("state", "place"), [({"a": [1, {2}]}, "state/a/1"), ({"a": {(1, 2): 0}}, "state/a"), ({True: 1}, "state")]
)
def test_what_cannot_be_saved_is_named_and_nothing_is_written(tmp_path, state, place):
    with pytest.raises(TypeError, match=place):
        checkpoint.save(tmp_path / "c", state)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", [0, 4, 50, -1])
def test_truncated(tmp_path, keep):
    path = tmp_path / "c"
    checkpoint.save(path, {"a": torch.arange(100)})
    path.write_bytes(path.read_bytes()[:keep])
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"c: (not a safetensors file, or truncated|damaged)"):
        checkpoint.load(path)
    assert path.read_bytes() == before


def write(path, **metadata):
    path.write_bytes(pack({"a": torch.zeros(1)}, metadata))


@pytest.mark.parametrize("data", [b"PK\x03\x04" + bytes(99), b"[train]\nepochs = 3\n", bytes(999)])
def test_foreign_bytes(tmp_path, data):
    (tmp_path / "c").write_bytes(data)
    with pytest.raises(DataError, match="not a safetensors file, or truncated"):
        checkpoint.load(tmp_path / "c")


def test_foreign_safetensors(tmp_path):
    safetensors.torch.save_file({"a": torch.zeros(1)}, tmp_path / "c", {"format": "reweigh-checkpoint"})
    with pytest.raises(DataError, match="has no checksum"):
        checkpoint.load(tmp_path / "c")
    for metadata in ({}, {"format": "pt"}):
        write(tmp_path / "c", **metadata)
        with pytest.raises(DataError, match="not a checkpoint of reweigh"):
            checkpoint.load(tmp_path / "c")


def test_newer_version(tmp_path):
    write(tmp_path / "c", format="reweigh-checkpoint", version="9", state="{}")
    with pytest.raises(DataError, match=r"another version of reweigh \(checkpoint version 9, this one reads 3\)"):
        checkpoint.load(tmp_path / "c")


@pytest.mark.parametrize(
    "state", ["{", '{"tensor": "b"}', '{"code": "x"}', '{"tensor": 1, "dict": 2}', "[" * 99999, '{"dict": 3}']
)
def test_damaged_structure(tmp_path, state):
    write(tmp_path / "c", format="reweigh-checkpoint", version="3", state=state)
    with pytest.raises(DataError, match="the checkpoint is damaged"):
        checkpoint.load(tmp_path / "c")


def test_absent(tmp_path):
    for path in (tmp_path / "c", tmp_path):
        with pytest.raises(DataError, match="no checkpoint; a run without one"):
            checkpoint.load(path)


def test_readable_by_any_safetensors_reader(tmp_path):
    checkpoint.save(tmp_path / "c", {"model": {"weight": torch.ones(2)}})
    assert list(safetensors.torch.load_file(tmp_path / "c")) == ["0/model/weight"]
    with safetensors.safe_open(tmp_path / "c", "pt") as file:
        assert json.loads(file.metadata()["state"])


def test_full_disk_leaves_the_previous_one(tmp_path):
    resource = pytest.importorskip("resource", reason="no limit of file sizes")
    path = tmp_path / "c"
    checkpoint.save(path, {"epoch": 1, "tensor": torch.ones(10)})
    before, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(DataError) as refused:
            checkpoint.save(path, {"epoch": 2, "tensor": torch.ones(10000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, hard))
    assert "c cannot be written there (File too large); " in str(refused.value)
    assert "The previous checkpoint, if any, remains" in str(refused.value)
    assert checkpoint.load(path)["epoch"] == 1
    assert list(tmp_path.iterdir()) == [path]


def test_failing_flush_leaves_the_previous_one(tmp_path, monkeypatch):
    path = tmp_path / "c"
    checkpoint.save(path, {"epoch": 1})

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match="No space left on device"):
        checkpoint.save(path, {"epoch": 2})
    monkeypatch.undo()
    assert checkpoint.load(path) == {"epoch": 1}
    assert list(tmp_path.iterdir()) == [path]
