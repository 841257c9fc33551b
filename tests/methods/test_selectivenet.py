"""SelectiveNet: its objective is the formula of its paper, sample by sample, in double precision."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from reweigh.core.objective import Batch
from reweigh.data import Dataset
from reweigh.errors import ModelError, RecipeError
from reweigh.losses import LOSSES
from reweigh.meta_sets import META_SETS
from reweigh.methods import build
from reweigh.methods.selectivenet import SelectiveNet, SelectiveRisk
from reweigh.methods.setup import Setup
from reweigh.models.selective import Heads, Ranked, SelectiveModel
from reweigh.plan.check import examine
from reweigh.selective import threshold
from reweigh.training import SCHEDULES, predict

LOSS = LOSSES["cross-entropy"]


def _setup(model: nn.Module | None = None) -> Setup:
    torch.manual_seed(0)
    labels = torch.tensor([0] * 30 + [1] * 12 + [2] * 6)
    inputs = torch.randn(48, 4) + 2 * torch.eye(4)[labels]
    model = (model or nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 3))).double()
    data = Dataset(inputs, labels, ("a", "b", "c"), normalize=Tensor.double)
    trusted = META_SETS["lowest-loss"](per_class=3, mixup=False)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    return Setup(model, optimizer, data, trusted, LOSS, None, torch.Generator().manual_seed(0), torch.device("cpu"))


def by_hand(heads: Heads, labels: Tensor, wanted: float, penalty: float, scale: Tensor) -> float:
    """The risk of what is selected and the penalty, as a loop over plain numbers."""
    lost = covered = total = 0.0
    for row, chosen, label, counts in zip(*heads[:2], labels.tolist(), scale.tolist(), strict=True):
        exponents = [math.exp(value) for value in row.tolist()]
        g = 1 / (1 + math.exp(-chosen.item()))
        lost += counts * g * -math.log(exponents[label] / sum(exponents))
        covered += counts * g
        total += counts
    coverage = covered / total
    return lost / len(labels) / coverage + penalty * max(0.0, wanted - coverage) ** 2


@pytest.mark.parametrize("wanted", [0.1, 0.95])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_risk_against_a_loop(wanted: float, weighted: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    heads = Heads(*(torch.randn(*shape, generator=generator).double() for shape in ((9, 3), (9,), (9, 3))))
    labels = torch.arange(9) % 3
    scale = torch.rand(9, generator=generator).double() if weighted else torch.ones(9).double()
    found = SelectiveRisk(LOSS, wanted, 32.0)(heads, labels, scale if weighted else 1.0)
    assert float(found) == pytest.approx(by_hand(heads, labels, wanted, 32.0, scale), rel=1e-12)


@pytest.mark.parametrize("weights", [None, torch.arange(16.0).double()])
def test_the_objective_is_that_of_the_paper(weights: Tensor | None) -> None:
    method = build("selectivenet", _setup(), coverage=0.9, penalty=20.0, alpha=0.3)
    assert isinstance(method, SelectiveNet)
    batch = replace(method.setup.train_set.batch(torch.arange(0, 48, 3)), weights=weights)
    heads = method.model(batch.inputs, heads=True)
    scale = torch.ones(16).double() if weights is None else weights
    auxiliary = 0.0
    for row, label, counts in zip(heads.auxiliary, batch.labels.tolist(), scale.tolist(), strict=True):
        auxiliary -= counts * float(row.detach().log_softmax(0)[label]) / 16
    expected = 0.3 * by_hand(heads, batch.labels, 0.9, 20.0, scale) + 0.7 * auxiliary
    assert method._loss(batch).item() == pytest.approx(expected, rel=1e-9)
    method.start_epoch(0, warm_up=False)
    assert method.step(batch)["loss"] == pytest.approx(expected, rel=1e-9)


def test_everything_is_selected_during_the_warm_up() -> None:
    method = build("selectivenet", _setup(), alpha=0.3)
    assert isinstance(method, SelectiveNet)
    batch = _batch(method.setup)
    method.start_epoch(0, warm_up=True)
    before = {name: value.clone() for name, value in method.model.named_parameters() if name.startswith("selection")}
    heads = method.model(batch.inputs, heads=True)
    expected = 0.3 * LOSS(heads.logits, batch.labels).mean() + 0.7 * LOSS(heads.auxiliary, batch.labels).mean()
    assert method.step(batch)["loss"] == pytest.approx(expected.item(), rel=1e-9)
    assert all(torch.equal(method.model.get_parameter(name), value) for name, value in before.items())
    again = build("selectivenet", _setup())
    again.load_state_dict(method.state_dict())
    assert again._warm_up


def test_no_sample_counts_and_none_is_selected() -> None:
    heads = Heads(torch.randn(4, 3), torch.full((4,), -1e4, requires_grad=True), torch.randn(4, 3))
    risk = SelectiveRisk(LOSS, 0.8, 32.0)(heads, torch.zeros(4, dtype=torch.int64))
    assert risk.item() == pytest.approx(32 * 0.8**2)
    nothing = SelectiveRisk(LOSS, 0.8, 32.0)(heads, torch.zeros(4, dtype=torch.int64), torch.zeros(4))
    nothing.backward()
    assert heads.selection.grad is not None
    assert torch.equal(heads.selection.grad, torch.zeros(4))


def test_the_optimizer_trains_all_heads_and_the_schedule_leads_them() -> None:
    setup = _setup()
    schedule = SCHEDULES["cosine"](setup.optimizer, 10)
    method = build("selectivenet", setup)
    before = {name: value.clone() for name, value in method.model.named_parameters()}
    schedule.start_epoch(5)
    assert [group["lr"] for group in setup.optimizer.param_groups] == [pytest.approx(0.05)]
    method.start_epoch(5, warm_up=False)
    method.step(setup.train_set.batch(torch.arange(48)))
    still = [name for name, value in method.model.named_parameters() if torch.equal(value, before[name])]
    assert still == ["classifier.0.bias"] or not still  # a bias before BatchNorm has no slope


@pytest.mark.parametrize("name", ["selectivenet", "selectivenet+cmw-net"])
def test_what_samples_are_ranked_by(name: str) -> None:
    inputs = (setup := _setup()).train_set.batch(torch.arange(10)).inputs
    for score in ("selection", "softmax-response"):
        model = build(name, setup, score=score).model.eval()
        ranks = Ranked(model)(inputs)[:, -1].sigmoid()
        heads = model(inputs, heads=True)
        by_hand = heads.selection.sigmoid() if score == "selection" else heads.logits.softmax(1).amax(1)
        torch.testing.assert_close(ranks, by_hand)


def test_heads_are_added_once() -> None:
    first = SelectiveNet(_setup())
    assert isinstance(first.model, SelectiveModel)
    assert SelectiveNet(first.setup).model is first.model


def test_it_selects_what_it_gets_right() -> None:
    """Half of the samples say nothing of their class; those are left undecided, on samples it has not seen too."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(2, (1200,), generator=generator)
    hopeless = torch.rand(1200, generator=generator) < 0.5
    sign = torch.where(hopeless, 0.0, 2.0 * labels - 1)
    inputs = torch.stack([3 * sign, hopeless.float()], 1) + 0.3 * torch.randn(1200, 2, generator=generator)
    data = Dataset(inputs, labels, ("a", "b"))
    train, test = data.subset(torch.arange(600)), data.subset(torch.arange(600, 1200))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    setup = replace(_setup(), model=model, optimizer=optimizer, train_set=train)
    method = build("selectivenet", setup, coverage=0.5)
    for epoch in range(15):
        method.start_epoch(epoch, warm_up=False)
        for index in torch.randperm(600, generator=generator).split(100):
            method.step(train.batch(index))
    both = predict(Ranked(method.model), test)
    scores, wrong = both[:, -1], both[:, :2].argmax(1) != test.labels
    kept = scores >= threshold(predict(Ranked(method.model), train)[:, -1], 0.5)
    assert abs(float(kept.double().mean()) - 0.5) < 0.08
    assert float(wrong[kept].double().mean()) < 0.05 < 0.4 < float(wrong[~kept].double().mean())


@pytest.mark.parametrize("method", ["selectivenet", "selectivenet+cmw-net"])
@pytest.mark.parametrize("coverage", [0.0, 1.5])
def test_a_coverage_that_is_none(method: str, coverage: float, recipe) -> None:
    _, mistakes = examine(recipe(method={"name": method, "coverage": coverage}))
    assert [mistake.path for mistake in mistakes] == ["method.coverage"]


def test_a_model_that_does_not_end_in_a_linear_layer() -> None:
    with pytest.raises(ModelError, match="'softmax-response' abstains with any model"):
        build("selectivenet", _setup(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))))


def test_softmax_response_is_plain_training(like_erm) -> None:
    like_erm("softmax-response", exactly=True)


def test_scopes_that_the_weights_cannot_act_through() -> None:
    with pytest.raises(RecipeError, match=r"method\.scope: got 'last-layer'.*use 'all'"):
        build("selectivenet+cmw-net", _setup(), scope="last-layer")


def _batch(setup: Setup) -> Batch:
    return setup.train_set.batch(torch.arange(0, 48, 2))


def test_selectivenet_is_the_warm_up_of_the_combined_method() -> None:
    plain, combined = build("selectivenet", first := _setup()), build("selectivenet+cmw-net", second := _setup())
    for method, setup in ((plain, first), (combined, second)):
        method.start_epoch(0, warm_up=True)
        method.step(_batch(setup))
    ours, theirs = plain.model.state_dict(), combined.model.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
