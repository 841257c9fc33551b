"""A term that no weight touches is added, and the look-ahead feels it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core.jvp import engine
from reweigh.core.learner import MetaLearner
from reweigh.core.objective import mean_loss, reading, reweighted, soft_labels, with_rest
from reweigh.weighting import ClassAwareNet, LearnedWeights


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(outputs, labels, reduction="none")


def test_the_extra_is_added_to_the_rest_alone() -> None:
    torch.manual_seed(0)
    model, inputs, view = nn.Linear(4, 3), torch.randn(6, 4), torch.randn(6, 4)
    labels, pseudo = torch.arange(6) % 3, torch.randn(6, 3).softmax(1)
    plain = soft_labels(loss, inputs, labels, pseudo)
    terms, more = plain(model), with_rest(plain, lambda forward: 2 * loss(forward(view), pseudo).mean())(model)
    by_hand = sum((-(pseudo[i] * model(view)[i].log_softmax(0)).sum()).item() for i in range(6)) / 6
    torch.testing.assert_close(more.rest - terms.rest, torch.tensor(2 * by_hand))
    assert torch.equal(more.coefficients, terms.coefficients)
    assert torch.equal(more.losses, terms.losses)
    assert more.size == terms.size


def test_the_meta_gradient_is_taken_where_the_extra_leads() -> None:
    def gradient(strength: float) -> Tensor:
        torch.manual_seed(0)
        model = nn.Linear(4, 3)
        inputs, view, labels = torch.randn(6, 4), torch.randn(6, 4), torch.arange(6) % 3
        net = ClassAwareNet(1, hidden=4)
        weigher = LearnedWeights(net, torch.optim.SGD(net.parameters(), 0.0))
        learner = MetaLearner(model, torch.optim.SGD(model.parameters(), 0.5), weigher, engine("unrolled"))
        objective = with_rest(
            reweighted(loss, inputs, labels), lambda forward: strength * loss(forward(view), labels).mean()
        )
        learner.step(objective, torch.zeros_like(labels), mean_loss(loss, inputs.flip(0), labels))
        return torch.cat([p.grad.flatten() for p in net.parameters() if p.grad is not None])

    assert not torch.allclose(gradient(0.0), gradient(1.0))


def test_the_weight_net_can_read_something_else_than_the_loss() -> None:
    inputs, labels, evidence = torch.randn(6, 4), torch.arange(6) % 3, torch.rand(6)
    model = nn.Linear(4, 3)
    terms = reweighted(loss, inputs, labels)(model)
    other = reading(reweighted(loss, inputs, labels), evidence)(model)
    assert torch.equal(other.losses, evidence)
    assert torch.equal(other.coefficients, terms.coefficients)
