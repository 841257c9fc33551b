"""Weights for any loss per item, here class and box of each object in an image: python examples/detection_weights.py

An item is whatever has a loss of its own: an object, a pixel, a token. An image with one wrong object keeps the others.
"""

import torch
from torch import nn
from torch.nn import functional as F

from reweigh import Reweighter

OBJECTS, CLASSES, FEATURES = 4, 3, 16  # per image; of an object; of what the backbone sees of it


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU())
        self.classes, self.boxes = nn.Linear(64, CLASSES), nn.Linear(64, 4)

    def forward(self, images: torch.Tensor, boxes: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden = self.body(images).flatten(0, 1)
        distance = F.smooth_l1_loss(self.boxes(hidden), boxes.flatten(0, 1), reduction="none").mean(1)
        return {"logits": self.classes(hidden), "distance": distance}


def loss_per_object(outputs: dict[str, torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(outputs["logits"], labels, reduction="none") + outputs["distance"]


def scenes(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # images, boxes, classes
    classes = torch.randint(CLASSES, (count, OBJECTS))
    images = torch.randn(count, OBJECTS, FEATURES) + 3 * F.one_hot(classes, FEATURES)
    return images, images[..., -4:] + 0.1 * torch.randn(count, OBJECTS, 4), classes


def accuracy(seed: int, checked: bool, ours: bool) -> float:
    torch.manual_seed(seed)
    (images, boxes, truth), test = scenes(400), scenes(1000)
    wrong = (torch.rand(truth.shape) < 0.4) & (torch.arange(400) >= 30)[:, None]  # the first 30 images are checked
    given = torch.where(wrong, (truth + 1) % CLASSES, truth)
    trusted = ({"images": images[:30], "boxes": boxes[:30]}, truth[:30].flatten())
    optimizer = torch.optim.SGD((model := Detector()).parameters(), lr=0.1, momentum=0.9)
    options = {"every": 1, "meta_lr": 3e-3, "warm_up": 1 if ours else 12}  # in the warm-up, all weights are one
    reweighter = Reweighter(model, optimizer, given.flatten(), loss=loss_per_object, **options)
    for _ in range(12):
        for batch in torch.randperm(400).split(25):
            batch = batch[batch >= (0 if checked else 30)]
            reweighter.step({"images": images[batch], "boxes": boxes[batch]}, given[batch].flatten(), *trusted)
    return float((model(*test[:2])["logits"].argmax(1) == test[2].flatten()).float().mean())


def main(seeds: int = 4) -> dict[str, float]:
    kinds = {"plain": (False, False), "plain with the checked images": (True, False), "ours": (True, True)}
    return {name: sum(accuracy(seed, *kind) for seed in range(seeds)) / seeds for name, kind in kinds.items()}


if __name__ == "__main__":
    print(*(f"{name:30}{share:.1%}" for name, share in main().items()), sep="\n")
