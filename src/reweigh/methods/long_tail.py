"""Methods for classes of very different size: LDAM and its deferred form, OLTR, and SADE."""

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor, nn

from reweigh.core.objective import Batch, Forward, Objective, Terms
from reweigh.losses.class_sizes import effective_weights, log_shares
from reweigh.losses.cross_entropy import as_rows
from reweigh.methods.erm import ERM
from reweigh.models.experts import Experts
from reweigh.models.last_layer import with_cosine_head
from reweigh.models.meta_embedding import MetaEmbedding


@dataclass(eq=False, repr=False, kw_only=True)
class LDAM(ERM):
    """Label-distribution-aware margins (Cao et al., NeurIPS 2019): the rarer the class, the larger its margin.

    As published, the last layer of the model is replaced by one whose logits are cosines times the scale.

    Args:
        max_margin: margin of the rarest class, in cosines.
        scale: factor of cosines in the logits. Paper: s.
    """

    own_loss = "ldam"

    max_margin: Annotated[float, Ge(0)] = 0.5
    scale: Annotated[float, Gt(0)] = 30.0

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return with_cosine_head(model)

    def __post_init__(self) -> None:
        wrapped = self.setup.with_model(with_cosine_head(self.setup.model, self.scale))
        self.setup = wrapped.with_loss("ldam", max_margin=self.max_margin, scale=self.scale)
        super().__post_init__()


@dataclass(eq=False, repr=False, kw_only=True)
class DeferredLDAM(LDAM):
    """LDAM with deferred reweighting (Cao et al., NeurIPS 2019): rare classes count more late in training.

    sum_i w_label(i) L_i / sum_i w_label(i)    over a batch,    w_j ~ (1 - beta) / (1 - beta^n_j)

    Cao, Wei, Gaidon, Arechiga, Ma: Learning Imbalanced Datasets with Label-Distribution-Aware Margin Loss, Algorithm 1.
    Takes all options of ``ldam``, and:

    Args:
        start: share of the epochs in which all classes count the same, unless the warm-up is longer. Paper: 0.8, 160 of
            200 epochs; by default, until the end of the warm-up.
        beta: how much rare classes count: 0 weighs all classes the same; close to 1, a class is weighted by the inverse
            of its size.
    """

    contains = "uniform"
    state = ("_deferred",)

    start: Annotated[float, Ge(0), Le(1)] = 0.0
    beta: Annotated[float, Ge(0), Lt(1)] = 0.9999

    def __post_init__(self) -> None:
        super().__post_init__()
        self._class_sizes = self.setup.train_set.class_sizes
        self._deferred = True

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._deferred = warm_up or epoch < self.start * self.setup.epochs

    def _loss(self, batch: Batch) -> Tensor:
        if self._deferred:
            return super()._loss(batch)
        logits = self._model(batch.inputs)
        weights = as_rows(batch.labels, logits) @ effective_weights(self._class_sizes, logits, self.beta)
        return batch.weighted(weights * self.setup.loss(logits, batch.labels)).sum() / weights.sum()


@dataclass(eq=False, repr=False, kw_only=True)
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

    attraction: Annotated[float, Ge(0)] = 0.01
    first_epochs: Annotated[int, Ge(1)] | None = None

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return MetaEmbedding(model)

    def __post_init__(self) -> None:
        if not isinstance(self.setup.model, MetaEmbedding):
            self.setup = self.setup.with_model(MetaEmbedding(self.setup.model))
        super().__post_init__()

    @property
    def weighs(self) -> bool:
        assert isinstance(self._model, MetaEmbedding)
        return self.first_epochs is None or not bool(self._model.open)

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        model = self._model
        assert isinstance(model, MetaEmbedding)
        first = warm_up if self.first_epochs is None else epoch < self.first_epochs
        if not first and not bool(model.open):
            with torch.no_grad():
                model.centers.copy_(self._class_means(model))
            model.open.fill_(True)

    @torch.no_grad()
    def _class_means(self, model: MetaEmbedding) -> Tensor:
        """The mean features of each class by given label, shape (num_classes, width); zero for an empty class."""
        setup, total = self.setup, torch.zeros_like(model.centers)
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
            losses = self.setup.loss(logits, batch.labels)
            rest = losses.new_zeros(())
            if centers is not None:
                away = (direct - as_rows(batch.labels, logits) @ centers).square().sum(1) / 2
                rest = self.attraction * batch.weighted(away).mean()
            return Terms(batch.weighted(losses), losses, rest, len(batch), logits)

        return objective


@dataclass(eq=False, repr=False, kw_only=True)
class SADE(ERM):
    """Skill-diverse experts (Zhang et al., NeurIPS 2022): each is trained for different class shares.

        L(z_1, y) + L(z_2 + log share, y) + L(z_3 + log share - strength log reversed, y)

    z_1 to z_3 are the logits of three experts, which share the network below its last block. ``reversed`` are the class
    shares in reverse order: the most frequent class has the smallest, and so on. The prediction is the mean of the
    logits. For the heads of the paper, set ``model.logits = "cosine"``. Left out: the aggregation that the authors
    learn on unlabeled test data.

    Zhang, Hooi, Hong, Feng: Self-Supervised Aggregation of Diverse Experts for Test-Agnostic Long-Tailed Recognition.

    Args:
        strength: factor of the reversed shares. Paper: lambda.
    """

    one_process = True
    contains = "uniform"  # about: the mean over experts for the given, equal and reversed shares

    strength: Annotated[float, Ge(0)] = 2.0

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return Experts(model)

    def __post_init__(self) -> None:
        if not isinstance(self.setup.model, Experts):
            self.setup = self.setup.with_model(Experts(self.setup.model))
        super().__post_init__()
        shares = log_shares(self.setup.train_set.class_sizes.double())
        self._adjusted = torch.stack([torch.zeros_like(shares), shares, shares - self.strength * reverse(shares)])

    def objective(self, batch: Batch) -> Objective:
        def objective(forward: Forward) -> Terms:
            logits = forward(batch.inputs, apart=True)
            adjusted = logits + self._adjusted.to(logits)[:, None]
            total = torch.stack([self.setup.loss(each, batch.labels) for each in adjusted]).sum(0)
            mean = logits.mean(0)
            return Terms(
                batch.weighted(total), self.setup.loss(mean, batch.labels), total.new_zeros(()), len(batch), mean
            )

        return objective


def reverse(shares: Tensor) -> Tensor:
    """Shares, shape (C,), in reversed order of rank: the most frequent class gets the smallest."""
    order = shares.argsort(stable=True)
    return torch.empty_like(shares).scatter(0, order, shares[order.flip(0)])
