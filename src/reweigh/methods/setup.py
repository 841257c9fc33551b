"""The parts that every method trains with, and its options: its own and, if it learns weights, the reweighter's."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import or_
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from reweigh.core.method import Method
from reweigh.core.objective import Batch, Loss
from reweigh.core.shards import shard_like
from reweigh.data import Dataset
from reweigh.issues.stock import label_rows
from reweigh.losses import LOSSES
from reweigh.losses.class_sizes import prior_corrected, with_class_sizes
from reweigh.meta_sets import MetaSet
from reweigh.reweighter import Reweighter


class Again(NamedTuple):
    """What a second look learns: what is thought of the labels after a first one.

    Attributes:
        given: Shape (N, C), the given labels as rows that sum to one.
        targets: Shape (N, C), the posterior of the true class of each sample.
        likely: Shape (N, C), probability of the given label of each sample for each true class.
        fold: Shape (N,), the network of an ensemble that does not train on the sample, because it predicts it; -1 if
            all train on it.
        mixes: Whether samples may be mixed in pairs.
    """

    given: Tensor
    targets: Tensor
    likely: Tensor
    fold: Tensor
    mixes: bool = True

    @classmethod
    def of(cls, train_set: Dataset) -> "Again":
        """Without a first look: all labels are taken for right, and none is held out."""
        given = given_rows(train_set, train_set.labels)
        return cls(given, given, given, torch.full((len(train_set),), -1))


def given_rows(dataset: Dataset, labels: Tensor) -> Tensor:
    """The given labels as rows that sum to one, shape (N, num_classes); all candidates of a sample count the same.

    Args:
        labels: Shape (N,), labels of the samples without candidates and soft labels.
    """
    if dataset.candidates is not None:
        return dataset.candidates[:] / dataset.candidates.counts[:, None]
    if dataset.soft_labels is not None:
        return dataset.soft_labels.float()
    return label_rows(labels, dataset.num_classes)


@dataclass(frozen=True)
class Setup:
    """What a method is given.

    Attributes:
        train_set: the biased training set.
        meta_set: chooses trusted samples from the training set.
        loss: (logits, labels) -> loss of each sample.
        augment: float batch and generator -> float batch; None leaves inputs as they are.
        generator: source of all that a method draws at random on the CPU; the loop saves and restores it.
        clean_set: trusted samples that are not part of the training set, if the meta set names some.
        epochs: number of epochs of the loop, for a method that plans ahead.
        started: whether the model starts from weights that were learned elsewhere.
        prior: whether losses are corrected for the class shares.
        uncorrected: the loss without that correction; None if it is ``loss``.
        again: what is known about the labels from a first look; None if there was none.
        reweighter: builds the reweighter of a method that learns weights: ``Reweighter`` with its options bound.
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
    epochs: int = 1
    started: bool = False
    prior: bool = False
    uncorrected: Loss | None = None
    again: Again | None = None
    reweighter: Callable[..., Reweighter] = Reweighter

    @property
    def bare_loss(self) -> Loss:
        return self.uncorrected or self.loss

    def with_loss(self, name: str, **options: Any) -> "Setup":
        """The setup with another loss, a member of ``LOSSES`` with these options."""
        sizes = self.train_set.class_sizes
        loss = with_class_sizes(LOSSES[name], sizes, **options)
        return replace(self, loss=prior_corrected(loss, sizes) if self.prior else loss)

    def with_model(self, model: nn.Module) -> "Setup":
        """The setup with a model around its own; the optimizer also trains the additional parameters.

        They join the first group of the optimizer, so they follow its schedule.
        """
        known = {id(param) for group in self.optimizer.param_groups for param in group["params"]}
        further = [param for param in model.parameters() if id(param) not in known]
        self.optimizer.param_groups[0]["params"].extend(further)
        return replace(self, model=shard_like(model, self.model))

    def reweighting(self, **options: Any) -> "Setup":
        return replace(self, reweighter=partial(self.reweighter, **options))

    def never_weighed(self) -> Tensor:
        """The weights of the training samples before the first step: NaN, shape (N,)."""
        return torch.full((len(self.train_set),), torch.nan, device=self.device)

    def new_batch(self, index: Tensor) -> Batch:
        """The training samples at ``index``, shape (n,), freshly augmented, on the model's device."""
        return self.train_set.batch(index.cpu(), self.augment, self.generator, self.device)

    def losses(self, model: nn.Module) -> Tensor:
        """The loss of each training sample with its given label under ``model``: shape (N,), on the CPU."""
        return self.per_sample(model, self.loss)

    @torch.no_grad()
    def per_sample(self, model: nn.Module, compute: Loss) -> Tensor:
        """``compute(logits, labels)``, one row per sample, for all training samples; in eval mode, on the CPU."""
        found = torch.empty(0)
        for batch, logits in self.predicted(model):
            rows = compute(logits, batch.labels).cpu()
            if len(found) == 0:  # room for all: small parts kept between large ones that are freed scatter the memory
                found = rows.new_empty((len(self.train_set), *rows.shape[1:]))
            found[batch.index] = rows
        return found

    @torch.no_grad()
    def predicted(self, model: nn.Module) -> Iterator[tuple[Batch, Tensor]]:
        """All training samples, in batches with their logits; in eval mode, not augmented."""
        training = model.training
        model.eval()
        chosen = torch.arange(len(self.train_set)).split(self.train_set.chunk)
        for batch in self.train_set.batches(chosen, device=self.device):
            yield batch, model(batch.inputs)
        model.train(training)


SUPPLIED = {"num_classes", "spare_curves", "loss", "weighting", "warm_up", "reduce"}  # of Reweighter: methods pass them
PUBLISHED = {"families": 3}  # defaults of published methods that are not those of a reweighter
WRITTEN = (bool, int, float, str, type(None))  # types that a recipe can write, with or without limits


def options_of_method(method: type[Method]) -> Mapping[str, inspect.Parameter]:
    """All options of a method by name; its own take precedence over those of the reweighter."""
    borrowed = keyword_only(Reweighter) if method.learns_weights else {}
    withheld = SUPPLIED | method.fixed.keys()
    shared = {name: written(parameter) for name, parameter in borrowed.items() if name not in withheld}
    shared |= {name: shared[name].replace(default=value) for name, value in PUBLISHED.items() if name in shared}
    return {**shared, **keyword_only(method)}


def keyword_only(part: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(part, eval_str=True).parameters
    return {name: parameter for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}


def written(parameter: inspect.Parameter) -> inspect.Parameter:
    """An argument that may be an object or a plain value, such as ``str | nn.Module``, as a plain value."""
    annotation = parameter.annotation
    if get_origin(annotation) not in (Union, UnionType):
        return parameter
    kept = [kind for kind in get_args(annotation) if _bare(kind) in WRITTEN]
    return parameter.replace(annotation=reduce(or_, kept))


def _bare(kind: Any) -> Any:
    """A type without its limits: int for ``Annotated[int, Ge(1)]``."""
    return get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
