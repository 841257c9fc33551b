"""A weighting curve for each labeler: every vote is an item, and its family is who gave it."""

import torch
import torch.nn.functional as F
from torch import nn

from reweigh import Reweighter
from reweigh.core.objective import mean_loss, reweighted
from reweigh.families import Families


def losses(logits, labels):
    return F.cross_entropy(logits, labels, reduction="none")


def test_votes_of_a_careless_labeler_get_less_weight():
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(300, 8, generator=generator)
    truth = inputs[:, :4].argmax(1)
    guessed = torch.randint(4, (240,), generator=generator)
    labels = torch.cat([truth[:240], torch.where(torch.rand(240, generator=generator) < 0.6, guessed, truth[:240])])
    labeler = torch.arange(2).repeat_interleave(240)
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    families = Families(torch.arange(2), torch.full((2,), 240.0))
    reweighter = Reweighter(model, optimizer, labeler, families=families, loss=losses, every=1, meta_lr=3e-3)
    for _ in range(30):
        for some in torch.randperm(480, generator=generator).split(60):
            reweighter.step_on(
                reweighted(losses, inputs[some % 240], labels[some]),
                labeler[some],
                meta=mean_loss(losses, inputs[240:], truth[240:]),
            )
    with torch.no_grad():
        careful, careless = (reweighter.weight_net(torch.tensor([2.0]), torch.tensor([who])) for who in (0, 1))
    assert float(careful) > 2 * float(careless)
