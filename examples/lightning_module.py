"""A Lightning module whose step is that of a Reweighter: python examples/lightning_module.py"""

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from reweigh import LowestLoss, Reweighter


class Digits(lightning.LightningModule):
    """Trusts the easiest samples of each class, chosen again in each epoch."""

    def __init__(self, inputs: torch.Tensor, labels: torch.Tensor):
        super().__init__()
        self.automatic_optimization = False  # the step of the Reweighter is the whole step
        self.network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.inputs, self.labels = inputs, labels

    def configure_optimizers(self):
        return torch.optim.SGD(self.network.parameters(), lr=0.1, momentum=0.9)

    def on_fit_start(self) -> None:
        optimizer = self.optimizers().optimizer  # torch's own, inside Lightning's
        self.reweighter = Reweighter(self.network, optimizer, self.labels, every=5)

    def on_train_epoch_start(self) -> None:
        self.trusted = LowestLoss(per_class=5).choose(self.labels, self.reweighter.losses)

    def training_step(self, batch, number: int) -> None:
        inputs, labels, index = batch
        step = self.reweighter.step(inputs, labels, self.inputs[self.trusted], self.labels[self.trusted])
        self.reweighter.record(index, step.outputs, step.weights)
        self.log("train_loss", step.loss)


def main() -> float:
    lightning.seed_everything(0, verbose=False)
    pixels, truth = load_digits(return_X_y=True)
    inputs, truth = torch.tensor(pixels, dtype=torch.float32) / 16, torch.tensor(truth)
    given = torch.where(torch.rand(len(truth)) < 0.3, torch.randint(10, (len(truth),)), truth)
    inputs, given, test = inputs[:800], given[:800], (inputs[800:], truth[800:])
    module = Digits(inputs, given)
    loader = DataLoader(TensorDataset(inputs, given, torch.arange(800)), batch_size=50, shuffle=True)
    options = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}
    lightning.Trainer(max_epochs=6, enable_model_summary=False, **options).fit(module, loader)
    found = module.reweighter.label_issues().head(50).index.tolist()
    print(f"{(given[found] != truth[:800][found]).float().mean():.0%} of the 50 most suspicious labels are wrong")
    return float((module.network(test[0]).argmax(1) == test[1]).float().mean())


if __name__ == "__main__":
    print(f"{main():.1%} of the test digits are right; 27 % of the labels were wrong")
