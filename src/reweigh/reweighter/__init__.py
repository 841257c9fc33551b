"""Class-aware weighting in your own training loop."""

from reweigh.reweighter.reweighter import Reweighter

__all__ = ["Reweighter"]
