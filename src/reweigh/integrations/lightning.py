"""A Lightning callback that learns how much each training sample counts, and finds suspicious labels."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils.data import default_collate

from reweigh.errors import DataError
from reweigh.integrations.trusted import TrustedBatches
from reweigh.reweighter import Reweighter

if TYPE_CHECKING:
    import pandas as pd

Callback: Any = import_module("lightning").Callback


def as_triple(batch: Any) -> tuple[Any, Any, Any]:
    """Inputs, labels and positions in the training set, if a batch is a tuple or list of these three."""
    if not isinstance(batch, tuple | list) or len(batch) != 3:
        got = f"{type(batch).__name__} of {len(batch)}" if hasattr(batch, "__len__") else type(batch).__name__
        raise DataError(
            f"batch: (inputs, labels, index) is needed, where index are positions in the training set; got {got}. "
            "Return the position with each sample, or pass parts=..., which takes a batch apart"
        )
    return batch[0], batch[1], batch[2]


class Reweighing(Callback):
    """Gives a module its weighted loss, as ``self.reweighing``; everything else stays with the trainer.

        class Classifier(LightningModule):
            def training_step(self, batch, number):
                inputs, labels, index = batch
                return self.reweighing.loss(self(inputs), labels, index)

        reweighing = Reweighing(labels, trusted=checked)
        Trainer(callbacks=[reweighing]).fit(Classifier(), loader)
        reweighing.label_issues().head()

    ``forward`` of the module must return the logits (or what the option ``loss`` of ``Reweighter`` understands). The
    weights are learned once per step of the first optimizer, however many batches are accumulated; weights and records
    are part of the checkpoints of the trainer. The look-ahead does not follow ``gradient_clip_val``.

    Attributes:
        reweighter: Made when ``fit`` starts; None before.

    Args:
        labels: Shape (N,), all labels of the training set.
        trusted: Checked samples, as rows of a dataset like that of the training loader. By default, the ten easiest of
            each class are trusted, chosen again in each epoch.
        parts: Batch -> inputs, labels and positions.
        batch_size: Number of samples in a trusted batch.
        options: Options of ``Reweighter``. By default it learns in every step, after an epoch of warm-up.
    """

    def __init__(
        self,
        labels: Any,
        trusted: Any = None,
        *,
        parts: Callable[[Any], tuple[Any, Any, Any]] = as_triple,
        batch_size: int = 64,
        **options: Any,
    ):
        self._labels, self._checked, self._parts = torch.as_tensor(labels), trusted, parts
        self._batch_size, self._options = batch_size, {"every": 1, "warm_up": 1, **options}
        self._trusted: TrustedBatches | None = None
        self._state: dict[str, Any] | None = None
        self.reweighter: Reweighter | None = None

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        made = Reweighter(trainer.model or pl_module, trainer.optimizers[0], self._labels, **self._options)
        if self._state is not None:
            made.load_state_dict(self._state)
        self.reweighter = made
        vars(pl_module)["reweighing"] = self  # not a submodule

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        assert self.reweighter is not None
        if self._trusted is None:
            loader = trainer.train_dataloader
            rows, collate = getattr(loader, "dataset", None), getattr(loader, "collate_fn", None) or default_collate
            args = (self._labels, collate, self._batch_size, trainer.global_rank)
            self._trusted = TrustedBatches(self._checked, rows, *args)
        self._trusted.choose(self.reweighter.losses)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        assert self.reweighter is not None
        assert self._trusted is not None
        if self.reweighter.due:
            inputs, labels, _ = self._parts(batch)
            trusted = self._parts(trainer.strategy.batch_to_device(self._trusted(), pl_module.device))
            with trainer.precision_plugin.forward_context():
                self.reweighter.learn((inputs, labels), (trusted[0], trusted[1]))

    def loss(self, outputs: Any, labels: Tensor, index: Any) -> Tensor:
        """The weighted loss of a training batch, for ``training_step``; ``index`` are positions in the training set."""
        if self.reweighter is None:
            raise DataError("the trainer does not know this callback; pass Trainer(callbacks=[reweighing])")
        losses = self.reweighter.losses_of(outputs, labels)
        weights = self.reweighter.weigh(losses, labels)
        self.reweighter.record(index, outputs, weights)
        return (weights * losses).sum() / weights.sum().clamp_min(1e-30)

    def label_issues(self, class_names: Sequence[object] | None = None) -> "pd.DataFrame":
        """The training samples, the most suspicious label first; see ``Reweighter.label_issues``."""
        if self.reweighter is None:
            raise DataError("nothing was recorded: call fit() first")
        return self.reweighter.label_issues(class_names)

    def state_dict(self) -> dict[str, Any]:
        return {} if self.reweighter is None else self.reweighter.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._state = state_dict or None
