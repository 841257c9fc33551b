import pytest
import torch

from reweigh.transforms import Flip


@pytest.mark.parametrize("probability", [0.0, 0.3, 0.5, 1.0])
def test_against_a_loop(images, seeded, probability):
    draws = torch.rand(len(images), generator=seeded()).tolist()
    expected = [
        torch.tensor([[row[::-1] for row in channel] for channel in image.tolist()]) if draw < probability else image
        for image, draw in zip(images, draws, strict=True)
    ]
    assert torch.equal(Flip(probability=probability)(images, seeded()), torch.stack(expected))


def test_share_of_flips(seeded):
    batch = torch.arange(2.0).expand(10_000, 1, 1, 2)
    flipped = Flip(probability=0.3)(batch, seeded())[:, 0, 0, 0].mean()
    assert abs(flipped - 0.3) < 0.025  # five standard deviations
