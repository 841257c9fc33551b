"""Linear layers that read the inputs of a model: their outputs are moved in place of their weights."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.core import descent
from reweigh.core.rerun import Params

_autograd = torch._C._autograd  # pyright: ignore[reportAttributeAccessIssue]
_saving_hooks = getattr(_autograd, "_top_saved_tensors_default_hooks", None)  # private, so it may go


class Call(NamedTuple):
    """What a layer read and returned, and with which weight and bias."""

    inputs: Tensor
    output: Tensor
    params: tuple[Tensor, ...]


class FirstLayers:
    """Such a layer depends on its weights W through its outputs x W' alone, because its inputs x are constant.

    The gradient of W on trusted inputs t is d' t, where d is the gradient of the outputs there. All that it is used for
    is a product with the training inputs,

        x (d' t)'  =  (x t') d

    which is the direction in which the outputs on the training batch move. The right side takes two small products
    instead of two large ones. So the outputs are handed to the engine as a parameter, in place of W and the bias, and
    need not be computed again. A layer whose weights are used in another way as well is left as it is.
    """

    def __init__(self, model: nn.Module):
        self._layers = {
            f"{path}.weight".lstrip("."): layer
            for path, layer in model.named_modules()
            if isinstance(layer, nn.Linear)
            and type(layer).forward is nn.Linear.forward
            and "weight" in layer._parameters
        }
        self._here: dict[str, Call] = {}
        self._there: dict[str, Call] = {}
        self._moves: Params = {}

    def forget(self) -> None:
        """Free what was kept."""
        self._here, self._there, self._moves = {}, {}, {}

    @contextmanager
    def record(self) -> Iterator[None]:
        """Keep inputs and outputs of the first forward of the training batch."""
        calls: dict[str, list[Call]] = {}

        def forward(name: str, layer: nn.Linear, inputs: Tensor) -> Tensor:
            output = F.linear(inputs, layer.weight, layer.bias)
            if _is_constant(inputs) and output.requires_grad:
                calls.setdefault(name, []).append(Call(inputs, output, _params(layer)))
            return output

        with _calling(forward, self._layers):
            yield
        self._here = {name: found[0] for name, found in calls.items() if len(found) == 1}

    def check(self, result: Tensor) -> None:
        """Keep only the layers whose output is as it was, and all that ``result`` depends on their weights by."""
        uses = _uses(result) if self._here else Counter()
        self._here = {
            name: call._replace(output=call.output.detach())
            for name, call in self._here.items()
            if call.output._version == 0 and all(uses[id(param)] == 1 for param in call.params)
        }

    @contextmanager
    def apart(self, leaves: Params) -> Iterator[None]:
        """Around a forward of the trusted batch: the gradient is asked for by outputs, instead of by these leaves."""

        def forward(name: str, layer: nn.Linear, inputs: Tensor) -> Tensor:
            params = _params(layer)
            if name in self._there or not _is_constant(inputs) or not _pays(self._here[name].inputs, inputs, params[0]):
                return F.linear(inputs, *params)
            output = F.linear(inputs, *(param.detach() for param in params)).requires_grad_()
            self._there[name] = Call(inputs, output, params)
            return output.clone()  # a leaf must not be changed in place

        known = {name: self._layers[name] for name in self._here if _names(name, self._here[name]) <= leaves.keys()}
        with _calling(forward, known):
            yield

    def gradient(self, loss: Tensor, leaves: Params) -> Params:
        """The gradient of ``loss``, computed inside ``apart``, without the parameters that are not moved."""
        asked = [*leaves.values(), *(call.output for call in self._there.values())]
        found = descent.gradient(loss, asked, allow_unused=True)
        grads = dict(zip(leaves, found, strict=False))
        with torch.no_grad():
            for (name, call), grad in zip(self._there.items(), found[len(leaves) :], strict=True):
                names = _names(name, call)
                if grad is None:
                    continue
                if all(grads[each] is None for each in names):
                    grads = {each: known for each, known in grads.items() if each not in names}
                    move = torch.mm(torch.mm(self._here[name].inputs, call.inputs.t()), grad)
                    self._moves[name] = move if len(names) == 1 else move.add_(grad.sum(0))
                else:  # the trusted batch uses them in another way as well
                    parts = grad.t() @ call.inputs, grad.sum(0)
                    for each, part in zip(sorted(names, reverse=True), parts, strict=False):
                        grads[each] = part if grads[each] is None else grads[each] + part
        return {name: torch.zeros_like(leaves[name]) if grad is None else grad for name, grad in grads.items()}

    def shorten(self, at: Params, along: Params) -> tuple[Params, Params]:
        """Parameters and direction, with the outputs of layers in place of their weights."""
        if not self._moves:
            return at, along
        outputs = {_output(name): self._here[name].output for name in self._moves}
        return {**at, **outputs}, {**along, **{_output(name): move for name, move in self._moves.items()}}

    @contextmanager
    def replay(self, at: Params) -> Iterator[None]:
        """Inside, layers return the outputs that are among the parameters ``at``."""
        moved = {name: self._layers[name] for name in self._moves}
        with _calling(lambda name, layer, inputs: at[_output(name)], moved):
            yield

    def has(self, output: Tensor) -> bool:
        """Whether this is the output of a layer that will not be computed again."""
        return any(self._here[name].output.data_ptr() == output.data_ptr() for name in self._moves)


@contextmanager
def _calling(forward: Callable[[str, nn.Linear, Tensor], Tensor], layers: dict[str, nn.Linear]) -> Iterator[None]:
    """Inside, the layers compute ``forward``."""
    patched = {name: layer for name, layer in layers.items() if "forward" not in layer.__dict__}
    try:
        for name, layer in patched.items():
            layer.__dict__["forward"] = partial(forward, name, layer)
        yield
    finally:
        for layer in patched.values():
            layer.__dict__.pop("forward", None)


def _params(layer: nn.Linear) -> tuple[Tensor, ...]:
    return (layer.weight,) if layer.bias is None else (layer.weight, layer.bias)


def _names(weight: str, call: Call) -> set[str]:
    """The names of a layer's parameters."""
    return {weight, f"{weight.removesuffix('weight')}bias"} if len(call.params) > 1 else {weight}


def _output(weight: str) -> str:
    """What the output of a layer is called among the parameters."""
    return f"output of {weight}"


def _is_constant(inputs: Tensor) -> bool:
    """Whether these are rows on the CPU that depend on no parameter.

    Not inside activation checkpointing, which saves tensors by hooks: it computes the layer again in the backward, and
    expects the same operations.
    """
    rows = type(inputs) is Tensor and not inputs.requires_grad and inputs.dim() == 2 and inputs.device.type == "cpu"
    return rows and _saving_hooks is not None and _saving_hooks(True) is None


def _pays(inputs: Tensor, trusted: Tensor, weight: Tensor) -> bool:
    """Whether the small products together are less than half as large as those with the weights."""
    n, m, (to, of) = len(inputs), len(trusted), weight.shape
    return 2 * n * m * (to + of) < (n + m) * to * of


def _uses(result: Tensor) -> Counter[int]:
    """How often each leaf, by its id, is used in the graph of a tensor."""
    uses: Counter[int] = Counter()
    waiting: list[Any] = [result.grad_fn] if result.grad_fn else []
    seen = set(waiting)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if hasattr(node, "variable"):
                uses[id(node.variable)] += 1
            elif node is not None and node not in seen:
                seen.add(node)
                waiting.append(node)
    return uses
