"""The likelihood ratio test by a loop, stricter in each epoch; and its second loss by hand."""

import torch


def test_the_test_by_a_loop(tiny):
    problem = tiny("lrt", ratio=1.5)
    believed = torch.rand(20, 3, generator=torch.Generator().manual_seed(0))
    for rounds in (0, 7):
        problem.method._rounds = rounds
        expected = []
        for row, label in zip(believed.tolist(), problem.data.labels.tolist(), strict=True):
            passes = max(row) / row[label] > 1.5 + 0.02 * (rounds + 1)
            expected.append(row.index(max(row)) if passes else label)
        assert problem.method._reconsidered(believed).tolist() == expected


def test_the_second_loss_has_the_labels_of_before(tiny, by_hand):
    problem = tiny("lrt", retroactive=0.7)
    slow = by_hand(problem.model)
    given = problem.data.labels.tolist()
    problem.epoch(0, warm_up=True)
    for batch in problem.batches:
        slow.step(batch, lambda row, label, place: -row.log_softmax(0)[label])
    slow.check(problem.model)
    problem.epoch(1)
    now = problem.method.labels.tolist()
    assert now != given
    for batch in problem.batches:
        slow.step(batch, lambda row, _, i: -row.log_softmax(0)[now[i]] - 0.7 * row.log_softmax(0)[given[i]])
    slow.check(problem.model)
