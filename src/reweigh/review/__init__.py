"""Look at suspicious labels and decide: a local page for people, and a file of decisions that training can use."""

from reweigh.review.server import Review, review_fit, review_run

__all__ = ["Review", "review_fit", "review_run"]
