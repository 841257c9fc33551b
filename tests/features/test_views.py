from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch
from torch import nn

from reweigh.features.network import Network, seen

pytest.importorskip("kornia")
IMAGES = torch.randint(0, 256, (6, 3, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_rows_of_a_view_as_a_loop_over_images():
    torch.manual_seed(0)
    network = Network("net", nn.Sequential(nn.Flatten(), nn.Linear(192, 4)), 4)
    with torch.no_grad():
        for view in range(4):
            rows = replace(network, view=view).rows(IMAGES, "cpu")
            for place in range(6):
                image = seen(IMAGES[place : place + 1], view)
                torch.testing.assert_close(rows[place], network(image)[0])
        mirrored = torch.stack([network(image.flip(2)[None])[0] for image in IMAGES])
        torch.testing.assert_close(replace(network, view=1).rows(IMAGES, "cpu"), mirrored)
    assert len({replace(network, view=view).key() for view in range(4)}) == 4


def test_an_image_and_the_view_determine_the_distortion():
    state = torch.get_rng_state()
    views = [seen(IMAGES, view) for view in (2, 3)]
    assert torch.equal(torch.get_rng_state(), state)
    assert all(0 <= float(view.min()) <= float(view.max()) <= 1 for view in views)
    differ = (views[0] != views[1]).flatten(1).any(1) & (views[0] != IMAGES / 255).flatten(1).any(1)
    assert differ.all()
    with ThreadPoolExecutor(3) as pool:  # in any batch, and in threads side by side
        alone = list(pool.map(lambda place: seen(IMAGES[[place, 0]], 2)[0], range(6)))
    assert torch.equal(torch.stack(alone), views[0])


def test_gray_images_and_floats():
    gray = IMAGES[:, :1]
    assert seen(gray, 2).shape == gray.shape
    assert seen(gray / 255, 1).dtype == torch.float32
