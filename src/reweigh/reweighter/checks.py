"""Arguments of a reweighter that cannot work, named before any training."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from reweigh.errors import RecipeError


def check_made_with(model: Any, optimizer: Any, counts: Mapping[str, int]) -> None:
    """Raise a RecipeError unless there are a model and an optimizer, and all counts are at least 1."""
    if wrong := [f"{name} = {value}" for name, value in counts.items() if value < 1]:
        raise RecipeError(f"{' and '.join(wrong)}: should be at least 1")
    if not isinstance(model, nn.Module) or not hasattr(optimizer, "param_groups"):
        got = f"{type(model).__name__} and {type(optimizer).__name__}"
        raise RecipeError(f"a torch.nn.Module and a torch.optim.Optimizer are needed, in this order; got {got}")


def check_lookahead(lookahead: str, lookahead_step: str, remembers: bool, weight_net: nn.Module) -> None:
    """Raise a RecipeError if a real look-ahead does not go with the weights or with its step."""
    if lookahead == "real" and not remembers:
        raise RecipeError(
            f"lookahead = 'real' trains with the weights of the step before, but {type(weight_net).__name__} computes "
            "them from scratch for every batch; use lookahead = 'virtual'"
        )
    if (lookahead, lookahead_step) == ("real", "gradient"):
        raise RecipeError("lookahead_step = 'gradient' needs lookahead = 'virtual': a real step is the optimizer's")
