"""OLTR: rare classes borrow from a memory of class centers."""

from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.objective import Forward, Objective, Terms
from reweigh.losses.labels import as_rows
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup
from reweigh.models.meta_embedding import MetaEmbedding


class OLTR(ERM):
    """Open long-tailed recognition (Liu et al., CVPR 2019): features enriched by a memory of class centers.

        mean of L(f(x_i), y_i) + attraction * mean of |direct_i - center_label(i)|^2 / 2

    The first stage is the warm-up, with plain training. When it ends, the centers are set to the class means of the
    features; in the second stage, they are learned. In the paper, both stages have 30 epochs for ImageNet-LT. Left out:
    the paper's modulated attention, repulsion between centers, class-balanced sampling and open-set rejection.

    Liu, Miao, Zhan, Wang, Gong, Yu: Large-Scale Long-Tailed Recognition in an Open World.

    Args:
        attraction: Factor of the term that gathers features around the centers of their classes.
        first_epochs: Number of epochs of the first stage, if it is not the warm-up. Weights on top (``oltr+cmw-net``)
            are then only used in the first stage, as when the paper transfers a weighting function to ImageNet-LT.
    """

    one_process = True

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return MetaEmbedding(model)

    def __init__(
        self,
        setup: Setup,
        *,
        attraction: Annotated[float, Ge(0)] = 0.01,
        first_epochs: Annotated[int, Ge(1)] | None = None,
    ):
        wrapped = isinstance(setup.model, MetaEmbedding)
        super().__init__(setup if wrapped else setup.with_model(MetaEmbedding(setup.model)))
        self._attraction, self._first_epochs = attraction, first_epochs

    @property
    def weighs(self) -> bool:
        assert isinstance(self._model, MetaEmbedding)
        return self._first_epochs is None or not bool(self._model.open)

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        model = self._model
        assert isinstance(model, MetaEmbedding)
        first = warm_up if self._first_epochs is None else epoch < self._first_epochs
        if not first and not bool(model.open):
            with torch.no_grad():
                model.centers.copy_(self._class_means(model))
            model.open.fill_(True)

    @torch.no_grad()
    def _class_means(self, model: MetaEmbedding) -> Tensor:
        """The mean features of each class by given label, shape (num_classes, width); zero for an empty class."""
        setup, total = self._setup, torch.zeros_like(model.centers)
        model.eval()
        for some in torch.arange(len(setup.train_set)).split(500):
            batch = setup.train_set.batch(some, device=setup.device)
            logits, direct, _ = model(batch.inputs, embedded=True)
            total += as_rows(batch.labels, logits).T @ direct
        model.train()
        return total / setup.train_set.class_sizes.clamp_min(1).to(total)[:, None]

    def objective(self, batch: Batch) -> Objective:
        def objective(forward: Forward) -> Terms:
            logits, direct, centers = forward(batch.inputs, embedded=True)
            losses = self._setup.loss(logits, batch.labels)
            rest = losses.new_zeros(())
            if centers is not None:
                away = (direct - as_rows(batch.labels, logits) @ centers).square().sum(1) / 2
                rest = self._attraction * batch.weighted(away).mean()
            return Terms(batch.weighted(losses), losses, rest, len(batch), logits)

        return objective
