"""The review page of a fitted classifier."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from reweigh.review import Review


class Reviewing:
    """Gives a classifier its method ``review``."""

    def review(self: Any, X: Any, file: str | Path = "decisions.jsonl", reviewer: str | None = None) -> "Review":
        """Serve a page on this computer to go through the suspicious labels; its address is shown.

            review = classifier.review(X)
            review.address                   # open it in a browser
            y_new, checked = review.labels() # as far as decided
            review.stop()

        Needs the extra ``review``.

        Args:
            X: What the classifier was fitted to.
            file: Where decisions are written, at once; an existing file is continued.
            reviewer: Name under which they are written; by default that of the user.

        Raises:
            DataError: X holds other samples, or the extra is not installed.
        """
        from reweigh.review import review_fit

        check_is_fitted(self)
        frame = X if hasattr(X, "iloc") and hasattr(X, "columns") else None
        return review_fit(self._fit, self._samples(X), frame, file, reviewer, self.classes_.tolist()).start()
