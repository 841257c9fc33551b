import sys

import pytest
import torch

from reweigh.errors import DataError, RecipeError
from reweigh.transforms import RandAugment


def test_without_kornia(monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "kornia"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "kornia", None)
    with pytest.raises(RecipeError, match=r"needs kornia, .*pip install reweigh\[image\]"):
        RandAugment()


class TestWithKornia:
    @pytest.fixture(autouse=True)
    def _kornia(self):
        pytest.importorskip("kornia")

    def test_images_in_range(self, images, seeded):
        result = RandAugment(operations=3, magnitude=20)(images, seeded())
        assert result.min() >= 0
        assert result.max() <= 1
        assert not torch.equal(result, images)

    def test_each_image_draws_its_own_operations(self, seeded):
        """64 copies of one image: operations drawn once a batch would leave at most two of each kind."""
        batch = torch.rand(1, 3, 8, 8, generator=seeded()).expand(64, 3, 8, 8)
        result = RandAugment(operations=1)(batch, seeded())
        assert len(result.flatten(1).unique(dim=0)) > 8

    def test_an_image_passes_through_what_it_drew(self, seeded):
        """The operation that inverts, alone in the table, gives 1 - x for those that drew it and nothing else."""
        transform = RandAugment(operations=1)
        transform._table = [transform._table[2], lambda images: images]  # kornia's third: invert
        batch = torch.rand(20, 3, 8, 8, generator=seeded())
        drawn = torch.randint(0, 2, (1, 20), generator=seeded())[0]
        expected = torch.stack([1 - image if d == 0 else image for image, d in zip(batch, drawn, strict=True)])
        torch.testing.assert_close(transform(batch, seeded()), expected)

    def test_gray_images(self, seeded):
        gray = torch.rand(30, 1, 12, 12, generator=seeded())
        colored = RandAugment()(gray.expand(-1, 3, -1, -1), seeded())
        torch.testing.assert_close(colored[:, :1], colored[:, 2:], atol=1e-4, rtol=0)
        assert torch.equal(RandAugment()(gray, seeded()), colored[:, :1])

    def test_other_channels(self, seeded):
        with pytest.raises(DataError, match="1 or 3 channels, but these have 4"):
            RandAugment()(torch.rand(2, 4, 8, 8), seeded())

    @pytest.mark.parametrize("images", [torch.full((2, 3, 8, 8), 255.0), torch.full((2, 3, 8, 8), -1.0)])
    def test_other_ranges(self, images, seeded):
        with pytest.raises(DataError, match=r"needs images in \[0, 1\], but these are in"):
            RandAugment()(images, seeded())

    def test_the_global_generator_does_not_matter(self, images, seeded):
        transform = RandAugment()
        torch.manual_seed(1)
        first = transform(images, seeded())
        torch.manual_seed(2)
        assert torch.equal(transform(images, seeded()), first)
