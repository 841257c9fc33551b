"""The judge: what it keeps against a slow computation, and runs that are judged and interrupted."""

import copy
import runpy
from pathlib import Path

import pytest
import torch
from torch import Generator, nn

from reweigh.data import Dataset
from reweigh.training import SCHEDULES, Recall, Run, seed_all, train
from reweigh.training.judge import HeldOutScores, Judge

Tiny = runpy.run_path(str(Path(__file__).parent / "tiny.py"))["Tiny"]
NAMES = ("a", "b", "c")
INPUTS = torch.randn(91, 6, generator=Generator().manual_seed(0))
LABELS = torch.arange(91) % 3
TRAIN, HELD_OUT = Dataset(INPUTS[:61], LABELS[:61], NAMES), Dataset(INPUTS[61:], LABELS[61:], NAMES)


def predicted(model):
    return model.eval()(HELD_OUT.inputs).argmax(1)


class Watched(Judge):
    """Remembers every model that it was shown."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen, self.ends = [], []

    def step(self, model):
        super().step(model)
        self.seen.append([value.detach().clone() for value in model.parameters()])

    def end_epoch(self, record):
        numbers = super().end_epoch(record)
        self.ends.append(copy.deepcopy(self.model))
        return numbers


def judged(epochs: int = 6, run: Run | None = None, kind=Watched, stop_after: int | None = None, **options):
    seed_all(0)
    generator = Generator().manual_seed(0)
    method = Tiny(generator)
    judge, recall = (
        kind(method.model, HELD_OUT.labels, predicted, 4, epochs, **options),
        Recall(TRAIN, epochs, looks=epochs),
    )
    schedule = SCHEDULES["constant"](method.optimizer, epochs)
    result = train(
        method, TRAIN, schedule, run=run, generator=generator, record=recall, judge=judge,
        evaluate=lambda model: {"right": float((model.eval()(HELD_OUT.inputs).argmax(1) == HELD_OUT.labels).sum())},
        epochs=stop_after or epochs, batch_size=16,
    )  # fmt: skip
    return method, judge, recall, result


def test_the_average_is_a_bias_corrected_mean_over_about_an_epoch() -> None:
    _, judge, _, _ = judged(epochs=2)
    share, decay = 1 / 4, 3 / 4
    total = sum(share * decay**age for age in range(len(judge.seen)))
    for place, value in enumerate(judge.model.parameters()):
        mean = sum(share * decay**age * seen[place] for age, seen in enumerate(reversed(judge.seen))) / total
        torch.testing.assert_close(value, mean)


def latest_of_the_best(scores, epochs):
    """Among epochs that are within half a standard error of the best, the latest."""
    means = [float(each) for each in scores.scores()]
    best = max(range(epochs), key=means.__getitem__)
    close = []
    for epoch in range(best + 1, epochs):
        behind, error = scores.compare(scores.around(best), scores.around(epoch))
        close += [epoch] if behind < 0.5 * error else []
    return max(close, default=best)


def test_the_model_of_the_kept_epoch_is_restored_and_tested() -> None:
    method, judge, _, result = judged()
    scores = HeldOutScores(HELD_OUT.labels)
    for model in judge.ends:
        scores.add(model.eval()(HELD_OUT.inputs).argmax(1))
    best = latest_of_the_best(scores, 6)
    lead, error = scores.compare(scores.around(best), scores.around(5))
    kept = best if lead > error else 5
    assert result.history[-1]["judge_keeps"] == kept + 1 == result.kept["epoch"]
    for mine, its in zip(method.model.state_dict().values(), judge.ends[kept].state_dict().values(), strict=True):
        assert torch.equal(mine, its)
    right = (method.model.eval()(HELD_OUT.inputs).argmax(1) == HELD_OUT.labels).sum()
    assert result.kept["test_right"] == float(right)
    assert result.kept["judge_accuracy"] == pytest.approx(float(scores.accuracy(kept)[0]))


class Falling(Watched):
    """Sees the first epochs right and the others wrong, whatever the model."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._predict = lambda _: (HELD_OUT.labels + (len(self.scores.right) >= 3)) % 3


def test_an_early_epoch_is_kept_if_clearly_better_and_the_recall_ends_there() -> None:
    method, judge, recall, result = judged(kind=Falling)
    assert judge.best == 1  # its score is a mean over the first three epochs
    _, reference, until, _ = judged(stop_after=2)
    until.look(reference.ends[1])
    torch.testing.assert_close(recall.predictions[torch.arange(61)], until.predictions[torch.arange(61)])
    assert recall.looks == 3
    assert result.kept["epoch"] == 2
    first = judge.ends[1].state_dict()
    assert all(torch.equal(value, first[name]) for name, value in method.model.state_dict().items())


def test_a_resumed_run_keeps_the_same(tmp_path: Path) -> None:
    method, _, recall, result = judged(kind=Falling)
    judged(run=Run.create(tmp_path / "run", ""), kind=Falling, stop_after=4)
    again, _, recalled, resumed = judged(run=Run.open(tmp_path / "run"), kind=Falling)
    assert resumed.kept["judge_accuracy"] == result.kept["judge_accuracy"]
    assert [line["judge_keeps"] for line in resumed.history] == [line["judge_keeps"] for line in result.history]
    for mine, its in zip(again.model.parameters(), method.model.parameters(), strict=True):
        assert torch.equal(mine, its)
    assert torch.equal(recalled.predictions[torch.arange(61)], recall.predictions[torch.arange(61)])


def test_it_keeps_three_epochs_at_most() -> None:
    _, judge, _, _ = judged()
    assert len(judge.state_dict()["kept"]) <= 3


def test_a_model_without_parameters_that_change_is_kept_as_of_the_last_epoch() -> None:
    judge = Judge(nn.Linear(6, 3), HELD_OUT.labels, predicted, 1, 5)
    for _ in range(5):
        judge.end_epoch(None)
    assert judge.best == 4


def test_training_stops_when_the_best_epoch_is_clearly_past(tmp_path: Path) -> None:
    method, judge, _, result = judged(12, run=Run.create(tmp_path / "run", ""), kind=Falling, stops=True)
    assert len(result.history) < 12
    assert judge.early
    again, _, _, same = judged(12, run=Run.open(tmp_path / "run"), kind=Falling, stops=True)
    assert same.history == result.history  # nothing is trained any more
    for mine, its in zip(again.model.parameters(), method.model.parameters(), strict=True):
        assert torch.equal(mine, its)


def test_a_judge_that_does_not_choose_keeps_the_last_epoch() -> None:
    method, judge, _, result = judged(kind=Falling, chooses=False)
    assert result.kept["epoch"] == 6
    last = judge.ends[-1].state_dict()
    assert all(torch.equal(value, last[name]) for name, value in method.model.state_dict().items())


def test_it_stops_by_itself() -> None:
    judge = Judge(nn.Linear(6, 3), HELD_OUT.labels, predicted, 1, 40, stops=True)
    for epoch in range(40):
        judge._predict = lambda _, right=epoch < 9: HELD_OUT.labels if right else (HELD_OUT.labels + 1) % 3
        judge.end_epoch(None)
        if judge.over:
            break
    assert 10 <= epoch < 16
    assert judge.best <= 8
