"""The parts that every method trains with."""

from collections.abc import Callable, Iterator
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

    def losses(self, model: nn.Module) -> Tensor:
        """The loss of each training sample with its given label, as ``model`` judges it: shape (N,), on the CPU."""
        return self.judged(model, self.loss)

    @torch.no_grad()
    def judged(self, model: nn.Module, judge: Loss, chunk: int = 500) -> Tensor:
        """What ``judge`` makes of the logits and given labels of all training samples; in eval mode, on the CPU.

        Args:
            judge: (logits, labels) of some samples -> a row for each.
        """
        found = torch.empty(0)
        for batch, logits in self.predicted(model, chunk):
            rows = judge(logits, batch.labels).cpu()
            if len(found) == 0:  # room for all: small parts kept between large ones that are freed scatter the memory
                found = rows.new_empty((len(self.train_set), *rows.shape[1:]))
            found[batch.index.cpu()] = rows
        return found

    @torch.no_grad()
    def predicted(self, model: nn.Module, chunk: int = 500) -> Iterator[tuple[Batch, Tensor]]:
        """The training samples, some at a time, each with its logits; in eval mode, without augmentation."""
        training = model.training
        model.eval()
        for index in torch.arange(len(self.train_set)).split(chunk):
            batch = self.train_set.batch(index, device=self.device)
            yield batch, model(batch.inputs)
        model.train(training)
