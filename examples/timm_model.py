"""A network as timm builds them, passed to the estimator: python examples/timm_model.py

The class below stands for ``timm.create_model("resnet18", num_classes=10, in_chans=1)``: it has their interface. With
timm installed, pass that model instead; nothing else changes. It is copied, so a pretrained one is fine-tuned.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from reweigh import RobustClassifier


class TimmLike(nn.Module):
    """``forward_features``, ``forward_head``, ``num_classes`` and ``default_cfg``, as every model of timm."""

    def __init__(self, num_classes: int, in_chans: int = 3, width: int = 16):
        super().__init__()
        self.num_classes, self.num_features = num_classes, 2 * width
        self.default_cfg = {"input_size": (in_chans, 8, 8), "mean": (0.5,) * in_chans, "std": (0.5,) * in_chans}
        self.conv_stem = nn.Conv2d(in_chans, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.block = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.fc = nn.Linear(2 * width * 16, num_classes)

    def forward_features(self, images: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.block(torch.relu(self.bn1(self.conv_stem(images)))))

    def forward_head(self, features: torch.Tensor) -> torch.Tensor:
        return self.fc(features.flatten(1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.forward_head(self.forward_features(images))


def main() -> float:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    digits = load_digits()
    images = (digits.images[:, None] * 15.9).astype(np.uint8)
    given = np.where(rng.random(len(images)) < 0.2, rng.permutation(digits.target), digits.target)
    model = TimmLike(num_classes=10, in_chans=1)
    classifier = RobustClassifier("cmw-net", model=model, epochs=4, lr=3e-3, random_state=0)
    classifier.fit(images[:800], given[:800])
    print(classifier.label_issues_.head())
    return float(classifier.score(images[800:], digits.target[800:]))


if __name__ == "__main__":
    print(f"{main():.1%} of the test digits are right; 18 % of the labels were wrong")
