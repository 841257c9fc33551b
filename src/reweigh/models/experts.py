"""Several experts in one network: they share its first part, and each has its own copy of the rest."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from reweigh.errors import ModelError
from reweigh.models.ensemble import shuffle
from reweigh.models.last_layer import linear_head

NUM_EXPERTS = 3


class Experts(nn.Module):
    """Copies of a classifier that share all layers below their last block, or below the last layer if it has no blocks.

    Shared layers are computed once. The output is the mean of the experts' logits; with ``apart=True``, the logits of
    each expert.

    Args:
        classifier: Any model that ends in a linear layer and calls each layer once; it becomes the first expert.
    """

    def __init__(self, classifier: nn.Module, experts: int = NUM_EXPERTS):
        super().__init__()
        own, self._shared = _own_part(classifier), list[str]()
        for name, module in classifier.named_modules():  # the largest modules without a parameter of their own
            names = [f"{name}.{each}" for each, _ in module.named_parameters()]
            inside = any(name.startswith(f"{above}.") for above in self._shared)
            if name and names and not inside and own.isdisjoint(names):
                self._shared.append(name)
        self._computed: dict[str, Any] = {}
        generator = torch.Generator().manual_seed(0)
        others = [copy.deepcopy(classifier) for _ in range(experts - 1)]
        for other in others:
            for name in self._shared:
                other.set_submodule(name, _Computed(self._computed, name))
            shuffle(other.parameters(), generator)  # so that experts begin differently
        self.experts = nn.ModuleList([classifier, *others])

    def forward(self, *inputs: Any, apart: bool = False, **named: Any) -> Tensor:
        """Logits, shape (n, num_classes), or of each expert, shape (experts, n, num_classes)."""
        first, hooks = self.experts[0], []
        for name in self._shared:

            def keep(_: nn.Module, arguments: Any, output: Any, name: str = name) -> None:
                self._computed[name] = output

            hooks.append(first.get_submodule(name).register_forward_hook(keep))
        try:
            logits = torch.stack([expert(*inputs, **named) for expert in self.experts])
        finally:
            for hook in hooks:
                hook.remove()
            self._computed.clear()
        return logits if apart else logits.mean(0)


class _Computed(nn.Module):
    """Stands for a shared layer: returns what the first expert computed there."""

    def __init__(self, computed: dict[str, Any], name: str):
        super().__init__()
        self._computed, self._name = computed, name

    def forward(self, *_: Any, **__: Any) -> Any:
        return self._computed[self._name]


def _own_part(model: nn.Module) -> set[str]:
    """The names of the parameters of which each expert has its own copy."""
    from reweigh.core.rerun import scoped

    everything = torch.optim.SGD(model.parameters(), 0.0)
    try:
        return set(scoped(model, everything, "last-block"))
    except ModelError:
        head, layer = linear_head(model, "an ensemble of experts", "give a model with a linear classifier")
        return {f"{head}.{name}".lstrip(".") for name, _ in layer.named_parameters()}
