"""LDAM against its formula as a loop, and trained with by a recipe."""

from functools import partial
from math import exp, log

import pytest
import torch

from reweigh.fit.run_folder import begin
from reweigh.fit.trainer import Trainer, builder
from reweigh.losses import LOSSES
from reweigh.methods.cmw_net import CMWNet
from reweigh.recipes.read import check as check_recipe
from reweigh.recipes.read import read

SIZES = [500, 40, 7, 120]
ldam = partial(LOSSES["ldam"], class_sizes=torch.tensor(SIZES))


@pytest.mark.parametrize(("max_margin", "scale"), [(5.0, 1.0), (0.5, 30.0), (2.0, 3.0)])
def test_the_formula(check, max_margin, scale):
    constant = max_margin * 7**0.25  # the rarest class has 7

    def slow(row, label):
        own = exp(row[label] - scale * constant / SIZES[label] ** 0.25)
        return -log(own / (own + sum(exp(z) for place, z in enumerate(row) if place != label)))

    check(partial(ldam, max_margin=max_margin, scale=scale), slow)


def test_no_margin_is_cross_entropy(same):
    same(partial(ldam, max_margin=0.0), LOSSES["cross-entropy"])


def test_equal_sizes_have_equal_margins(logits, labels):
    lowered = logits - 0.5 * torch.eye(4)[labels]
    found = LOSSES["ldam"](logits, labels, torch.full((4,), 9), max_margin=0.5, scale=1.0)
    torch.testing.assert_close(found, LOSSES["cross-entropy"](lowered, labels))


RECIPE = """
[data]
name = "digits"
bias = [{ name = "long-tail", imbalance_factor = 10 }]
[model]
name = "mlp"
hidden = [32]
[method]
name = "cmw-net"
every = 2
engine = "forward"
[loss]
name = "ldam"
scale = 10.0
[meta_set]
name = "balanced-random"
per_class = 5
[train]
epochs = 2
batch_size = 50
[optimizer]
name = "sgd"
lr = 0.1
"""


def test_cmw_net_trains_on_top_of_it(tmp_path):
    path = tmp_path / "ldam.toml"
    path.write_text(RECIPE)
    outcome = begin(check_recipe(read(path)), tmp_path / "run")
    train, plan = outcome.train_set, outcome.plan
    method = Trainer(plan, builder(plan.model), torch.device("cpu")).assemble(train).method
    assert isinstance(method, CMWNet)
    loss = method.setup.loss
    assert isinstance(loss, partial)
    assert torch.equal(loss.keywords["class_sizes"], train.class_sizes)
    assert train.class_sizes.unique().numel() > 2
    assert outcome.result.last["test_accuracy"] > 0.5
    weights = outcome.fit.samples.weights
    assert weights is not None
    assert weights.isfinite().sum() > 0.9 * len(train)
    assert (tmp_path / "run" / "weighting.safetensors").exists()
