"""What the second look trains on, and what teaches its weights, against slow and obvious versions."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reweigh.data import Dataset
from reweigh.losses import LOSSES
from reweigh.meta_sets import META_SETS
from reweigh.methods.parts.prior import Prior
from reweigh.methods.parts.second_look import Belief, SecondLook, weighing
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel

CLASSES = 3
EVEN = torch.ones(CLASSES) / CLASSES


def rows(n, seed=0):
    return torch.randn(n, CLASSES, generator=torch.Generator().manual_seed(seed)).mul(2).softmax(1)


@pytest.mark.parametrize("kind", ["one label", "candidates", "soft"])
def test_targets_are_put_together_again(kind):
    targets, labels = rows(50), torch.arange(50) % CLASSES
    given = {
        "one label": F.one_hot(labels, CLASSES).float(),
        "candidates": (F.one_hot(labels, CLASSES) + F.one_hot((labels + 1) % CLASSES, CLASSES)) / 2.0,
        "soft": rows(50, seed=1),
    }[kind]
    doubt, right, other = Belief.of(targets, given, EVEN)
    for i in range(50):
        trust = float(sum(given[i, k] * targets[i, k] for k in range(CLASSES)))
        assert float(torch.exp(-doubt[i])) == pytest.approx(trust, rel=1e-5)
        torch.testing.assert_close(trust * right[i] + (1 - trust) * other[i], targets[i])
    torch.testing.assert_close(right.sum(1), torch.ones(50))
    torch.testing.assert_close(other.sum(1), torch.ones(50))
    if kind == "one label":
        torch.testing.assert_close(right, given)


def test_a_label_beyond_doubt_or_belief():
    certain = torch.tensor([[1.0, 0.0, 0.0]])
    for given in (certain, certain.roll(1, 1)):
        assert all(bool(part.isfinite().all()) for part in Belief.of(certain, given, EVEN))


def test_hardly_doubted_labels_give_little_to_a_rarer_class():
    shares = torch.tensor([0.9, 0.09, 0.01])
    targets = torch.tensor([[0.99, 0.005, 0.005], [0.4, 0.3, 0.3], [0.005, 0.005, 0.99]])
    given = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    _, _, even = Belief.of(targets, given, EVEN)
    doubt, _, other = Belief.of(targets, given, shares)
    for i, label in enumerate((0, 0, 2)):
        hardly = float(torch.exp(-doubt[i] / 0.05))
        for k in range(CLASSES):
            part = float(even[i, k]) * min(1.0, float(shares[k] / shares[label]))
            expected = hardly * part + (1 - hardly) * float(even[i, k])
            assert k == label or float(other[i, k]) == pytest.approx(expected, abs=1e-6)
    torch.testing.assert_close(other.sum(1), torch.ones(3))
    assert float(other[0, 2]) < 0.12  # instead of a half
    torch.testing.assert_close(other[1:], even[1:], atol=1e-6, rtol=0)  # a doubted label, and one of the rarest class


def second_look(n=40, trusted=None, **options):
    torch.manual_seed(0)

    def fresh():
        model = nn.Linear(4, CLASSES)
        return model, torch.optim.SGD(model.parameters(), 0.1)

    inputs, labels = torch.randn(n, 4), torch.arange(n) % CLASSES
    data = Dataset(inputs, labels, tuple("abc"), trusted=trusted)
    parts = META_SETS["lowest-loss"](), LOSSES["cross-entropy"], None, torch.Generator().manual_seed(0)
    setup = Setup(*fresh(), data, *parts, torch.device("cpu"), epochs=10, fresh=fresh)
    given, held_out = F.one_hot(labels, CLASSES).float(), torch.arange(n) % 4 == 0
    transition = torch.tensor([[0.8, 0.1, 0.0], [0.2, 0.6, 0.1], [0.0, 0.3, 0.9]])
    first = torch.zeros(int(held_out.sum()), dtype=torch.float64)
    look = SecondLook(
        setup, Prior(True), AveragedModel(setup.model), given, rows(n), given @ transition, held_out, None, first,
        mixup=0.0, length=10, options={"families": 1, "normalize": "mean", "every": 1, **options},
    )  # fmt: skip
    return look, data, transition, held_out


class Trust(nn.Module):
    """Bayes' rule, exactly."""

    def forward(self, doubt, family):
        return torch.exp(-doubt)


def test_with_bayes_rule_it_descends_the_loss_of_the_targets():
    look, data, _, held_out = second_look(weight_net=Trust())
    model, (weight, bias) = look.student.model, (p.detach().clone() for p in look.student.model.parameters())
    targets = rows(40)
    log_shares = targets[~held_out].mean(0).log()
    given = F.one_hot(data.labels, CLASSES).float()
    doubt, right, other = Belief.of(targets, given, log_shares.exp())
    trust = torch.exp(-doubt)[:, None]
    learned = trust * right + (1 - trust) * other  # the targets, but for labels that are hardly doubted
    torch.testing.assert_close(learned, targets, atol=0.02, rtol=0)
    weight.requires_grad_(), bias.requires_grad_()
    kept = (~held_out).nonzero().flatten()
    losses = [-(learned[i] * (data.inputs[i] @ weight.T + bias + log_shares).log_softmax(0)).sum() for i in kept]
    expected = torch.stack(losses).mean()
    expected.backward()
    numbers = look.step(data.batch(torch.arange(40)))
    assert numbers["loss"] == pytest.approx(expected.item(), rel=1e-5)
    rate = look.student.rate
    torch.testing.assert_close(model.weight.detach(), weight.detach() - rate * weight.grad)


def test_held_out_labels_teach_the_weights_seen_through_the_confusion():
    look, data, transition, held_out = second_look()
    lesson = look._lesson()
    log_shares = rows(40)[~held_out].mean(0).log()
    by_hand = []
    for i in held_out.nonzero().flatten().tolist():
        classes = (look.student.model(data.inputs[i]) + log_shares).softmax(0)
        seen = sum(transition[data.labels[i], k] * classes[k] for k in range(CLASSES))
        by_hand.append(-seen.log())
    torch.testing.assert_close(lesson(look.student.model), torch.stack(by_hand).mean())


def test_checked_labels_teach_the_weights_too():
    checked = torch.arange(40) < 6
    look, *_ = second_look(trusted=checked)
    held_out = torch.arange(40) % 4 == 0
    assert sorted(look._lessons.pool.tolist()) == (held_out | checked).nonzero().flatten().tolist()


def test_weights_are_learned_until_the_held_out_samples_join():
    look, data, _, _ = second_look()
    batch = data.batch(torch.arange(40))
    for epoch in range(10):
        before = [p.detach().clone() for p in look.reweighter.weight_net.parameters()]
        numbers = look.step(batch)
        look.end_epoch()
        changed = any(
            not torch.equal(a, b) for a, b in zip(before, look.reweighter.weight_net.parameters(), strict=True)
        )
        assert changed == ("meta_loss" in numbers) == (epoch < 6)
    assert look.joined


@pytest.mark.parametrize(
    ("sizes", "families"), [([900, 100], 2), ([900, 300, 100], 3), ([500, 500], 1), ([9, 0, 900], 2)]
)
def test_no_more_families_than_class_sizes(sizes, families):
    options = weighing(torch.tensor(sizes), 1e-3, None)
    assert options["families"] == options["weight_net"].num_families == families
