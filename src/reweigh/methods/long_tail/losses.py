"""Training with a loss that does justice to rare classes: plainly, or with learned weights besides."""

from typing import Annotated

from annotated_types import Ge, Gt, Lt

from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup


class Focal(ERM):
    """Focal loss (Lin et al., ICCV 2017): samples that are predicted with confidence count less.

    Args:
        gamma: how much less confident samples count; 0 is cross-entropy.
    """

    own_loss = "focal"

    def __init__(self, setup: Setup, *, gamma: Annotated[float, Ge(0)] = 2.0):
        super().__init__(setup.with_loss("focal", gamma=gamma))


class ClassBalanced(ERM):
    """Cross-entropy, a class weighted by the inverse of its effective number of samples (Cui et al., CVPR 2019).

    Args:
        beta: 0 is cross-entropy; towards 1 a class counts by the inverse of its size.
    """

    own_loss = "class-balanced"

    def __init__(self, setup: Setup, *, beta: Annotated[float, Ge(0), Lt(1)] = 0.9999):
        super().__init__(setup.with_loss("class-balanced", beta=beta))


class ClassBalancedFocal(ERM):
    """Focal loss, a class weighted by the inverse of its effective number of samples (Cui et al., CVPR 2019).

    Args:
        beta: 0 weighs all classes the same; towards 1 a class counts by the inverse of its size.
        gamma: how much less a decision counts that the model is sure of; 0 is binary cross-entropy.
    """

    own_loss = "class-balanced-focal"

    def __init__(
        self, setup: Setup, *, beta: Annotated[float, Ge(0), Lt(1)] = 0.9999, gamma: Annotated[float, Ge(0)] = 2.0
    ):
        super().__init__(setup.with_loss("class-balanced-focal", beta=beta, gamma=gamma))


class LDAM(ERM):
    """Label-distribution-aware margins (Cao et al., NeurIPS 2019): the rarer the label, the clearer it must win.

    Args:
        max_margin: margin of the rarest class.
        scale: factor of the logits. Paper: s.
    """

    own_loss = "ldam"

    def __init__(
        self, setup: Setup, *, max_margin: Annotated[float, Ge(0)] = 5.0, scale: Annotated[float, Gt(0)] = 1.0
    ):
        super().__init__(setup.with_loss("ldam", max_margin=max_margin, scale=scale))


class LDAMCMWNet(CMWNet):
    """CMW-Net on the LDAM loss in place of cross-entropy. Paper: Table 1.

    Args:
        max_margin: margin of the rarest class.
        scale: factor of the logits. Paper: s.
        weighting: file of a weighting function learned elsewhere, used as it is.
    """

    own_loss = "ldam"

    def __init__(
        self,
        setup: Setup,
        *,
        max_margin: Annotated[float, Ge(0)] = 5.0,
        scale: Annotated[float, Gt(0)] = 1.0,
        weighting: str | None = None,
    ):
        super().__init__(setup.with_loss("ldam", max_margin=max_margin, scale=scale), weighting=weighting)
