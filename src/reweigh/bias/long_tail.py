"""Long tail: class sizes that fall exponentially, cut from balanced data."""

from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge, Gt
from torch import Tensor

from reweigh.bias.biased import Biased, check_labels, compare
from reweigh.errors import DataError


def long_tail(
    labels: Tensor,
    num_classes: int,
    seed: int,
    *,
    imbalance_factor: Annotated[float, Ge(1)],
    largest: Annotated[int, Gt(0)] | None = None,
) -> Biased:
    """Keep int(largest * imbalance_factor^(-c / (C - 1))) samples of class c, chosen at random.

    Labels do not change; class 0 becomes the largest and the last class the smallest.

    Examples:
        >>> biased = long_tail(torch.arange(400) % 4, num_classes=4, seed=0, imbalance_factor=10)
        >>> torch.bincount(biased.labels)
        tensor([100,  46,  21,  10])

    Args:
        labels: Shape (N,).
        imbalance_factor: Size of the largest class over that of the smallest. Paper: 1 to 200.
        largest: Size of class 0; by default as large as the data allow (CIFAR-10: 5000).

    Raises:
        DataError: The factor is below 1, or a class has fewer samples than the tail needs.
    """
    check_labels(labels, num_classes)
    if not 1 <= imbalance_factor < float("inf"):
        raise DataError(f"imbalance_factor: {imbalance_factor} is not an imbalance factor; give a number of 1 or more")
    available = torch.bincount(labels, minlength=num_classes).tolist()
    if empty := [str(c) for c, size in enumerate(available) if size == 0]:
        raise DataError(f"labels: no samples of class {', '.join(empty)}; a long tail needs some of each class")
    shares = [(1 / imbalance_factor) ** (c / max(num_classes - 1, 1)) for c in range(num_classes)]
    if largest is None:
        largest = min(int(size / share + 1e-9) for size, share in zip(available, shares, strict=True))
    wanted = [int(largest * share) for share in shares]
    short = [f"class {c} has {available[c]} of {size}" for c, size in enumerate(wanted) if size > available[c]]
    if short:
        raise DataError(f"largest: {', '.join(short)} samples; give a smaller number, or leave it out to fit the data")
    if empty := [str(c) for c, size in enumerate(wanted) if size < 1]:
        raise DataError(
            f"imbalance_factor: a tail of {imbalance_factor:g} from {wanted[0]} samples leaves none of class "
            f"{', '.join(empty)}; give at most {wanted[0]}"
        )
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(labels)))
    kept = [order[labels[order] == c][:size] for c, size in enumerate(wanted)]
    index = torch.cat(kept).sort().values
    return compare(labels[index], labels[index].clone(), num_classes, index)
