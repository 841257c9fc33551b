"""Replace some inputs by those of another dataset: the inputs of open-set noise."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from reweigh.data.checks import raise_all
from reweigh.data.dataset import Dataset
from reweigh.data.inputs import Fetched, Inputs


class Patched(Fetched):
    """Inputs that are read on demand, some of them from another dataset.

    Args:
        source: Index into ``foreign`` for each sample, -1 for its own input, shape (N,).
    """

    def __init__(self, inputs: Inputs, foreign: Inputs, source: Tensor) -> None:
        self.inputs, self.foreign, self.source = inputs, foreign, source

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        source = self.source[index]
        batch = self.inputs[index]  # fetched by index, so a copy
        batch[source >= 0] = self.foreign[source[source >= 0]].to(batch.dtype)
        return batch


def replace_inputs(dataset: Dataset, replaced: Tensor, foreign: Inputs, seed: int) -> Dataset:
    """Give each ``replaced`` sample a foreign input under its own label; none is used twice while there are enough.

    Args:
        replaced: The samples to replace, shape (N,) bool, as ``bias.open_set`` chooses them.
        foreign: Inputs of the same shape and type (CIFAR-100 for CIFAR-10).
    """
    theirs = foreign[torch.empty(0, dtype=torch.int64)]
    own = dataset.inputs[torch.empty(0, dtype=torch.int64)]
    mistakes = []
    if replaced.shape != (len(dataset),) or replaced.dtype != torch.bool:
        mistakes.append(
            f"replaced: {tuple(replaced.shape)} of {replaced.dtype}; give one boolean per sample, ({len(dataset)},)"
        )
    if (theirs.shape, theirs.dtype) != (own.shape, own.dtype):
        mistakes.append(
            f"foreign inputs: {tuple(theirs.shape[1:])} of {theirs.dtype}, "
            f"the data have {tuple(own.shape[1:])} of {own.dtype}; resize or convert them first"
        )
    if len(foreign) == 0:
        mistakes.append("foreign inputs: there are none")
    raise_all(mistakes, "open set")
    rows = replaced.nonzero().squeeze(1)
    order = np.random.default_rng(seed).permutation(len(foreign))
    source = torch.full((len(dataset),), -1, dtype=torch.int64)
    source[rows] = torch.from_numpy(np.resize(order, len(rows)))
    patched = Patched(dataset.inputs, foreign, source)
    if isinstance(dataset.inputs, Tensor):
        return replace(dataset, inputs=patched[torch.arange(len(dataset))])
    return replace(dataset, inputs=patched)
