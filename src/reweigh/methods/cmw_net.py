"""CMW-Net: learn the weight of each sample from its loss and the size of its class; MW-Net; and on top of a method."""

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

import torch
from annotated_types import Ge
from torch import Tensor, nn

from reweigh.core.method import Method, Stateful
from reweigh.core.objective import Batch, MetaObjective, Objective, reweighted
from reweigh.core.step import Step
from reweigh.errors import RecipeError
from reweigh.families import Families
from reweigh.methods.erm import ERM
from reweigh.methods.parts.batches import Trusted
from reweigh.methods.setup import Setup
from reweigh.names import listed, plural
from reweigh.reweighter import Reweighter
from reweigh.weighting import load_weighting

MIN_SHARE_OF_WEIGHT = 0.01  # share of the weight of other classes below which a class is ignored
logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class CMWNet(Stateful, Method):
    """Class-aware Meta-Weight-Net: a learned weighting curve for each family of classes. Paper: Algorithm 1.

    Takes all options of ``Reweighter``, and:

    Args:
        weighting: file of a weighting function learned elsewhere, used as it is (the paper's meta-test, Algorithm 2).
            It needs no trusted samples, and none are chosen. For the file that the authors released, add the order of
            its heads: "vnet.pth:large,small,medium".
        convergence: number of training samples, always the same, on which the gradients of both levels are measured at
            the start of each epoch. These are the quantities of the paper's Theorems 1 and 2; the report draws them. 0
            measures nothing.
    """

    learns_weights = True
    contains = "weighted"
    state = ("_reweighter", "_trusted", "_warm_up", "_weights", "_convergence")

    setup: Setup
    _: KW_ONLY
    weighting: str | None = None
    convergence: Annotated[int, Ge(0)] = 0

    def __post_init__(self) -> None:
        setup = self.setup
        self._plain = ERM(setup)
        self._reweighter = setup.reweighter(
            setup.model,
            setup.optimizer,
            setup.train_set.labels,
            num_classes=setup.train_set.num_classes,
            loss=setup.loss,
            weighting=load_weighting(self.weighting, reads="loss")[0] if self.weighting else None,
            **self._fixed(),
        )
        self._trusted = Trusted(setup)
        self._convergence = Convergence(setup, self.convergence) if self.convergence and not self.weighting else None
        self._warm_up = self._warned = False
        self._weights = setup.never_weighed()

    def _fixed(self) -> Mapping[str, Any]:
        return self.fixed

    @property
    def model(self) -> nn.Module:
        return self.setup.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self._plain.start_epoch(epoch, warm_up)
        self._begin_epoch(warm_up)

    def _begin_epoch(self, warm_up: bool) -> None:
        """Begin an epoch with weights, and choose its trusted samples; or begin a plain epoch."""
        self._warm_up = warm_up
        if not warm_up and not self.weighting:
            self._trusted.refresh()
            if self._convergence is not None:
                self._convergence.start_epoch(self._trusted)

    def end_epoch(self) -> None:
        if self.weighting and not self._warned:
            labels, names = self.setup.train_set.labels, self.setup.train_set.class_names
            lost = ignored_classes(self._weights.cpu(), labels, len(names))
            self._warned = len(lost) > 0
            if self._warned:
                logger.warning(
                    "method.weighting: this function gives next to no weight to %s (%s), so the model unlearns them. "
                    "It was learned where classes are easier to tell apart: use one from data more like these, or "
                    "learn one here (without method.weighting)",
                    plural(len(lost), "class", "classes"),
                    listed(names[number] for number in lost),
                )

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        numbers = self._plain_step(batch) if self._warm_up else self._reweighted_step(batch)
        self._trusted.follow()
        return numbers

    def _plain_step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        numbers = self._plain.step(batch)
        if self._plain.losses is not None:
            self._trusted.observe(batch.index, self._plain.losses)
        return numbers

    def _reweighted_step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        found = {}
        if self._convergence is not None:
            found = self._convergence.measured(self._reweighter, self._objective, self._trusted_objective)
        step = self._train_on(batch, self._trusted.next(len(batch)) if self._reweighter.due else (None, None))
        self._weights[batch.index] = step.weights.to(self._weights)
        self._observe(batch, step)
        return {**step.scalars(), **found}

    def _observe(self, batch: Batch, step: Step) -> None:
        self._trusted.observe(batch.index, step.losses)

    def _train_on(self, batch: Batch, trusted: tuple[Tensor | None, Tensor | None]) -> Step:
        inputs, labels = trusted
        meta = None if labels is None else self._trusted_objective(inputs, labels)
        return self._reweighter.step_on(self._objective(batch), batch.labels, inputs, labels, meta)

    def _objective(self, batch: Batch) -> Objective:
        return reweighted(self.setup.loss, batch.inputs, batch.labels, batch.scale)

    def _trusted_objective(self, inputs: Any, labels: Tensor) -> MetaObjective | None:
        """What the weights should lower for trusted samples; None stands for their mean loss."""
        return None

    def sample_weights(self) -> Tensor | None:
        return self._weights.cpu()

    def weight_net(self) -> nn.Module | None:
        return self._reweighter.weight_net

    def families(self) -> Families | None:
        return self._reweighter.families

    def state_dict(self) -> dict[str, Any]:
        return {**self._plain.state_dict(), **super().state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._plain.load_state_dict(state)


def ignored_classes(weights: Tensor, labels: Tensor, num_classes: int) -> list[int]:
    """Classes of which neither a sample nor all samples together have a hundredth of the weight that others have.

    Args:
        weights: Shape (N,), NaN for samples that were not weighed.
        labels: Shape (N,), -1 for samples without a label.
    """
    there = ~weights.isnan() & (labels >= 0)
    counts = torch.bincount(labels[there], minlength=num_classes)
    totals = torch.zeros(num_classes, dtype=torch.float64).index_add_(0, labels[there], weights[there].double())
    means = totals / counts.clamp_min(1)
    lost = (counts > 0) & (means < MIN_SHARE_OF_WEIGHT * means.max()) & (totals < MIN_SHARE_OF_WEIGHT * totals.mean())
    return lost.nonzero().flatten().tolist()


class MWNet(CMWNet):
    """Meta-Weight-Net (Shu et al., NeurIPS 2019): CMW-Net with a single family."""

    fixed: ClassVar[Mapping[str, Any]] = {"families": 1}


class Convergence(Stateful):
    """The squared norms of both gradients, on samples that stay the same, so that epochs can be compared.

    The samples are neither augmented nor mixed. The trusted ones are those of the first epoch after the warm-up.

    Args:
        size: Number of training samples, spread evenly over the training set.
    """

    state = ("_trusted", "_due")

    def __init__(self, setup: Setup, size: int):
        self._setup = setup
        last = len(setup.train_set) - 1
        self._index = torch.linspace(0, last, min(size, last + 1), dtype=torch.float64).round().long()
        self._trusted: Tensor | None = None
        self._due = False

    def start_epoch(self, trusted: Trusted) -> None:
        """Measure in the next step; called when the trusted samples have been chosen."""
        self._trusted = trusted.chosen.clone() if self._trusted is None else self._trusted
        self._due = True

    def measured(
        self,
        reweighter: Reweighter,
        objective: Callable[[Batch], Objective],
        trusted_objective: Callable[[Any, Tensor], MetaObjective | None],
    ) -> dict[str, Tensor]:
        """The numbers of this epoch in its first step; empty in the others."""
        if not self._due or self._trusted is None:
            return {}
        self._due = False
        setup = self._setup
        batch = setup.train_set.batch(self._index, device=setup.device)
        trusted = (setup.clean_set or setup.train_set).batch(self._trusted, device=setup.device)
        with torch.random.fork_rng(devices=[]):  # so that measuring does not change training
            model, net = reweighter.gradient_norms(
                objective(batch),
                batch.labels,
                trusted.inputs,
                trusted.labels,
                trusted_objective(trusted.inputs, trusted.labels),
            )
        return {"squared_gradient": model.square(), "squared_meta_gradient": net.square()}


class OnTop(CMWNet):
    """What every pair shares; ``on_top_of`` makes the pair.

    The weight multiplies the loss of each sample as the method beneath computes it; the other terms of that method are
    not weighted. Trusted samples are judged by the loss of the recipe, usually cross-entropy, unless the method beneath
    has an objective for them. A method beneath that only replaces the loss warms up with the loss of the recipe, as in
    the paper's released code for LDAM; any other method warms up in its own way.
    """

    beneath: ClassVar[type[ERM]] = ERM

    def __init__(
        self,
        setup: Setup,
        *,
        scope: str = "all",
        weighting: str | None = None,
        convergence: Annotated[int, Ge(0)] = 0,
        **options: Any,
    ):
        if self.beneath.deep and scope in ("last-layer", "last-block"):
            raise RecipeError(
                f"method.scope: got {scope!r}, but the weights act through the features below the heads; use 'all' or "
                "a pattern over names, such as 'classifier.layer4.*'"
            )
        setup = setup.reweighting(scope=scope)
        self._beneath = self.beneath(setup, **options)
        super().__init__(self._beneath.trained(setup), weighting=weighting, convergence=convergence)
        if self.own_loss is None:
            self._plain = self._beneath

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self._beneath.start_epoch(epoch, warm_up)
        self._begin_epoch(warm_up or not self._beneath.weighs)

    def _objective(self, batch: Batch) -> Objective:
        return self._beneath.objective(batch)

    def _observe(self, batch: Batch, step: Step) -> None:
        super()._observe(batch, step)
        self._beneath.follow(batch, step.outputs)

    def _trusted_objective(self, inputs: Any, labels: Tensor) -> MetaObjective | None:
        return self._beneath.trusted_objective(inputs, labels)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), **self._beneath.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._beneath.load_state_dict(state)


def weighable(method: type[Method]) -> bool:
    """Whether the ``objective`` of a method says what is weighed.

    The method minimizes its objective, or has one only for this purpose. A method that replaces labels does not
    qualify: trusted samples would be chosen by the loss of another label than the one they are trusted with.
    """
    if not issubclass(method, ERM) or method.step is not ERM.step or method.replaces_labels:
        return False
    return method._loss is ERM._loss or method.objective is not ERM.objective


@cache
def on_top_of(method: type[ERM]) -> type[CMWNet]:
    """CMW-Net on top of a method that is ``weighable``.

    The pair has the options of the method, of ``cmw-net`` and of ``Reweighter``.
    """
    assert weighable(method), f"{method.__name__} does more in a step than its objective says"
    first = (inspect.getdoc(method) or "").partition("\n")[0]
    merged = {**inspect.signature(method).parameters, **inspect.signature(OnTop).parameters}
    merged.pop("options")
    attributes = {
        "__doc__": f"CMW-Net on top of another method: {first}\n\n    {inspect.getdoc(OnTop)}",
        "__module__": __name__,
        "__signature__": inspect.Signature(list(merged.values())),
        "beneath": method,
        **{name: getattr(method, name) for name in ("abstains", "own_loss", "one_process", "fixed")},
        "wraps": staticmethod(method.wraps),
    }
    return type(f"{method.__name__}CMWNet", (OnTop,), attributes)
