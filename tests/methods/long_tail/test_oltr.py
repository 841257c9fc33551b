"""OLTR: plain in its first stage; then centers from class means, and the objective by a loop."""

import torch


def test_stages(tiny, like_erm):
    problem = tiny("oltr")
    problem.epoch(0, warm_up=True)
    plain = tiny("erm")
    plain.epoch(0)
    assert torch.equal(plain.model.weight, problem.model.weight)
    assert not bool(problem.method.model.open)
    problem.method.start_epoch(1, warm_up=False)
    inputs, labels = problem.data.inputs.double(), problem.data.labels
    expected = torch.stack([inputs[labels == number].mean(0) for number in range(3)])
    torch.testing.assert_close(problem.method.model.centers.detach(), expected)


def test_the_objective_by_a_loop(tiny):
    problem = tiny("oltr", attraction=0.3)
    method, batch = problem.method, problem.batches[0]
    method.start_epoch(0, warm_up=False)
    model = method.model
    terms = method.objective(batch)(model)
    away = []
    for place, (x, label) in enumerate(zip(batch.inputs, batch.labels.tolist(), strict=True)):
        memory = sum(p * c for p, c in zip(model.hallucinator(x).softmax(0), model.centers, strict=True))
        reach = min((x - center).norm() for center in model.centers)
        vector = 10 / reach * (x + model.selector(x).tanh() * memory)
        squashed = vector / (1 + vector.norm())
        row = torch.stack([16 * torch.dot(squashed, each / each.norm()) for each in model.cosine.weight])
        torch.testing.assert_close(terms.losses[place], -row.log_softmax(0)[label])
        away.append((x - model.centers[label]).square().sum() / 2)
    torch.testing.assert_close(terms.rest, 0.3 * torch.stack(away).mean())


def test_weights_on_top_may_count_in_the_first_stage_alone(tiny, tmp_path):
    from reweigh.weighting import Origin, save_weighting

    learned = tiny("cmw-net", every=1)
    learned.epoch(0)
    save_weighting(tmp_path / "net.safetensors", learned.method.weight_net(), Origin())
    problem = tiny("oltr+cmw-net", weighting=str(tmp_path / "net.safetensors"), first_epochs=2)
    seen = []
    for epoch in range(4):
        problem.method.start_epoch(epoch, warm_up=False)
        numbers = [problem.method.step(batch) for batch in problem.batches]
        seen.append((bool(problem.method.model.open), "weight" in numbers[0]))
    assert seen == [(False, True), (False, True), (True, False), (True, False)]
