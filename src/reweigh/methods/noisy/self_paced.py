"""Self-paced learning: easy samples first, harder ones as training goes on."""

from collections.abc import Mapping
from math import ceil
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup


class SelfPaced(ERM):
    """Self-paced learning (Kumar et al., NeurIPS 2010): learn from samples with a small loss first, then add others.

    A sample counts fully if its loss is at most a threshold, otherwise not at all. Losses and threshold are computed at
    the start of each epoch. The first threshold admits a share of the samples; it then grows by a factor in each epoch
    until it admits all. The warm-up, at least one epoch, is plain training, because an untrained model finds no sample
    easy.

    Kumar, Packer, Koller: Self-Paced Learning for Latent Variable Models.

    Args:
        start: Share of the samples that the first threshold admits.
        growth: Factor by which the threshold grows in each epoch. Paper: the threshold is 1 / K, and the growth is mu.
    """

    state = ("_threshold", "_weights")

    def __init__(
        self,
        setup: Setup,
        *,
        start: Annotated[float, Gt(0), Le(1)] = 0.5,
        growth: Annotated[float, Ge(1)] = 1.3,
    ):
        super().__init__(setup)
        self._start = start
        self._growth = growth
        self._threshold: float | None = None
        self._weights = torch.full((len(setup.train_set),), float("nan"))

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if warm_up or epoch == 0:
            return
        losses = self._setup.losses(self._model)
        if self._threshold is None:
            self._threshold = float(losses.kthvalue(ceil(self._start * len(losses))).values)
        else:
            self._threshold *= self._growth
        self._weights = (losses <= self._threshold).to(self._weights.dtype)

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        return {**super().step(batch), "weight": self._weights_of(batch).mean()}

    def _loss(self, batch: Batch) -> Tensor:
        losses = self._setup.loss(self._model(batch.inputs), batch.labels)
        return batch.weighted(self._weights_of(batch).to(losses) * losses).mean()

    def _weights_of(self, batch: Batch) -> Tensor:
        """The weights of the samples; 1 for a sample whose loss was never computed."""
        return self._weights[batch.index].nan_to_num(1.0)

    def sample_weights(self) -> Tensor | None:
        return self._weights
