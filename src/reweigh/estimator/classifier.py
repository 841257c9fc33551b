"""``RobustClassifier``: fit on labels that may be wrong or rare, predict, and see which labels are suspicious."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.utils.validation import check_is_fitted

from reweigh.data import Dataset
from reweigh.errors import DataError, RecipeError
from reweigh.estimator import saved
from reweigh.estimator.inputs import read_more_inputs
from reweigh.estimator.learning import Learned, learn
from reweigh.estimator.reviewing import Reviewing
from reweigh.estimator.targets import undecided
from reweigh.estimator.voting import Voting, labels_or_votes, of_all_rows
from reweigh.fit.decision import Decision, read_costs
from reweigh.fit.scored import Scored, device_of, scored
from reweigh.issues.votes import Votes
from reweigh.models.selective import selects
from reweigh.selective import check_coverage, threshold

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class RobustClassifier(Voting, Reviewing, ClassifierMixin, BaseEstimator):
    """A neural classifier that learns, while it trains, how much to trust each sample.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> y[0] = 2  # a wrong label
        >>> classifier = RobustClassifier(epochs=10, random_state=0).fit(X, y)
        >>> classifier.predict(X[:3])
        array([0, 0, 0])
        >>> classifier.label_issues_.index[:1].tolist()  # the label to look at first
        [0]

    Args:
        method: Training method, a name that ``reweigh list methods`` shows; "erm" is plain training, and "auto" chooses
            by the data.
        model: Network that returns logits: a ``torch.nn.Module``, which is copied; a class or function that is called
            with the shape of a sample and the number of classes; or a name that ``reweigh list models`` shows. None
            uses a perceptron for rows of numbers and a small convolutional network for images.
        features: Frozen network in front of the model: a name (``reweigh list features``, timm:NAME, ...), "none", or a
            ``torch.nn.Module`` from samples (bytes divided by 255) to rows. "auto" uses a pretrained one for photos if
            the extra ``pretrained`` is installed and no model is passed. A dict has options; see docs/features.md.
        epochs: Passes over the data. None: enough for 1,000 steps, from 20 to 50; "two-looks" gets 1.9 times as many.
        batch_size: Samples per step. None: about a fiftieth of the samples, from 16 to 256.
        lr: Learning rate at the start; it falls along a cosine. None: 0.001, or 0.1 for "sgd".
        optimizer: "adamw", "adam" or "sgd" (with momentum); or the class, such as torch.optim.SGD.
        weight_decay: Weight decay of the optimizer. None: 0.01 for "adamw", 0.0005 for "sgd", none for "adam".
        class_weight: A dict from class to weight, or "balanced"; multiplied by ``sample_weight``.
        method_options: Options of the method, such as ``{"every": 1}``.
        scoring: Predictions from which label issues come: those made "in-training"; those of further models, trained
            briefly and without the sample ("out-of-fold"); or "auto", which chooses by the data.
        validation_fraction: Share of the samples of each class that is held out to judge which epoch to keep; 0 keeps
            the last. None: a tenth from 2,000 samples on, otherwise 0; "two-looks" has its own judge.
        prior: Whether to correct the loss for the class shares, so that rare classes are learned as well as frequent
            ones; ``class_shares`` are applied afterward. Off by default, but "two-looks" corrects by itself.
        aim: What to optimize: "accuracy", "balanced" (balanced accuracy) or "log-loss" (good probabilities). It decides
            which epoch is kept, what ``score`` returns and, unless given, the class shares.
        class_shares: Class shares of the data that will be predicted: "estimated" (those of the true labels), "given"
            (those of y), "uniform", a dict from class to share, or "as-trained" (what training makes of it). It can be
            changed after ``fit`` without training again. None: "uniform" for the aim "balanced", else "estimated".
        abstain: Share of the samples of each class, such as 0.1, that is not trained on, so that
            ``predict(X, coverage=0.9)`` knows when to abstain.
        device: Where to train; "auto" uses a GPU if there is one.
        candidates: Whether y is a mask, N x num_classes, true where a class may be the right one; it may be sparse.
        warm_start: Whether ``fit`` continues from the network of an earlier ``fit``, with its classes, encoding and
            scale of the columns.
        callbacks: A function, or several, called after each epoch with a dict like a row of ``history_``.
        random_state: Seed of all randomness, for reproducible results. The global generators are not changed.
        verbose: Whether to show the progress of training.

    Attributes:
        classes_: The labels, sorted.
        model_: The trained network.
        plan_: How it was trained, including every choice.
        history_: DataFrame, one row per epoch.
        sample_weight_: Shape (N,), the mean weight of each training sample during training, without the user's own
            factor; 1 for a sample that was never weighed.
        suggested_labels_: Shape (N,), the label that training suggests for each sample.
        label_quality_: Shape (N,), how credible each given label is, from 0 to 1, in the order of y.
        is_label_issue_: Shape (N,) bool, which labels look wrong, in the order of y.
        decision_: How scores become probabilities: the class shares, the temperature, and how many labels it is
            calibrated on.
        finding_: How many labels are wrong: ``finding_.words`` is one sentence; ``share``, ``low`` and ``high`` have
            one number per class, as in ``classes_``. None for a method that does not estimate it.
        consensus_: DataFrame, one row per sample, if it was fitted to labels by several labelers.
        labelers_: DataFrame, one row per labeler: how far it can be trusted, likewise.
        vote_issues_: DataFrame, one row per vote, the least credible first, likewise.
        weighting_: The learned weighting function, ``weighting_(losses, family)``; None for a method without one.
        n_features_in_: Number of columns of X; for images, the size of the second dimension.
        feature_names_in_: Column names of a DataFrame.
    """

    n_features_in_: int  # set by scikit-learn's validation

    def __init__(
        self,
        method: str = "auto",
        *,
        model: Any = None,
        features: Any = "auto",
        epochs: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        optimizer: Any = None,
        weight_decay: float | None = None,
        class_weight: Any = None,
        method_options: dict[str, Any] | None = None,
        scoring: str = "auto",
        validation_fraction: float | None = None,
        prior: bool | None = None,
        aim: str = "accuracy",
        class_shares: Any = None,
        abstain: float | None = None,
        device: str = "auto",
        candidates: bool = False,
        warm_start: bool = False,
        callbacks: Any = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.method = method
        self.model = model
        self.features = features
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.method_options = method_options
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.prior = prior
        self.aim = aim
        self.class_shares = class_shares
        self.abstain = abstain
        self.device = device
        self.candidates = candidates
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_trusted: Any = None,
        y_trusted: Any = None,
        groups: Any = None,
    ) -> Self:
        """Train on samples with their given labels, right or wrong.

        Args:
            X: Rows of numbers, dense (NaN is a gap) or sparse; a DataFrame of pandas or polars, whose columns
                may be numbers, dates, categories and text, with gaps; images (N, channels, height, width), bytes or
                floats; or N paths of image files.
            y: N labels; N x num_classes rows of probabilities; or with ``candidates`` a mask of that shape. For methods
                that also learn from samples without a label, -1, None and NaN mark these samples. Labels by several
                labelers are ``Votes``, or N x M, one column per labeler, with gaps: see ``labelers_``.
            sample_weight: Shape (N,), a factor of the loss of each sample; ones change nothing.
            X_trusted: Samples whose labels were checked. The weights are learned on them; the network is not trained on
                them. By default, held-out labels or the samples with the lowest losses are used instead.
            y_trusted: Labels of the trusted samples.
            groups: Shape (N,), which samples belong together, such as the number of a patient: samples of a group, and
                copies of a sample, are held out together.

        Raises:
            ValueError: A parameter, the data or the labels are not valid; the message says which, and what to do.
        """
        earlier = self._learned if self.warm_start and hasattr(self, "_learned") else None
        y = y if self.candidates else labels_or_votes(y)
        trusted = (X_trusted, y_trusted)
        learned = learn(self, X, y, sample_weight, trusted, earlier, groups=groups, goes_on=bool(self.warm_start))
        self._remember(learned)
        if isinstance(y, Votes) and learned.fit.labelers is not None:
            self._remember(learned._replace(fit=of_all_rows(learned.fit, y, lambda: self.predict_proba(X))))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with more samples, from the current network.

        Each call trains for ``epochs`` on its own samples, best a good part of the data; what it reports, such as
        ``label_issues_``, is about these samples. Columns are encoded and numbers scaled as in the first call.

        Args:
            X: As for ``fit``.
            y: As for ``fit``.
            classes: In the first call all classes, unless y has them all; later the same or None.
            sample_weight: As for ``fit``.

        Raises:
            ValueError: As for ``fit``; or y has a class that the first call did not have.
        """
        earlier = getattr(self, "_learned", None)
        self._remember(learn(self, X, y, sample_weight, earlier=earlier, classes=classes, goes_on=True))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, shape (N, num_classes); columns as in ``classes_``.

        Raises:
            ValueError: X has other columns or another shape than in training.
        """
        check_is_fitted(self)
        return self._scored(X).probabilities.numpy()

    def decision_function(self, X: Any) -> np.ndarray:
        """The logits of the probabilities, shape (N, num_classes); for two classes the log-odds of the second, (N,).

        Raises:
            ValueError: X has other columns or another shape than in training.
        """
        check_is_fitted(self)
        logits = self._scored(X).logits.double().log_softmax(1).numpy()
        return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """How well the labels are predicted, by the ``aim``: accuracy, balanced accuracy, or the negative log loss.

        Args:
            X: As for ``predict``.
            y: Shape (N,), the labels.
            sample_weight: Shape (N,), how much each sample counts.
        """
        if self.aim == "log-loss":
            return -float(log_loss(y, self.predict_proba(X), sample_weight=sample_weight, labels=self.classes_))
        measure = balanced_accuracy_score if self.aim == "balanced" else accuracy_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def predict(self, X: Any, coverage: float | None = None, costs: Any = None) -> np.ndarray:
        """The likeliest label of each sample, shape (N,); with ``costs``, the one of lowest expected cost.

        Args:
            coverage: Share of the samples to predict, the most confident ones; it holds for samples like those of
                training. The others become -1, or None if labels are not numbers (or -1 is one of them). Needs
                ``abstain``. None predicts all samples.
            costs: A dict from each class to the cost of missing it, such as ``{"ok": 1, "fraud": 5}``; or an array,
                shape (num_classes, num_classes), cost by true (row) and predicted (column) class, as in ``classes_``.

        Raises:
            ValueError: X has other columns or another shape than in training; the coverage is not above 0 and at most
                1, or nothing was held out (``abstain``) to set its threshold; costs are not valid, or given together
                with a coverage.
        """
        check_is_fitted(self)
        if costs is not None:
            if coverage is not None:
                raise DataError("predict: costs and coverage were both given; pass one of them")
            matrix = read_costs(costs, self.classes_.tolist())
            return self.classes_[(self.predict_proba(X).astype(float) @ matrix).argmin(1)]
        if coverage is None:
            return self.classes_[self._scored(X).logits.argmax(1).numpy()]
        if self._fit.held_out is None:
            raise DataError(
                "predict: coverage needs samples that were not trained on; fit with RobustClassifier(abstain=0.1), "
                "which holds out a tenth"
            )
        check_coverage(coverage)
        found, held_out = self._scored(X), self._fit.held_out.decided(self.decision_, selects(self.model_))
        doubtful = found.scores < threshold(held_out.scores, coverage)
        return undecided(self.classes_[found.logits.argmax(1).numpy()], doubtful.numpy(), self.classes_)

    @property
    def decision_(self) -> Decision:
        """How logits become probabilities: for which class shares, and how they are calibrated."""
        check_is_fitted(self)
        by_aim = "uniform" if self.aim == "balanced" else "estimated"
        shares = by_aim if self.class_shares is None else self.class_shares
        return self._fit.decision.meeting(shares, self.classes_.tolist())

    def _scored(self, X: Any) -> Scored:
        decision = self.decision_  # before X is read: wrong shares are reported at once
        return scored(self.model_, self._samples(X), device_of(self.model_)).decided(decision, selects(self.model_))

    def _samples(self, X: Any) -> Dataset:
        found, form = self._fit, self._fit.inputs
        inputs = read_more_inputs(self, X, form, self._learned.columns, "X")
        return form.dataset(inputs, found.class_names, found.front, device_of(found.model))

    @property
    def label_issues_(self) -> "pd.DataFrame":
        """The training samples, the most suspicious label first.

        The index is that of X if it was a DataFrame, otherwise (and after ``load``) the row number; so
        ``df.loc[label_issues_.index]`` are the samples in this order. Columns: ``given_label``, ``suggested_label``,
        ``label_quality`` (0 is worst, 1 best), ``weight``, ``family`` (of the class; 0 holds the rarest) and
        ``is_label_issue``.
        """
        check_is_fitted(self)
        if self._issues is None:
            self._issues = self._fit.samples.label_issues(self.classes_.tolist(), self._learned.index)
        return self._issues

    def plot_weighting(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the learned weight against the loss, one curve for each family of classes.

        Args:
            ax: Axes to draw in; None makes a new figure.

        Raises:
            RecipeError: The method does not learn a weighting function.
        """
        check_is_fitted(self)
        if self.weighting_ is None:
            raise RecipeError(f"method {self.plan_.method.name!r} learns no weighting function; 'cmw-net' does")
        highest = max(float(np.nanquantile(self._fit.samples.losses, 0.99)), math.log(len(self.classes_)))
        return self.weighting_.plot(highest, self.classes_.tolist(), ax)

    def save(self, path: str | Path) -> None:
        """Write the trained classifier to one file, without pickle, for ``load``; labels must be numbers or strings."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        seen = {"n_features_in_": self.n_features_in_, "feature_names_in_": None if names is None else names.tolist()}
        saved.save(path, self._fit, self.get_params(deep=False), seen, self.classes_, self._learned.columns)

    @classmethod
    def load(cls, path: str | Path, model: Any = None, features: Any = None, trust_code: bool = False) -> Self:
        """The classifier that ``save`` wrote.

        Args:
            model: Your own network (or what builds it), if the classifier was trained with one.
            features: Your own frozen network in front of the model, if the classifier was trained with one.
            trust_code: Whether a network from outside the package that the file names may be built, which runs its
                code.

        Raises:
            DataError: There is no such file, or it is not a saved classifier.
            ModelError: Your own network is missing or does not match.
        """
        names = cls._get_param_names()
        found, params, seen, classes, columns = saved.load(path, names, model, features, trust_code)
        classifier = cls(**params)
        for name, value in seen.items():
            if value is not None:
                setattr(classifier, name, np.array(value, dtype=object) if isinstance(value, list) else value)
        classifier._remember(Learned(found, classes, columns))
        return classifier

    def _remember(self, learned: Learned) -> None:
        import pandas as pd

        self._learned, self._issues = learned, None
        self._fit, self.classes_ = found, classes = learned.fit, learned.classes
        self.model_ = found.model
        self.plan_ = found.plan
        self.history_ = pd.DataFrame(found.history)
        samples = found.samples
        weights = torch.ones(len(samples.given)) if samples.weights is None else samples.weights.nan_to_num(1.0)
        self.sample_weight_ = weights.numpy()
        self.suggested_labels_ = classes[samples.suggested.numpy()]
        self.label_quality_, self.is_label_issue_ = samples.quality.numpy(), samples.wrong.numpy()
        self.finding_, self.weighting_ = found.finding, found.weighting

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def weights_for(X: Any, y: Any, **parameters: Any) -> np.ndarray:
    """How much to trust each label, for the ``fit(X, y, sample_weight=...)`` of another model; shape (N,).

    >>> from sklearn.datasets import load_iris
    >>> weights_for(*load_iris(return_X_y=True), epochs=4, random_state=0).shape
    (150,)

    Args:
        parameters: Parameters of the ``RobustClassifier`` that learns the weights.
    """
    return RobustClassifier(**parameters).fit(X, y).sample_weight_
