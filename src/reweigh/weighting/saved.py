"""A learned weighting function as one file, to be used on other data."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes

from reweigh.errors import DataError
from reweigh.files import write_whole
from reweigh.weighting.class_aware import ClassAwareNet

KIND = "reweigh weighting function"
VERSION = 1


@dataclass(frozen=True)
class Origin:
    """Where a weighting function was learned.

    Attributes:
        centers: the mean class size of each family, ascending. Paper: mu_k.
        loss: the loss it reads, by name.
        learned_on: the data, in words.
    """

    centers: tuple[float, ...] = ()
    loss: str = "cross-entropy"
    learned_on: str = ""


def save_weighting(path: str | Path, net: ClassAwareNet, origin: Origin) -> None:
    """Write a weighting function; family 0 is the rarest, so it means the same elsewhere."""
    about = {"kind": KIND, "version": str(VERSION), "num_families": str(net.num_families), **_as_text(origin)}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()}
    write_whole(path, to_bytes(tensors, about))


def load_weighting(path: str | Path) -> tuple[ClassAwareNet, Origin]:
    """Read a weighting function; nothing in the file can run.

    Raises:
        DataError: there is no such file, or it is not a weighting function of a version known here.
    """
    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path}: no weighting function can be read there ({error})") from None
    if about.get("kind") != KIND:
        raise DataError(f"{path}: a safetensors file, but not a weighting function written by reweigh")
    if int(about["version"]) > VERSION:
        raise DataError(f"{path}: written by a newer reweigh (format {about['version']}, known here {VERSION}); update")
    net = ClassAwareNet(int(about["num_families"]), hidden=len(tensors["hidden.bias"]))
    net.load_state_dict(tensors)
    centers = tuple(json.loads(about["centers"]))
    return net, Origin(centers, about["loss"], about["learned_on"])


def _as_text(origin: Origin) -> dict[str, str]:
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in asdict(origin).items()}
