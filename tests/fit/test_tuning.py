"""Fine-tuning beside a loop by hand."""

from copy import deepcopy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reweigh.data import Dataset
from reweigh.data.normalize import Standardize
from reweigh.features import Network
from reweigh.fit.front import Front
from reweigh.fit.tuning import fine_tuned, soft_targets
from reweigh.issues import Samples
from reweigh.losses.prior import log_shares

GIVEN = torch.tensor([0, 1, 0, -1, 2, 2])
SUGGESTED = torch.tensor([0, 2, 0, 1, 2, 2])
QUALITY = torch.tensor([0.9, 0.2, 0.5, torch.nan, 1.0, 0.7])
SAMPLES = Samples(GIVEN, SUGGESTED, QUALITY, GIVEN != SUGGESTED, torch.zeros(6))


def test_targets_are_given_labels_as_far_as_they_are_trusted():
    assert soft_targets(SAMPLES, 3).tolist() == pytest.approx(
        torch.tensor([[1, 0, 0], [0, 0.2, 0.8], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]])
    )


@pytest.mark.parametrize("what", ["last-block", "all"])
@pytest.mark.parametrize("prior", [True, False])
def test_as_a_step_by_hand(what, prior):
    torch.manual_seed(0)
    images = torch.rand(6, 1, 2, 2)  # gray ones are not mirrored; six are one batch
    front = Front(Network("net", nn.Sequential(nn.Flatten(), nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)), 3))
    head, normalize = nn.Linear(3, 3), Standardize([0.1, 0.2, 0.3], [0.5, 1.0, 2.0])
    raw = Dataset(images, GIVEN, ("a", "b", "c"))
    options = {"unfreeze": what, "lr": 0.1, "epochs": 1, "prior": prior, "seed": 0}
    better, model = fine_tuned(front, head, raw, SAMPLES, normalize, device=torch.device("cpu"), **options)

    network, hand = deepcopy(front.network.module), deepcopy(head)
    trained = [*(network if what == "all" else network[3]).parameters(), *hand.parameters()]
    optimizer = torch.optim.AdamW(trained, lr=0.1)
    logits = hand((network(images) - normalize.mean) / normalize.std)
    if prior:
        logits = logits + log_shares(torch.tensor([2, 1, 2]))
    F.cross_entropy(logits, soft_targets(SAMPLES, 3)).backward()
    optimizer.step()
    for found, expected in ((better.network.module, network), (model, hand)):
        for mine, its in zip(found.parameters(), expected.parameters(), strict=True):
            torch.testing.assert_close(mine, its)
    assert better.tuned
    assert not better.cache
    assert all(not torch.equal(a, b) for a, b in zip(model.parameters(), head.parameters(), strict=True))
