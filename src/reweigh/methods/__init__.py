"""Methods: CMW-Net and its rivals, one interface for all."""

from typing import Any

from reweigh.core.method import Method
from reweigh.errors import RecipeError
from reweigh.methods.cmw_net import CMWNet, MWNet, on_top_of, weighable
from reweigh.methods.cmw_net_sl import CMWNetSL, CMWNetSLPlus
from reweigh.methods.erm import ERM, training_with
from reweigh.methods.few_labels.consistency import UDA, LabeledOnly, MeanTeacher, MixMatch, PiModel, PseudoLabel
from reweigh.methods.few_labels.fixmatch import FixMatch, FixMatchCMWNet
from reweigh.methods.l2rw import L2RW, MCW
from reweigh.methods.long_tail import LDAM, OLTR, SADE, DeferredLDAM
from reweigh.methods.noisy.by_loss import MCorrection, MentorNet, Selfie
from reweigh.methods.noisy.elr import ELR, ELRPlus
from reweigh.methods.noisy.forward import Forward
from reweigh.methods.noisy.relabeling import LRT, PLC
from reweigh.methods.noisy.two_networks import CoTeaching, Decoupling, DivideMix
from reweigh.methods.proden import PRODEN, PRODENCMWNet
from reweigh.methods.selectivenet import SelectiveNet, SoftmaxResponse
from reweigh.methods.setup import Setup, keyword_only, options_of_method
from reweigh.methods.simclr import SimCLR
from reweigh.methods.two_looks import TwoLooks
from reweigh.names import lookup

__all__ = ["BEGIN_AS_ERM", "METHODS", "build", "find", "options_of_method"]

METHODS: dict[str, type[Method]] = {
    "erm": ERM,
    "two-looks": TwoLooks,
    "mw-net": MWNet,
    "cmw-net": CMWNet,
    "cmw-net-sl": CMWNetSL,
    "cmw-net-sl+": CMWNetSLPlus,
    "simclr": SimCLR,
    "focal": training_with("focal"),
    "class-balanced": training_with("class-balanced"),
    "ldam": LDAM,
    "ldam-drw": DeferredLDAM,
    "ldam+cmw-net": on_top_of(LDAM),
    "mcw": MCW,
    "sade": SADE,
    "sade+cmw-net": on_top_of(SADE),
    "oltr": OLTR,
    "oltr+cmw-net": on_top_of(OLTR),
    "gce": training_with("gce"),
    "forward": Forward,
    "l2rw": L2RW,
    "mentornet": MentorNet,
    "elr": ELR,
    "elr+cmw-net": on_top_of(ELR),
    "elr+": ELRPlus,
    "plc": PLC,
    "lrt": LRT,
    "selfie": Selfie,
    "m-correction": MCorrection,
    "decoupling": Decoupling,
    "co-teaching": CoTeaching,
    "dividemix": DivideMix,
    "proden": PRODEN,
    "proden+cmw-net": PRODENCMWNet,
    "softmax-response": SoftmaxResponse,
    "selectivenet": SelectiveNet,
    "selectivenet+cmw-net": on_top_of(SelectiveNet),
    "labeled-only": LabeledOnly,
    "pseudo-label": PseudoLabel,
    "pi-model": PiModel,
    "mean-teacher": MeanTeacher,
    "mixmatch": MixMatch,
    "uda": UDA,
    "fixmatch": FixMatch,
    "fixmatch+cmw-net": FixMatchCMWNet,
}

BEGIN_AS_ERM = ("mw-net", "cmw-net", "l2rw", "mcw")
"""Methods whose warm-up is plain training, bit for bit, so that they can branch from a run of it."""


def find(name: str) -> type[Method]:
    """A method of ``METHODS``, or CMW-Net on top of one that is ``weighable``, such as "gce+cmw-net"."""
    base = name.removesuffix("+cmw-net")
    beneath = METHODS.get(base)
    if name not in METHODS and base != name and beneath is not None:
        if issubclass(beneath, ERM) and beneath is not ERM and weighable(beneath):
            return on_top_of(beneath)
        others = [each for each, method in METHODS.items() if method is not ERM and weighable(method)]
        pairs = [each for each in METHODS if each.endswith("+cmw-net")]
        raise RecipeError(
            f"no method named {name!r}: {base!r} does more than give each sample a loss; there are "
            f"{', '.join(dict.fromkeys([*pairs, *(f'{each}+cmw-net' for each in others)]))}"
        )
    return lookup(METHODS, name, "method")


def build(name: str, setup: Setup, /, **options: Any) -> Method:
    """The method of that name on a setup, with options of ``options_of_method``."""
    method = find(name)
    own = keyword_only(method).keys() if method.learns_weights else options.keys()
    borrowed = {key: value for key, value in options.items() if key not in own}
    if borrowed:
        setup = setup.reweighting(**borrowed)
    return method(setup, **{key: value for key, value in options.items() if key in own})
