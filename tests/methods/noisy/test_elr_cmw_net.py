"""Early-learning regularization where the learned weight does not trust a label, beside loops over samples."""

import torch

from reweigh.core.objective import Batch


def test_the_objective_is_linear_in_the_weights(tiny) -> None:
    problem = tiny("elr+cmw-net", strength=2.0, momentum=0.6, every=1)
    for epoch in range(2):
        problem.epoch(epoch, warm_up=epoch == 0)
    batch: Batch = problem.batches[0]
    targets = problem.method.state_dict()["targets"]
    terms = problem.method._objective(batch)(problem.model)
    logits = problem.model(batch.inputs)
    for weight in (0.0, 0.3, 1.0):
        expected = 0.0
        for row, label, place in zip(logits, batch.labels.tolist(), batch.index.tolist(), strict=True):
            p = row.softmax(0)
            early = 2.0 * (1 - (p * targets[place].to(p)).sum()).log()
            expected += (weight * -p[label].log() + (1 - weight) * early) / len(batch)
        torch.testing.assert_close(weight * terms.coefficients.mean() + terms.rest, expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(terms.losses, -logits.log_softmax(1).gather(1, batch.labels[:, None]).squeeze(1))


def test_targets_follow_what_was_predicted_before_each_step(tiny) -> None:
    problem = tiny("elr+cmw-net", momentum=0.6, every=1)
    problem.method.start_epoch(0, warm_up=False)
    batch = problem.batches[0]
    before = problem.model(batch.inputs).softmax(1).detach()
    problem.method.step(batch)
    found = problem.method.state_dict()["targets"][batch.index]
    torch.testing.assert_close(found.double(), 0.4 * before.double(), atol=1e-6, rtol=0)
