"""A bias in numbers that can be written down beside the labels it made."""

from collections.abc import Sequence
from typing import Any

import torch

from reweigh.bias.biased import Biased


def summarize(biased: Biased, class_names: Sequence[str]) -> dict[str, Any]:
    """Plain numbers, lists and texts, ready for JSON.

    Returns:
        dict: samples kept; labels that are wrong, as a count and as a share; inputs to be replaced; class sizes after
            the bias; the transition matrix as {before: {after: share}}, shares of 0 left out.
    """
    sizes = torch.bincount(biased.labels, minlength=len(class_names)).tolist()
    return {
        "samples": len(biased.labels),
        "wrong": int(biased.flipped.sum()),
        "rate": biased.rate,
        "replaced": 0 if biased.replaced is None else int(biased.replaced.sum()),
        "class_sizes": dict(zip(class_names, sizes, strict=True)),
        "transition": {
            before: {after: share for after, share in zip(class_names, row, strict=True) if share}
            for before, row in zip(class_names, biased.transition.tolist(), strict=True)
        },
    }
