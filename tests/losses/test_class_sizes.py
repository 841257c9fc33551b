"""A loss gets the class sizes if it asks for them, whatever else is bound."""

from functools import partial

import pytest
import torch

from reweigh.losses import LOSSES
from reweigh.losses.class_sizes import with_class_sizes

SIZES = torch.tensor([500, 40, 7, 120])


@pytest.mark.parametrize("name", ["class-balanced", "ldam"])
def test_a_loss_that_names_them_gets_the_class_sizes(name, logits, labels):
    expected = LOSSES[name](logits, labels, SIZES)
    assert torch.equal(with_class_sizes(LOSSES[name], SIZES)(logits, labels), expected)
    assert torch.equal(with_class_sizes(partial(LOSSES[name]), SIZES)(logits, labels), expected)


def test_options_are_bound_and_those_bound_before_stay(logits, labels):
    expected = LOSSES["ldam"](logits, labels, SIZES, max_margin=0.5, scale=2.0)
    assert torch.equal(
        with_class_sizes(partial(LOSSES["ldam"], scale=2.0), SIZES, max_margin=0.5)(logits, labels), expected
    )
    assert torch.equal(
        with_class_sizes(LOSSES["gce"], SIZES, q=0.3)(logits, labels), LOSSES["gce"](logits, labels, q=0.3)
    )
