"""PRODEN against its formula, sample by sample, and what it comes to in the limit."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from reweigh.bias.candidates import independent
from reweigh.data import with_candidates
from reweigh.methods import build
from reweigh.methods.proden import belief


def _with_sets(problem, name: str, **options):
    """The tiny problem with candidates in place of labels."""
    data = with_candidates(problem.data, independent(problem.data.labels, 3, 1, q=0.4))
    problem.data = data
    problem.setup = replace(problem.setup, train_set=data)
    problem.method = build(name, problem.setup, **options)
    problem.batches = [data.batch(torch.arange(12)), data.batch(torch.arange(12, 20))]
    return problem


def test_the_belief_against_a_loop():
    logits = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)).double()
    candidates = torch.tensor(
        [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0], [0, 1, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1]]
    ).bool()
    found = belief(logits, candidates)
    for i, row in enumerate(logits.softmax(1).tolist()):
        allowed = sum(p for p, candidate in zip(row, candidates[i].tolist(), strict=True) if candidate)
        by_hand = [p / allowed if candidates[i, j] else 0.0 for j, p in enumerate(row)]
        torch.testing.assert_close(found[i], torch.tensor(by_hand).double())


def test_in_the_limit_the_loss_is_that_of_the_best_candidate():
    logits = torch.randn(50, 5, generator=torch.Generator().manual_seed(0)).double()
    candidates = torch.rand(50, 5, generator=torch.Generator().manual_seed(1)) < 0.5
    candidates[:, 0] |= ~candidates.any(1)
    for sure in (1.0, 1e4):
        outputs = sure * logits
        each = -outputs.log_softmax(1)
        smallest = each.masked_fill(~candidates, torch.inf).min(1).values
        loss = F.cross_entropy(outputs, belief(outputs, candidates), reduction="none")
        assert bool((loss >= smallest - 1e-9).all())
        assert torch.allclose(loss, smallest) == (sure > 1)


def test_training_against_the_formula(tiny, by_hand):
    problem = _with_sets(tiny("erm"), "proden")
    hand = by_hand(problem.model)
    candidates = problem.data.candidates[:]
    weights = candidates.double() / candidates.sum(1, keepdim=True)  # uniform at first

    def loss(logits: Tensor, label: int, place: int) -> Tensor:
        used = weights[place].clone()
        probabilities = logits.detach().softmax(0)
        chosen = [j for j in range(3) if candidates[place, j]]
        total = sum(float(probabilities[j]) for j in chosen)
        for j in chosen:
            weights[place, j] = float(probabilities[j]) / total
        return torch.stack([used[j] * -logits.log_softmax(0)[j] for j in chosen]).sum()

    for epoch in range(3):
        for batch in problem.batches:
            hand.step(batch, loss)
        problem.epoch(epoch)
    for param, other in zip(problem.model.parameters(), (hand.weight, hand.bias), strict=True):
        torch.testing.assert_close(param, other, rtol=1e-5, atol=1e-6)  # what is believed is kept in single precision


def test_through_the_warm_up_all_candidates_count_alike(tiny):
    ours, plain = _with_sets(tiny("erm"), "proden"), _with_sets(tiny("erm"), "erm")
    for epoch in range(3):
        ours.epoch(epoch, warm_up=True)
        plain.epoch(epoch)
    assert torch.equal(ours.model.weight, plain.model.weight)


def test_with_one_candidate_it_is_plain_training(like_erm):
    like_erm("proden")
