"""A Lightning module whose loss is weighted by a callback: python examples/lightning_module.py"""

import warnings

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from reweigh.integrations.lightning import Reweighing


class Digits(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.network(inputs)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

    def training_step(self, batch, number: int) -> torch.Tensor:
        inputs, labels, index = batch
        if hasattr(self, "reweighing"):
            return self.reweighing.loss(self(inputs), labels, index)
        return nn.functional.cross_entropy(self(inputs), labels)


def accuracy(train: Dataset, test: Dataset, seed: int, *callbacks: lightning.Callback) -> float:
    lightning.seed_everything(seed, verbose=False)
    module, options = Digits(), {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(max_epochs=30, enable_model_summary=False, callbacks=[*callbacks], **options)
    trainer.fit(module, DataLoader(train, batch_size=50, shuffle=True))
    return float((module(test[:][0]).argmax(1) == test[:][1]).float().mean())


def main(seeds: int = 4) -> dict[str, float]:
    pixels, digit = load_digits(return_X_y=True)
    rows = TensorDataset(torch.tensor(pixels, dtype=torch.float32) / 16, torch.tensor(digit), torch.arange(len(digit)))
    inputs, truth, index = rows[:800]
    found = {}
    for seed in range(seeds):
        random = torch.Generator().manual_seed(seed)
        given = torch.where(torch.rand(800, generator=random) < 0.6, truth, torch.randint(10, (800,), generator=random))
        given[:100] = truth[:100]  # these labels were checked
        plain, checked = (TensorDataset(inputs[rest:], given[rest:], index[: 800 - rest]) for rest in (100, 0))
        ours = Reweighing(given, TensorDataset(*checked[:100]), meta_lr=3e-3, warm_up=2)
        for name, args in {"plain": [plain], "with the checked rows": [checked], "ours": [checked, ours]}.items():
            found[name] = found.get(name, 0.0) + accuracy(args[0], TensorDataset(*rows[800:]), seed, *args[1:]) / seeds
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(*(f"{name:30}{share:.1%}" for name, share in main().items()), sep="\n")
