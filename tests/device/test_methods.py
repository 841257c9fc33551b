"""Every method trains on a device what it trains on the CPU, mixes nothing, and does not wait for the device."""

import pytest
import torch
from torch import Tensor, nn

pretend = pytest.importorskip("tests.device.pretend", exc_type=ImportError)  # torch before 2.9 has no devices in Python

from reweigh.bias import CANDIDATES  # noqa: E402
from reweigh.compare.grid import plan  # noqa: E402
from reweigh.data import Dataset, few_labels, with_candidates  # noqa: E402
from reweigh.fit.trainer import Trainer, own_randomness  # noqa: E402
from reweigh.methods import METHODS  # noqa: E402

EPOCHS, BATCH, EVERY = 2, 18, 2
LONGER = {"two-looks": 12}  # epochs, so that there is a second look, and an end
STEPS = 36 // BATCH
WAITS = {  # in a step of a method that must know something before it can go on, or keeps much on the host
    "decoupling": 1,  # whether the two networks differ at all
    "plc": 1,  # rows of several epochs are kept on the host
    "lrt": 1,
    "oltr": 1,  # whether its memory is in use, which is stored with the model
    "oltr+cmw-net": 5,
    "selfie": 1,
    "two-looks": 13,  # the check of its first step that learns
}
LABELS = torch.arange(36) % 3


def data(name: str) -> Dataset:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(36, 1, 6, 6, generator=generator) + LABELS.view(-1, 1, 1, 1) / 2
    found = Dataset(inputs, LABELS, ("a", "b", "c"))
    if METHODS[name].unlabeled:
        return few_labels(found, 18, seed=0)
    if METHODS[name].candidates:
        return with_candidates(found, CANDIDATES["independent"](found.labels, 3, 0, q=0.3))
    return found.with_labels(torch.where(torch.arange(36) % 5 == 0, (LABELS + 1) % 3, LABELS))


def network(shape: tuple[int, ...], num_classes: int) -> nn.Module:
    body = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.1)
    return nn.Sequential(*body, nn.Linear(16, num_classes))


def trained(name: str, device: torch.device) -> tuple[dict[str, Tensor], list[list[str]]]:
    """The weights of a method, and where the host waited in each step."""
    epochs = LONGER.get(name, EPOCHS)
    changes = [f"train.epochs={epochs}", "train.warmup_epochs=1", f"train.batch_size={BATCH}", "meta_set.per_class=2"]
    changes += [f"method.every={EVERY}", "method.check=false"]  # the check of the first step waits
    (recipe,) = plan("demo", changes, [name], seeds=1).values()
    waits: list[list[str]] = []
    samples = data(name)
    with own_randomness(0):
        method, schedule, setup = Trainer(recipe, network, device).assemble(samples)
        for epoch in range(epochs):
            schedule.start_epoch(epoch)
            method.start_epoch(epoch, epoch == 0)
            for index in torch.arange(36).split(BATCH):
                batch = samples.batch(index, setup.augment, setup.generator, device)
                with pretend.counted() as found:
                    method.step(batch)
                waits.append(list(found))
            method.end_epoch()
    return {key: pretend.home(value).clone() for key, value in method.model.state_dict().items()}, waits


@pytest.mark.parametrize("name", METHODS)
def test_as_on_the_cpu_and_without_waiting(name: str) -> None:
    expected, _ = trained(name, torch.device("cpu"))
    with pretend.available():
        found, waits = trained(name, pretend.DEVICE)
    for key, value in expected.items():
        torch.testing.assert_close(found[key], value, rtol=1e-4, atol=1e-5)
    for step, lines in enumerate(waits):
        learns = (METHODS[name].learns_weights and step >= STEPS) or name in LONGER
        assert len(lines) <= max(WAITS.get(name, 0), learns), lines
    waiting = sum(bool(lines) for lines in waits)
    assert waiting <= len(waits) / (5 if name in LONGER else EVERY) or name in WAITS  # two-looks learns in each fifth
