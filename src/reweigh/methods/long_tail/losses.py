"""Training with a loss for rare classes."""

from dataclasses import replace
from typing import Annotated

from annotated_types import Ge, Gt, Lt
from torch import nn

from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup
from reweigh.models.cosine import with_cosine_head


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

    As published: the last layer of the model is replaced by one whose logits are cosines times the scale.

    Args:
        max_margin: margin of the rarest class, in cosines.
        scale: factor of cosines in the logits. Paper: s.
    """

    own_loss = "ldam"

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return with_cosine_head(model)

    def __init__(
        self, setup: Setup, *, max_margin: Annotated[float, Ge(0)] = 0.5, scale: Annotated[float, Gt(0)] = 30.0
    ):
        setup = setup.with_model(with_cosine_head(setup.model, scale))
        super().__init__(setup.with_loss("ldam", max_margin=max_margin, scale=scale))


class LogitAdjustment(ERM):
    """Logit adjustment, or balanced softmax (Menon et al., ICLR 2021; Ren et al., NeurIPS 2020).

    Args:
        strength: factor of the log shares. Paper: tau; 0 is cross-entropy.
    """

    own_loss = "logit-adjustment"

    def __init__(self, setup: Setup, *, strength: Annotated[float, Ge(0)] = 1.0):
        # ``train.prior`` asks for the same; twice would be too much
        super().__init__(replace(setup, prior=False).with_loss("logit-adjustment", strength=strength))
