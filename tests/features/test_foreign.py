"""Networks of other packages, which stand-ins of the same form replace here."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

from reweigh.errors import DataError, ModelError, RecipeError
from reweigh.features import build, find

SHAPE = (3, 8, 8)


class Backbone(nn.Module):
    """A classifier of 5 features and ``outputs`` classes; without classes it returns the features."""

    def __init__(self, outputs):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3)
        self.fc = nn.Linear(5, outputs) if outputs else nn.Identity()

    def forward(self, images):
        return self.fc(self.conv(images).mean((2, 3)))


def package(monkeypatch, name, **members):
    module = ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)


def test_timm(monkeypatch):
    def create_model(name, pretrained, num_classes):
        assert (name, pretrained, num_classes) == ("tiny", True, 0)
        return Backbone(0)

    config = {"input_size": (3, 32, 32), "mean": (0.5, 0.4, 0.3), "std": (0.1, 0.2, 0.3)}
    package(monkeypatch, "timm", create_model=create_model)
    package(monkeypatch, "timm.data", resolve_model_data_config=lambda model: config)
    found = build("timm:tiny", SHAPE, trust_code=True, resize="pad")
    assert (found.width, found.size, found.mean, found.std) == (5, 32, config["mean"], config["std"])
    assert found.resize == "pad"


def test_torchvision_loses_its_last_layer(monkeypatch):
    form = SimpleNamespace(crop_size=[24], mean=[0.5, 0.5, 0.5], std=[0.2, 0.2, 0.2])
    weights = SimpleNamespace(DEFAULT=SimpleNamespace(transforms=lambda: form))
    package(monkeypatch, "torchvision")
    package(
        monkeypatch,
        "torchvision.models",
        get_model_weights=lambda name: weights,
        get_model=lambda name, weights: Backbone(1000),
    )
    found = build("torchvision:tiny", SHAPE, trust_code=True)
    assert (found.width, found.size, found.mean) == (5, 24, (0.5, 0.5, 0.5))


@pytest.mark.parametrize("pooled", [True, False])
def test_transformers(monkeypatch, pooled):
    class Vision(nn.Module):
        def forward(self, pixel_values):
            tokens = pixel_values.flatten(2).mT
            return SimpleNamespace(pooler_output=tokens[:, 0] if pooled else None, last_hidden_state=tokens)

    def load_model(name, use_safetensors, trust_remote_code):
        assert (name, use_safetensors, trust_remote_code) == ("org/tiny", True, False)
        return Vision()

    form = SimpleNamespace(size={"height": 16, "width": 16}, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    package(
        monkeypatch,
        "transformers",
        AutoModel=SimpleNamespace(from_pretrained=load_model),
        AutoImageProcessor=SimpleNamespace(from_pretrained=lambda name, trust_remote_code: form),
    )
    found = build("hf:org/tiny", SHAPE, trust_code=True)
    assert (found.width, found.size, found.std) == (3, 16, (0.5, 0.5, 0.5))
    images = torch.rand(2, 3, 16, 16)
    pixels = (images - 0.5) / 0.5
    torch.testing.assert_close(found(images), pixels[:, :, 0, 0] if pooled else pixels.mean((2, 3)))


def test_a_module_of_ones_own(monkeypatch):
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()

        def forward(self, images):
            return images.mean((2, 3))

    package(monkeypatch, "mine", Mean=Mean)
    found = build("mine:Mean", SHAPE, trust_code=True)
    assert (found.width, found.size) == (3, None)
    assert found(torch.full((1, 3, 8, 8), 255, dtype=torch.uint8)).tolist() == [[1.0] * 3]


def test_code_outside_runs_only_if_trusted(monkeypatch):
    package(monkeypatch, "timm", create_model=lambda *args, **options: pytest.fail("it was called"))
    with pytest.raises(ModelError, match="--trust-code"):
        build("timm:tiny", SHAPE)


def test_a_torchvision_that_does_not_fit_torch(monkeypatch):
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "torchvision":
                raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.raises(ModelError, match=r"nms does not exist.*install the torchvision that matches your torch"):
        build("torchvision:resnet18", SHAPE, trust_code=True)


def test_weights_that_cannot_be_fetched(monkeypatch):
    def offline(*arguments, **options):
        raise OSError("We couldn't connect\nand more")

    package(monkeypatch, "timm", create_model=offline)
    with pytest.raises(ModelError, match=r"'timm:tiny'.*OSError: We couldn't connect\).*works offline"):
        build("timm:tiny", SHAPE, trust_code=True)


def test_other_mistakes():
    with pytest.raises(RecipeError, match="Did you mean 'efficientnet-lite0'"):
        find("efficientnet-lite")
    with pytest.raises(ModelError, match="write timm:NAME"):
        find("timm:")
    with pytest.raises(DataError, match=r"needs images with 1 or 3 channels, but one sample has the shape \(4,\)"):
        build("efficientnet-lite0", (4,))
    with pytest.raises(ModelError, match="cannot import 'no_such_package'"):
        build("no_such_package:Net", SHAPE, trust_code=True)
