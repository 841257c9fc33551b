"""A Lightning callback: accumulation, checkpoints, label issues."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

lightning = pytest.importorskip("lightning")

from reweigh.errors import DataError  # noqa: E402
from reweigh.integrations.lightning import Reweighing  # noqa: E402

LABELS = torch.arange(48) % 3
FEATURES = torch.randn(48, 5, generator=torch.Generator().manual_seed(0)) + 4 * nn.functional.one_hot(LABELS, 5)
QUIET = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}


class Small(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(5, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.layer(inputs)

    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.parameters(), 0.05)

    def training_step(self, batch: Any, number: int) -> Tensor:
        inputs, labels, index = batch
        return self.reweighing.loss(self(inputs), labels, index)


def fit(labels: Tensor, folder: Path, epochs: int = 3, resume: Any = None, trusted: Any = None, **options: Any) -> Any:
    rows = TensorDataset(FEATURES, labels, torch.arange(48))
    reweighing, own = Reweighing(labels, trusted, warm_up=1), {"enable_checkpointing": False, **QUIET, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = lightning.Trainer(max_epochs=epochs, default_root_dir=folder, callbacks=[reweighing], **own)
        trainer.fit(Small(), DataLoader(rows, batch_size=8, shuffle=True), ckpt_path=resume)
    return trainer, reweighing


def learned(reweighing: Reweighing) -> set[int]:
    return {int(each["step"]) for each in reweighing.reweighter.weights.state_dict()["optimizer"]["state"].values()}


def test_it_finds_wrong_labels(tmp_path: Path) -> None:
    wrong = [4, 11, 30]
    labels = LABELS.clone()
    labels[wrong] = (labels[wrong] + 1) % 3
    _, reweighing = fit(labels, tmp_path, epochs=15)
    assert set(reweighing.label_issues().index[:3]) == set(wrong)


def test_checked_samples_are_trusted(tmp_path: Path) -> None:
    checked = TensorDataset(FEATURES[:4], LABELS[:4], torch.arange(4))
    _, reweighing = fit(LABELS, tmp_path, trusted=checked)
    assert learned(reweighing) == {12}


@pytest.mark.parametrize(("accumulated", "steps"), [(1, 12), (2, 6), (3, 4)])
def test_it_learns_once_per_step_of_the_optimizer(tmp_path: Path, accumulated: int, steps: int) -> None:
    _, reweighing = fit(LABELS, tmp_path, accumulate_grad_batches=accumulated)
    assert learned(reweighing) == {steps}


def test_a_resumed_training_goes_on(tmp_path: Path) -> None:
    trainer, _ = fit(LABELS, tmp_path, epochs=2)
    trainer.save_checkpoint(tmp_path / "two.ckpt")
    _, again = fit(LABELS, tmp_path, epochs=3, resume=tmp_path / "two.ckpt")
    assert learned(again) == {12}
    assert again.reweighter._journal._counts.tolist() == [3.0] * 48


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(DataError, match=r"call fit\(\) first"):
        Reweighing(LABELS).label_issues()
    with pytest.raises(DataError, match=r"pass Trainer\(callbacks=\[reweighing\]\)"):
        Reweighing(LABELS).loss(torch.zeros(2, 3), LABELS[:2], torch.arange(2))
    with pytest.raises(DataError, match=r"\(inputs, labels, index\) is needed.* got list of 2"):
        Reweighing(LABELS)._parts([FEATURES, LABELS])
