"""A small method with all that makes resuming hard: dropout, BatchNorm, momentum, draws at every epoch."""

from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor, nn

from reweigh.core.objective import Batch
from reweigh.data.dataset import Dataset
from reweigh.fit.scored import judged_by
from reweigh.training import OPTIMIZERS, SCHEDULES, Result, Run, seed_all, train


class Tiny:
    """Plain training with random sample weights, drawn from a generator that it shares with the loop."""

    def __init__(self, generator: Generator, samples: int = 61) -> None:
        self.model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
        self.optimizer = OPTIMIZERS["sgd"](self.model.parameters(), lr=0.05, momentum=0.9)
        self.generator = generator
        self.weights = torch.full((samples,), torch.nan)
        self.power = 1.0
        self.calls: list[Any] = []

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self.calls.append((epoch, warm_up))
        self.power = 0.0 if warm_up else float(torch.rand(1, generator=self.generator))

    def end_epoch(self) -> None:
        pass

    @property
    def finished(self) -> bool:
        return False

    def step(self, batch: Batch) -> dict[str, float]:
        self.calls.append(batch)
        weights = torch.rand(len(batch.index), generator=self.generator) ** self.power
        self.model.train()
        logits = self.model(batch.inputs)
        loss = (weights * nn.functional.cross_entropy(logits, batch.labels, reduction="none")).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.weights[batch.index] = weights
        accuracy = (logits.argmax(1) == batch.labels).float().mean().item()
        return {"loss": loss.item(), "accuracy": accuracy, "weight": weights.mean().item()}

    def sample_weights(self) -> Tensor:
        return self.weights

    def state_dict(self) -> dict[str, Any]:
        parts = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        return {**parts, "weights": self.weights, "power": self.power}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.weights, self.power = state["weights"], state["power"]


def dataset(samples: int = 61) -> Dataset:
    """Three noisy clusters; 61 samples leave one over for batches of 4, 5, 6, 10 or 12."""
    generator = Generator().manual_seed(0)
    labels = torch.arange(samples) % 3
    inputs = torch.randn(samples, 6, generator=generator) + torch.eye(3, 6)[labels]
    return Dataset(inputs, labels, ("a", "b", "c"))


def noise(inputs: Tensor, generator: Generator) -> Tensor:
    """An augmentation."""
    return inputs + 0.1 * torch.randn(inputs.shape, generator=generator)


def begin(
    run: Run | None, method_type: type[Tiny] = Tiny, data: Dataset | None = None, **options: Any
) -> tuple[Tiny, Result]:
    """Assemble and train, or continue what is in the run folder."""
    options = {"epochs": 4, "warmup_epochs": 1, "batch_size": 12, "seed": 3, **options}
    seed_all(options["seed"])
    generator = Generator().manual_seed(options["seed"])
    data = data or dataset()
    method = method_type(generator)
    schedule = SCHEDULES["cosine"](method.optimizer, options["epochs"])
    judged = judged_by({"": data}, data.class_sizes, torch.device("cpu"), abstains=False)
    defaults = {"evaluate": judged, "run": run, "augment": noise, "generator": generator}
    return method, train(method, data, schedule, **{**defaults, **options})


def job(path: Path, epochs: str = "40") -> None:
    """A job for survival.py."""
    run = Run.open(path) if (path / "recipe.toml").exists() else Run.create(path, "")
    method, _ = begin(run, epochs=int(epochs), batch_size=6, checkpoint_steps=3)
    run.write_model(method.model)
    run.write_table(run.samples, {"given_label": dataset().labels.tolist(), "weight": method.sample_weights().tolist()})
