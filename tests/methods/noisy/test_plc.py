"""Progressive correction of labels by a loop, and in training."""

import torch

from reweigh.methods.noisy.relabeling import progressed


def test_the_rule_by_a_loop():
    generator = torch.Generator().manual_seed(0)
    believed, labels = torch.rand(50, 4, generator=generator), torch.randint(4, (50,), generator=generator)
    expected = []
    for row, label in zip(believed.tolist(), labels.tolist(), strict=True):
        expected.append(row.index(max(row)) if row[label] / max(row) < 0.3 else label)
    assert progressed(labels, believed, 0.3).tolist() == expected
    assert expected != labels.tolist()


def test_a_wrong_label_is_replaced_and_stays_so(tiny):
    problem = tiny("plc", threshold=0.9, window=2)
    problem.data.labels[0] = (problem.data.labels[0] + 1) % 3
    wrong = problem.data.labels[0].clone()
    problem.method.labels = problem.data.labels.clone()
    right = problem.data.inputs[0][:3].argmax()
    for epoch in range(30):
        problem.epoch(epoch, warm_up=epoch < 5)
        if epoch < 5:
            assert problem.method.labels[0] == wrong
    assert problem.method.labels[0] == right
    assert (problem.method.labels == problem.data.labels).double().mean() > 0.6


def test_the_threshold_rises_only_where_few_labels_change(tiny):
    problem = tiny("plc")
    certain = torch.eye(3)[problem.data.labels]
    for expected in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.9):
        assert torch.equal(problem.method._reconsidered(certain), problem.data.labels)
        assert abs(problem.method.state_dict()["threshold"] - expected) < 1e-9
    other = certain.roll(1, 1)
    assert torch.equal(problem.method._reconsidered(other), other.argmax(1))
    fresh = tiny("plc")
    fresh.method._reconsidered(other)
    assert fresh.method.state_dict()["threshold"] == 0.3
