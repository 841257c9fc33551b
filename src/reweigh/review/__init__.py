"""Look at suspicious labels and decide: a local page for people, and a file of decisions that training can use."""

from reweigh.review.server import Review
from reweigh.review.subject import of_fit, of_run

__all__ = ["Review", "of_fit", "of_run"]
