"""Weights from a file in a model: all of them, or where it starts, to train all of it or its last layer."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from reweigh.core.rerun import last_layer
from reweigh.errors import DataError, ModelError
from reweigh.files.tensors import read
from reweigh.models.ensemble import Ensemble, rebuilt, strongest
from reweigh.plan.plan import method_named
from reweigh.training import Run

logger = logging.getLogger(__name__)


def start_from(model: nn.Module, path: str | Path) -> None:
    """Give a model the weights of another that is the same below its last layer; nothing is drawn at random.

    Of an ensemble the member that counts most is taken. A last layer that does not fit, because the classes were
    others, stays as it is, and the log says so.

    Args:
        path: a run folder, or a safetensors file with the names of ``model.state_dict()``.
    """
    file = _file(Path(path))
    found = strongest(_read(file))
    wanted = {name: tensor for name, tensor in model.state_dict().items() if isinstance(tensor, Tensor)}
    wrong = [name for name, tensor in wanted.items() if name not in found or found[name].shape != tensor.shape]
    last = last_layer(model, dict(model.named_parameters()))
    below = [name for name in wrong if name.rpartition(".")[0] != last]
    if below or len(wrong) == len(wanted):
        raise ModelError(
            f"model.start: {file} belongs to another model: {len(wanted) - len(wrong)} of {len(wanted)} tensors fit; "
            f"{_differences(below or wrong, wanted, found)}. Use the model and options that the file was written with"
        )
    infinite = [name for name in wanted if name not in wrong and not bool(torch.isfinite(found[name]).all())]
    if infinite:
        raise ModelError(f"model.start: {file} holds numbers that are not finite: {_first(infinite)}; train it again")
    with torch.no_grad():
        for name, tensor in wanted.items():
            if name not in wrong:
                tensor.copy_(found[name])
    logger.info("model: %d of %d tensors start from %s", len(wanted) - len(wrong), len(wanted), file)
    if wrong:
        logger.info("model: the last layer starts fresh; %s", _differences(wrong, wanted, found))
    if unused := sorted(found.keys() - wanted.keys()):
        logger.info("model: not used of %s: %s", file, _first(unused))


def refilled(method: str, state: Mapping[str, Tensor], build: Callable[[], nn.Module], wrong: str) -> nn.Module:
    """The model of a fit, with the weights that a file holds for it."""
    ensemble = rebuilt(state, build)
    model = ensemble if isinstance(ensemble, Ensemble) else method_named(method).wraps(ensemble)
    fill(model, state, wrong)
    return model


def fill(model: nn.Module, state: Mapping[str, Tensor], wrong: str) -> None:
    """Give a model the weights that a file holds for it."""
    try:
        model.load_state_dict(dict(state))
    except RuntimeError as error:
        raise ModelError(f"{wrong} ({' '.join(str(error).split())[:200]})") from error


def freeze_features(model: nn.Module) -> None:
    """Let the last layer alone be trained; the statistics of BatchNorm layers below it still follow the data."""
    last = last_layer(model, dict(model.named_parameters()))
    for name, param in model.named_parameters():
        param.requires_grad_(name.rpartition(".")[0] == last)


def _file(path: Path) -> Path:
    if not path.is_dir():
        file, remedy = path, "give a run folder or a safetensors file"
    elif Run(path).recipe.is_file():
        file, remedy = Run(path).model, f"the run has not ended; continue it with: reweigh train --resume {path}"
    else:
        file, remedy = Run(path).model, "give a folder that holds a run, or a safetensors file"
    if not file.is_file():
        raise ModelError(f"model.start: there is no file {file}; {remedy}")
    return file


def _read(file: Path) -> dict[str, Tensor]:
    try:
        of_run = file == Run(file.parent).model and Run(file.parent).recipe.is_file()
        return read(file, sealed=of_run)[0]  # other programs write no checksum
    except DataError as error:
        raise ModelError(f"model.start: {error}; give a complete safetensors file, not a pickled .pt file") from error


def _differences(names: Sequence[str], wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str:

    def shape(tensors: Mapping[str, Tensor], name: str) -> str:
        return str(tuple(tensors[name].shape)) if name in tensors else "none"

    return _first([f"{name} is {shape(wanted, name)} here, {shape(found, name)} there" for name in names])


def _first(words: Sequence[str], most: int = 3) -> str:
    return "; ".join(words[:most]) + (f"; and {len(words) - most} more" if len(words) > most else "")
