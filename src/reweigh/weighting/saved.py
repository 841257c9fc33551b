"""A learned weighting function as one file, to be used on other data; also the file that the authors released."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn

from reweigh.core.weigher import Weigher
from reweigh.errors import DataError
from reweigh.files import write_whole
from reweigh.files.limits import check_file
from reweigh.files.tensors import pack, read_as
from reweigh.names import lookup
from reweigh.weighting.nets import ClassAwareNet, WeightNet, num_curves

KIND = "reweigh weighting function"
VERSION = 1


@dataclass(frozen=True)
class Origin:
    """Where a weighting function was learned.

    Attributes:
        centers: Mean class size of each family, ascending. Paper: mu_k.
        loss: Name of the loss that it was learned with.
        learned_on: Description of the data that it was learned on.
        reads: What it reads besides the family of the class: "loss", or "doubt" as in ``two-looks``.
    """

    centers: tuple[float, ...] = ()
    loss: str = "cross-entropy"
    learned_on: str = ""
    reads: str = "loss"


def save_weighting(path: str | Path, net: nn.Module, origin: Origin) -> None:
    """Write a weighting function; family 0 is the rarest, so it means the same elsewhere.

    Examples:
        >>> from reweigh.weighting import ClassAwareNet
        >>> save_weighting("curves.safetensors", ClassAwareNet(3), Origin(centers=(10, 50, 400), learned_on="photos"))
        >>> net, origin = load_weighting("curves.safetensors")
        >>> net.num_families, origin.learned_on
        (3, 'photos')

    Raises:
        DataError: There is no function to save, because weights are computed for each batch.
    """
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()}
    if not tensors:
        raise DataError(f"{type(net).__name__} has no parameters or buffers, so there is nothing to save")
    about = {
        "kind": KIND,
        "version": str(VERSION),
        **construction(net),
        **{key: value if isinstance(value, str) else json.dumps(value) for key, value in asdict(origin).items()},
    }
    write_whole(path, pack(tensors, about))


def load_weighting(
    path: str | Path, net: nn.Module | None = None, reads: str | None = None
) -> tuple[WeightNet, Origin]:
    """Read a weighting function; reading never executes code from the file.

    Examples:
        >>> from reweigh.weighting import ClassAwareNet
        >>> save_weighting("curves.safetensors", ClassAwareNet(3), Origin(loss="focal"))
        >>> load_weighting("curves.safetensors")[1].loss
        'focal'

    Args:
        path: File written by ``save_weighting``; or the file that the paper's authors released and, after a colon, the
            order of its heads: "vnet.pth:large,small,medium" (see ``read_released``).
        net: Module like the one that was saved, into which the parameters are loaded; needed if it is your own, not a
            member of ``WEIGHTINGS``.
        reads: What the function must read: "loss" or "doubt"; by default, both are accepted.

    Raises:
        DataError: There is no such file, or it is not a weighting function that this version can read.
    """
    released = named_release(str(path))
    if released:
        found = read_released(*released)
        origin = Origin(learned_on="data of the paper's authors")
    else:
        found, origin = _saved(path, net)
    if reads not in (None, origin.reads):
        raise DataError(
            f"{path}: this function weighs samples by their {origin.reads}, but the method weighs them by their "
            f"{reads}. 'two-looks' reads doubt, all others read the loss"
        )
    return found, origin


def _saved(path: str | Path, net: nn.Module | None) -> tuple[WeightNet, Origin]:
    """A weighting function from the file that ``save_weighting`` wrote."""
    if Path(path).is_dir():
        raise DataError(f"{path}: a folder; give a file, which in the folder of a run is {path}/weighting.safetensors")
    tensors, about = read_as(path, KIND, VERSION, "a weighting function that reweigh saved")
    try:
        origin = Origin(
            tuple(map(float, json.loads(about["centers"]))), about["loss"], about["learned_on"], about["reads"]
        )
        return rebuilt(about, tensors, net), origin
    except (DataError, RuntimeError, LookupError, ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from None


def made(name: str, num_families: int, width: int, unit: float = 1.0) -> WeightNet:
    """A member of ``WEIGHTINGS``, which remembers what it was made with.

    Args:
        name: Name of the member.
        num_families: Number of curves.
        width: Width of the hidden layer.
        unit: Unit of losses; a member that does not know units reads losses as they are.
    """
    from reweigh.weighting import WEIGHTINGS

    net = lookup(WEIGHTINGS, name, "weight net")(num_families, width)
    net.unit = unit
    if not isinstance(net, Weigher) and not num_curves(net):
        net.num_families = num_families
    vars(net)["made_with"] = {"function": name, "num_families": num_families, "width": width, "unit": unit}
    return net


def construction(net: nn.Module) -> dict[str, str]:
    from reweigh.weighting import WEIGHTINGS

    name = next((name for name, member in WEIGHTINGS.items() if type(net) is member), type(net).__name__)
    width, unit = getattr(net, "width", 0), getattr(net, "unit", 1.0)
    own = {"function": name, "num_families": num_curves(net), "width": width, "unit": unit}
    return {key: str(value) for key, value in getattr(net, "made_with", own).items()}


def rebuilt(about: Mapping[str, str], tensors: Mapping[str, Tensor], net: nn.Module | None = None) -> WeightNet:
    """A weighting function from its ``construction`` and its parameters, loaded into ``net`` if it is given.

    Raises:
        DataError: The function is not a member of ``WEIGHTINGS``, and no ``net`` is given.
    """
    from reweigh.weighting import WEIGHTINGS

    function = about["function"]
    if net is None and function not in WEIGHTINGS:
        raise DataError(
            f"holds the parameters of a {function!r}, which is not one of {', '.join(WEIGHTINGS)}; pass such a module, "
            "load_weighting(path, net)"
        )
    if net is None:
        net = made(function, int(about["num_families"]), int(about["width"]), float(about["unit"]))
    net.load_state_dict(tensors)
    return cast(WeightNet, net)  # or a module of the caller, which may be used like one


SIZES = ("small", "medium", "large")
"""Classes that each family holds, as our heads are ordered."""
PUBLISHED = "large,small,medium"
"""The order of heads that the authors' transfer script writes down for its file."""


def read_released(path: str | Path, heads: Sequence[str]) -> ClassAwareNet:
    """A CMW-Net from its released state dict, heads sorted so that family 0 is the rarest.

    Args:
        path: PyTorch file with ``feature.layer.0.{weight,bias}`` and ``classfier.layers.{0,1,2}.0.{weight,bias}``
            (sic). Reading it never executes code; it may have been saved on a GPU.
        heads: Class size that each head is for, in the order of the file. The file does not say, because K-means
            numbers clusters at random; the authors' transfer script has large, small, medium.

    Raises:
        DataError: The file cannot be read or has other contents, or ``heads`` are not the three sizes.
    """
    if sorted(heads) != sorted(SIZES):
        raise DataError(
            f"{path}: the order of its heads is {','.join(heads) or 'not given'}; should be small, medium and large in "
            f"the order of the file, such as {path}:{PUBLISHED}"
        )
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file")
    check_file(Path(path))
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        net = ClassAwareNet(len(SIZES), hidden=len(state["feature.layer.0.bias"]))
        net.hidden.load_state_dict({key: state[f"feature.layer.0.{key}"] for key in ("weight", "bias")})
        with torch.no_grad():
            for theirs, size in enumerate(heads):
                net.heads.weight[SIZES.index(size)] = state[f"classfier.layers.{theirs}.0.weight"][0]
                net.heads.bias[SIZES.index(size)] = state[f"classfier.layers.{theirs}.0.bias"][0]
    except Exception as error:  # the reader of torch raises nearly anything for a damaged file
        raise DataError(f"{path}: not the state dict of a released CMW-Net ({type(error).__name__}: {error})") from None
    return net


def named_release(name: str) -> tuple[str, list[str]] | None:
    """File and order of heads in a name such as vnet.pth:large,small,medium; None if it is not a PyTorch file."""
    found = re.fullmatch(r"(.*\.pth?)(?::([\w, ]*))?", name)
    return None if found is None else (found[1], [word.strip() for word in (found[2] or "").split(",") if word.strip()])
