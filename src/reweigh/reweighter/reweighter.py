"""The drop-in for your own training loop: learns the weight of each sample while the model trains."""

from math import inf
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Gt
from torch import Tensor, nn
from torch.distributed import get_world_size
from torch.optim import Optimizer

from reweigh.core.jvp import engine as engine_named
from reweigh.core.learner import MetaLearner, Order
from reweigh.core.objective import NORMALIZERS, Loss, MetaObjective, Normalize, Objective, mean_loss, reweighted
from reweigh.core.processes import Reduce, all_counts, alone, as_first, averaging, group_of
from reweigh.core.step import Step
from reweigh.core.update import inner_optimizer, refuse_closures
from reweigh.errors import DataError, RecipeError
from reweigh.families import Families
from reweigh.losses import LOSSES
from reweigh.names import lookup
from reweigh.reweighter.curves import Curves, Pace, WarmUp, unit_of_losses
from reweigh.reweighter.inputs import SampleLoss, as_labels, check_batch, scattered, select, spread, training_labels
from reweigh.reweighter.journal import Recording
from reweigh.weighting import weigher


class Reweighter(Recording):
    """Class-aware sample weights for any model, optimizer and loop, as they are.

    Examples:
        >>> model = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 3))
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> inputs, labels = torch.randn(600, 20), torch.randint(3, (600,))
        >>> reweighter = Reweighter(model, optimizer, labels)
        >>> batch, trusted = torch.arange(50), torch.arange(500, 530)
        >>> step = reweighter.step(inputs[batch], labels[batch], inputs[trusted], labels[trusted])  # trains the model
        >>> step.weights.shape, step.outputs.shape
        (torch.Size([50]), torch.Size([50, 3]))

    Args:
        model: any ``nn.Module`` that returns logits, something with ``logits``, or what ``loss`` understands; may be
            compiled or wrapped.
        optimizer: trains ``model``. The look-ahead follows its rule (SGD, Adam, AdamW; else a plain gradient step).
        labels: shape (N,), all given labels of the training set, as a tensor, array or list: the families come from the
            sizes of the classes. With a model in several processes, each may pass those of its own part.
        num_classes: number of classes, if some have no sample; by default the largest label plus one.
        loss: (what the model returns, labels) -> loss of each sample, shape (n,); or a loss of torch, such as
            ``nn.CrossEntropyLoss(label_smoothing=0.1)``, which is used unreduced; or a name in ``LOSSES``.
        families: number of families of classes, each with its own curve (paper: K; 1 is MW-Net); or the families. By
            default 3, as in the paper, where class sizes differ by more than chance, and otherwise 1.
        spare_curves: learn a curve for each of ``families`` even if fewer are found now, because ``refresh`` may find
            more. Fewer families use the curves by rank; a single one uses the curve in the middle.
        weight_net: the weighting function to learn: a name in ``reweigh.weighting.WEIGHTINGS``, or a module of your own
            that is called as (losses, family) -> weights in (0, 1), all of shape (n,). One without parameters is used
            as it is.
        hidden: width of the weight net.
        loss_unit: what losses are divided by before the weight net reads them: a new one is made for losses up to about
            5, and may give next to no weight to larger ones. By default 1, as in the paper; a fifth of the ``scale`` of
            the last layer if that is a cosine head, which makes losses as large as the scale.
        every: learn in every n-th step only. Paper: T_meta.
        engine: how the meta-gradient is computed: ``"auto"``, ``"forward"``, ``"difference"`` or ``"unrolled"``.
        lookahead: ``"virtual"``, the paper's; or ``"real"``, cheaper, where weights lag one step.
        lookahead_step: ``"optimizer"``, its own step; or ``"gradient"``, a plain gradient step, as the paper's.
        scope: the part of the model that the look-ahead moves: ``"all"``, ``"last-block"``, ``"last-layer"``, or a
            pattern over parameter names. The smaller, the cheaper.
        normalize: how weights are scaled in a batch: ``"weight-sum"``, where they only say which samples count more;
            ``"mean"`` (the paper's, under label noise), where small weights also slow down training as a whole; or
            ``"weight-sum-differentiated"``.
        meta_lr: learning rate of the weight net, which is trained by Adam. Paper: beta.
        meta_weight_decay: weight decay of the weight net; the paper's 1e-4 pulls all weights to one half in the end.
        meta_amsgrad: Adam with AMSGrad, as the released code for long tails.
        weighting: a function learned elsewhere (``load_weighting``), used as it is; no trusted data are needed then.
        warm_up: epochs, counted by samples, in which all weights are one and nothing is learned. By default 0; for a
            ``weighting`` from elsewhere, until the losses of ``step`` or ``weigh`` have left log C, that of a model
            that knows nothing: such a function would trust nothing that a new model has not learned yet.
        check: whether the first step that learns checks that the meta-gradient is exact for this model and optimizer;
            costs 6 to 10 plain steps, once. What is not exact is said in an ``InexactWarning``.
        reduce: averages tensors over processes, in place; by default those of a wrapped model.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        labels: Any,
        *,
        num_classes: int | None = None,
        loss: Loss | str = LOSSES["cross-entropy"],
        families: Annotated[int, Ge(1)] | Families | None = None,
        spare_curves: bool = False,
        weight_net: str | nn.Module = "class-aware",
        hidden: Annotated[int, Ge(1)] = 100,
        loss_unit: Annotated[float, Gt(0)] | None = None,
        every: Annotated[int, Ge(1)] = 10,
        engine: str = "auto",
        lookahead: Order = "virtual",
        lookahead_step: Literal["optimizer", "gradient"] = "optimizer",
        scope: str = "all",
        normalize: Normalize = "weight-sum",
        meta_lr: Annotated[float, Gt(0)] = 1e-3,
        meta_weight_decay: Annotated[float, Ge(0)] = 0.0,
        meta_amsgrad: bool = False,
        weighting: nn.Module | None = None,
        warm_up: Annotated[float, Ge(0)] | None = None,
        check: bool = True,
        reduce: Reduce | None = None,
    ):
        counts = {"families": families, "every": every, "hidden": hidden}
        if wrong := [f"{name} = {value}" for name, value in counts.items() if isinstance(value, int) and value < 1]:
            raise RecipeError(f"{' and '.join(wrong)}: should be at least 1")
        if warm_up is not None and not 0 <= warm_up < inf:
            raise RecipeError(f"warm_up = {warm_up}: should be a number of epochs, 0 or more")
        if not isinstance(model, nn.Module) or not hasattr(optimizer, "param_groups"):
            got = f"{type(model).__name__} and {type(optimizer).__name__}"
            raise RecipeError(f"a torch.nn.Module and a torch.optim.Optimizer are needed, in this order; got {got}")
        optimizer = inner_optimizer(optimizer)
        self.model, self.loss = model, loss
        self._loss = SampleLoss(loss)
        self._device = next(model.parameters(), torch.empty(0)).device
        self._group = group_of(model)
        self._given, sizes = self._counted(labels, num_classes or 0)
        self._num_classes = len(sizes)
        self._curve = Curves(
            sizes,
            self._device,
            families=families,
            spare_curves=spare_curves,
            weight_net=weight_net,
            hidden=hidden,
            loss_unit=unit_of_losses(model) if loss_unit is None else loss_unit,
            weighting=weighting,
        )
        self.weights = weigher(self.weight_net, meta_lr, meta_weight_decay, meta_amsgrad)
        if self._group is not None:
            as_first(list(self.weight_net.state_dict().values()), self._group)
            reduce = reduce or averaging(self._group)
        self._learner = MetaLearner(
            model,
            optimizer,
            self.weights,
            engine_named(engine, self._in_any_process if reduce else bool),
            lookahead=lookahead,
            plain_step=lookahead_step == "gradient",
            scope=scope,
            every=every,
            normalize=lookup(NORMALIZERS, normalize, "normalizer"),
            reduce=reduce or alone,
            check=check,
        )
        processes = 1 if self._group is None else get_world_size(self._group)
        epochs = 0.0 if warm_up is None and weighting is None else warm_up
        self._warm_up = WarmUp(epochs, int(sizes.sum()) / processes, self._num_classes)
        self._pace = Pace(optimizer)
        self._options = f"every={every}, engine={engine!r}, lookahead={lookahead!r}, scope={scope!r}"

    def __repr__(self) -> str:
        sizes = ", ".join(f"{size:.4g}" for size in self.families.centers.tolist())
        parts = (type(part).__name__ for part in (self.model, self._learner.optimizer, self.weight_net))
        return (
            f"Reweighter({', '.join(parts)}{'' if self.weights.learns else ' (fixed)'}, {self._num_classes} classes in "
            f"families of mean size {sizes}, {self._options}, {self._learner.steps} steps done)"
        )

    @property
    def weight_net(self) -> nn.Module:
        """The weighting function, called as (losses, family)."""
        return self._curve.weight_net

    @property
    def families(self) -> Families:
        """Which classes share a curve; family 0 holds the rarest."""
        return self._curve.families

    @families.setter
    def families(self, families: Families) -> None:
        self._curve.families = families

    def normalize(self, name: Normalize) -> None:
        """Scale weights in another way from now on."""
        self._learner.normalize = lookup(NORMALIZERS, name, "normalizer")

    @property
    def due(self) -> bool:
        """Whether the coming step learns, and so needs trusted data.

        In a loop that owns its backward: whether to call ``learn``, at most once in ``every`` steps of the optimizer.
        """
        since = self._pace.since
        now = self._learner.due if since is None else since >= self._learner.every
        return self.weights.learns and not self._warm_up.is_on and now

    def step(self, inputs: Any, labels: Any, meta_inputs: Any = None, meta_labels: Any = None) -> Step:
        """Train on a batch: forward, weights, backward, ``optimizer.step()``; and learn the weights where it is due.

        Args:
            inputs: a tensor, or a tuple or dict of what the model is called with.
            labels: shape (n,), or (n, num_classes) rows that sum to one.
            meta_inputs: trusted inputs; needed only where ``due``.
            meta_labels: their labels.

        Raises:
            DataError: a batch is empty, on another device, or holds a label that is not a class.
            ModelError: an operation of the model has no forward mode and the engine is ``"forward"``.
        """
        labels, mask = self._checked(labels, "labels")
        objective = reweighted(self._loss, inputs, labels)
        return spread(self._step(objective, select(labels, mask), (meta_inputs, meta_labels), None), mask)

    def step_on(
        self,
        objective: Objective,
        labels: Any,
        meta_inputs: Any = None,
        meta_labels: Any = None,
        meta: MetaObjective | None = None,
    ) -> Step:
        """The same with your own objective (``reweigh.core.objective``), such as soft labels or mixed pairs.

        Args:
            labels: shape (slots,), the given label of each slot; its family chooses the curve.
            meta_inputs: trusted inputs; needed only where ``due``.
            meta_labels: their labels.
            meta: what the weights should lower one step ahead, in place of the mean loss on trusted inputs.
        """
        if self._warm_up.is_automatic:  # the losses of an objective may be anything
            self._warm_up.end()
        return self._step(objective, self._checked(labels, "labels")[0], (meta_inputs, meta_labels), meta)

    def _step(self, objective: Objective, labels: Tensor, trusted: tuple[Any, Any], meta: MetaObjective | None) -> Step:
        refuse_closures(self._learner.optimizer)
        if self._warm_up.is_on:
            step = self._learner.plain_step(objective)
            self._warm_up.see(step.losses, self._learner.average)
            return step
        due = self.due
        if meta is None and due:
            if trusted[1] is None:
                text = "this step learns the weights, and needs trusted data"
                raise DataError(f"{text}: pass meta_inputs and meta_labels wherever reweighter.due is true")
            meta = self._trusted(*trusted)
        return self._learner.step(objective, self._curve(labels), meta if due else None)

    def gradient_norms(
        self, objective: Objective, labels: Any, meta_inputs: Any, meta_labels: Any, meta: MetaObjective | None = None
    ) -> tuple[Tensor, Tensor]:
        """The norms of the gradients of model and weight net, called as ``step_on``; nothing changes."""
        labels, _ = self._checked(labels, "labels")
        meta = meta or self._trusted(meta_inputs, meta_labels)
        return self._learner.gradient_norms(objective, self._curve(labels), meta)

    def losses_of(self, outputs: Any, labels: Any) -> Tensor:
        """The loss of each sample, shape (n,), with a graph; 0 for a label that the loss ignores.

        Args:
            outputs: what the model returned for a batch.
            labels: its labels.
        """
        labels, mask = self._checked(labels, "labels")
        return scattered(self._loss(outputs, labels), mask)

    def weigh(self, losses: Tensor, labels: Any) -> Tensor:
        """The weight of each sample, for a loop that owns its backward (mixed precision, accumulation).

            weights = reweighter.weigh(losses, labels)
            loss = (weights * losses).sum() / weights.sum()

        Args:
            losses: shape (n,).
            labels: shape (n,), or rows, shape (n, num_classes).

        Returns:
            Shape (n,), in (0, 1), without a graph; 0 for a label that the loss ignores. In the warm-up 1.
        """
        labels, mask = self._checked(labels, "labels")
        found = select(losses.detach(), mask)
        if self._warm_up.is_on:
            self._warm_up.see(found, self._learner.average)
            return scattered(torch.ones_like(found), mask)
        weights = self.weights(found, self._curve(select(labels, mask)))
        return scattered(weights, mask)

    def learn(self, batch: tuple[Any, Any], meta_batch: tuple[Any, Any]) -> Tensor | None:
        """The other half: learn from one look-ahead, without touching model, gradients or optimizer.

            if reweighter.due:
                reweighter.learn((inputs, labels), (trusted_inputs, trusted_labels))

        Args:
            batch: inputs and labels of a training batch.
            meta_batch: those of a trusted one.

        Returns:
            The loss on the trusted batch one step ahead; None in the warm-up, in which nothing is learned.
        """
        if self._warm_up.is_on:
            return None
        self._pace.since = 0
        labels, mask = self._checked(batch[1], "labels")
        objective = reweighted(self._loss, batch[0], labels)
        return self._learner.learn(objective, self._curve(select(labels, mask)), self._trusted(*meta_batch))

    def freeze(self) -> None:
        """Keep the weighting function as it is from now on; no further step needs trusted data."""
        self.weights.learns = False

    def refresh(self, labels: Any) -> None:
        """Recompute the families after the labels of the training set have changed."""
        self._curve.refresh(self._counted(labels, self._num_classes)[1])

    def state_dict(self) -> dict[str, Any]:
        """Weight net, its optimizer, families and the count of steps; model and optimizer are the user's own."""
        return {
            "weights": self.weights.state_dict(),
            "steps": self._learner.steps,
            "since": self._pace.since,
            "warm_up": self._warm_up.state_dict(),
            "family_of_class": self.families.of_class,
            "centers": self.families.centers,
            "journal": None if self._journal is None else self._journal.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._load_records(state)  # first: it refuses a state of other data
        self.weights.load_state_dict(state["weights"])
        self._learner.steps, self._pace.since = state["steps"], state["since"]
        self._warm_up.load_state_dict(state["warm_up"])
        self.families = Families(state["family_of_class"].cpu(), state["centers"].cpu())

    def _trusted(self, inputs: Any, labels: Any) -> MetaObjective:
        labels, mask = self._checked(labels, "meta_labels")
        known = select(labels, mask)
        self._curve(known, "meta_labels")  # raises if one of them is not a class
        share = self._learner.share(len(known))
        found = mean_loss(self._loss, inputs, labels)
        return found if share is None else lambda forward: share * found(forward)

    def _in_any_process(self, flag: bool) -> bool:
        return bool(self._learner.average(torch.tensor(float(flag), device=self._device)) > 0)

    def _counted(self, labels: Any, num_classes: int) -> tuple[Tensor, Tensor]:
        """Labels of a training set, -1 where the loss ignores them, and the sizes of its classes over all processes."""
        given = training_labels(labels, self._loss.counts)
        counts = torch.bincount(given[given >= 0], minlength=num_classes)
        return given, counts if self._group is None else all_counts(counts, self._group)

    def _checked(self, labels: Any, what: str) -> tuple[Tensor, Tensor | None]:
        """Labels of a batch as a tensor, and which of them count; None if all do."""
        labels = as_labels(labels, self._device, what)
        mask = self._loss.counts(labels)
        check_batch(select(labels, mask), self._device, self._num_classes, what)
        return labels, mask
