"""CMW-Net-SL+: soft labels that must hold for strongly distorted images too."""

from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.objective import Forward, Objective, with_rest
from reweigh.methods.cmw_net_sl import CMWNetSL
from reweigh.methods.parts.views import StrongView
from reweigh.methods.setup import Setup


class CMWNetSLPlus(CMWNetSL):
    """CMW-Net-SL with a consistency term, for a model that starts from ``simclr``. Paper: Sec. 4.2.

        J + consistency * mean of L(f(strong view of x_i), z_i)

    where z_i is the pseudo-label of the sample, predicted from its ordinary view. A strong view applies the transforms
    of the recipe, then RandAugment and Cutout, as in FixMatch (Sohn et al., NeurIPS 2020), whose factor 1 is the
    default. The paper takes both the start (``model.start``) and this term from earlier work, and gives no settings.

    Args:
        consistency: Factor of the consistency term; 0 leaves it out.
        magnitude: Strength of the strong view's distortions, between 0 and 30.
        average: Decay of the EMA of the model, as in ``cmw-net-sl``.
        ensembling: Momentum of the running average of predictions, as in ``cmw-net-sl``.
        mixup: Strength of mixing training samples in pairs, as in ``cmw-net-sl``.
        settled: Share of unchanged predictions at which soft labels begin, as in ``cmw-net-sl``.
        average_mode: Mode in which the EMA predicts pseudo-labels, as in ``cmw-net-sl``.
        average_until: Share of the epochs after which the EMA stays as it is, as in ``cmw-net-sl``.
        weighting: File of a weighting function learned elsewhere, used as it is.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        consistency: Annotated[float, Ge(0)] = 1.0,
        magnitude: Annotated[int, Gt(0), Lt(30)] = 10,
        average: Annotated[float, Ge(0), Le(1)] | None = None,
        ensembling: Annotated[float, Ge(0), Le(1)] = 0.9,
        mixup: Annotated[float, Ge(0)] = 1.0,
        settled: Annotated[float, Ge(0), Le(1)] = 0.95,
        average_mode: Literal["eval", "train"] = "eval",
        average_until: Annotated[float, Gt(0), Le(1)] = 1.0,
        weighting: str | None = None,
    ):
        shared: dict[str, Any] = {"average": average, "ensembling": ensembling, "mixup": mixup, "settled": settled}
        shared |= {"average_mode": average_mode, "average_until": average_until}
        super().__init__(setup, **shared, weighting=weighting)
        self._consistency = consistency
        instead = "use method 'cmw-net-sl', or set method.consistency = 0"
        self._strong = StrongView(setup, "cmw-net-sl+", magnitude, instead) if consistency else None

    def _completed(self, objective: Objective, batch: Batch, pseudo: Tensor) -> Objective:
        if self._strong is None:
            return objective
        view = self._strong(batch.index)

        def disagreement(forward: Forward) -> Tensor:
            return self._consistency * batch.weighted(self._setup.loss(forward(view), pseudo)).mean()

        return with_rest(objective, disagreement)
