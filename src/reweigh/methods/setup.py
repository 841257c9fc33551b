"""The parts that every method trains with."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from reweigh.core.batch import Batch
from reweigh.core.objective import Loss
from reweigh.data import Dataset
from reweigh.meta_sets import MetaSet, MetaStream


@dataclass(frozen=True)
class Setup:
    """What a method is given.

    Attributes:
        train_set: the biased training set.
        meta_set: chooses trusted samples from it.
        loss: (logits, labels) -> loss of each sample.
        augment: float batch and generator -> float batch; None leaves inputs as they are.
        clean_set: trusted samples apart from the training set, if the meta set names some.
        generator: of all that a method draws on the CPU; the loop saves and restores it.
    """

    model: nn.Module
    optimizer: Optimizer
    train_set: Dataset
    meta_set: MetaSet
    loss: Loss
    augment: Callable[[Tensor, Generator], Tensor] | None
    generator: Generator
    device: torch.device
    clean_set: Dataset | None = None

    def trusted(self) -> MetaStream:
        """Trusted batches, augmented as training batches are."""
        source = self.clean_set or self.train_set

        def fetch(index: Tensor) -> Batch:
            return source.batch(index, self.augment, self.generator, self.device)

        return MetaStream(self.meta_set, fetch, source.labels, self.train_set.num_classes, self.generator)

    @torch.no_grad()
    def losses(self, model: nn.Module, chunk: int = 1000) -> Tensor:
        """The loss of each training sample with its given label, as ``model`` judges it: shape (N,), on the CPU."""
        training = model.training
        model.eval()
        parts = [
            self.loss(model(batch.inputs), batch.labels).cpu()
            for index in torch.arange(len(self.train_set)).split(chunk)
            for batch in [self.train_set.batch(index, device=self.device)]
        ]
        model.train(training)
        return torch.cat(parts)
