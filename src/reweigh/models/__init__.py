"""Classifiers by name.

Each takes the shape of one sample, (channels, height, width) for images, and the number of classes, and raises a
ModelError if it does not accept such samples. Keyword-only arguments are options.
"""

from collections.abc import Callable
from typing import Any

from torch import nn

from reweigh.models import cnn, foreign, mlp
from reweigh.models.last_layer import with_cosine_head
from reweigh.models.resnets import preact_resnet18, resnet10, resnet32, resnet34, resnet50, wrn_28_2, wrn_28_8
from reweigh.models.vgg import bilinear_vgg16, vgg16_bn, vgg19_bn
from reweigh.names import lookup

MODELS: dict[str, Callable[..., nn.Module]] = {
    "mlp": mlp.mlp,
    "cnn": cnn.cnn,
    "resnet32": resnet32,
    "resnet10": resnet10,
    "resnet34": resnet34,
    "resnet50": resnet50,
    "preact-resnet18": preact_resnet18,
    "wrn-28-2": wrn_28_2,
    "wrn-28-8": wrn_28_8,
    "vgg16-bn": vgg16_bn,
    "vgg19-bn": vgg19_bn,
    "bilinear-vgg16": bilinear_vgg16,
}

__all__ = ["MODELS", "build", "find"]


def find(name: str, trust_code: bool = False) -> Callable[..., nn.Module]:
    """The builder of a model in ``MODELS``, or of ``timm:NAME``, ``torchvision:NAME``, ``package.module:Class``."""
    return foreign.foreign(name, trust_code) if ":" in name else lookup(MODELS, name, "model")


def build(
    name: str,
    input_shape: tuple[int, ...],
    num_classes: int,
    *,
    trust_code: bool = False,
    logits: str = "linear",
    **options: Any,
) -> nn.Module:
    """A fresh model, initialized from torch's global generator.

    Args:
        logits: Kind of logits; "cosine" replaces the last layer, see ``reweigh.models.last_layer``.

    Raises:
        RecipeError: Unknown model.
        ModelError: The model does not accept such samples, or cannot be built.
    """
    model = find(name, trust_code)(input_shape, num_classes, **options)
    return with_cosine_head(model) if logits == "cosine" else model
