import torch

from reweigh.data.inputs import drawn


def test_each_sample_has_one_of_its_views_by_the_generator():
    views = [torch.full((600, 2, 2), float(number)) + torch.arange(600.0).view(-1, 1, 1) / 1000 for number in range(3)]
    found = drawn(views, torch.Generator().manual_seed(0))
    which = torch.randint(3, (600,), generator=torch.Generator().manual_seed(0))
    expected = torch.stack([views[number][place] for place, number in enumerate(which.tolist())])
    assert torch.equal(found, expected)
    assert torch.bincount(which).min() > 150
