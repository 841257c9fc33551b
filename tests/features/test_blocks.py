"""Which parameters "last-block" means."""

import pytest
from torch import nn

from reweigh.errors import ModelError
from reweigh.features.blocks import unfrozen
from reweigh.models.efficientnet_lite import EfficientNetLite0


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeddings = nn.Linear(2, 3)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList([nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)) for _ in range(3)])
        self.norm = nn.LayerNorm(3)
        self.last = nn.Identity()


def names(module, what):
    chosen = {id(each) for each in unfrozen(module, what)}
    return [name for name, each in module.named_parameters() if id(each) in chosen]


def test_the_last_block_and_what_comes_after_it():
    module = Transformer()
    assert {name.rpartition(".")[0] for name in names(module, "last-block")} == {
        "encoder.layer.2.0",
        "encoder.layer.2.1",
        "norm",
    }
    assert names(module, "all") == [name for name, _ in module.named_parameters()]


def test_of_efficientnet_lite():
    module = EfficientNetLite0(2)
    module.classifier = nn.Identity()
    assert {name.split(".")[1] for name in names(module, "last-block")} == {"17"}


def test_without_blocks_or_parameters():
    with pytest.raises(ModelError, match='no list of layers to take the last of; use "all"'):
        unfrozen(nn.Linear(2, 2), "last-block")
    with pytest.raises(ModelError, match="no parameters"):
        unfrozen(nn.Flatten(), "all")
