"""Channels last: the same numbers, whatever the model does with them."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.speed.layout import ChannelsLast


class Viewing(nn.Module):
    """Reads the memory of a batch of images in ways that depend on its layout."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4 * 16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(torch.relu(self.conv(x)), 2)
        return self.head(x.view(x.size(0), -1)) + x.view(len(x), 4, 16).mean(2)[:, :1]


def test_the_same_outputs_and_gradients() -> None:
    torch.manual_seed(0)
    model, inputs = Viewing(), torch.randn(6, 3, 8, 8)
    expected = torch.autograd.grad(model(inputs).square().sum(), list(model.parameters()))
    with ChannelsLast():
        found = torch.autograd.grad(model(inputs).square().sum(), list(model.parameters()))
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_images_are_laid_out_once() -> None:
    first, second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3)
    with ChannelsLast():
        between = torch.relu(first(torch.randn(2, 3, 9, 9)))
        assert between.is_contiguous(memory_format=torch.channels_last)
        assert second(between).is_contiguous(memory_format=torch.channels_last)
    assert not first(torch.randn(2, 3, 9, 9)).is_contiguous(memory_format=torch.channels_last)


def test_other_shapes_are_left_alone() -> None:
    with ChannelsLast():
        assert torch.arange(6).view(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
        assert torch.zeros(2, 3, 4, 4).view(torch.int32).dtype == torch.int32
