"""A Hugging Face ``Trainer`` that learns how much each training sample counts, and finds suspicious labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import Trainer
from transformers.trainer_utils import get_last_checkpoint

from reweigh.errors import DataError, RecipeError
from reweigh.integrations.trusted import TrustedBatches
from reweigh.reweighter import Reweighter
from reweigh.training import checkpoint

if TYPE_CHECKING:
    import pandas as pd

INDEX = "reweigh_index"
FILE = "reweighter-{}.safetensors"


class ReweighTrainer(Trainer):
    """Trains a classifier as ``Trainer`` does, with the weights of a ``Reweighter``.

        trainer = ReweighTrainer(model, arguments, train_dataset=rows, trusted_dataset=checked)
        trainer.train()
        trainer.label_issues().head()

    Optimizer, schedule, accumulation of gradients, mixed precision, several devices and checkpoints are those of
    ``Trainer``; a resumed training goes on with the weights and records of its checkpoint. The look-ahead does not
    follow ``max_grad_norm``.

    Attributes:
        reweighter: Made in the first training step; None before.

    Args:
        trusted_dataset: Rows like those of ``train_dataset`` whose labels were checked. By default the ten easiest of
            each class are trusted, chosen again in each epoch.
        reweigh: Options of ``Reweighter``, such as ``{"scope": "last-layer"}``, which costs half. By default it learns
            in every step, after an epoch of warm-up.

    Other arguments are those of ``Trainer``; ``train_dataset`` must have a length, and rows with the key "labels" or
    "label".

    Raises:
        DataError: Its labels cannot be read, or ``trusted_dataset`` is empty.
        RecipeError: An option is given that the trainer sets itself.
    """

    def __init__(
        self, *args: Any, trusted_dataset: Any = None, reweigh: Mapping[str, Any] | None = None, **options: Any
    ):
        super().__init__(*args, **options)
        taken = {"model", "optimizer", "labels", "weighting"} & (reweigh or {}).keys()
        if taken:
            raise RecipeError(f"reweigh: {', '.join(sorted(taken))} cannot be passed; the trainer knows them")
        self._options = {"every": 1, "warm_up": 1, **(reweigh or {})}
        self._labels = _labels_of(self.train_dataset)
        self.train_dataset = _Numbered(self.train_dataset)
        self._trusted = TrustedBatches(
            trusted_dataset,
            self.train_dataset,
            self._labels,
            self._get_collator_with_removed_columns(self.data_collator),
            self.args.train_batch_size,
            seed=self.args.seed + self.args.process_index,
        )
        self.reweighter: Reweighter | None = None
        self._chosen_in, self._resumed_from = -1, None
        # the loss is a mean over one batch: the trainer divides it by the number of batches that it accumulates
        self.model_accepts_loss_kwargs = self.loss_is_scaled_for_ga = False

    def train(self, resume_from_checkpoint: str | bool | None = None, *args: Any, **options: Any) -> Any:
        found = resume_from_checkpoint
        self._resumed_from = get_last_checkpoint(self.args.output_dir) if found is True else found or None
        self.reweighter = None
        return super().train(resume_from_checkpoint, *args, **options)

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The weighted loss of a training batch; the weights are learned before it, where that is due."""
        index = inputs.pop(INDEX, None)
        if index is None:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if self.reweighter is None:
            self.reweighter = self._made(model)
        reweighter, labels = self.reweighter, inputs.pop("labels")
        if self._chosen_in != int(self.state.epoch or 0):
            self._chosen_in = int(self.state.epoch or 0)
            self._trusted.choose(reweighter.losses)
        if reweighter.due:
            trusted = self._prepare_inputs(self._trusted())
            trusted.pop(INDEX, None)
            reweighter.learn((inputs, labels), (trusted, trusted.pop("labels")))
        outputs = model(**inputs)
        losses = reweighter.losses_of(outputs, labels)
        weights = reweighter.weigh(losses, labels)
        reweighter.record(index, outputs, weights)
        loss = (weights * losses).sum() / weights.sum().clamp_min(1e-30)
        return (loss, outputs) if return_outputs else loss

    def label_issues(self, class_names: Sequence[object] | None = None) -> "pd.DataFrame":
        """The training samples, the most suspicious label first; see ``Reweighter.label_issues``."""
        if self.reweighter is None:
            raise DataError("nothing was recorded: call train() first")
        return self.reweighter.label_issues(class_names)

    def _made(self, model: nn.Module) -> Reweighter:
        optimizer: Any = self.optimizer
        made = Reweighter(model, optimizer, self._labels, **self._options)
        if self._resumed_from is not None:
            folder, own = Path(self._resumed_from), FILE.format(self.args.process_index)
            file = folder / own if (folder / own).is_file() else folder / FILE.format(0)
            if not file.is_file():
                raise DataError(f"{folder}: has no {file.name}; resume from a checkpoint of a ReweighTrainer")
            made.load_state_dict(checkpoint.load(file))
        return made

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        folder = Path(str(self.args.output_dir), f"checkpoint-{self.state.global_step}")
        if self.reweighter is not None:
            checkpoint.save(folder / FILE.format(self.args.process_index), self.reweighter.state_dict())

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        if self._signature_columns is not None and INDEX not in self._signature_columns:
            self._signature_columns = [*self._signature_columns, INDEX]


class _Numbered(Dataset):
    """The rows of a dataset, each with its position."""

    def __init__(self, rows: Any):
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {**self._rows[index], INDEX: index}


def _labels_of(rows: Any) -> Tensor:
    if rows is None or not hasattr(rows, "__len__") or len(rows) == 0:
        raise DataError("train_dataset: class sizes must be known before training; pass a dataset that has a length")
    name = next((name for name in ("labels", "label") if name in rows[0]), None)
    if name is None:
        keys = ", ".join(map(str, rows[0]))
        raise DataError(f"train_dataset: rows have the keys {keys}; 'labels' or 'label' is needed")
    return torch.tensor([int(row[name]) for row in rows])
