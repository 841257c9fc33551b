"""Forward correction against its formula as a loop, and matrices that are none."""

from functools import partial
from math import log

import pytest
import torch

from reweigh.errors import DataError, RecipeError
from reweigh.losses import LOSSES
from reweigh.recipes.read import Contents
from reweigh.recipes.read import check as check_recipe

TRANSITION = ((0.7, 0.3, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.1, 0.2, 0.6, 0.1), (0.25, 0.25, 0.25, 0.25))
IDENTITY = tuple(tuple(float(i == j) for j in range(4)) for i in range(4))
forward = LOSSES["forward"]


def test_the_formula(check, probabilities):
    def slow(row, label):
        return -log(sum(p * TRANSITION[place][label] for place, p in enumerate(probabilities(row))))

    check(partial(forward, transition=TRANSITION), slow)


def test_the_identity_is_cross_entropy(same):
    same(partial(forward, transition=IDENTITY), LOSSES["cross-entropy"])


def test_the_truth_minimizes_it_under_the_noise_it_knows():
    logits = torch.tensor([[0.0, 1, 2, 3]], dtype=torch.float64).requires_grad_()
    noisy = logits.detach().softmax(1) @ torch.tensor(TRANSITION, dtype=torch.float64)
    (slope,) = torch.autograd.grad(forward(logits, noisy, transition=TRANSITION).sum(), logits)
    torch.testing.assert_close(slope, torch.zeros_like(slope))


def test_first_asked_in_inference_mode(logits, labels, rows):
    shares = ((0.9, 0.1, 0, 0), (0, 0.9, 0.1, 0), (0, 0, 0.9, 0.1), (0.1, 0, 0, 0.9))
    with torch.inference_mode():
        forward(logits, labels, transition=shares)
    for given in (labels, rows):
        forward(logits.requires_grad_(), given, transition=shares).sum().backward()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (((0.5, 0.4), (0.0, 1.0)), r"transition: row 0 sums to 0\.9\. Row i is the distribution"),
        (((1.0, 0.0), (0.3, 0.3, 0.4)), "row 1 has 3 entries"),
        (((1.2, -0.2), (0.9, 0.2)), r"row 1 sums to 1\.1; row 0 has the entry -0\.2"),
        (((float("nan"), 1.0), (0.0, 1.0)), "row 0 sums to nan"),
        ((), "no rows"),
        (((1.0, 0.0), (1.0, 0.0)), "column 1 is all zero"),
        (((1.0, 0.0), (0.0, 1.0)), "2 rows for a model with 4 outputs"),
    ],
)
def test_a_matrix_that_is_none(logits, labels, rows, message):
    with pytest.raises(DataError, match=message):
        forward(logits, labels, transition=rows)


def test_a_recipe_tells_before_training():
    recipe = {
        "data": {"name": "digits"},
        "model": {"name": "mlp"},
        "method": {"name": "erm"},
        "optimizer": {"name": "sgd"},
        "train": {"epochs": 1},
    }
    for rows, message in [([[0.5, 0.4], [0, 1]], r"loss\.transition: .*row 0 sums to 0\.9"), (None, "missing")]:
        loss = {"name": "forward"} | ({"transition": rows} if rows else {})
        with pytest.raises(RecipeError, match=message):
            check_recipe(Contents("here", recipe | {"loss": loss}, []))
    right = check_recipe(Contents("here", recipe | {"loss": {"name": "forward", "transition": [[1, 0], [0, 1]]}}, []))
    assert right.loss.options["transition"] == ((1.0, 0.0), (0.0, 1.0))
