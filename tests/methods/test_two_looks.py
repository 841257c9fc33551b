"""What the second look trains on, and what teaches its weights, against slow and obvious versions."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reweigh.data import Dataset
from reweigh.errors import DataError
from reweigh.losses import LOSSES
from reweigh.losses.class_sizes import prior_corrected
from reweigh.meta_sets import META_SETS
from reweigh.methods import build
from reweigh.methods.setup import Again, Setup
from reweigh.methods.two_looks import Belief, weighing
from reweigh.models.ensemble import side_by_side
from reweigh.weighting import Origin, save_weighting

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


def second_look(n=40, members=1, trusted=None, **options):
    """The method for linear networks, what it learns, and the samples; a quarter is held out, of one network or all."""
    torch.manual_seed(0)
    model = side_by_side([nn.Linear(4, CLASSES) for _ in range(members)])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    inputs, labels = torch.randn(n, 4), torch.arange(n) % CLASSES
    data = Dataset(inputs, labels, tuple("abc"), trusted=trusted)
    loss = LOSSES["cross-entropy"]
    parts = META_SETS["lowest-loss"](), prior_corrected(loss, data.class_sizes), None, torch.Generator().manual_seed(0)
    setup = Setup(model, optimizer, data, *parts, torch.device("cpu"), prior=True, uncorrected=loss)
    given = F.one_hot(labels, CLASSES).float()
    transition = torch.tensor([[0.8, 0.1, 0.0], [0.2, 0.6, 0.1], [0.0, 0.3, 0.9]])
    fold = torch.where(torch.arange(n) % 4 == 0, 0, -1) if members == 1 else torch.arange(n) % members
    again = Again(given, rows(n), given @ transition, fold)
    return build("two-looks", replace(setup, again=again), mixup=0.0, **options), again, data


def targets_learned(again, log_shares):
    """What Bayes' rule makes the networks learn: the targets, but for labels that are hardly doubted."""
    doubt, right, other = Belief.of(again.targets, again.given, log_shares.exp())
    trust = torch.exp(-doubt)[:, None]
    return trust * right + (1 - trust) * other


@pytest.mark.parametrize("members", [1, 4])
def test_with_bayes_rule_every_network_descends_the_loss_of_the_targets(members):
    look, again, data = second_look(members=members, meta_lr=0.0)
    networks = look.model.networks()
    seen = again.fold[:, None] != torch.arange(members)
    log_shares = again.targets[seen.any(1)].mean(0).log()
    learned = targets_learned(again, log_shares)
    torch.testing.assert_close(learned, again.targets, atol=0.02, rtol=0)
    expected = []
    for number, network in enumerate(networks):
        losses = -(learned * (network(data.inputs) + log_shares).log_softmax(1)).sum(1)
        losses[seen[:, number]].mean().backward()
        expected.append(network.weight.detach() - 0.1 * network.weight.grad)
    look.step(data.batch(torch.arange(40)))
    for network, weight in zip(look.model.networks(), expected, strict=True):
        torch.testing.assert_close(network.weight.detach(), weight, atol=0.002, rtol=0.01)  # the net fits Bayes' rule


@pytest.mark.parametrize("members", [1, 4])
def test_held_out_labels_teach_the_weights_seen_through_the_confusion(members):
    look, again, data = second_look(members=members)
    lesson = look._lesson()
    held_out = (again.fold >= 0).nonzero().flatten().tolist()
    log_shares = again.targets[(again.fold < 0) | (members > 1)].mean(0).log()
    by_hand = []
    for i in held_out:
        classes = (look.model.networks()[int(again.fold[i])](data.inputs[i]) + log_shares).softmax(0)
        by_hand.append(-sum(again.likely[i, k] * classes[k] for k in range(CLASSES)).log())
    torch.testing.assert_close(lesson(look.model.each), torch.stack(by_hand).mean())


def test_checked_labels_teach_the_weights_too():
    checked = torch.arange(40) < 6
    look, again, _ = second_look(trusted=checked)
    assert sorted(look._lessons.pool.tolist()) == ((again.fold == 0) | checked).nonzero().flatten().tolist()


@pytest.mark.parametrize(
    ("options", "warm_up", "learns"), [({}, False, True), ({}, True, False), ({"meta_lr": 0.0}, False, False)]
)
def test_when_weights_are_learned(options, warm_up, learns):
    look, _, data = second_look(**options)
    look.start_epoch(0, warm_up)
    before = [value.clone() for value in look.weight_net().state_dict().values()]
    numbers = [look.step(data.batch(torch.arange(40))) for _ in range(6)]
    changed = any(not torch.equal(*each) for each in zip(before, look.weight_net().state_dict().values(), strict=True))
    assert changed == any("meta_loss" in each for each in numbers) == learns


def test_the_weight_is_what_the_net_says_of_the_doubt():
    look, again, _ = second_look()
    doubt = -again.targets[torch.arange(40), again.given.argmax(1)].log()
    torch.testing.assert_close(look.sample_weights(), look.weight_net()(doubt, torch.zeros(40, dtype=torch.long)))


def test_a_weighting_function_from_elsewhere_stays_as_it_is(tmp_path):
    look, _, data = second_look()
    save_weighting(tmp_path / "own", look.weight_net(), Origin(reads="doubt"))
    other, _, _ = second_look(weighting=str(tmp_path / "own"))
    other.step(data.batch(torch.arange(40)))
    before, after = look.weight_net().state_dict(), other.weight_net().state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    save_weighting(tmp_path / "other", look.weight_net(), Origin())
    with pytest.raises(DataError, match=r"weighs samples by their loss, .* weighs them by their doubt"):
        second_look(weighting=str(tmp_path / "other"))


@pytest.mark.parametrize(
    ("sizes", "families"), [([900, 100], 2), ([900, 300, 100], 3), ([500, 500], 1), ([9, 0, 900], 2)]
)
def test_no_more_families_than_class_sizes(sizes, families):
    options = weighing(torch.tensor(sizes), 1e-3, 5, None)
    assert options["families"] == options["weight_net"].num_families == families
