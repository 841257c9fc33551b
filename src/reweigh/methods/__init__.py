"""Methods: CMW-Net and its rivals, one interface for all."""

from collections.abc import Callable

from reweigh.core.method import Method
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.cmw_net_sl import CMWNetSL
from reweigh.methods.erm import ERM
from reweigh.methods.mw_net import mw_net

METHODS: dict[str, Callable[..., Method]] = {
    "erm": ERM,
    "mw-net": mw_net,
    "cmw-net": CMWNet,
    "cmw-net-sl": CMWNetSL,
}
