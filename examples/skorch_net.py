"""A skorch net whose training step is a step of a Reweighter: python examples/skorch_net.py"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from skorch import NeuralNetClassifier
from torch import nn

from reweigh import Reweighter


class ReweighingNet(NeuralNetClassifier):
    """Scoring, callbacks, grid searches and the history stay skorch's.

    Args:
        trusted: Inputs and labels that were checked.
    """

    def __init__(self, *arguments, trusted, **options):
        self.trusted = trusted
        super().__init__(*arguments, **options)

    def fit(self, X, y=None, **options):
        self.labels = torch.as_tensor(y)
        return super().fit(X, y, **options)

    def on_train_begin(self, net, X=None, y=None, **options):
        super().on_train_begin(net, X, y, **options)
        self.reweighter_ = Reweighter(self.module_, self.optimizer_, self.labels)

    def train_step(self, batch, **options):
        self._set_training(True)
        inputs, labels = batch
        step = self.reweighter_.step(inputs, labels, *map(torch.as_tensor, self.trusted))
        return {"loss": step.loss, "y_pred": step.outputs}


def main() -> float:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    X, truth = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    given = np.where(rng.random(len(truth)) < 0.3, rng.integers(0, 10, len(truth)), truth)
    module = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    net = ReweighingNet(
        module,
        trusted=(X[:100], truth[:100]),
        criterion=nn.CrossEntropyLoss,
        optimizer__momentum=0.9,
        lr=0.05,
        max_epochs=8,
        batch_size=50,
        train_split=None,
        verbose=0,
    ).fit(X[100:900], given[100:900])
    return float(net.score(X[900:], truth[900:]))


if __name__ == "__main__":
    print(f"{main():.1%} of the test digits are right; 27 % of the labels were wrong")
