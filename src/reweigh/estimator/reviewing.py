"""Which labels of a fitted classifier to look at first: on the review page, in an audit, and on a map."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from sklearn.utils.validation import check_is_fitted

from reweigh.data.inputs import SparseRows
from reweigh.errors import DataError
from reweigh.estimator.inputs import as_pandas
from reweigh.features.plane import plane, standardized

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reweigh.issues.audit import LabelAudit
    from reweigh.review import Review

MAX_NAMED = 20  # classes in the legend of a map


class Reviewing:
    """Gives a classifier its methods ``review``, ``audit`` and ``plot_map``."""

    def audit(self: Any, n: int = 100) -> "LabelAudit":
        """Draw labels at random to find out how many are wrong; an estimate that holds however good the classifier is.

            audit = classifier.audit(n=100)
            audit.rows                               # check the labels of these samples
            found = audit.estimate(right_labels)     # the right label of each; None if nobody is sure
            found.wrong.share, found.wrong.low, found.wrong.high

        ``review(X, audit=100)`` shows them on a page.

        Args:
            n: Number of labels to check. An interval half as wide takes four times as many.

        Raises:
            DataError: No label was judged, or n is not positive.
        """
        from reweigh.issues.audit import LabelAudit

        check_is_fitted(self)
        return LabelAudit(self.label_issues_, n)

    def review(
        self: Any, X: Any, file: str | Path = "decisions.jsonl", reviewer: str | None = None, audit: int | None = None
    ) -> "Review":
        """Serve a page on this computer to check the suspicious labels; its address is shown.

            review = classifier.review(X)
            review.address                   # open it in a browser
            y_new, checked = review.labels() # with the decisions so far
            review.stop()

        Needs the extra ``review``.

        Args:
            X: Samples that the classifier was fitted to.
            file: File to which each decision is written at once; an existing file is continued.
            reviewer: Name of the reviewer, stored with the decisions; by default the name of the user.
            audit: Number of labels, drawn at random, to show instead of the suspicious ones; ``review.audited()`` is
                then how many labels are wrong.

        Raises:
            DataError: X holds other samples, or the extra is not installed.
        """
        from reweigh.review import Review, of_fit

        check_is_fitted(self)
        X = as_pandas(X)
        frame = X if hasattr(X, "iloc") and hasattr(X, "columns") else None
        subject = of_fit(self._fit, self._samples(X), frame, Path(file), self.classes_.tolist())
        return Review(subject, reviewer, audit=audit).start()

    def plot_map(self: Any, X: Any, ax: "Axes | None" = None) -> "Axes":
        """Draw the training samples as points, similar ones near each other; labels that look wrong have a frame.

        Args:
            X: Samples that the classifier was fitted to.
            ax: Axes to draw in; None makes a new figure.

        Raises:
            DataError: X holds another number of samples.
        """
        check_is_fitted(self)
        dataset, judged, names = self._samples(X), self._fit.samples, self._fit.class_names
        if len(dataset) != len(judged.given):
            raise DataError(
                f"X: {len(dataset):,} samples, but {len(judged.given):,} were fitted; pass the X of the fit"
            )
        from matplotlib import pyplot

        inputs = dataset.inputs
        rows = inputs.matrix if isinstance(inputs, SparseRows) else inputs[torch.arange(len(dataset))].flatten(1)
        found = plane(rows if isinstance(inputs, SparseRows) else standardized(rows.numpy()))
        ax = pyplot.subplots(layout="constrained")[1] if ax is None else ax
        wrong = judged.wrong.numpy()
        for label, name in enumerate(names):
            mine = judged.given.numpy() == label
            drawn = ax.scatter(*found.points[mine].T, s=8, label=name if label < MAX_NAMED else None)
            frames = found.points[mine & wrong].T
            ax.scatter(*frames, s=24, marker="s", color=drawn.get_facecolor(), edgecolors="black", linewidths=0.8)
        ax.set(xticks=[], yticks=[], title=f"{len(dataset):,} samples by {found.how}; framed labels look wrong")
        ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
        return ax
