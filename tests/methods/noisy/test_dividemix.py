"""DivideMix by loops: refined and guessed labels, the objective, and divisions with an empty part."""

import pytest
import torch


def made(tiny, **options):
    problem = tiny("dividemix", **{"mixup": 0.0, "factor": 3.0, "ramp_epochs": 0, **options})
    problem.epoch(0, warm_up=True)
    problem.method.start_epoch(1, warm_up=False)
    return problem


def sharpen(p):
    return p**2 / (p**2).sum()


def test_the_objective_by_a_loop(tiny):
    problem = made(tiny)
    method, batch = problem.method, problem.batches[0]
    nets = [problem.model, method._peer.model]
    right = method._right
    right[:, ::3] = 0.2  # some of each kind
    right[:, 1::3] = 0.9
    for number in (0, 1):
        known, unknown, rows = [], [], nets[number](batch.inputs).detach()
        for place in range(12):
            own, theirs = (nets[k](batch.inputs[place]).softmax(0).detach() for k in (number, 1 - number))
            w = float(right[1 - number, place])
            label = torch.eye(3, dtype=torch.float64)[batch.labels[place]]
            if w > 0.5:
                known.append(-(sharpen(w * label + (1 - w) * own) * rows[place].log_softmax(0)).sum())
            else:
                unknown.append((rows[place].softmax(0) - sharpen((own + theirs) / 2)).square().mean())
        shares = problem.data.class_sizes.double() / 20
        penalty = (shares * (shares / rows.softmax(1).mean(0)).log()).sum()
        expected = torch.stack(known).mean() + 3.0 * torch.stack(unknown).mean() + penalty
        found = method._loss_of(number, nets[number], batch).detach()
        assert float(found) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_all_or_none_of_the_labels_are_kept(tiny, right):
    problem = made(tiny)
    problem.method._right.fill_(right)
    assert problem.method.step(problem.batches[0])["loss"].isfinite()
    assert problem.model.weight.isfinite().all()


def test_a_division_without_labels_is_reported(tiny, caplog):
    made(tiny)
    assert not caplog.records
    made(tiny, threshold=1.0)
    assert "no label is kept in this epoch; lower method.threshold (1)" in caplog.text


def test_each_network_learns_by_the_division_of_the_other(tiny):
    one, two = made(tiny), made(tiny)
    two.method._right[0] = 1 - two.method._right[0]  # the first network's own opinion
    first = [problem.method._loss_of(0, problem.model, problem.batches[0]).item() for problem in (one, two)]
    second = [
        problem.method._loss_of(1, problem.method._peer.model, problem.batches[0]).item() for problem in (one, two)
    ]
    assert first[0] == first[1]
    assert second[0] != second[1]
