"""Decoupling by hand: both networks learn from the samples that they predict differently, and only from these."""

import torch


def test_two_networks_by_hand(tiny, by_hand):
    problem = tiny("decoupling")
    first, second = by_hand(problem.model), by_hand(problem.method._peer.model)
    taught = 0
    for epoch in range(3):
        problem.epoch(epoch, warm_up=epoch == 0)
        for batch in problem.batches:
            different = {
                i: float(epoch == 0 or first.logits(x).argmax() != second.logits(x).argmax())
                for x, i in zip(batch.inputs, batch.index.tolist(), strict=True)
            }
            if not sum(different.values()):
                continue
            taught += epoch > 0
            for net in (first, second):
                net.step(
                    batch,
                    lambda row, label, i, different=different: -different[i] * row.log_softmax(0)[label],
                    size=sum(different.values()),
                )
    first.check(problem.model)
    second.check(problem.method._peer.model)
    assert taught


def test_both_predict_together(tiny):
    problem = tiny("decoupling")
    inputs = problem.batches[0].inputs
    mean = (problem.model(inputs).softmax(1) + problem.method._peer.model(inputs).softmax(1)) / 2
    torch.testing.assert_close(problem.method.model(inputs).softmax(1), mean)
