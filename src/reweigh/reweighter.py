"""The drop-in for a training loop of one's own: learns the weight of each sample while the model trains."""

from copy import deepcopy
from typing import Any, Literal

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Adam, Optimizer

from reweigh.core.learner import MetaLearner, Reduce, Step
from reweigh.core.normalize import NORMALIZERS
from reweigh.core.objective import Loss, MetaObjective, Objective, mean_loss, reweighted
from reweigh.engines import engine as engine_named
from reweigh.errors import DataError, RecipeError
from reweigh.families import Families, by_size
from reweigh.losses import LOSSES
from reweigh.names import lookup
from reweigh.weighting import ClassAwareNet, FrozenWeights, LearnedWeights, curve_of_family


class Reweighter:
    """Class-aware sample weights for any model, optimizer and loop, as they are.

        reweighter = Reweighter(model, optimizer, train_labels)
        for (inputs, labels), (meta_inputs, meta_labels) in zip(train_loader, cycle(meta_loader)):
            step = reweighter.step(inputs, labels, meta_inputs, meta_labels)   # forward, backward, optimizer.step()

    Args:
        model: any ``nn.Module``; may return anything that ``loss`` understands; may be compiled or wrapped.
        optimizer: trains ``model``. The look-ahead follows its rule (SGD, Adam, AdamW; else a plain gradient step).
        labels: shape (N,), all given labels of the training set: the families come from the sizes of the classes.
        num_classes: if some classes have no sample; otherwise the largest label plus one.
        families: curves to learn. Paper: K. 1 is MW-Net.
        curves: of the weight net, if there may be more families after a ``refresh`` than there are now; by default as
            many as families are found. Fewer families meet the curves by rank; a single one meets that in the middle.
        loss: (what the model returns, labels) -> loss of each sample, shape (n,).
        engine: the meta-gradient: ``"auto"``, ``"forward"``, ``"difference"``, ``"central-difference"`` or
            ``"unrolled"``.
        lookahead: ``"virtual"``, the paper's; or ``"real"``, cheaper, where weights lag one step.
        scope: the part of the model that the look-ahead moves: ``"all"``, ``"last-block"``, ``"last-layer"``, or a
            pattern over parameter names. The smaller, the cheaper.
        every: learn in each ``every``-th step only. Paper: T_meta.
        normalize: ``"mean"``, where small weights slow down training as a whole; ``"weight-sum"``, where they only say
            which samples count more; or ``"weight-sum-differentiated"``.
        meta_lr: of the weight net, trained by Adam. Paper: beta.
        meta_weight_decay: of the weight net. Paper: 1e-4, which pulls all weights to one half once the trusted samples
            are learned.
        hidden: width of the weight net.
        weighting: a function learned elsewhere (``load_weighting``), used as it is: no trusted data are needed then.
        reduce: averages tensors over processes, in place; by default those of a ``DistributedDataParallel`` model.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        labels: Tensor,
        *,
        num_classes: int | None = None,
        families: int = 3,
        curves: int | None = None,
        loss: Loss = LOSSES["cross-entropy"],
        engine: str = "auto",
        lookahead: Literal["virtual", "real"] = "virtual",
        scope: str = "all",
        every: int = 1,
        normalize: str = "mean",
        meta_lr: float = 1e-3,
        meta_weight_decay: float = 0.0,
        hidden: int = 100,
        weighting: ClassAwareNet | None = None,
        reduce: Reduce | None = None,
    ):
        if every < 1 or families < 1:
            raise RecipeError(f"every = {every} and families = {families}: both are at least 1")
        self.model = model
        self.loss = loss
        parallel = parallel_in(model)
        plain = next(model.parameters(), torch.empty(0))
        self._device = plain.device
        self._num_classes = num_classes or int(labels.max()) + 1
        self.families = by_size(self._sizes(labels), families)
        if curves is not None and curves < self.families.num_families:
            raise RecipeError(
                f"curves = {curves}: should be at least {self.families.num_families}, one for each family"
            )
        if weighting is None:
            net = ClassAwareNet(curves or self.families.num_families, hidden).to(self._device)
            self.weights = LearnedWeights(net, Adam(net.parameters(), meta_lr, weight_decay=meta_weight_decay))
        else:
            self.weights = FrozenWeights(deepcopy(weighting).to(self._device), self.families.num_families)
        self._learner = MetaLearner(
            model,
            optimizer,
            self.weights,
            engine_named(engine),
            lookahead=lookahead,
            scope=scope,
            every=every,
            normalize=lookup(NORMALIZERS, normalize, "normalizer"),
            reduce=reduce or (averaged if parallel else lambda tensors: None),
        )
        if parallel:  # the weight net starts alike everywhere, as the model does
            for parameter in self.weight_net.parameters():
                distributed.broadcast(parameter.data, 0, group=parallel.process_group)

    @property
    def weight_net(self) -> ClassAwareNet:
        """The weighting function: ``weight_net(losses, family)``."""
        return self.weights.net

    def normalize(self, name: str) -> None:
        """Scale weights in another way from now on."""
        self._learner.normalize = lookup(NORMALIZERS, name, "normalizer")

    @property
    def due(self) -> bool:
        """Whether the coming step learns, and so needs trusted data."""
        return isinstance(self.weights, LearnedWeights) and self._learner.due

    def step(self, inputs: Any, labels: Tensor, meta_inputs: Any = None, meta_labels: Tensor | None = None) -> Step:
        """Train on a batch: forward, weights, backward, ``optimizer.step()``; and learn the weights where it is due.

        Args:
            inputs: a tensor, or a tuple or dict of what the model is called with.
            labels: shape (n,), or (n, num_classes) rows that sum to one.
            meta_inputs: trusted inputs; needed only where ``due``.
            meta_labels: their labels.

        Raises:
            DataError: a batch is empty, on another device, or holds a label that is no class.
            ModelError: an operation of the model has no forward mode and the engine is ``"forward"``.
        """
        return self.step_on(self._batch(inputs, labels), labels, meta_inputs, meta_labels)

    def step_on(
        self,
        objective: Objective,
        labels: Tensor,
        meta_inputs: Any = None,
        meta_labels: Tensor | None = None,
        meta: MetaObjective | None = None,
    ) -> Step:
        """The same on an objective of one's own (``reweigh.core.objective``), such as soft labels or mixed pairs.

        Args:
            labels: shape (slots,), the given label of each slot; its family chooses the curve.
            meta: what the weights should lower one step ahead, in place of the mean loss on trusted inputs.
        """
        self._check(labels, "labels")
        if meta is None and self.due:
            if meta_labels is None:
                raise DataError(
                    "this step learns the weights, and needs trusted data: pass meta_inputs and meta_labels wherever "
                    "reweighter.due is true"
                )
            meta = self._trusted(meta_inputs, meta_labels)
        return self._learner.step(objective, self._family(labels), meta if self.due else None)

    def weigh(self, losses: Tensor, labels: Tensor) -> Tensor:
        """The weight of each sample, for a loop that owns its backward (mixed precision, accumulation).

            loss = (reweighter.weigh(losses, labels) * losses).mean()

        Args:
            losses: shape (n,).
            labels: shape (n,), or (n, num_classes).

        Returns:
            Shape (n,), in (0, 1), without a graph.
        """
        self._check(labels, "labels")
        return self.weights(losses.detach(), self._family(labels))

    def learn(self, batch: tuple[Any, Tensor], meta_batch: tuple[Any, Tensor]) -> Tensor | None:
        """The other half: learn from one look-ahead, without touching model, gradients or optimizer.

        Args:
            batch: inputs and labels of a training batch.
            meta_batch: inputs and labels of a trusted one.

        Returns:
            The loss on the trusted batch one step ahead.
        """
        inputs, labels = batch
        self._check(labels, "labels")
        return self._learner.learn(self._batch(inputs, labels), self._family(labels), self._trusted(*meta_batch))

    def refresh(self, labels: Tensor) -> None:
        """Find the families anew, because the labels of the training set have changed."""
        self._meet(by_size(self._sizes(labels), self.weight_net.num_families))

    def _meet(self, families: Families) -> None:
        self.families = families
        if isinstance(self.weights, FrozenWeights):
            self.weights.meet(families.num_families)

    def state_dict(self) -> dict[str, Any]:
        """Weight net, its optimizer, families and the count of steps; model and optimizer are the user's own."""
        return {
            "weights": self.weights.state_dict(),
            "steps": self._learner.steps,
            "family_of_class": self.families.of_class,
            "centers": self.families.centers,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.weights.load_state_dict(state["weights"])
        self._learner.steps = state["steps"]
        self._meet(Families(state["family_of_class"].cpu(), state["centers"].cpu()))

    def _batch(self, inputs: Any, labels: Tensor) -> Objective:
        return reweighted(self.loss, inputs, labels)

    def _trusted(self, inputs: Any, labels: Tensor) -> MetaObjective:
        self._check(labels, "meta_labels")
        return mean_loss(self.loss, inputs, labels)

    def _family(self, labels: Tensor) -> Tensor:
        classes = labels.argmax(1) if labels.dim() == 2 else labels.long()
        family = self.families.of_class
        if isinstance(self.weights, LearnedWeights):  # a frozen function knows by itself
            family = curve_of_family(self.families.num_families, self.weight_net.num_families)[family]
        return family.to(classes.device)[classes]

    def _sizes(self, labels: Tensor) -> Tensor:
        if labels.dim() != 1 or labels.dtype.is_floating_point:
            raise DataError(
                f"labels: integers of shape (N,) are needed, got {labels.dtype} of shape {tuple(labels.shape)}"
            )
        return torch.bincount(labels.cpu(), minlength=self._num_classes)

    def _check(self, labels: Tensor, what: str) -> None:
        if len(labels) == 0:
            raise DataError(f"{what}: the batch is empty")
        if labels.device != self._device:
            raise DataError(f"{what} are on {labels.device} but the model is on {self._device}; move them with .to()")
        if labels.dim() > 1 or labels.device.type != "cpu":  # elsewhere the look would wait for the device
            return
        low, high = int(labels.min()), int(labels.max())
        if low < 0 or high >= self._num_classes:
            raise DataError(
                f"{what}: from {low} to {high}, but the labels of the training set have {self._num_classes} classes "
                f"(0 to {self._num_classes - 1}); pass num_classes=... if there are more"
            )


def parallel_in(model: nn.Module) -> DistributedDataParallel | None:
    """The wrapper that trains a model in several processes; None if there is none."""
    inner = getattr(model, "_orig_mod", model)  # compiled
    return inner if isinstance(inner, DistributedDataParallel) else None


def averaged(tensors: list[Tensor]) -> None:
    """Average tensors over all processes, in place."""
    for tensor in tensors:
        distributed.all_reduce(tensor)
        tensor.div_(distributed.get_world_size())
