"""Methods: CMW-Net and its rivals, one interface for all."""

from collections.abc import Callable

from reweigh.core.method import Method
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.cmw_net_sl import CMWNetSL
from reweigh.methods.cmw_net_sl_plus import CMWNetSLPlus
from reweigh.methods.co_teaching import CoTeaching
from reweigh.methods.deferred import DeferredReweighting
from reweigh.methods.elr import ELR
from reweigh.methods.erm import ERM
from reweigh.methods.fixmatch import FixMatch
from reweigh.methods.fixmatch_cmw_net import FixMatchCMWNet
from reweigh.methods.forward import Forward
from reweigh.methods.l2rw import L2RW
from reweigh.methods.mean_teacher import MeanTeacher
from reweigh.methods.mixmatch import MixMatch
from reweigh.methods.mw_net import mw_net
from reweigh.methods.on_loss import on_loss
from reweigh.methods.pi_model import PiModel
from reweigh.methods.proden import PRODEN
from reweigh.methods.proden_cmw_net import PRODENCMWNet
from reweigh.methods.pseudo_label import PseudoLabel
from reweigh.methods.selectivenet import SelectiveNet
from reweigh.methods.selectivenet_cmw_net import SelectiveNetCMWNet
from reweigh.methods.self_paced import SelfPaced
from reweigh.methods.semi_supervised import LabeledOnly
from reweigh.methods.simclr import SimCLR
from reweigh.methods.uda import UDA
from reweigh.methods.variant import variant

METHODS: dict[str, Callable[..., Method]] = {
    "erm": ERM,
    "mw-net": mw_net,
    "cmw-net": CMWNet,
    "cmw-net-sl": CMWNetSL,
    "cmw-net-sl+": CMWNetSLPlus,
    "simclr": SimCLR,
    "focal": on_loss(ERM, "focal"),
    "class-balanced": on_loss(ERM, "class-balanced"),
    "class-balanced-focal": on_loss(ERM, "class-balanced-focal"),
    "ldam": on_loss(ERM, "ldam"),
    "ldam-drw": on_loss(
        DeferredReweighting,
        "ldam",
        "LDAM with deferred reweighting (Cao et al., NeurIPS 2019): rare classes count more once the warm-up is over.",
    ),
    "ldam+cmw-net": on_loss(CMWNet, "ldam", "CMW-Net on the LDAM loss in place of cross-entropy. Paper: Table 1."),
    "gce": on_loss(ERM, "gce"),
    "forward": Forward,
    "bootstrap-soft": on_loss(ERM, "bootstrap-soft"),
    "bootstrap-hard": on_loss(ERM, "bootstrap-hard"),
    "self-paced": SelfPaced,
    "l2rw": L2RW,
    "elr": ELR,
    "co-teaching": CoTeaching,
    "proden": PRODEN,
    "proden+cmw-net": PRODENCMWNet,
    "softmax-response": variant(
        ERM, "Plain training, to abstain where the largest probability is small (Geifman and El-Yaniv, NeurIPS 2017)."
    ),
    "selectivenet": SelectiveNet,
    "selectivenet+cmw-net": SelectiveNetCMWNet,
    "labeled-only": LabeledOnly,
    "pseudo-label": PseudoLabel,
    "pi-model": PiModel,
    "mean-teacher": MeanTeacher,
    "mixmatch": MixMatch,
    "uda": UDA,
    "fixmatch": FixMatch,
    "fixmatch+cmw-net": FixMatchCMWNet,
}
