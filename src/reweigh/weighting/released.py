"""Read the weighting function that the paper's authors released."""

from pathlib import Path

import torch

from reweigh.errors import DataError
from reweigh.files.limits import check_file
from reweigh.weighting.class_aware import ClassAwareNet

RANK = {1: 0, 2: 1, 0: 2}
"""Their heads are numbered {0: large, 1: small, 2: moderate} classes; ours from the rarest on."""


def read_released(path: str | Path) -> ClassAwareNet:
    """A CMW-Net from its released state dict, heads sorted so that family 0 is the rarest.

    Args:
        path: a PyTorch file with ``feature.layer.0.{weight,bias}`` and ``classfier.layers.{0,1,2}.0.{weight,bias}``
            (sic). It is read without running anything in it, and may have been saved on a GPU.

    Raises:
        DataError: it cannot be read, or has other contents.
    """
    check_file(Path(path))
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        net = ClassAwareNet(len(RANK), hidden=len(state["feature.layer.0.bias"]))
        net.hidden.load_state_dict({key: state[f"feature.layer.0.{key}"] for key in ("weight", "bias")})
        with torch.no_grad():
            for theirs, ours in RANK.items():
                net.heads.weight[ours] = state[f"classfier.layers.{theirs}.0.weight"][0]
                net.heads.bias[ours] = state[f"classfier.layers.{theirs}.0.bias"][0]
    except Exception as error:  # the reader of torch raises nearly anything for a damaged file
        raise DataError(f"{path}: not the state dict of a released CMW-Net ({type(error).__name__}: {error})") from None
    return net
