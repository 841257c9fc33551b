"""Measurements on wrong labels, corrected, are those on true labels."""

import pytest
import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from reweigh.issues.true_labels import correction, on_true_labels

TRANSITION = torch.tensor([[0.8, 0.3, 0.0], [0.1, 0.7, 0.1], [0.1, 0.0, 0.9]])
SHARES = torch.tensor([0.6, 0.3, 0.1])


def drawn(samples: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, given and true labels."""
    generator = Generator().manual_seed(seed)
    true = torch.multinomial(SHARES, samples, True, generator=generator)
    given = torch.multinomial(TRANSITION.T[true], 1, generator=generator).squeeze(1)
    return torch.randn(samples, 3, generator=generator) + 2 * F.one_hot(true, 3), given, true


def plainly(logits: Tensor, labels: Tensor) -> dict[str, float]:
    right = (logits.argmax(1) == labels).double()
    balanced = torch.stack([right[labels == each].mean() for each in range(3)]).mean()
    loss = F.cross_entropy(logits.double(), labels)
    return {"accuracy": float(right.mean()), "balanced_accuracy": float(balanced), "log_loss": float(loss)}


def test_a_correction_undoes_the_confusion() -> None:
    weights = correction(TRANSITION)
    assert weights is not None
    torch.testing.assert_close(weights @ TRANSITION.double(), torch.eye(3, dtype=torch.float64))


def test_labels_that_say_nothing_are_not_corrected() -> None:
    assert correction(torch.full((3, 3), 1 / 3)) is None
    assert on_true_labels(torch.zeros(5, 3), torch.zeros(5).long(), torch.full((3, 3), 1 / 3), 99) == {}


def test_measurements_are_those_on_true_labels() -> None:
    logits, given, true = drawn(50_000)
    found, wanted, wrong = (
        on_true_labels(logits, given, TRANSITION, 10**9),
        plainly(logits, true),
        plainly(logits, given),
    )
    for name, (value, error) in found.items():
        assert abs(value - wanted[name]) < 4 * error + 1e-3
        assert abs(wrong[name] - wanted[name]) > 10 * error  # what a comparison on given labels shows


def test_right_labels_are_taken_as_they_are() -> None:
    logits, _, true = drawn(500)
    found, wanted = on_true_labels(logits, true, torch.eye(3), 10**9), plainly(logits, true)
    assert {name: value for name, (value, _) in found.items()} == pytest.approx(wanted)


def test_errors_cover_the_truth_and_grow_if_the_confusion_is_less_known() -> None:
    covered = []
    for seed in range(40):
        logits, given, true = drawn(400, seed)
        (value, error), (_, unsure) = (on_true_labels(logits, given, TRANSITION, n)["accuracy"] for n in (10**9, 60))
        covered.append(abs(value - plainly(logits, true)["accuracy"]) < 2 * error)
        assert unsure > error
    assert sum(covered) >= 36
