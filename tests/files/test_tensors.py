"""Safetensors files prove themselves: any change of any bit is noticed, and the same content is the same bytes."""

import json
import random
import subprocess
import sys

import pytest
import safetensors.torch
import torch

from reweigh.errors import DataError
from reweigh.files.tensors import pack, read, unpack

TENSORS = {
    "weight": torch.arange(12.0).reshape(3, 4),
    "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "empty": torch.empty(0, 3),
    "scalar": torch.tensor(7),
    "é": torch.tensor([True, False, True]),
}
ABOUT = {"kind": "test", "b": "2", "a": 'quote " and ünïcode'}


def test_what_was_packed_comes_back():
    tensors, about = unpack(pack(TENSORS, ABOUT), "file")
    assert about == ABOUT
    assert tensors.keys() == TENSORS.keys()
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)
    assert all(tensors[name].dtype == TENSORS[name].dtype for name in TENSORS)
    assert all(tensor.data_ptr() % 64 == 0 for tensor in tensors.values() if tensor.numel())


def test_any_safetensors_reader_can_read_it(tmp_path):
    (tmp_path / "file").write_bytes(pack(TENSORS, ABOUT))
    assert safetensors.torch.load_file(tmp_path / "file").keys() == TENSORS.keys()
    with safetensors.safe_open(tmp_path / "file", "pt") as file:
        assert file.metadata().items() > ABOUT.items()


def test_the_same_content_is_the_same_bytes_in_another_process():
    code = (
        "import runpy, sys; its = runpy.run_path(sys.argv[1]); print(its['pack'](its['TENSORS'], its['ABOUT']).hex())"
    )
    command = [sys.executable, "-c", code, __file__]
    said = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert said == pack(dict(reversed(TENSORS.items())), dict(reversed(ABOUT.items()))).hex() + "\n"


def test_every_single_bit_counts():
    data = pack(TENSORS, ABOUT)
    for position in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(DataError, match=r"^file: "):
            unpack(bytes(damaged), "file")


def test_truncations_and_swaps_are_noticed():
    data, draw = pack(TENSORS, ABOUT), random.Random(0)
    for size in range(len(data)):
        with pytest.raises(DataError, match=r"^file: "):
            unpack(data[:size], "file")
    for _ in range(200):
        first, second = sorted(draw.sample(range(len(data)), 2))
        swapped = bytearray(data)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        if swapped != data:
            with pytest.raises(DataError, match=r"^file: "):
                unpack(bytes(swapped), "file")
    with pytest.raises(DataError, match=r"^file: "):
        unpack(data + b"\0", "file")


def test_a_foreign_file_is_read_only_where_that_is_allowed():
    foreign = safetensors.torch.save({"a": torch.ones(2)}, {"format": "pt"})
    with pytest.raises(DataError, match=r"file: has no checksum, so reweigh did not write it"):
        unpack(foreign, "file")
    assert unpack(foreign, "file", sealed=False)[1] == {"format": "pt"}


@pytest.mark.parametrize(
    "header", [b"[" * 100000, b"{}", b"[]", b'{"__metadata__": 3}', b'{"a": {"dtype": "F32"}}', b"\xff"]
)
def test_hostile_headers(header):
    with pytest.raises(DataError, match=r"^file: "):
        unpack(len(header).to_bytes(8, "little") + header, "file")


def test_a_huge_header_is_refused_by_its_size(monkeypatch):
    with pytest.raises(DataError, match="not a safetensors file, or truncated"):
        unpack(b"\xff" * 100, "file")
    monkeypatch.setenv("REWEIGH_MAX_HEADER", "10")
    with pytest.raises(DataError, match=r"the limit is 10. If you trust the file, raise it with .* REWEIGH_MAX_HEADER"):
        unpack(pack(TENSORS, ABOUT), "file")


def test_offsets_that_overlap_or_lie():
    data = pack({"a": torch.ones(2), "b": torch.zeros(2)}, {})
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["a"]["data_offsets"] = [0, 2**40]
    text = json.dumps(header).encode()
    with pytest.raises(DataError, match=r"^file: "):
        unpack(len(text).to_bytes(8, "little") + text + data[8 + size :], "file", sealed=False)


def test_no_such_file(tmp_path):
    with pytest.raises(DataError, match=r"absent: cannot be read"):
        read(tmp_path / "absent")
