"""Training with a loss that is robust to wrong labels."""

from typing import Annotated

from annotated_types import Ge, Gt, Le

from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup


class GCE(ERM):
    """Generalized cross-entropy (Zhang & Sabuncu, NeurIPS 2018): between cross-entropy and mean absolute error.

    Args:
        q: towards 0 cross-entropy; 1 is half the absolute error.
    """

    own_loss = "gce"

    def __init__(self, setup: Setup, *, q: Annotated[float, Gt(0), Le(1)] = 0.7):
        super().__init__(setup.with_loss("gce", q=q))


class BootstrapSoft(ERM):
    """Soft bootstrapping (Reed et al., ICLR workshop 2015): the label mixed with what the model predicts.

    Args:
        beta: trust in the label; 1 is cross-entropy.
    """

    own_loss = "bootstrap-soft"

    def __init__(self, setup: Setup, *, beta: Annotated[float, Ge(0), Le(1)] = 0.95):
        super().__init__(setup.with_loss("bootstrap-soft", beta=beta))


class BootstrapHard(ERM):
    """Hard bootstrapping (Reed et al., ICLR workshop 2015): the label mixed with the class that the model chooses.

    Args:
        beta: trust in the label; 1 is cross-entropy.
    """

    own_loss = "bootstrap-hard"

    def __init__(self, setup: Setup, *, beta: Annotated[float, Ge(0), Le(1)] = 0.8):
        super().__init__(setup.with_loss("bootstrap-hard", beta=beta))
