"""Fine-tuning: the network in front of a trained model learns too, with what training found out about the labels."""

import logging
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.data import Dataset
from reweigh.errors import RecipeError
from reweigh.features.blocks import Unfreeze, unfrozen
from reweigh.features.network import Network
from reweigh.fit.front import Front
from reweigh.fit.trainer import own_randomness
from reweigh.issues import Samples
from reweigh.losses.cross_entropy import cross_entropy
from reweigh.losses.prior import prior_corrected
from reweigh.names import plural
from reweigh.training import Observer, processes
from reweigh.training.schedules import half_cosine

logger = logging.getLogger(__name__)
BATCH = 32


def fine_tuned(
    front: Front,
    model: nn.Module,
    raw: Dataset,
    samples: Samples,
    normalize: Callable[[Tensor], Tensor],
    *,
    unfreeze: Unfreeze,
    lr: float,
    epochs: int,
    prior: bool,
    seed: int,
    device: torch.device,
    observer: Observer | None = None,
) -> tuple[Front, nn.Module]:
    """Copies of network and model, trained together from where they are.

        minimize  sum_i  q_i L(f(x_i), given_i) + (1 - q_i) L(f(x_i), suggested_i)

    q_i is the quality of a label as the method before has judged it: what it distrusts is not learned now. Everything
    stays in evaluation mode, so that running statistics and the judgment of the labels stay as they are; photos in
    color are mirrored half of the time. AdamW, and the learning rate falls along half a cosine.

    Args:
        raw: The samples before the network, in the order of ``samples``.
        normalize: Normalization of the features, which stays.
        prior: Whether the model predicts as if all classes were equally frequent.
    """
    if processes.several():
        raise RecipeError("features.unfreeze: fine-tuning runs in one process; train without torchrun")
    assert isinstance(front.network, Network)  # a network for text is refused before training
    network = replace(front.network, module=deepcopy(front.network.module).to(device).eval())
    model = deepcopy(model).to(device).eval()
    params = [*unfrozen(network.module, unfreeze), *model.parameters()]
    network.module.requires_grad_(False)
    for parameter in params:
        parameter.requires_grad_(True)
    targets = soft_targets(samples, raw.num_classes)
    loss = prior_corrected(cross_entropy, raw.class_sizes) if prior else cross_entropy
    optimizer = torch.optim.AdamW(params, lr=lr)
    steps = epochs * -(-len(raw) // BATCH)
    done = 0
    with own_randomness(seed):
        for _ in range(epochs):
            for index in torch.randperm(len(raw)).split(BATCH):
                images = network.prepare(raw.inputs[index].to(device))
                if images.shape[1] == 3:
                    images = torch.where(torch.rand(len(images), 1, 1, 1, device=device) < 0.5, images.flip(3), images)
                for group in optimizer.param_groups:
                    group["lr"] = lr * half_cosine(done / steps)
                optimizer.zero_grad()
                logits = model(normalize(network.module(images)))
                loss(logits, targets[index].to(device)).mean().backward()
                optimizer.step()
                done += 1
                if observer is not None:
                    observer.count("steps of fine-tuning", done, steps)
    for module in (network.module, model):
        module.requires_grad_(True)
    logger.info("features: %s of %s fine-tuned for %s", unfreeze, network.name, plural(epochs, "epoch"))
    return Front(network, cache=False, tuned=True), model


def soft_targets(samples: Samples, num_classes: int) -> Tensor:
    """Given and suggested labels, mixed by how much the given ones are trusted, shape (N, C)."""
    suggested = F.one_hot(samples.suggested.clamp_min(0), num_classes).float()
    given = torch.where((samples.given >= 0)[:, None], F.one_hot(samples.given.clamp_min(0), num_classes), suggested)
    trust = samples.quality.nan_to_num(1.0)[:, None]
    return trust * given + (1 - trust) * suggested
