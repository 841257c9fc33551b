"""MW-Net: one weighting curve for all classes."""

from collections.abc import Mapping
from typing import Any, ClassVar

from reweigh.methods.cmw_net import CMWNet


class MWNet(CMWNet):
    """Meta-Weight-Net (Shu et al., NeurIPS 2019): CMW-Net with a single family."""

    fixed: ClassVar[Mapping[str, Any]] = {"families": 1}
