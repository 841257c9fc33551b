"""Why CMW-Net adds nothing to PRODEN: python benchmarks/second_stage.py RUN --data FOLDER --dataset fashion-mnist

RUN is a finished run of ``proden+cmw-net`` of the table of candidate labels (``reweigh tables partial --commands``) on
MNIST or Fashion-MNIST, and FOLDER holds the images. Prints how many of the identified labels are right, what weights
and losses right and wrong ones have, the learned curves, and the test accuracy of a fresh network that learns these
labels without weights, and of one that learns the true labels, both with the schedule of the second stage.
"""

import argparse
import statistics
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import Tensor

from reweigh.data.readers.published import find_idx_pair, read_idx
from reweigh.models.mlp import mlp
from reweigh.weighting import load_weighting, num_curves

EPOCHS, FALLS = 120, [80, 100]
LOSSES = torch.tensor([0.0, 1.0, 2.0, 4.0])


def images(folder: Path, part: str) -> tuple[Tensor, Tensor]:
    """Rows of pixels from 0 to 1, and labels."""
    pair = find_idx_pair(folder, part)
    assert pair, f"{folder}: no {part} part"
    pixels, labels = (torch.as_tensor(read_idx(file)) for file in pair)
    return pixels.flatten(1).float() / 255, labels.long()


def trained(inputs: Tensor, labels: Tensor, test_inputs: Tensor, test: Tensor, seed: int) -> float:
    """The test accuracy of the last epoch in percent, after plain training as in the second stage."""
    torch.manual_seed(seed)
    model = mlp(tuple(inputs.shape[1:]), 10, hidden=(300, 300, 300, 300))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, FALLS)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(labels)).split(128):
            optimizer.zero_grad()
            F.cross_entropy(model(inputs[batch]), labels[batch]).backward()
            optimizer.step()
        schedule.step()
    with torch.no_grad():
        return 100 * float((model.eval()(test_inputs).argmax(1) == test).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dataset", choices=["mnist", "fashion-mnist"], default="fashion-mnist")
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    (inputs, true), (test_inputs, test) = (images(asked.data / asked.dataset, part) for part in ("train", "test"))
    with safe_open(asked.run / "checkpoint" / "last.safetensors", "pt") as checkpoint:
        identified = checkpoint.get_tensor("0/method/labels")
    samples: Any = pd.read_csv(asked.run / "samples.csv")
    weight, right = torch.tensor(samples["weight"].to_numpy()), identified == true
    print(
        f"{right.double().mean():.2%} of the identified labels are right; in the end, of the likeliest candidates",
        end=" ",
    )
    print(f"{(samples['given_label'] == samples['true_label']).mean():.2%}")
    loss = torch.tensor(samples["loss"].to_numpy())
    for what, some in (("right", right), ("wrong", ~right)):
        print(f"{what} labels: mean weight {weight[some].mean():.3f}, mean loss {loss[some].mean():.3f}")
    net, _ = load_weighting(asked.run / "weighting.safetensors")
    for family in range(num_curves(net)):
        with torch.no_grad():
            curve = net(LOSSES, torch.full((len(LOSSES),), family))
        print(
            f"family {family + 1}: weights at losses {LOSSES.tolist()}: {[round(each, 2) for each in curve.tolist()]}"
        )
    mean, spread = inputs.mean(), inputs.std()
    inputs, test_inputs = (inputs - mean) / spread, (test_inputs - mean) / spread
    for what, labels in (("identified labels, no weights", identified), ("true labels", true)):
        found = [trained(inputs, labels, test_inputs, test, seed) for seed in range(asked.seeds)]
        print(f"{what}: {statistics.mean(found):.2f}, by seed {', '.join(f'{each:.2f}' for each in found)}", flush=True)


if __name__ == "__main__":
    main()
