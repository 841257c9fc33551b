"""L2RW and MCW: the weights of each batch are computed from trusted data, without a weighting function."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor, nn

from reweigh.core.processes import Reduce
from reweigh.families import Families
from reweigh.losses.class_sizes import effective_weights
from reweigh.methods.cmw_net import CMWNet
from reweigh.weighting import WeightNet


@dataclass(eq=False, repr=False, kw_only=True)
class L2RW(CMWNet):
    """Learning to reweight (Ren et al., ICML 2018): samples count if their gradients agree with those of trusted data.

    v_i = max(0, <grad L_i, grad L_meta>),   then scaled to a mean of one in the batch        (with plain SGD)

    The look-ahead follows the optimizer, as in all methods here. During the warm-up, training is plain.

    Ren, Zeng, Yang, Urtasun: Learning to Reweight Examples for Robust Deep Learning.

    Args:
        every: Compute weights in every n-th step; in the others, every sample counts fully. The paper computes them in
            every step.
    """

    fixed: ClassVar[Mapping[str, Any]] = {
        "weight_net": "free",
        "families": 1,
        "hidden": 1,
        "lookahead": "virtual",
        "normalize": "mean",
        "meta_lr": 1.0,
        "meta_weight_decay": 0.0,
    }

    every: Annotated[int, Ge(1)] = 1
    weighting: str | None = field(default=None, init=False)
    convergence: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.setup = self.setup.reweighting(every=self.every)
        super().__post_init__()

    def weight_net(self) -> nn.Module | None:
        return None

    def families(self) -> Families | None:
        return None


@dataclass(eq=False, repr=False, kw_only=True)
class MCW(L2RW):
    """Meta class weights (Jamal et al., CVPR 2020): class-balanced weights with a learned correction for each sample.

        v_i = max(0, w_label(i) - step_size * d meta / d v_i),    w_j ~ (1 - beta) / (1 - beta^n_j)

    The correction is computed for each batch, by a look-ahead with the weights w. In the first epochs, training is
    plain. The trusted samples should be balanced (``meta_set.name = "balanced-random"``). The look-ahead follows the
    optimizer, as in all methods here.

    Jamal, Brown, Yang, Wang, Gong: Rethinking Class-Balanced Methods for Long-Tailed Visual Recognition from a Domain
    Adaptation Perspective.

    Args:
        start: Share of the epochs with plain training, unless the warm-up is longer. Paper: 160 of 200 epochs.
        step_size: Of the correction.
        beta: How much rare classes count before the correction: 0 weighs all classes the same; close to 1, a class is
            weighted by the inverse of its size.
        every: Correct the weights in every n-th step; in the others, samples have the weights of their classes.
    """

    start: Annotated[float, Ge(0), Le(1)] = 0.8
    step_size: Annotated[float, Gt(0)] = 0.01
    beta: Annotated[float, Ge(0), Lt(1)] = 0.9999

    def __post_init__(self) -> None:
        sizes = self.setup.train_set.class_sizes
        base = effective_weights(sizes, torch.zeros(1, len(sizes)), self.beta)
        order = sizes.argsort(stable=True)  # the rarest class first, each a family of its own
        self._families = Families(order.argsort(), sizes[order].double())
        self._base = CorrectedWeights(base[order].to(self.setup.device), self.step_size)
        super().__post_init__()

    def _fixed(self) -> Mapping[str, Any]:
        return {**self.fixed, "weight_net": self._base, "families": self._families}

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up or epoch < self.start * self.setup.epochs)


class CorrectedWeights(WeightNet):
    """The weight of each family, lowered or raised for each sample by one step down the meta loss.

    Args:
        base: Shape (families,), weights before the correction.
        step: Step size of the correction.
    """

    learns, remembers = True, False

    def __init__(self, base: Tensor, step: float):
        super().__init__()
        self.num_families = len(base)
        self._base, self._step = base, step
        self._proposed: Tensor | None = None
        self._found: Tensor | None = None

    def propose(self, losses: Tensor, family: Tensor) -> Tensor:
        self._proposed = self._base[family].to(losses.dtype).requires_grad_()
        return self._proposed

    def forward(self, losses: Tensor, family: Tensor) -> Tensor:
        found, self._found = self._found, None
        return self._base[family].to(losses.dtype) if found is None else found

    def learn(self, weights: Tensor, gradient: Tensor, reduce: Reduce) -> Tensor:
        assert self._proposed is not None
        (slope,) = torch.autograd.grad(weights, self._proposed, gradient)
        self._found = (self._proposed.detach() - self._step * slope).clamp_min(0)
        return slope.norm()
