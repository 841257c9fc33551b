"""L2RW: the weights of each batch are computed from trusted data, without a weighting function."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from torch import nn

from reweigh.families import Families
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.setup import Setup


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
        "family_rule": "by-size",
        "hidden": 1,
        "lookahead": "virtual",
        "normalize": "mean",
        "meta_lr": 1.0,
        "meta_weight_decay": 0.0,
    }

    def __init__(self, setup: Setup, *, every: Annotated[int, Ge(1)] = 1):
        super().__init__(setup.reweighting(every=every))

    def weighting(self) -> nn.Module | None:
        return None

    def families(self) -> Families | None:
        return None
