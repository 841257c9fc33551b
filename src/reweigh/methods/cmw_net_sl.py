"""CMW-Net-SL: doubtful labels are corrected instead of dropped; SL+ adds consistency under strong distortions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor, nn

from reweigh.core.objective import Batch, Forward, Objective, mixed_soft_labels, soft_labels, with_rest
from reweigh.core.step import Step
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.parts.batches import StrongView, Trusted
from reweigh.pseudo_labels import AveragedModel, check_mixable, draw, predicted_in_training, predictions


@dataclass(eq=False, repr=False, kw_only=True)
class CMWNetSL(CMWNet):
    """CMW-Net with soft labels: where a label is doubtful, predictions replace it. Paper: Sec. 3.6 and supplement.

    The weight of a sample is the share of its target that the given label gets. The rest goes to a pseudo-label, which
    the EMA of the model predicts for the unmixed sample. Soft labels begin when the predictions of the EMA have
    settled, because pseudo-labels of a model that has learned little would only hold it back. Until then this is
    CMW-Net; in a short training, soft labels may never begin. The EMA is evaluated and saved.

    Takes all options of ``cmw-net`` but ``convergence``, and those below. ``normalize`` only applies before soft labels
    begin, because with them a weight is a share.

    Args:
        average: decay of the EMA of the model; by default it averages over about one epoch, as the published 0.997 does
            for CIFAR. Paper: beta.
        ensembling: momentum of the running average of predictions; 0 uses the latest prediction. Paper: alpha. The
            average starts from the predictions of the EMA when soft labels begin, as in the released code. If nothing
            was trained before, it starts from the given labels, as in the paper.
        mixup: strength of mixing training samples in pairs; 0 mixes none. Paper: gamma.
        settled: share of the training samples for which the EMA must predict the same class as one epoch before. Soft
            labels begin with the first epoch after the warm-up in which this is reached. They do not begin after the
            learning rate has fallen below half, because then predictions stay the same whether they have settled or
            not. 0 begins at once, as in the paper.
        average_mode: mode in which the EMA predicts pseudo-labels: "eval", or "train", which uses dropout and the
            BatchNorm statistics of the batch, as in the released code.
        average_until: share of the epochs after which the EMA stays as it is. The released code has 0.5 for asymmetric
            noise.
    """

    contains = "given"  # what a weight takes from a label, the pseudo-label gets
    state = ("_average", "_predictions", "_predicted_before", "_highest_lr", "_soft")

    average: Annotated[float, Ge(0), Le(1)] | None = None
    ensembling: Annotated[float, Ge(0), Le(1)] = 0.9
    mixup: Annotated[float, Ge(0)] = 1.0
    settled: Annotated[float, Ge(0), Le(1)] = 0.95
    average_mode: Literal["eval", "train"] = "eval"
    average_until: Annotated[float, Gt(0), Le(1)] = 1.0
    convergence: int = field(default=0, init=False)  # measured for the objective of cmw-net alone

    def __post_init__(self) -> None:
        super().__post_init__()
        setup, samples = self.setup, self.setup.train_set
        self._average = AveragedModel(setup.model, self.average or 0.0)
        self._epoch_long = self.average is None
        self._trusted = Trusted(setup, self._average)
        self._predictions = predictions(samples.labels, samples.num_classes, self.ensembling, setup.device)
        self._predicted_before: Tensor | None = None
        self._highest_lr = 0.0
        self._soft = False

    @property
    def model(self) -> nn.Module:
        return self._average.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if self.average_until < 1 and epoch >= self.average_until * self.setup.epochs:
            self._epoch_long, self._average.decay = False, 1.0
        lr = self.setup.optimizer.param_groups[0]["lr"]
        self._highest_lr = max(lr, self._highest_lr)
        early = self.settled == 0 or lr >= self._highest_lr / 2
        if not self._soft and early and self._has_settled() and not warm_up:
            if self.settled == 0 and epoch > 0:
                self._restart_predictions()
            self._begin_soft_labels()

    def _has_settled(self) -> bool:
        """Whether the EMA predicts the same as when this was last asked, one epoch ago."""
        if self.settled == 0:
            return True
        before = self._predicted_before
        self._restart_predictions()
        now = self._predicted_before = self._predictions.labels().int()
        return before is not None and int((now == before).sum()) >= self.settled * len(now)

    def _restart_predictions(self) -> None:
        for batch, logits in self.setup.predicted(self._average.model):
            self._predictions.restart(batch.index, logits.softmax(1))

    def _begin_soft_labels(self) -> None:
        self._soft = True
        self._predicted_before = None
        self._reweighter.normalize("mean")

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        if self._epoch_long and self._average.decay == 0:  # the first batch shows how many an epoch has
            self._average.decay = 1 - len(batch) / max(len(self.setup.train_set), len(batch))
        numbers = super().step(batch)
        self._average.update(self.setup.model)
        return numbers

    def _train_on(self, batch: Batch, trusted: tuple[Tensor | None, Tensor | None]) -> Step:
        check_mixable(batch.inputs, self.mixup)
        if not self._soft:
            return super()._train_on(batch, trusted)
        pseudo = self._predictions.update(batch.index, self._predicted(batch.inputs))
        loss = self.setup.loss
        if not self.mixup:
            objective = soft_labels(loss, batch.inputs, batch.labels, pseudo, batch.scale)
            return self._reweighter.step_on(self._completed(objective, batch, pseudo), batch.labels, *trusted)
        mix = draw(len(batch), self.mixup, self.setup.generator, batch.inputs.device)
        objective = mixed_soft_labels(loss, batch.inputs, batch.labels, pseudo, mix.partner, mix.share, batch.scale)
        objective = self._completed(objective, batch, pseudo)
        step = self._reweighter.step_on(objective, torch.cat([batch.labels, batch.labels[mix.partner]]), *trusted)
        return step._replace(weights=step.weights[: len(batch)], losses=step.losses[: len(batch)])

    def _observe(self, batch: Batch, step: Step) -> None:
        if not (self._soft and self.mixup):  # the loss of a mixture says little about a sample
            super()._observe(batch, step)

    def _completed(self, objective: Objective, batch: Batch, pseudo: Tensor) -> Objective:
        """The objective with what a subclass adds to it; here nothing."""
        return objective

    def _predicted(self, inputs: Tensor) -> Tensor:
        if self.average_mode == "train":
            return predicted_in_training(self._average.model, inputs)
        with torch.no_grad():
            return self._average.model.eval()(inputs).softmax(1)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        if self._soft:
            self._reweighter.normalize("mean")


@dataclass(eq=False, repr=False, kw_only=True)
class CMWNetSLPlus(CMWNetSL):
    """CMW-Net-SL with a consistency term, for a model that starts from ``simclr``. Paper: Sec. 4.2.

        J + consistency * mean of L(f(strong view of x_i), z_i)

    where z_i is the pseudo-label of the sample, predicted from its ordinary view. A strong view applies the transforms
    of the recipe, then RandAugment and Cutout, as in FixMatch (Sohn et al., NeurIPS 2020), whose factor 1 is the
    default. The paper takes both the start (``model.start``) and this term from earlier work, and gives no settings.
    Takes all options of ``cmw-net-sl``, and:

    Args:
        consistency: Factor of the consistency term; 0 leaves it out.
        magnitude: Strength of the strong view's distortions, between 0 and 30.
    """

    consistency: Annotated[float, Ge(0)] = 1.0
    magnitude: Annotated[int, Gt(0), Lt(30)] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        instead = "use method 'cmw-net-sl', or set method.consistency = 0"
        self._strong = StrongView(self.setup, "cmw-net-sl+", self.magnitude, instead) if self.consistency else None

    def _completed(self, objective: Objective, batch: Batch, pseudo: Tensor) -> Objective:
        if self._strong is None:
            return objective
        view = self._strong(batch.index)

        def disagreement(forward: Forward) -> Tensor:
            return self.consistency * batch.weighted(self.setup.loss(forward(view), pseudo)).mean()

        return with_rest(objective, disagreement)
