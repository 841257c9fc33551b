"""Two networks that choose samples for each other: decoupling, co-teaching and DivideMix."""

import copy
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh.core.method import Stateful
from reweigh.core.objective import Batch
from reweigh.core.rerun import scoped
from reweigh.errors import ModelError
from reweigh.losses.class_sizes import log_shares, unlike_shares
from reweigh.losses.cross_entropy import as_rows
from reweigh.memory import free_memory
from reweigh.methods.erm import ERM, Weighing, descend
from reweigh.methods.parts.batches import another_view
from reweigh.methods.parts.guesses import gaussian_low, ramp, sharpened
from reweigh.methods.setup import Setup
from reweigh.models.ensemble import Ensemble, shuffle
from reweigh.pseudo_labels import checked_draw


class Peer(Stateful):
    """A copy of a setup's model and optimizer that starts from other values and follows the same schedule.

    It starts from the values of the first network in shuffled order. So it is initialized in the same way, whatever the
    model, and still shares nothing with the first, except pretrained weights that both start from. The order comes from
    a generator that nothing else uses.

    Attributes:
        model: The second network.
        optimizer: Optimizer of the second network.

    Args:
        reset: The part of the network that starts differently: all, last-block, last-layer, or a pattern over parameter
            names. By default all, or the last layer if the model starts from weights that were learned elsewhere.

    Raises:
        ModelError: Two networks do not fit into memory.
    """

    state = ("model", "optimizer")

    def __init__(self, setup: Setup, reset: str | None = None):
        check_room(setup.model, setup.optimizer, setup.device)
        reset = reset or ("last-layer" if setup.started else "all")
        self._first = setup.optimizer
        # copied together: the parameters of the copied optimizer are those of the copied model
        self.model, self.optimizer = copy.deepcopy((setup.model, setup.optimizer))
        generator = torch.Generator().manual_seed(setup.generator.initial_seed() + 1)
        shuffle(scoped(self.model, self.optimizer, reset).values(), generator)

    def together(self, model: nn.Module) -> Ensemble:
        """Both networks, which go on training, as one model: the mean of their probabilities."""
        return Ensemble([model, self.model]).to(next(model.parameters()).device)

    def start_epoch(self) -> None:
        """Take over the learning rates of the first network, and train."""
        self.model.train()
        for ours, theirs in zip(self._first.param_groups, self.optimizer.param_groups, strict=True):
            theirs["lr"] = ours["lr"]

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.model.train()


def check_room(model: nn.Module, optimizer: Optimizer, device: torch.device) -> None:
    """Raise a ModelError if a second network, and what training both takes, do not fit into memory."""
    sizes = [(param.numel() * param.element_size(), param.requires_grad) for param in model.parameters()]
    # besides a gradient, Adam and its kin keep two numbers for each one that they train, SGD with momentum one
    beside = 1 + (2 if "betas" in optimizer.defaults else bool(optimizer.defaults.get("momentum")))
    needed = sum(size + 2 * beside * size * trained for size, trained in sizes)
    free = free_memory(str(device))
    if free is not None and needed > free:
        raise ModelError(
            "this method trains two networks, which do not fit into memory: the second one, and the gradients and "
            f"optimizer state of both, take {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free; take a smaller "
            "model, or a method with one network, such as 'elr'"
        )


@dataclass(eq=False, repr=False, kw_only=True)
class TwoNetworks(ERM):
    """What DivideMix, ELR+ and decoupling share: a step trains one network after the other; the mean of both predicts.

    Args:
        reset: Part of the second network that starts differently; see ``Peer``.
    """

    state = ("_peer",)

    reset: str | None = None

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        return Ensemble.of(model, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._peer = Peer(self.setup, self.reset)
        self._both = self._peer.together(self._model)

    @property
    def model(self) -> nn.Module:
        return self._both

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._peer.start_epoch()

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        losses = []
        pairs = ((self._model, self._optimizer), (self._peer.model, self._peer.optimizer))
        for number, (model, optimizer) in enumerate(pairs):
            loss = self._loss_of(number, model, batch)
            descend(loss, optimizer)
            self._after_step(number, model)
            losses.append(loss.detach())
        return {"loss": sum(losses) / 2}

    def _loss_of(self, number: int, model: nn.Module, batch: Batch) -> Tensor:
        """The loss that one of the networks, number 0 or 1, minimizes; a scalar."""
        raise NotImplementedError

    def _after_step(self, number: int, model: nn.Module) -> None:
        """Called after a network was trained on a batch."""


class Decoupling(TwoNetworks):
    """Decoupling (Malach and Shalev-Shwartz, NeurIPS 2017): two networks learn from samples on which they disagree.

    Two networks learn from the samples of a batch for which their predictions differ; if they agree on the whole batch,
    they learn nothing from it. During the warm-up, both learn from all samples. The prediction is the mean of both. A
    step costs twice as much as in plain training.

    Malach, Shalev-Shwartz: Decoupling "When to Update" from "How to Update".

    Args:
        reset: The part of the second network that starts differently: all, last-block, last-layer, or a pattern over
            parameter names; by default all, or last-layer if the model has a start (``model.start``).
    """

    state = ("_warm_up",)

    def step(self, batch: Batch) -> dict[str, float | Tensor]:
        own, theirs = self._model(batch.inputs), self._peer.model(batch.inputs)
        differ = (own.argmax(1) != theirs.argmax(1)) | self._warm_up
        any_differs, total = bool(differ.any()), 0.0
        for logits, optimizer in ((own, self.setup.optimizer), (theirs, self._peer.optimizer)):
            losses = batch.weighted(self.setup.loss(logits, batch.labels)) * differ
            loss = losses.sum() / differ.sum().clamp_min(1)
            if any_differs:
                descend(loss, optimizer)
            total = total + loss.detach() / 2
        return {"loss": total, "weight": differ.float().mean()}


@dataclass(eq=False, repr=False, kw_only=True)
class CoTeaching(Weighing):
    """Co-teaching (Han et al., NeurIPS 2018): each of two networks learns from samples that the other finds easy.

    From each batch, a network learns the samples for which the other network has the smallest losses; the rest is
    forgotten. In epoch T, counted from 0, the forgotten share is forget_rate min(T / gradual_epochs, 1); it is 0 during
    the warm-up. The first network is evaluated and saved. A step costs twice as much as in plain training.

    Both networks have the same optimizer and schedule. The second starts with the values of the first, shuffled.

    Han, Yao, Yu, Niu, Xu, Hu, Tsang, Sugiyama: Co-teaching: Robust Training of Deep Neural Networks with Extremely
    Noisy Labels.

    Args:
        forget_rate: Share of a batch that is forgotten in the end. Paper: tau, the rate of wrong labels, which the
            paper assumes to be known; the default is a guess.
        gradual_epochs: Number of epochs until this share is reached. Paper: T_k.
        reset: Part of the second network that starts differently, as in ``decoupling``.
    """

    state = ("_peer", "_forgotten")

    forget_rate: Annotated[float, Ge(0), Lt(1)] = 0.2
    gradual_epochs: Annotated[int, Ge(0)] = 10
    reset: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._peer = Peer(self.setup, self.reset)
        self._forgotten = 0.0

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        self._peer.start_epoch()
        self._forgotten = 0.0 if warm_up else self.forget_rate * ramp(epoch, self.gradual_epochs)

    def step(self, batch: Batch) -> dict[str, float | Tensor]:
        own, theirs = (self.setup.loss(net(batch.inputs), batch.labels) for net in (self._model, self._peer.model))
        for_us, for_them = self._easiest(theirs), self._easiest(own)
        loss = batch.weighted(own)[for_us].mean()
        for optimizer, objective in (
            (self.setup.optimizer, loss),
            (self._peer.optimizer, batch.weighted(theirs)[for_them].mean()),
        ):
            descend(objective, optimizer)
        weights = torch.zeros_like(self._weights[batch.index]).scatter(0, for_us, 1.0)
        self._weights[batch.index] = weights
        return {"loss": loss.detach(), "weight": weights.mean()}

    def _easiest(self, losses: Tensor) -> Tensor:
        """Which samples of the batch are not forgotten, one at least: in order, shape (kept,)."""
        kept = max(len(losses) - round(self._forgotten * len(losses)), 1)
        return losses.detach().argsort(stable=True)[:kept].sort().values


logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False, kw_only=True)
class DivideMix(TwoNetworks):
    """DivideMix (Li et al., ICLR 2020): samples with a large loss lose their label and are learned as in MixMatch.

    Before each epoch, a Gaussian mixture of the losses of one network gives each sample the probability w that its
    label is right. The other network learns a refined label if w is above the threshold, and a guessed label otherwise:

        refined label  w y + (1 - w) p,      p the mean prediction of the network over two views
        guessed label  the mean prediction of both networks over two views

    Both are sharpened. All views are mixed in pairs, and a step minimizes

        mean of L over labeled + factor(t) * mean squared difference over unlabeled + penalty

    where the penalty keeps the mean prediction near the class shares. During the warm-up (paper: 10 of 300 epochs),
    training is plain. The prediction is the mean of both networks. A step costs six to nine times as much as in plain
    training. Here, the labeled and unlabeled samples of a step come from one batch, so that an epoch sees each sample
    once.

    The authors choose the factor by the type and rate of the noise (0, 25, 50 or 150; learning rate 0.02), and if noise
    is asymmetric, they penalize confident predictions during the warm-up. Here, one default serves for all, without
    that penalty. At larger learning rates, a factor of 25 soon makes all predictions the same; on held-out images of
    Fashion-MNIST, 0, 1 and 5 were within two points of each other. With a model that starts from ``simclr``
    (``model.start``), this is C2D (Zheltonozhskii et al., WACV 2022).

    Li, Socher, Hoi: DivideMix: Learning with Noisy Labels as Semi-supervised Learning.

    Args:
        threshold: Probability of being right above which a label is kept.
        factor: Factor of the unlabeled term. Paper: lambda_u.
        ramp_epochs: Number of epochs after the warm-up until the factor is reached.
        temperature: Temperature of refined and guessed labels; below 1 sharpens them. Paper: T.
        mixup: Strength of mixing samples in pairs; 0 mixes none. Paper: alpha, 4; 0.5 for photos from the web.
        reset: Part of the second network that starts differently, as in ``decoupling``.
    """

    state = ("_right", "_epoch")

    threshold: Annotated[float, Ge(0), Le(1)] = 0.5
    factor: Annotated[float, Ge(0)] = 1.0
    ramp_epochs: Annotated[int, Ge(0)] = 16
    temperature: Annotated[float, Gt(0)] = 0.5
    mixup: Annotated[float, Ge(0)] = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._log_shares = log_shares(self.setup.train_set.class_sizes.double())
        self._right: Tensor | None = None  # of the labels, by the losses under each network; shape (2, N)
        self._epoch = -1  # counted from the end of the warm-up

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if not warm_up and epoch > 0:
            self._epoch += 1
            losses = (self.setup.losses(net) for net in (self._model, self._peer.model))
            self._right = torch.stack([gaussian_low(each) for each in losses]).float()
            if bool((self._right <= self.threshold).all(1).any()):
                logger.warning("dividemix: no label is kept in this epoch; lower method.threshold (%g)", self.threshold)

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        kept = {} if self._right is None else {"weight": self._right[1, batch.index].mean()}
        return {**super().step(batch), **kept}

    def _loss_of(self, number: int, model: nn.Module, batch: Batch) -> Tensor:
        if self._right is None:
            return batch.weighted(self.setup.loss(model(batch.inputs), batch.labels)).mean()
        right = self._right[1 - number, batch.index].to(batch.inputs.device)  # by the other network
        views = [batch.inputs, another_view(self.setup, batch)]
        targets = self._targets(model, batch, views, right).repeat(2, 1)
        labeled = (right > self.threshold).repeat(2)
        inputs = torch.cat(views)
        mix = checked_draw(inputs, self.mixup, self.setup.generator)
        logits, targets = model(mix.inputs(inputs)), mix.inputs(targets)
        scale = batch.scale.repeat(2) if isinstance(batch.scale, Tensor) else 1.0
        supervised = (scale * self.setup.loss(logits, targets)).where(labeled, 0.0).sum() / labeled.sum().clamp_min(1)
        apart = scale * (logits.softmax(1) - targets).square().mean(1)
        unlabeled = apart.where(~labeled, 0.0).sum() / (~labeled).sum().clamp_min(1)
        factor = self.factor * ramp(self._epoch, self.ramp_epochs)
        return supervised + factor * unlabeled + unlike_shares(logits, self._log_shares)

    @torch.no_grad()
    def _targets(self, model: nn.Module, batch: Batch, views: list[Tensor], right: Tensor) -> Tensor:
        """Refined labels where the given one is kept, guessed ones elsewhere; shape (n, num_classes)."""
        own, theirs = (
            torch.stack([net(view).softmax(1) for view in views]).mean(0)
            for net in (model, self._peer.model if model is self._model else self._model)
        )
        refined = torch.lerp(own, as_rows(batch.labels, own), right.to(own)[:, None])
        return sharpened(refined.where((right > self.threshold)[:, None], (own + theirs) / 2), self.temperature)

    def sample_weights(self) -> Tensor | None:
        return None if self._right is None else self._right.mean(0)
