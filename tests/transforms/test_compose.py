import pytest
import torch

from reweigh.transforms import TRANSFORMS, Compose, Cutout, Flip, PadCrop


@pytest.fixture(params=sorted(TRANSFORMS))
def transform(request):
    if request.param == "rand-augment":
        pytest.importorskip("kornia")
    return TRANSFORMS[request.param]()


def test_one_after_the_other(images, seeded):
    crop, flip, cutout = PadCrop(padding=2), Flip(), Cutout(size=4)
    generator = seeded()
    expected = images
    for transform in (crop, flip, cutout):
        expected = transform(expected, generator)
    torch.testing.assert_close(Compose([crop, flip, cutout])(images, seeded()), expected, rtol=0, atol=0)


def test_without_transforms(images, seeded):
    assert Compose([])(images, seeded()) is images


@pytest.mark.parametrize("first", [Flip(), Cutout(), PadCrop()])
def test_composition_leaves_the_given_batch(images, seeded, first):
    before = images.clone()
    Compose([first, Flip(), Cutout()])(images, seeded())
    assert torch.equal(images, before)


def test_a_transform_that_returns_its_input_does_not_give_it_away(images, seeded):
    before = images.clone()
    Compose([lambda batch, generator: batch, Flip(probability=1.0)])(images, seeded())
    assert torch.equal(images, before)


def test_every_transform_repeats_itself(transform, images, seeded):
    """Same state of the generator: same images, and the same state afterwards."""
    one, two = seeded(), seeded()
    first, second = transform(images, one), transform(images, two)
    assert first.shape == images.shape
    assert first.dtype == images.dtype
    assert torch.equal(first, second)
    assert torch.equal(one.get_state(), two.get_state())


def test_every_transform_leaves_its_input_and_the_global_generator(transform, images, seeded):
    torch.manual_seed(3)
    before, state = images.clone(), torch.get_rng_state()
    result = transform(images, seeded())
    assert torch.equal(images, before)
    assert result.data_ptr() != images.data_ptr()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("batch", [torch.zeros(4, 20), torch.zeros(3, 12, 10), torch.zeros(4, 3, 12, 10).byte()])
def test_every_transform_refuses_what_is_not_images(transform, batch, seeded):
    with pytest.raises(ValueError, match=r"transform '[a-z-]+' needs (images|floats)"):
        transform(batch, seeded())
