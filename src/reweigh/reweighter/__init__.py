"""Class-aware weighting in a training loop of one's own."""

from reweigh.reweighter.reweighter import Reweighter

__all__ = ["Reweighter"]
