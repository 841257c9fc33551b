"""LDAM on its cosine head by hand; with deferred reweighting once the warm-up is over."""

from dataclasses import replace

import torch

SIZES = [10, 6, 4]
WEIGHTS = [1 / sum(0.99**k for k in range(size)) for size in SIZES]


class ByHand:
    """A cosine head trained by the formula of LDAM, scale 2 and largest margin 0.7."""

    def __init__(self, weight):
        self.weight = weight.detach().clone().requires_grad_()

    def loss(self, sample, label):
        row = torch.stack([torch.dot(each, sample) / (each.norm() * sample.norm()) for each in self.weight])
        margin = 0.7 * (4 / SIZES[label]) ** 0.25
        return -(2 * (row - margin * torch.eye(3, dtype=row.dtype)[label])).log_softmax(0)[label]

    def step(self, batch, weights=(1.0, 1.0, 1.0)):
        scale = batch.scale.tolist() if batch.weights is not None else [1.0] * len(batch)
        rows = zip(batch.inputs, batch.labels.tolist(), scale, strict=True)
        total = torch.stack([weights[label] * each * self.loss(sample, label) for sample, label, each in rows]).sum()
        total = total / sum(weights[label] for label in batch.labels.tolist())
        (slope,) = torch.autograd.grad(total, (self.weight,))
        with torch.no_grad():
            self.weight -= 0.1 * (slope + 0.01 * self.weight)


def made(tiny, name, **options):
    problem = tiny(name, max_margin=0.7, scale=2.0, **({"beta": 0.99} if name == "ldam-drw" else {}), **options)
    return problem, ByHand(problem.method.model.weight)


def test_ldam(tiny):
    problem, slow = made(tiny, "ldam")
    problem.epoch(0)
    for batch in problem.batches:
        slow.step(batch)
    torch.testing.assert_close(problem.method.model.weight, slow.weight)


def test_reweighting_begins_when_the_warm_up_ends(tiny):
    problem, slow = made(tiny, "ldam-drw")
    for epoch in range(3):
        problem.epoch(epoch, warm_up=epoch == 0)
        for batch in problem.batches:
            slow.step(batch, WEIGHTS if epoch else (1.0, 1.0, 1.0))
        torch.testing.assert_close(problem.method.model.weight, slow.weight)


def test_reweighting_begins_after_a_share_of_the_epochs(tiny):
    problem, slow = made(tiny, "ldam-drw", start=0.2)  # of eight epochs
    for epoch in range(4):
        problem.epoch(epoch)
        for batch in problem.batches:
            slow.step(batch, WEIGHTS if epoch >= 2 else (1.0, 1.0, 1.0))
        torch.testing.assert_close(problem.method.model.weight, slow.weight)


def test_soft_labels_and_given_weights(tiny):
    problem, slow = made(tiny, "ldam-drw")
    rows = torch.eye(3, dtype=torch.float64)[problem.batches[0].labels]
    batch = replace(problem.batches[0], weights=torch.arange(12).double())
    problem.method.start_epoch(0, warm_up=False)
    problem.method.step(replace(batch, labels=rows))
    slow.step(batch, WEIGHTS)
    torch.testing.assert_close(problem.method.model.weight, slow.weight)
