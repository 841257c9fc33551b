"""CMW-Net-SL: doubtful labels are corrected instead of dropped."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor, nn

from reweigh.core.batch import Batch
from reweigh.core.objective import Objective, mixed_soft_labels, soft_labels
from reweigh.core.step import Step
from reweigh.errors import DataError
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.parts.onset import Onset
from reweigh.methods.parts.trusted import Trusted
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel, draw, predicted_in_training, predictions


class CMWNetSL(CMWNet):
    """CMW-Net with soft labels. Paper: Sec. 3.6 and the supplement's Algorithm 1.

    The weight of a sample says how far its given label is trusted; the rest goes to a pseudo-label, which the EMA of
    the model predicts on the unmixed view. Until held-out samples say that these are better than the given labels,
    which may never happen, this is CMW-Net: pseudo-labels of a model that has learned little would only hold it back.
    The EMA is what is saved.

    All options of ``cmw-net`` (``normalize`` applies to the first part: with soft labels a weight is a share), and:

    Args:
        average: decay of the EMA of the model; by default it averages over about one epoch, as the published 0.997 does
            for CIFAR. Paper: beta.
        ensembling: momentum of the running average of predictions; 0 takes the latest. Paper: alpha. It starts from the
            predictions of the EMA when soft labels begin, as in the released code; from the given labels, as in the
            paper, only if nothing was trained before.
        mixup: strength of mixing training samples in pairs; 0 mixes none. Paper: gamma.
        onset: when soft labels begin, after the warm-up: "judged" by a tenth of each class, which is not trained on
            until then, once the EMA is right more often than the given labels and no longer gets better (see
            ``Onset``); or "at-once", as in the paper.
        average_mode: how the EMA predicts pseudo-labels: in "eval" mode, or in "train" mode, with the BatchNorm
            statistics of the batch and dropout, as in the released code.
        weighting: file of a weighting function learned elsewhere, used as it is.
    """

    state = ("_average", "_predictions", "_onset", "_soft")

    def __init__(
        self,
        setup: Setup,
        *,
        average: Annotated[float, Ge(0), Le(1)] | None = None,
        ensembling: Annotated[float, Ge(0), Le(1)] = 0.9,
        mixup: Annotated[float, Ge(0)] = 1.0,
        onset: Literal["judged", "at-once"] = "judged",
        average_mode: Literal["eval", "train"] = "eval",
        weighting: str | None = None,
    ):
        super().__init__(setup, weighting=weighting)
        self._average = AveragedModel(setup.model, 0.0 if average is None else average)
        self._epoch_long = average is None
        self._trusted = Trusted(setup, self._average)
        self._predictions = predictions(setup.train_set.labels, setup.train_set.num_classes, ensembling, setup.device)
        self._mixup = mixup
        self._average_mode = average_mode
        self._onset = Onset(setup) if onset == "judged" else None
        self._soft = False

    @property
    def model(self) -> nn.Module:
        return self._average.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if not self._soft and self._begins(epoch, warm_up):
            if epoch > 0:
                self._restart_predictions()
            self._begin_soft_labels()

    def _begins(self, epoch: int, warm_up: bool) -> bool:
        """Whether soft labels begin with an epoch."""
        if self._onset is None:
            return not warm_up
        return epoch > 0 and self._onset.open and self._onset.decides(self.model, warm_up)

    def _restart_predictions(self) -> None:
        for batch, logits in self._setup.predicted(self._average.model):
            self._predictions.restart(batch.index, logits.softmax(1))

    def _begin_soft_labels(self) -> None:
        self._soft = True
        self._reweighter.normalize("mean")

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        if self._epoch_long and self._average.decay == 0:  # the first batch shows how many an epoch has
            self._average.decay = 1 - len(batch) / max(len(self._setup.train_set), len(batch))
        numbers = super().step(self._onset.training(batch) if self._onset else batch)
        self._average.update(self._setup.model)
        return numbers

    def pseudo_labels(self) -> Tensor | None:
        return self._predictions.labels()

    def _train_on(self, batch: Batch, trusted: tuple[Tensor | None, Tensor | None]) -> Step:
        if self._mixup and not batch.inputs.is_floating_point():
            raise DataError(f"mixup cannot mix inputs of {batch.inputs.dtype}; set method.mixup = 0")
        if not self._soft:
            return super()._train_on(batch, trusted)
        pseudo = self._predictions.update(batch.index, self._predicted(batch.inputs))
        loss = self._setup.loss
        if not self._mixup:
            objective = soft_labels(loss, batch.inputs, batch.labels, pseudo, batch.scale)
            return self._reweighter.step_on(self._completed(objective, batch, pseudo), batch.labels, *trusted)
        mix = draw(len(batch), self._mixup, self._setup.generator, batch.inputs.device)
        objective = mixed_soft_labels(loss, batch.inputs, batch.labels, pseudo, mix.partner, mix.share, batch.scale)
        objective = self._completed(objective, batch, pseudo)
        step = self._reweighter.step_on(objective, torch.cat([batch.labels, batch.labels[mix.partner]]), *trusted)
        return step._replace(weights=step.weights[: len(batch)], losses=step.losses[: len(batch)])

    def _observe(self, batch: Batch, step: Step) -> None:
        if not (self._soft and self._mixup):  # the loss of a mixture says little about a sample
            super()._observe(batch, step)

    def _completed(self, objective: Objective, batch: Batch, pseudo: Tensor) -> Objective:
        """The objective with what a subclass adds to it; here nothing."""
        return objective

    def _predicted(self, inputs: Tensor) -> Tensor:
        if self._average_mode == "train":
            return predicted_in_training(self._average.model, inputs)
        with torch.no_grad():
            return self._average.model.eval()(inputs).softmax(1)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        if self._soft:
            self._reweighter.normalize("mean")
