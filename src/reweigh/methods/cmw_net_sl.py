"""CMW-Net-SL: doubtful labels are corrected instead of dropped."""

from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.learner import Step
from reweigh.core.objective import mixed_soft_labels, soft_labels
from reweigh.errors import DataError
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.setup import Setup
from reweigh.methods.variant import extends
from reweigh.pseudo_labels import AveragedModel, draw, predictions


@extends(CMWNet)
class CMWNetSL(CMWNet):
    """CMW-Net with soft labels. Paper: Sec. 3.6 and the supplement's Algorithm 1.

    The weight of a sample says how far its given label is trusted; the rest goes to a pseudo-label, which the average
    of the model along training predicts on the unmixed view. All options of ``cmw-net``, and:

    Args:
        average: decay of the averaged model. Paper: beta.
        ensembling: momentum of the running average of predictions; 0 takes the latest. Paper: alpha.
        mixup: strength of mixing training samples in pairs; 0 mixes none. Paper: gamma.
        judged: which model is judged and saved, the average or the one that is trained.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        average: Annotated[float, Ge(0), Le(1)] = 0.997,
        ensembling: Annotated[float, Ge(0), Le(1)] = 0.9,
        mixup: Annotated[float, Ge(0)] = 1.0,
        judged: Literal["average", "model"] = "average",
        **options: Any,
    ):
        super().__init__(setup, **options)
        self._average = AveragedModel(setup.model, average)
        self._predictions = predictions(setup.train_set.labels, setup.train_set.num_classes, ensembling)
        self._mixup = mixup
        self._judged = judged

    @property
    def model(self) -> nn.Module:
        return self._average.model if self._judged == "average" else self._setup.model

    def pseudo_labels(self) -> Tensor:
        """The likeliest class of each training sample as the average sees it, shape (N,)."""
        return self._predictions.labels()

    def _train_on(self, batch: Batch, trusted: tuple[Tensor | None, Tensor | None]) -> Step:
        if self._mixup and not batch.inputs.is_floating_point():
            raise DataError(f"mixup cannot mix inputs of {batch.inputs.dtype}; set method.mixup = 0")
        pseudo = self._predictions.update(batch.index, self._predicted(batch.inputs))
        loss = self._setup.loss
        if not self._mixup:
            objective = soft_labels(loss, batch.inputs, batch.labels, pseudo, batch.scale)
            return self._reweighter.step_on(objective, batch.labels, *trusted)
        mix = draw(len(batch), self._mixup, self._setup.generator, batch.inputs.device)
        objective = mixed_soft_labels(loss, batch.inputs, batch.labels, pseudo, mix.partner, mix.share, batch.scale)
        step = self._reweighter.step_on(objective, torch.cat([batch.labels, batch.labels[mix.partner]]), *trusted)
        return step._replace(weights=step.weights[: len(batch)], losses=step.losses[: len(batch)])

    @torch.no_grad()
    def _predicted(self, inputs: Tensor) -> Tensor:
        return self._average.model.eval()(inputs).softmax(1)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "predictions": self._predictions.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._predictions.load_state_dict(state["predictions"])
