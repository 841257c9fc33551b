"""Weights for any loss per item, here class and box of each object in an image: python examples/detection_weights.py

An item is whatever has a loss of its own: an object, a pixel, a token. An image with one wrong object keeps the others.
"""

import torch
from torch import nn
from torch.nn import functional as F

from reweigh import Reweighter

OBJECTS, CLASSES, FEATURES = 4, 3, 16  # per image; of an object; of what the backbone sees of it


class Detector(nn.Module):
    """Class logits for each object, and how far its box is off; one row per object of the batch."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU())
        self.classes, self.boxes = nn.Linear(64, CLASSES), nn.Linear(64, 4)

    def forward(self, images: torch.Tensor, boxes: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden = self.body(images).flatten(0, 1)
        distance = F.smooth_l1_loss(self.boxes(hidden), boxes.flatten(0, 1), reduction="none").mean(1)
        return {"logits": self.classes(hidden), "distance": distance}


def loss_per_object(outputs: dict[str, torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
    """Shape (objects of all images,): class and box."""
    return F.cross_entropy(outputs["logits"], labels, reduction="none") + outputs["distance"]


def scenes(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # images, boxes, classes
    classes = torch.randint(CLASSES, (count, OBJECTS))
    images = torch.randn(count, OBJECTS, FEATURES) + 3 * F.one_hot(classes, FEATURES)
    return images, images[..., -4:] + 0.1 * torch.randn(count, OBJECTS, 4), classes


def main() -> tuple[float, float]:
    torch.manual_seed(0)
    images, boxes, truth = scenes(400)
    given = torch.where(torch.rand(truth.shape) < 0.3, (truth + 1) % CLASSES, truth)
    trusted = ({"images": images[:30], "boxes": boxes[:30]}, truth[:30].flatten())
    optimizer = torch.optim.SGD((model := Detector()).parameters(), lr=0.1, momentum=0.9)
    options = {"loss": loss_per_object, "every": 1, "meta_lr": 3e-3, "warm_up": 1}
    reweighter = Reweighter(model, optimizer, given[30:].flatten(), **options)
    weights = torch.ones(truth.shape)
    for _ in range(8):
        for batch in (30 + torch.randperm(370)).split(25):
            inputs = {"images": images[batch], "boxes": boxes[batch]}
            step = reweighter.step(inputs, given[batch].flatten(), *trusted)
            weights[batch] = step.weights.view(-1, OBJECTS)
    wrong = (given != truth)[30:]
    return float(weights[30:][~wrong].mean()), float(weights[30:][wrong].mean())


if __name__ == "__main__":
    print("mean weight of objects: right label {:.2f}, wrong label {:.2f}".format(*main()))
