"""SSR: votes of neighbors by a loop, relabeling, and draws that are the same number for each class."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from reweigh.errors import ModelError
from reweigh.methods.noisy.ssr import neighbor_votes


def test_votes_by_a_loop():
    generator = torch.Generator().manual_seed(0)
    features = F.normalize(torch.randn(30, 4, generator=generator))
    labels = torch.randint(3, (30,), generator=generator)
    rows = F.one_hot(labels, 3).float()
    found = neighbor_votes(features, features, rows, 5, same=torch.arange(30))
    for i in range(30):
        cosines = sorted(((float(features[i] @ features[j]), j) for j in range(30) if j != i), reverse=True)[:5]
        votes = [
            sum(max(c, 0.0) for c, j in cosines if labels[j] == k) / float((labels == k).float().mean())
            for k in range(3)
        ]
        assert found[i].tolist() == pytest.approx([vote / sum(votes) for vote in votes], abs=1e-5)


def test_a_sure_model_relabels_and_an_unsure_one_does_not(tiny):
    problem = tiny("ssr", neighbors=3)
    with torch.no_grad():
        problem.model.weight.mul_(0.1)
    problem.method.start_epoch(0, warm_up=False)
    assert torch.equal(problem.method.labels, problem.data.labels)
    with torch.no_grad():
        problem.model.weight.mul_(1e5)
    problem.method.start_epoch(1, warm_up=False)
    predicted = problem.model(problem.data.inputs.double()).argmax(1)
    assert torch.equal(problem.method.labels, predicted)


def test_each_class_is_drawn_as_often(tiny):
    problem = tiny("ssr", neighbors=3)
    problem.method.start_epoch(0, warm_up=False)
    drawn = []
    original = problem.method._setup.new_batch

    def counted(index):
        drawn.append(problem.method.labels[index])
        return original(index)

    object.__setattr__(problem.method._setup, "new_batch", counted)
    for _ in range(100):
        problem.method.step(problem.batches[0])
    counts = torch.bincount(torch.cat(drawn), minlength=3).double()
    kept = problem.method.sample_weights().bool()
    present = problem.data.labels[kept].unique()
    assert counts[present].min() > 0.8 * counts[present].max()
    assert not set(torch.cat(drawn).tolist()) - set(present.tolist())


def test_a_model_without_a_linear_classifier(tiny):
    problem = tiny("erm")
    from dataclasses import replace

    from reweigh.methods import build

    setup = replace(problem.setup, model=nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)))
    with pytest.raises(ModelError, match=r"method 'ssr' needs a model that ends in a linear layer, .* BatchNorm1d"):
        build("ssr", setup)
