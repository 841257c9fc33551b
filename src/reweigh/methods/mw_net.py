"""MW-Net: one weighting curve for all classes."""

from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.variant import variant

mw_net = variant(CMWNet, "Meta-Weight-Net (Shu et al., NeurIPS 2019): CMW-Net with a single family.", families=1)
