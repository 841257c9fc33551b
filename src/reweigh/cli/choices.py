"""A recipe for the user's own data, by fixed rules from their kind and size; the same on every machine."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from reweigh.cli.facts import LARGEST, Facts


class Choice(NamedTuple):
    """Some values of the recipe, by dotted key, and why they were chosen."""

    values: dict[str, Any]
    why: str


def choose(facts: Facts, given: Mapping[str, Any]) -> list[Choice]:
    """Everything that a recipe needs besides the data.

    Args:
        given: the section [train] as far as the user has written it; the rest follows from it.
    """
    import torch

    from reweigh.estimator.defaults import (
        LEARNING_RATE,
        default_batch_size,
        default_epochs,
        default_module,
        trusted_per_class,
        warm_up_epochs,
    )

    batch_size = _whole(given.get("batch_size")) or default_batch_size(facts.samples)
    epochs = _whole(given.get("epochs")) or default_epochs(facts.samples, batch_size)
    model, options = default_module(facts.shape, facts.samples)
    images = model == "cnn"
    trusted = trusted_per_class(torch.tensor(facts.class_sizes))
    found = [
        Choice(
            {"model.name": model, **{f"model.{key}": value for key, value in options.items()}},
            "a small network for images" if images else "a small network for tables",
        ),
        method(facts, images),
        Choice(
            {"meta_set.name": "lowest-loss", "meta_set.per_class": trusted},
            "it learns from the easiest of each class",
        ),
        Choice(
            {
                "train.epochs": epochs,
                "train.batch_size": batch_size,
                "train.warmup_epochs": warm_up_epochs(epochs) if epochs > 1 else 0,
                "train.seed": 0,
            },
            f"{epochs * -(-facts.samples // batch_size):,} steps, the first tenth of the epochs plain",
        ),
        Choice(
            {"optimizer.name": "adamw", "optimizer.lr": LEARNING_RATE, "optimizer.schedule.name": "cosine"},
            "usual for small networks",
        ),
    ]
    return [*found, *augment(facts)]


def method(facts: Facts, images: bool) -> Choice:
    """How to train."""
    if facts.candidates:
        return Choice({"method.name": "proden"}, "finds the right one of the candidates")
    if images:
        return Choice({"method.name": "cmw-net-sl"}, "learns whom to trust, corrects doubtful labels")
    return Choice({"method.name": "cmw-net"}, "learns how far to trust each row")


def resized(facts: Facts) -> list[Choice]:
    """The size that images are brought to, if they are."""
    if facts.size is None:
        return []
    why = f"the images have {facts.sizes} sizes" if facts.sizes > 1 else f"larger than {LARGEST} pixels"
    return [Choice({"data.size": facts.size}, f"{why}; all become {facts.size} x {facts.size}")]


def augment(facts: Facts) -> list[Choice]:
    """Random changes of photos that leave them what they are."""
    if not facts.photos:
        return []
    padding = min(facts.shape[1:]) // 8  # the usual 4 pixels of 32
    shift = [{"name": "pad-crop", "padding": padding}] if padding else []
    return [Choice({"data.augment": [*shift, {"name": "flip"}]}, "photos in color may be shifted and mirrored")]


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None  # anything else the check will tell
