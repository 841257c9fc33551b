"""A Hugging Face Trainer with weights: optimizers of its own, accumulation, checkpoints, label issues."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

transformers = pytest.importorskip("transformers")

from transformers import TrainingArguments  # noqa: E402
from transformers.modeling_outputs import SequenceClassifierOutput  # noqa: E402

from reweigh.errors import DataError, RecipeError  # noqa: E402
from reweigh.integrations.transformers import ReweighTrainer  # noqa: E402

LABELS = torch.arange(48) % 3
FEATURES = torch.randn(48, 5, generator=torch.Generator().manual_seed(0)) + 4 * nn.functional.one_hot(LABELS, 5)
ROWS = [{"features": row, "labels": int(label)} for row, label in zip(FEATURES, LABELS, strict=True)]


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, features: Tensor, labels: Tensor | None = None) -> SequenceClassifierOutput:
        logits = self.layer(features)
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


def made(
    folder: Path, rows: Any = ROWS, trusted: Any = ROWS[:9], reweigh: Any = None, **options: Any
) -> ReweighTrainer:
    torch.manual_seed(0)
    quiet = {"disable_tqdm": True, "report_to": [], "use_cpu": True, "save_strategy": "no", "logging_strategy": "no"}
    arguments = {**quiet, "num_train_epochs": 3, "per_device_train_batch_size": 8, "learning_rate": 0.05, **options}
    model, settings = Small(), TrainingArguments(str(folder), **arguments)
    return ReweighTrainer(model, settings, train_dataset=rows, trusted_dataset=trusted, reweigh=reweigh)


@pytest.fixture(autouse=True)
def _lenient() -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="transformers|torch|accelerate")
        yield


def test_it_learns_and_finds_wrong_labels(tmp_path: Path) -> None:
    wrong = [4, 11, 30]
    rows = [{**row, "labels": (row["labels"] + 1) % 3} if at in wrong else row for at, row in enumerate(ROWS)]
    trainer = made(tmp_path, rows, num_train_epochs=15, reweigh={"warm_up": 2})
    trainer.train()
    assert set(trainer.label_issues().index[:3]) == set(wrong)
    assert trainer.evaluate(ROWS)["eval_loss"] < 0.5


def test_the_easiest_samples_are_trusted_if_none_were_checked(tmp_path: Path) -> None:
    trainer = made(tmp_path, trusted=None)
    trainer.train()
    assert trainer.reweighter is not None
    assert trainer.reweighter._learner.steps == 0  # its own backward
    assert not trainer.reweighter.losses.isnan().any()
    assert trainer.reweighter.weights.state_dict()["optimizer"]["state"]  # something was learned


@pytest.mark.parametrize(("accumulated", "learned"), [(1, 12), (2, 6), (3, 4)])
def test_it_learns_once_per_step_of_the_optimizer(tmp_path: Path, accumulated: int, learned: int) -> None:
    trainer = made(tmp_path, gradient_accumulation_steps=accumulated)  # 6 batches per epoch, the first warms up
    trainer.train()
    state = trainer.reweighter.weights.state_dict()["optimizer"]["state"]
    assert {int(each["step"]) for each in state.values()} == {learned}


def test_plain_weights_are_the_plain_trainer(tmp_path: Path) -> None:
    for accumulated in (1, 2):
        ours = made(tmp_path, reweigh={"warm_up": 3}, gradient_accumulation_steps=accumulated)
        ours.train()
        theirs = made(tmp_path, gradient_accumulation_steps=accumulated)
        plain = transformers.Trainer(theirs.model, theirs.args, train_dataset=ROWS)
        plain.train()
        torch.testing.assert_close(ours.model.state_dict(), plain.model.state_dict())


def test_a_resumed_training_goes_on(tmp_path: Path) -> None:
    whole = made(tmp_path / "whole", save_strategy="steps", save_steps=9)
    whole.train()
    again = made(tmp_path / "whole", save_strategy="no")
    again.train(resume_from_checkpoint=str(tmp_path / "whole" / "checkpoint-9"))
    assert again.reweighter._journal._counts.tolist() == [3.0] * 48
    state = again.reweighter.weights.state_dict()["optimizer"]["state"]
    assert {int(each["step"]) for each in state.values()} == {12}
    (tmp_path / "whole" / "checkpoint-9" / "reweighter-0.safetensors").unlink()
    with pytest.raises(DataError, match="resume from a checkpoint of a ReweighTrainer"):
        again.train(resume_from_checkpoint=str(tmp_path / "whole" / "checkpoint-9"))


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="pass a dataset that has a length"):
        made(tmp_path, rows=None)
    with pytest.raises(DataError, match="rows have the keys features; 'labels' or 'label' is needed"):
        made(tmp_path, rows=[{"features": FEATURES[0]}])
    with pytest.raises(DataError, match="trusted: no samples"):
        made(tmp_path, trusted=[])
    with pytest.raises(RecipeError, match="reweigh: labels cannot be passed"):
        made(tmp_path, reweigh={"labels": LABELS})
    with pytest.raises(DataError, match=r"call train\(\) first"):
        made(tmp_path).label_issues()
