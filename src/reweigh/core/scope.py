"""Which parameters the look-ahead moves: all of them, or a named part of the model."""

from fnmatch import fnmatchcase

from torch import nn
from torch.optim import Optimizer

from reweigh.core.rerun import Params
from reweigh.errors import ModelError


def scoped(model: nn.Module, optimizer: Optimizer, scope: str) -> Params:
    """The parameters of ``model`` that the look-ahead moves, by name.

    Only what the optimizer trains counts: frozen parameters never move.

    Args:
        scope: ``"all"``; ``"last-layer"``, the last module that has parameters of its own; ``"last-block"``, the last
            element of the model's last list of blocks and all that follows it; or a pattern over parameter names,
            such as ``"layer4.*"``.

    Raises:
        ModelError: Nothing is left to move.
    """
    trained = {id(param) for group in optimizer.param_groups for param in group["params"]}
    names: Params = {name: p for name, p in model.named_parameters() if p.requires_grad and id(p) in trained}
    if not names:
        raise ModelError(
            "the model has no trainable parameters in the optimizer; set requires_grad or pass the optimizer "
            "model.parameters()"
        )
    if scope == "all":
        return names
    if scope == "last-layer":
        own = {id(p) for p in model.get_submodule(last_layer(model, names)).parameters(recurse=False)}
        return {name: p for name, p in names.items() if id(p) in own}  # a tied one goes by its first name
    if scope == "last-block":
        first = list(names).index(_first_of_last_block(model, names))
        return dict(list(names.items())[first:])
    chosen = {name: p for name, p in names.items() if fnmatchcase(name, scope)}
    if not chosen:
        raise ModelError(
            f"scope {scope!r} matches no trained parameter; use 'all', 'last-layer', 'last-block' or a pattern over "
            f"names such as {next(iter(names))!r} ... {list(names)[-1]!r}"
        )
    return chosen


def last_layer(model: nn.Module, names: Params) -> str:
    """Name of the last module that has one of these parameters as its own: the classifier, as models are written."""
    return next(name for name, module in reversed(list(model.named_modules())) if _own(module, names))


def _own(module: nn.Module, names: Params) -> bool:
    return any(any(p is q for q in names.values()) for p in module.parameters(recurse=False))


def _first_of_last_block(model: nn.Module, names: Params) -> str:
    """The first parameter of the last block: an element, itself made of modules, of a Sequential or ModuleList."""
    block, path = model, ""
    in_list = False
    while not in_list or isinstance(block, nn.Sequential | nn.ModuleList):
        composed = [
            (name, child)
            for name, child in block.named_children()
            if any(True for _ in child.children()) and any(known.startswith(f"{path}{name}.") for known in names)
        ]
        if not composed:
            break
        in_list = isinstance(block, nn.Sequential | nn.ModuleList)
        name, block = composed[-1]
        path += f"{name}."
    if not in_list:
        raise ModelError(
            "the model has no list of blocks, so no last one; use scope='last-layer' or a pattern over names"
        )
    return next(name for name in names if name.startswith(path))
