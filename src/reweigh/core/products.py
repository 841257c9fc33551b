"""Keep the large products of a forward, so that a repetition at the same parameters need not compute them again."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

PRODUCTS = (torch.conv1d, torch.conv2d, torch.conv3d, F.linear)
"""Operations (inputs, weight, bias, ...) that are linear in the inputs and linear in the weight."""


class Product(NamedTuple):
    """The output of one such operation, and what shows that it is still that."""

    output: Tensor
    version: int
    weight: int

    def belongs_to(self, weight: Tensor) -> bool:
        """The output is that of a product with ``weight`` and was not changed in place since."""
        return self.weight == weight.data_ptr() and self.version == self.output._version


class Recording(TorchFunctionMode):
    """Inside, the output of each product is kept, in order. Most of them autograd keeps for its backward anyway."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Product] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        if func in PRODUCTS and len(args) > 1:
            self.kept.append(Product(output.detach(), output._version, args[1].data_ptr()))
        return output
