"""What methods that learn weights share: the options of their reweighter."""

from typing import Annotated, Literal

from annotated_types import Ge, Gt
from torch import Tensor, nn

from reweigh.core.normalize import Normalize
from reweigh.methods.setup import Setup
from reweigh.reweighter import Reweighter


def reweighter(
    setup: Setup,
    labels: Tensor,
    known: nn.Module | None = None,
    refreshed: bool = False,
    *,
    families: Annotated[int, Ge(1)] = 3,
    every: Annotated[int, Ge(1)] = 10,
    engine: str = "auto",
    lookahead: Literal["virtual", "real"] = "virtual",
    scope: str = "all",
    normalize: Normalize = "weight-sum",
    meta_lr: Annotated[float, Gt(0)] = 1e-3,
    meta_weight_decay: Annotated[float, Ge(0)] = 0.0,
    hidden: Annotated[int, Ge(1)] = 100,
) -> Reweighter:
    """The reweighter of a method; what stands by name only are options of every method that learns weights.

    Args:
        labels: shape (n,), those that class sizes are counted from.
        known: a weighting function learned elsewhere, used as it is.
        refreshed: class sizes will change, and families with them.
        families: curves to learn, for classes of small to large size. Paper: K.
        every: learn in each ``every``-th step. Paper: T_meta.
        engine: the meta-gradient.
        lookahead: "virtual" is the paper's; "real" is cheaper, and weights lag one step.
        scope: the part of the model that the look-ahead moves: all, last-block, last-layer, or a pattern.
        normalize: how weights are scaled in a batch. Divided by their sum they only say which samples count more; with
            "mean" (the paper's, under label noise) small weights also slow down all of training.
        meta_lr: learning rate of the weight net. Paper: beta.
        meta_weight_decay: of the weight net. The paper's 1e-4 pulls all weights to one half as soon as the trusted
            samples are learned and teach little more; see docs/results.md.
        hidden: width of the weight net.
    """
    return Reweighter(
        setup.model,
        setup.optimizer,
        labels,
        num_classes=setup.train_set.num_classes,
        families=families,
        spare_curves=refreshed,
        loss=setup.loss,
        engine=engine,
        lookahead=lookahead,
        scope=scope,
        every=every,
        normalize=normalize,
        meta_lr=meta_lr,
        meta_weight_decay=meta_weight_decay,
        hidden=hidden,
        weighting=known,
    )
