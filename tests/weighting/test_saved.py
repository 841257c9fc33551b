"""Weighting functions on disk, and on other data."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from reweigh import Reweighter, RobustClassifier
from reweigh.errors import DataError
from reweigh.files.tensors import pack
from reweigh.weighting import WEIGHTINGS, ClassAwareNet, Origin, load_weighting, read_released, save_weighting

LOSSES = torch.tensor([0.0, 0.5, 1.0, 2.0, 4.0, 10.0])


def _curve(net: ClassAwareNet, family: int) -> Tensor:
    return net(LOSSES, torch.full((6,), family)).detach()


def test_comes_back_as_it_was(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net, origin = ClassAwareNet(4, hidden=7), Origin((1.5, 20.0, 300.0, 4000.0), "cross-entropy", "digits")
    net.unit = 2.5
    save_weighting(tmp_path / "w.safetensors", net, origin)
    found, about = load_weighting(tmp_path / "w.safetensors")
    assert about == origin
    for family in range(4):
        assert torch.equal(_curve(found, family), _curve(net, family))


class Falling(nn.Module):
    """A member as CONTRIBUTING describes it: made from two numbers, none of which it keeps."""

    def __init__(self, num_families: int, width: int):
        super().__init__()
        self.rate = nn.Parameter(torch.rand(num_families))

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        return torch.exp(-self.rate[family].exp() * losses)


def made_by_function(num_families: int, width: int) -> nn.Module:
    return Falling(num_families, width)


@pytest.mark.parametrize("member", [Falling, made_by_function])
def test_a_contributed_function_is_stored_and_transferred(
    member: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WEIGHTINGS, "falling", member)
    x, y = np.random.default_rng(0).normal(size=(99, 4)), np.arange(99) % 3 * (np.arange(99) % 4 > 1)
    found = RobustClassifier(method="cmw-net", method_options={"weight_net": "falling"}, epochs=1, random_state=0).fit(
        x, y
    )
    found.save(tmp_path / "classifier.safetensors")
    again = RobustClassifier.load(tmp_path / "classifier.safetensors")
    losses = np.linspace(0, 3, 5)
    for family in range(found.weighting_.num_families):
        np.testing.assert_array_equal(again.weighting_(losses, family), found.weighting_(losses, family))
    save_weighting(tmp_path / "curves.safetensors", found.weighting_.net, Origin())
    net, _ = load_weighting(tmp_path / "curves.safetensors")
    model = nn.Linear(4, 9)
    labels = torch.arange(90).float().sqrt().long().clamp_max(8)  # more sizes than there are curves
    Reweighter(model, torch.optim.SGD(model.parameters(), 0.1), labels, families=9, weighting=net)


def test_what_is_not_a_weighting_function(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give a weighting function that reweigh saved"):
        load_weighting(tmp_path / "absent.safetensors")
    with pytest.raises(DataError, match=r"a folder; give a file, .*/weighting\.safetensors"):
        load_weighting(tmp_path)
    (tmp_path / "text").write_text("no tensors here")
    with pytest.raises(DataError, match="give a weighting function that reweigh saved"):
        load_weighting(tmp_path / "text")
    save_file({"a": torch.ones(1)}, tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="has no checksum"):
        load_weighting(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").write_bytes(pack({"a": torch.ones(1)}, {}))
    with pytest.raises(DataError, match="not a weighting function"):
        load_weighting(tmp_path / "model.safetensors")
    about = {"kind": "reweigh weighting function", "version": "99"}
    (tmp_path / "new.safetensors").write_bytes(pack({"a": torch.ones(1)}, about))
    with pytest.raises(DataError, match="another version of reweigh"):
        load_weighting(tmp_path / "new.safetensors")


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_every_member_comes_back_or_says_that_it_has_nothing_to_save(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    net, path = WEIGHTINGS[name](2, 5), tmp_path / "w.safetensors"
    if not net.num_families:
        with pytest.raises(DataError, match=f"{type(net).__name__} has no parameters or buffers"):
            save_weighting(path, net, Origin())
        return
    save_weighting(path, net, Origin((3.0, 40.0)))
    found, _ = load_weighting(path)
    assert (type(found), found.num_families, found.width) == (type(net), 2, 5)
    assert torch.equal(_curve(found, 1), _curve(net, 1))


class Slope(nn.Module):
    """A module of someone else's: any weights in (0, 1)."""

    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.randn(()))

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        return torch.sigmoid(self.slope * losses)


def test_a_module_of_your_own_comes_back_into_one_like_it(tmp_path: Path) -> None:
    net, path = Slope(), tmp_path / "w.safetensors"
    save_weighting(path, net, Origin((3.0, 40.0), learned_on="digits"))
    with pytest.raises(DataError, match=r"a 'Slope', which is not one of class-aware, free; pass such a module"):
        load_weighting(path)
    again = Slope()
    found, origin = load_weighting(path, again)
    assert found is again
    assert torch.equal(again.slope, net.slope)
    assert origin.learned_on == "digits"
    with pytest.raises(DataError, match=r"(?s)w\.safetensors: .*slope"):
        load_weighting(path, ClassAwareNet(2))


def _released(heads: dict[int, tuple[float, float]]) -> dict[str, Tensor]:
    """A state dict as the authors save it: hidden unit 0 passes the loss on, a head is a line under a sigmoid."""
    first = torch.zeros(100, 1)
    first[0] = 1
    state = {"feature.layer.0.weight": first, "feature.layer.0.bias": torch.zeros(100)}
    for k, (slope, bias) in heads.items():
        weight = torch.zeros(1, 100)
        weight[0, 0] = slope
        state |= {f"classfier.layers.{k}.0.weight": weight, f"classfier.layers.{k}.0.bias": torch.tensor([bias])}
    return state


def test_the_released_function_is_sorted_by_class_size(tmp_path: Path) -> None:
    # the ends of the released curves at loss 0 and 10: large classes .82 and 0, small .93 and 1, moderate .49 and .25
    heads = {0: (-2.0, 1.5), 1: (0.7, 2.6), 2: (-0.1, -0.04)}
    torch.save(_released(heads), tmp_path / "released.pth")
    net, origin = load_weighting(f"{tmp_path / 'released.pth'}:large,small,medium")
    assert origin.learned_on == "data of the paper's authors"
    for ours, theirs in ((0, 1), (1, 2), (2, 0)):
        slope, bias = heads[theirs]
        torch.testing.assert_close(_curve(net, ours), torch.sigmoid(slope * LOSSES + bias))
    ends = [(round(float(_curve(net, k)[0]), 2), round(float(_curve(net, k)[-1]), 2)) for k in range(3)]
    assert ends == [(0.93, 1.0), (0.49, 0.26), (0.82, 0.0)]


@pytest.mark.parametrize("order", ["", ":", ":large,small", ":large,small,tiny"])
def test_the_order_of_released_heads_is_never_assumed(tmp_path: Path, order: str) -> None:
    torch.save(_released({0: (-2.0, 1.5), 1: (0.7, 2.6), 2: (-0.1, -0.04)}), tmp_path / "released.pth")
    with pytest.raises(DataError, match=r"the order of its heads is .*such as .*released\.pth:large,small,medium"):
        load_weighting(f"{tmp_path / 'released.pth'}{order}")


ORDER = ("large", "small", "medium")


def test_a_released_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.pth: there is no such file"):
        read_released(tmp_path / "absent.pth", ORDER)


class Evil:
    def __reduce__(self) -> tuple:
        return print, ("run",)


def test_a_released_file_cannot_run_code(tmp_path: Path) -> None:
    torch.save({"feature.layer.0.bias": Evil()}, tmp_path / "evil.pth")
    with pytest.raises(DataError, match="not the state dict of a released CMW-Net"):
        read_released(tmp_path / "evil.pth", ORDER)
    torch.save({"other": torch.ones(1)}, tmp_path / "other.pth")
    with pytest.raises(DataError, match="KeyError"):
        read_released(tmp_path / "other.pth", ORDER)
