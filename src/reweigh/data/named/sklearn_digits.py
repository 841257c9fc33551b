"""scikit-learn's handwritten digits: 1,797 images of 8 x 8 pixels that come with the package."""

from pathlib import Path
from typing import Annotated

import torch
from annotated_types import Gt, Lt

from reweigh.data.dataset import Dataset, Splits
from reweigh.data.normalize import standardize_like
from reweigh.data.subsets import part


def digits(
    root: Path,
    *,
    test_fraction: Annotated[float, Gt(0), Lt(1)] = 0.3,
    split_seed: int = 0,
    train_size: Annotated[int, Gt(0)] | None = None,
    subset_seed: int = 0,
) -> Splits:
    """Handwritten digits, 1,797 images of 8 x 8 in gray that come with scikit-learn, for experiments that take seconds.

    Args:
        root: Not used; no file is read.
        test_fraction: Share of the images to test on, the same of each class.
        split_seed: Seed of this split, separate from that of training, so that all runs test on the same images.
        train_size: Number of training samples, with the same share of each class; all by default.
        subset_seed: Seed that chooses them.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, labels = load_digits(return_X_y=True)
    images = torch.from_numpy(pixels).reshape(-1, 1, 8, 8).mul_(255 / 16).round_().byte()  # 17 gray levels, 0 to 16
    labels = torch.from_numpy(labels).long()
    train, test = train_test_split(
        torch.arange(len(labels)).numpy(), test_size=test_fraction, stratify=labels.numpy(), random_state=split_seed
    )
    train, test = torch.from_numpy(train).sort().values, torch.from_numpy(test).sort().values
    everything = Dataset(images, labels, tuple("0123456789"), normalize=standardize_like(images[train]))
    return Splits(part(everything.subset(train), train_size, subset_seed, "train_size"), everything.subset(test))
