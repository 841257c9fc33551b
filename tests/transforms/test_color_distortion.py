import colorsys

import pytest
import torch

from reweigh.transforms import ColorDistortion, _turn


def gray_of(pixel):
    return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]


def test_against_a_loop_without_hue(images, seeded, monkeypatch):
    """Saturation, then contrast about the mean gray, then brightness, pixel by pixel."""
    monkeypatch.setattr("reweigh.transforms._turn", lambda hue: torch.eye(3).double())
    images = images.double()
    draws = torch.rand(6, len(images), generator=seeded()).double().T.tolist()
    expected = torch.empty_like(images)
    for image, new, (jittered, gray, *change) in zip(images, expected, draws, strict=True):
        brightness, contrast, saturation = (1 + 0.8 * 0.7 * (2 * c - 1) * (jittered < 0.8) for c in change[:3])
        saturation = 0 if gray < 0.2 else saturation
        mean = sum(float(gray_of(image[:, y, x])) for y in range(12) for x in range(10)) / 120
        for y in range(12):
            for x in range(10):
                pixel = image[:, y, x]
                pixel = saturation * pixel + (1 - saturation) * gray_of(pixel)
                pixel = contrast * pixel + (1 - contrast) * mean
                new[:, y, x] = brightness * pixel
    torch.testing.assert_close(ColorDistortion(strength=0.7)(images, seeded()), expected)


@pytest.mark.parametrize("turn", [-0.08, 0.03, 0.1])
def test_hue_turns_nearly_as_in_hsv(turn):
    for hue in torch.arange(0, 1, 0.05).tolist():
        turned = _turn(torch.tensor([turn]))[0] @ torch.tensor(colorsys.hsv_to_rgb(hue, 0.4, 0.6))
        found = colorsys.rgb_to_hsv(*turned.tolist())[0]
        away = (found - hue + 0.5) % 1 - 0.5
        assert abs(away - turn) < 0.045
        assert gray_of(turned) == pytest.approx(gray_of(colorsys.hsv_to_rgb(hue, 0.4, 0.6)), abs=1e-6)


def test_strength_zero_only_takes_colors_out(images, seeded):
    result = ColorDistortion(strength=0.0)(images, seeded())
    gray = torch.rand(6, len(images), generator=seeded())[1] < 0.2
    assert gray.any()
    torch.testing.assert_close(result[~gray], images[~gray])
    torch.testing.assert_close(result[gray][:, 0], result[gray][:, 2])


@pytest.mark.parametrize("channels", [1, 4])
def test_other_channels_keep_their_proportions_to_each_other(channels, seeded):
    batch = torch.rand(50, 1, 5, 5, generator=seeded()).expand(-1, channels, -1, -1)
    result = ColorDistortion()(batch, seeded())
    torch.testing.assert_close(result[:, :1].expand_as(result), result)
    alone = ColorDistortion()(batch[:, :1], seeded())
    torch.testing.assert_close(result[:, :1], alone)
    assert not torch.equal(alone, batch[:, :1])
