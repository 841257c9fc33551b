"""A batch, training objectives that are linear in the weights of its samples, and how these weights are scaled."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence


@dataclass(frozen=True, eq=False)
class Batch:
    """What one step of training sees.

    Attributes:
        inputs: Shape (n, ...), on the model's device, ready for the model.
        labels: Shape (n,) integers, or (n, num_classes) rows that sum to one.
        index: Shape (n,), the index of each sample in the training set, on the CPU; weights and pseudo-labels are keyed
            by it.
        weights: Shape (n,), the user's weight of each sample; None weighs all the same.
    """

    inputs: Tensor
    labels: Tensor
    index: Tensor
    weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def where(self, kept: Tensor) -> "Batch":
        """The samples for which ``kept``, shape (n,), is true."""
        weights = None if self.weights is None else self.weights[kept]
        return Batch(self.inputs[kept], self.labels[kept], self.index[kept], weights)

    @property
    def scale(self) -> Tensor | float:
        """How much each sample counts, shape (n,), or 1."""
        return 1.0 if self.weights is None else self.weights

    def weighted(self, losses: Tensor) -> Tensor:
        """Losses of the samples, shape (n,), times how much each counts."""
        return losses if self.weights is None else self.weights * losses


Forward = Callable[..., Any]
"""The model at some parameters: called like the model, returns what the model returns."""

Loss = Callable[[Any, Tensor], Tensor]
"""(what the model returns, labels) -> the loss of each sample, shape (n,)."""


class Terms(NamedTuple):
    """What an objective is made of, for one batch and one set of parameters:

        J(params; weights) = < weights, coefficients(params) > + rest(params)

    Attributes:
        coefficients: shape (slots,); a batch of n has n slots, or 2n where pairs are mixed.
        losses: shape (slots,), the loss with the given label, which the weight net reads (held constant).
        rest: scalar, the part that no weight touches; already a mean over the batch. The number 0 if there is none.
        size: samples in the batch. Paper: n.
        outputs: what the model returned for the batch.
    """

    coefficients: Tensor
    losses: Tensor
    rest: Tensor | float
    size: int
    outputs: Any = None


Objective = Callable[[Forward], Terms]
MetaObjective = Callable[[Forward], Tensor]


def call(forward: Forward, inputs: Any) -> Any:
    """Call a model with a tensor, with a tuple or list of arguments, or with a mapping of named ones."""
    if isinstance(inputs, Mapping):
        return forward(**inputs)
    if isinstance(inputs, tuple | list) and not isinstance(inputs, PackedSequence):
        return forward(*inputs)
    return forward(inputs)


def map_tensors(function: Callable[[Tensor], Any], value: Any) -> Any:
    """The same for every tensor in what a model takes or returns: tuples, lists and mappings of tensors.

    >>> map_tensors(lambda tensor: tensor.shape, {"logits": torch.zeros(2, 3), "kind": "pair"})
    {'logits': torch.Size([2, 3]), 'kind': 'pair'}
    """
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(function, part) for part in value))
    if type(value) in (tuple, list):
        return type(value)(map_tensors(function, part) for part in value)
    if isinstance(value, MutableMapping):
        found = copy(value)  # keeps its type, such as the outputs of a language model
        for key, part in value.items():
            found[key] = map_tensors(function, part)
        return found
    return value


def reweighted(loss: Loss, inputs: Any, labels: Tensor, scale: Tensor | float = 1.0) -> Objective:
    """Each sample's loss, times the user's weight ``scale``, times its weight: MW-Net, CMW-Net, L2RW. Paper: Eq. 6."""

    def objective(forward: Forward) -> Terms:
        outputs = call(forward, inputs)
        losses = loss(outputs, labels)
        scaled = scale * losses if isinstance(scale, Tensor) or scale != 1 else losses  # a product less in every step
        return Terms(scaled, losses, 0.0, len(losses), outputs)

    return objective


def soft_labels(loss: Loss, inputs: Any, labels: Tensor, pseudo: Tensor, scale: Tensor | float = 1.0) -> Objective:
    """Trust the given label by the weight and the pseudo-label by what is left: CMW-Net-SL. Paper: Eq. 14.

        sum_i  v_i L_i + (1 - v_i) L_i^pseudo

    Args:
        scale: shape (n,), the user's weight of each sample.
    """
    return instead(loss, lambda outputs: loss(outputs, pseudo), inputs, labels, scale)


def instead(
    loss: Loss, other: Callable[[Any], Tensor], inputs: Any, labels: Tensor, scale: Tensor | float = 1.0
) -> Objective:
    """Trust the given label by the weight, and take something else by what is left.

        sum_i  v_i L_i + (1 - v_i) other_i

    Args:
        other: what the model returns -> another loss of each sample, shape (n,).
        scale: shape (n,), the user's weight of each sample.
    """

    def objective(forward: Forward) -> Terms:
        outputs = call(forward, inputs)
        given, left = loss(outputs, labels), other(outputs)
        return Terms(scale * (given - left), given, (scale * left).mean(), len(given), outputs)

    return objective


def mixed_soft_labels(
    loss: Loss,
    inputs: Tensor,
    labels: Tensor,
    pseudo: Tensor,
    partner: Tensor,
    share: float,
    scale: Tensor | float = 1.0,
) -> Objective:
    """CMW-Net-SL on inputs mixed in pairs: two weights per sample, its own and its partner's. Paper: SM, Alg. 1.

    Args:
        partner: shape (n,), the sample that each one is mixed with. Paper: idx.
        share: how much of the mixture is the sample itself. Paper: lambda.
        scale: shape (n,), the user's weight of each sample, wherever it is mixed in.
    """
    partners_scale = scale[partner] if isinstance(scale, Tensor) else scale
    mixed = share * inputs + (1 - share) * inputs[partner]

    def objective(forward: Forward) -> Terms:
        outputs = forward(mixed)
        own, instead, its, its_instead = _of_each(loss, outputs, labels, pseudo, labels[partner], pseudo[partner])
        return Terms(
            torch.cat([share * (scale * (own - instead)), (1 - share) * (partners_scale * (its - its_instead))]),
            torch.cat([own, its]),
            share * (scale * instead).mean() + (1 - share) * (partners_scale * its_instead).mean(),
            len(own),
            outputs,
        )

    return objective


def _of_each(loss: Loss, outputs: Any, *labels: Tensor) -> Sequence[Tensor]:
    """The losses of several labels of each sample; of rows in one call, since short operations cost most."""
    if labels[0].dim() < 2 or len({each.shape for each in labels}) > 1 or not isinstance(outputs, Tensor):
        return [loss(outputs, each) for each in labels]
    repeated = outputs.repeat(len(labels), *[1] * (outputs.dim() - 1))
    return loss(repeated, torch.cat(labels)).chunk(len(labels))


def with_rest(objective: Objective, extra: MetaObjective) -> Objective:
    """The same objective and one more term that no weight touches, such as a loss on another view of the batch.

    The weights do not depend on it, but the look-ahead does: it moves the parameters, so it belongs inside.

    Args:
        extra: scalar of the model at some parameters; already a mean over the batch.
    """

    def objective_and_extra(forward: Forward) -> Terms:
        terms = objective(forward)
        return terms._replace(rest=terms.rest + extra(forward))

    return objective_and_extra


def reading(objective: Objective, evidence: Tensor) -> Objective:
    """The same objective, but the weight net reads ``evidence``, shape (slots,), instead of the momentary loss."""
    return lambda forward: objective(forward)._replace(losses=evidence)


def mean_loss(loss: Loss, inputs: Any, labels: Tensor) -> MetaObjective:
    """The average loss on a trusted batch. Paper: the outer objective, Eq. 5."""
    return lambda forward: loss(call(forward, inputs), labels).mean()


Average = Callable[[Tensor], Tensor]
"""The mean of a number over processes."""

Normalize = Literal["mean", "weight-sum", "weight-sum-differentiated"]

Normalizer = Callable[[Tensor, Tensor | int, Average], Tensor]
"""(weights of the batch, number of samples in it, average) -> scaled weights, shape (slots,).

In several processes each has a part of the batch, and the number of samples is that of an average part.
"""


def mean(weights: Tensor, size: Tensor | int, average: Average) -> Tensor:
    """Divide by the number of samples: small weights mean small steps. The released code for label noise.

    Examples:
        >>> weights = torch.tensor([0.8, 0.2])
        >>> mean(weights, 2, lambda number: number)
        tensor([0.4000, 0.1000])
    """
    return weights / size


def weight_sum(weights: Tensor, size: Tensor | int, average: Average) -> Tensor:
    """Divide by the sum, held constant: only ratios of weights matter. The released code for long tails.

    Examples:
        >>> weights = torch.tensor([0.3, 0.1])
        >>> weight_sum(weights, 2, lambda number: number)  # sums to one, whatever the scale
        tensor([0.7500, 0.2500])
    """
    return weights / _positive(average(weights.sum().detach()))


def weight_sum_differentiated(weights: Tensor, size: Tensor | int, average: Average) -> Tensor:
    """Divide by the sum and differentiate it too: raising one weight lowers the others. The paper's listing.

    Examples:
        >>> weights = torch.tensor([0.3, 0.1])
        >>> weight_sum_differentiated(weights, 2, lambda number: number)
        tensor([0.7500, 0.2500])
    """
    return weights / _positive(average(weights.sum()))


def _positive(total: Tensor) -> Tensor:
    return total.clamp_min(torch.finfo(total.dtype).tiny)


NORMALIZERS: dict[str, Normalizer] = {
    "mean": mean,
    "weight-sum": weight_sum,
    "weight-sum-differentiated": weight_sum_differentiated,
}
