"""What was predicted for the training samples, averaged over looks along training."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.training import Recall

DATA = Dataset(torch.randn(7, 4, generator=torch.Generator().manual_seed(0)), torch.arange(7) % 3, ("a", "b", "c"))


class Scripted:
    """A method whose model and weights are other ones in each epoch."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.models = [nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 3)) for _ in range(6)]
        self.weights = torch.rand(6, 7)
        self.weights[:3, 2] = torch.nan
        self.weights[:, 5] = torch.nan
        self.epoch = 0

    @property
    def model(self) -> nn.Module:
        return self.models[self.epoch]

    def sample_weights(self) -> Tensor:
        return self.weights[self.epoch]


def recalled(looks: int, epochs: int = 6) -> tuple[Recall, Scripted]:
    method = Scripted()
    recall = Recall(DATA, epochs, looks)
    for method.epoch in range(epochs):
        recall.end_epoch(method.epoch, method.model, method.sample_weights)
    return recall, method


def test_the_mean_over_the_looks() -> None:
    for looks, seen in ((6, [0, 1, 2, 3, 4, 5]), (3, [1, 3, 5]), (1, [5]), (100, [0, 1, 2, 3, 4, 5])):
        recall, method = recalled(looks)
        each = torch.stack([method.models[epoch].eval()(DATA.inputs).softmax(1) for epoch in seen])
        torch.testing.assert_close(recall.predictions[torch.arange(7)], each.mean(0).detach())
        torch.testing.assert_close(recall.weights, method.weights[seen].nanmean(0), equal_nan=True)
        last = F.cross_entropy(method.models[5].eval()(DATA.inputs), DATA.labels, reduction="none")
        torch.testing.assert_close(recall.losses, last.detach())


def test_without_a_look_the_labels_stand_as_given() -> None:
    recall, _ = recalled(0)
    assert torch.equal(recall.predictions.labels(), DATA.labels)
    assert recall.weights is None
    assert bool(recall.losses.isnan().all())


def test_candidates_and_missing_labels() -> None:
    labels = DATA.labels.clone()
    labels[[1, 4]] = -1
    method = Scripted()
    recall = Recall(replace(DATA, labels=labels), 1, 1)
    recall.end_epoch(0, method.model, method.sample_weights)
    assert recall.losses.isnan().tolist() == [label < 0 for label in labels.tolist()]
    candidates = torch.ones(7, 3, dtype=torch.bool)
    candidates[:, 2] = False
    recall = Recall(replace(DATA, candidates=candidates), 1, 1)
    recall.end_epoch(0, method.model, method.sample_weights)
    losses = -method.models[0].eval()(DATA.inputs).log_softmax(1)
    torch.testing.assert_close(recall.losses, losses[:, :2].min(1).values.detach())
    assert bool((Recall(replace(DATA, labels=labels), 1, 0).predictions[torch.tensor([1])] == 1 / 3).all())


def test_goes_on_where_it_was() -> None:
    whole, method = recalled(3)
    first, second = Recall(DATA, 6, 3), Recall(DATA, 6, 3)
    for method.epoch in range(4):
        first.end_epoch(method.epoch, method.model, method.sample_weights)
    second.load_state_dict(first.state_dict())
    for method.epoch in range(4, 6):
        second.end_epoch(method.epoch, method.model, method.sample_weights)
    torch.testing.assert_close(second.predictions[torch.arange(7)], whole.predictions[torch.arange(7)])
    torch.testing.assert_close(second.weights, whole.weights, equal_nan=True)
