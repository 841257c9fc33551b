"""SimCLR: learn features from the training images alone, for another run to start from."""

from dataclasses import dataclass
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt, Le
from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh.core.objective import Batch
from reweigh.core.shards import split
from reweigh.errors import DataError, ModelError
from reweigh.methods.erm import ERM, descend
from reweigh.models.last_layer import Needs, linear_head, with_features
from reweigh.transforms import ColorDistortion, Compose, ResizedCrop

NEEDS: Needs = {"who": "method 'simclr'", "instead": "use a model with trained layers below its linear classifier"}


@dataclass(eq=False, repr=False, kw_only=True)
class SimCLR(ERM):
    """SimCLR (Chen et al., ICML 2020): learn features without labels, alike for two views of the same image.

    Labels, right or wrong, do not affect the features: all layers but the last learn from the views alone. The last
    layer is trained at the same time with the given labels, without changing the features. So the run is evaluated like
    any other, and any run can start from the model that it saves (``model.start``). A view applies the transforms of
    the recipe (such as a flip), then a random resized crop and a color distortion. There is no blur, which the authors
    leave out for small images too. Large batches are better, because each sample is compared with all others.

    Args:
        temperature: Temperature of the similarities; the smaller it is, the more the most similar samples count. Paper:
            tau.
        projection: Width of the space in which views are compared. The projection head has one hidden layer, has an
            optimizer like that of the model, and is not part of the model.
        crop: Smallest share of the image's area that a view shows.
        color: Strength of the color distortion.
    """

    state = ("_head", "_head_optimizer")

    temperature: Annotated[float, Gt(0)] = 0.5
    projection: Annotated[int, Ge(1)] = 128
    crop: Annotated[float, Gt(0), Le(1)] = 0.08
    color: Annotated[float, Ge(0), Le(1)] = 0.5

    def __post_init__(self) -> None:
        setup, shape = self.setup, self.setup.train_set.shape
        if not setup.train_set.is_images:
            raise DataError(
                f"method 'simclr' needs images of shape (channels, height, width), but one sample has shape {shape}: "
                "other data have no views to compare; train 'cmw-net-sl' or another method from scratch"
            )
        super().__post_init__()
        own = [setup.augment] if setup.augment else []
        self._view = Compose([*own, ResizedCrop(smallest=self.crop), ColorDistortion(strength=self.color)])
        self._layer, layer = linear_head(setup.model, **NEEDS)
        width = layer.in_features
        head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, self.projection))
        self._head = head.to(layer.weight)
        self._head_optimizer = _alike(setup.optimizer, self._head)

    def step(self, batch: Batch) -> dict[str, float | Tensor]:
        twice = batch.index.repeat(2)
        views = self.setup.train_set.batch(twice, self._view, self.setup.generator, self.setup.device)
        features, logits = split(self.model, self._forward, views.inputs)
        first, second = self._head(features).chunk(2)
        contrast = batch.weighted(nt_xent(first, second, self.temperature)).mean()
        losses = [self.setup.loss(half, batch.labels) for half in logits.chunk(2)]
        probe = batch.weighted(torch.stack(losses).mean(0)).mean()
        loss = contrast + probe  # they share no parameter
        optimizers = (self.setup.optimizer, self._head_optimizer)
        self._head_optimizer.param_groups[0]["lr"] = self.setup.optimizer.param_groups[0]["lr"]  # what is scheduled
        descend(loss, *optimizers)
        return {"loss": loss.detach(), "contrast": contrast.detach()}

    def _forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """What enters the last layer, with its graph; and the logits, whose graph ends there."""
        features, logits = with_features(self.model, self._layer, inputs, cut=True, **NEEDS)
        if not features.requires_grad:
            raise ModelError(f"{NEEDS['who']} has no features to learn; {NEEDS['instead']}")
        return features, logits


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """Normalized temperature-scaled cross-entropy: how hard it is to recognize the other view of each sample.

        l(a, b) = -log( exp(cos(a, b) / t) / sum of exp(cos(a, c) / t) over all other views c )
        (l(first_i, second_i) + l(second_i, first_i)) / 2

    Args:
        first: One view of each sample, shape (n, d).
        second: The other view of each sample, shape (n, d).

    Returns:
        Shape (n,); zero for a single sample, which is not compared with any other.
    """
    views = F.normalize(torch.cat([first, second]))
    similar = (views @ views.T / temperature).fill_diagonal_(-torch.inf)
    other = torch.arange(len(views), device=views.device).roll(len(first))
    return F.cross_entropy(similar, other, reduction="none").view(2, -1).mean(0)


def _alike(optimizer: Optimizer, module: nn.Module) -> Optimizer:
    """An optimizer of the same kind and settings for another module.

    Another group of the given optimizer would not do: the schedule only knows the groups that it started with.
    """
    settings = {key: value for key, value in optimizer.param_groups[0].items() if key not in ("params", "param_names")}
    kind: Any = type(optimizer)
    return kind([{**settings, "params": list(module.parameters())}], lr=settings["lr"])
