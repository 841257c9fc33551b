"""Read the weighting function that the paper's authors released."""

import re
from collections.abc import Sequence
from pathlib import Path

import torch

from reweigh.errors import DataError
from reweigh.files.limits import check_file
from reweigh.weighting.class_aware import ClassAwareNet

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
