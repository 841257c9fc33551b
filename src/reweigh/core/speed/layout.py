"""Run convolutions in the memory layout that the CPU prefers, whatever the model's own."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class ChannelsLast(TorchFunctionMode):
    """Inside, images on the CPU are convolved with their channels last in memory: the same numbers, faster.

    What a convolution returns keeps that layout, so the images are copied once. A ``view`` that only the usual layout
    allows becomes a copy.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.conv2d and args and _is_batch_on_cpu(args[0]):
            return func(args[0].contiguous(memory_format=torch.channels_last), *args[1:], **kwargs)
        if func is Tensor.view and len(args) > 1 and not isinstance(args[1], torch.dtype) and _is_batch_on_cpu(args[0]):
            return args[0].reshape(*args[1:])
        return func(*args, **kwargs)


def in_layout_of(tensor: Tensor, other: Tensor) -> Tensor:
    """``other`` with its channels last if ``tensor`` has them last; as it is otherwise."""
    last = torch.channels_last
    return (
        other.contiguous(memory_format=last)
        if tensor.dim() == 4 and tensor.is_contiguous(memory_format=last)
        else other
    )


def _is_batch_on_cpu(tensor: Tensor) -> bool:
    return tensor.dim() == 4 and tensor.device.type == "cpu"
