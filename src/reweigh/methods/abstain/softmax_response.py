"""Softmax response: abstain where the largest probability is small."""

from reweigh.methods.erm import ERM


class SoftmaxResponse(ERM):
    """Plain training, to abstain where the largest probability is small (Geifman and El-Yaniv, NeurIPS 2017)."""

    abstains = True
