"""M-correction: labels mixed with predictions, by the probability that a label is wrong given its loss."""

from typing import Annotated, Any

import torch
from annotated_types import Ge, Le
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.losses.class_sizes import log_shares, unlike_shares
from reweigh.losses.cross_entropy import as_rows
from reweigh.methods.erm import ERM
from reweigh.methods.parts.mixture import BETA_EDGE, BetaMixture
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels.mixup import checked_draw


class MCorrection(ERM):
    """M-correction (Arazo et al., ICML 2019): dynamic bootstrapping by a beta mixture of the losses, with mixup.

        L(f(x'), share u_a + (1 - share) u_b) + penalty,    u_i = (1 - w_i) y_i + w_i z_i,    x' a mixture of a and b

    w_i is the probability that the current loss of the sample belongs to the component of large losses, and z_i the
    class that the model predicts. The mixture is fitted before each epoch. The penalty keeps the mean prediction of a
    batch near the class shares (paper: near equal shares). The first epochs have only mixup, without bootstrapping and
    penalty.

    Arazo, Ortego, Albert, O'Connor, McGuinness: Unsupervised Label Noise Modeling and Loss Correction. This is the
    variant M-DYR-H; the authors prefer MD-DYR-SH if most labels are wrong.

    Args:
        start: Share of the epochs without bootstrapping, unless the warm-up is longer. Paper: 105 of 300 epochs.
        mixup: Strength of mixing samples in pairs; 32 mixes nearly half and half.
        penalty: Factor of the penalty.
    """

    state = ("_mixture", "_weights")

    def __init__(
        self,
        setup: Setup,
        *,
        start: Annotated[float, Ge(0), Le(1)] = 0.35,
        mixup: Annotated[float, Ge(0)] = 32.0,
        penalty: Annotated[float, Ge(0)] = 1.0,
    ):
        super().__init__(setup)
        self._start, self._mixup, self._penalty = start, mixup, penalty
        self._log_shares = log_shares(setup.train_set.class_sizes.double())
        self._mixture: BetaMixture | None = None
        self._weights = torch.full((len(setup.train_set),), float("nan"), device=setup.device)

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if not warm_up and epoch > 0 and epoch >= self._start * self._setup.epochs:
            self._mixture = BetaMixture.fit(self._setup.losses(self._model))

    def _loss(self, batch: Batch) -> Tensor:
        bootstrapped = None if self._mixture is None else self._bootstrapped(batch, self._mixture)
        mix = checked_draw(batch.inputs, self._mixup, self._setup.generator)
        logits = self._model(mix.inputs(batch.inputs))
        targets = as_rows(batch.labels, logits) if bootstrapped is None else bootstrapped
        loss = batch.weighted(self._setup.loss(logits, mix.inputs(targets))).mean()
        if bootstrapped is None:
            return loss
        return loss + self._penalty * unlike_shares(logits, self._log_shares)

    @torch.no_grad()
    def _bootstrapped(self, batch: Batch, mixture: BetaMixture) -> Tensor:
        """The label of each sample, mixed with what the model predicts; shape (n, num_classes)."""
        logits = self._model.eval()(batch.inputs)
        self._model.train()
        wrong = mixture(self._setup.loss(logits, batch.labels)).clamp(BETA_EDGE, 1 - BETA_EDGE)
        self._weights[batch.index] = (1 - wrong).to(self._weights)
        return torch.lerp(as_rows(batch.labels, logits), as_rows(logits.argmax(1), logits), wrong[:, None])

    def sample_weights(self) -> Tensor | None:
        return None if self._mixture is None else self._weights.cpu()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._mixture = BetaMixture(*self._mixture) if self._mixture else None
