"""``RobustClassifier``: fit on labels that may be wrong or rare, predict, and see which labels are suspicious."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from reweigh.data.sparse import SparseRows
from reweigh.errors import RecipeError
from reweigh.estimator import fitted, saving
from reweigh.estimator.calibration import held_out, predict_or_abstain, rejoined
from reweigh.estimator.candidate_targets import read_candidates
from reweigh.estimator.defaults import LEARNING_RATE, default_batch_size, default_epochs
from reweigh.estimator.features import learn_features
from reweigh.estimator.fitted import Fitted
from reweigh.estimator.modules import Architecture, architecture, builder
from reweigh.estimator.notebook import trained_html
from reweigh.estimator.options import check_parameters, draw_seed, takes_unlabeled
from reweigh.estimator.sample_weights import read_weights
from reweigh.estimator.scoring import choose_scoring
from reweigh.estimator.targets import read_targets
from reweigh.estimator.trainer import Trainer
from reweigh.estimator.trusted import read_trusted
from reweigh.recipes.assemble import find_device
from reweigh.training import progress

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class RobustClassifier(ClassifierMixin, BaseEstimator):
    """A neural classifier that learns, while it trains, how far to trust each sample.

        classifier = RobustClassifier(random_state=0).fit(X, y)
        classifier.predict(X_new)
        classifier.label_issues_.head(20)

    Args:
        method: how to train, a name that ``reweigh list methods`` shows; "erm" is plain training.
        module: the network, which returns logits. None takes a perceptron for rows of numbers and a small convolutional
            net for images. Or a ``torch.nn.Module``, which is copied; a class or function that is called with the shape
            of a sample and the number of classes; or a name that ``reweigh list models`` shows.
        epochs: passes over the data. None: as many as come to 1,000 steps, but from 20 to 50.
        batch_size: None: about a fiftieth of the samples, from 16 to 256.
        learning_rate: of AdamW, falling along a cosine. None: 0.001.
        class_weight: a dict from class to weight, or "balanced"; multiplied into ``sample_weight``.
        method_options: options of the method, such as ``{"every": 1}``.
        scoring: what label issues come from: predictions made "in-training"; those of further models, trained briefly
            and without the sample ("out-of-fold"); or "auto", chosen from the data.
        calibration: share of the samples, of each class, that is not trained on, so that ``predict(X, coverage=0.9)``
            knows when to abstain; such as 0.1.
        device: "auto" takes a GPU if there is one.
        candidates: y is a mask, N x num_classes, true where a class may be the right one; for a method such as
            "proden+cmw-net", others take all candidates alike.
        random_state: a number makes the result reproducible. The global generators are left as they are.
        verbose: show the progress of training.

    Attributes:
        classes_: the labels, sorted.
        module_: the trained network.
        history_: DataFrame, a line an epoch.
        sample_weight_: shape (N,), the weight of each training sample, the mean along training, without the user's own
            factor; one for a sample that was never weighed.
        pseudo_labels_: shape (N,), the label that training suggests for each sample.
        weighting_: the learned function, ``weighting_(losses, family)``; None for a method without.
        scoring_: which scoring was used.
        n_features_in_: columns of X; of images the size of the second dimension.
        feature_names_in_: the columns of a DataFrame.
    """

    n_features_in_: int  # set by scikit-learn's validation

    def __init__(
        self,
        method: str = "cmw-net",
        *,
        module: Any = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        class_weight: Any = None,
        method_options: dict[str, Any] | None = None,
        scoring: str = "auto",
        calibration: float | None = None,
        device: str = "auto",
        candidates: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.method = method
        self.module = module
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.method_options = method_options
        self.scoring = scoring
        self.calibration = calibration
        self.device = device
        self.candidates = candidates
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_trusted: Any = None, y_trusted: Any = None) -> Self:
        """Train on samples with their given labels, right or wrong.

        Args:
            X: rows of numbers, dense or sparse; a DataFrame, whose columns may be numbers, dates, categories and texts,
                with gaps; or images (N, channels, height, width), bytes or floats.
            y: N labels; or N x num_classes rows of probabilities, or with ``candidates`` a mask of that shape. For a
                method that learns from samples without a label too, -1, None and NaN mark these.
            sample_weight: shape (N,), how much each sample counts besides; ones change nothing.
            X_trusted: samples whose labels were checked. The weights are learned on them, the network is not; without
                them the samples of lowest loss in each class are trusted.
            y_trusted: their labels.

        Raises:
            ValueError: parameters, data or labels are not what they should be; says which, and what to do.
        """
        method = check_parameters(self.get_params(deep=False))
        device = find_device(str(self.device), "device")
        features, inputs = learn_features(self, X)
        targets = (
            read_candidates(y, len(inputs))
            if self.candidates
            else read_targets(y, len(inputs), takes_unlabeled(self.method))
        )
        weights = read_weights(sample_weight, self.class_weight, targets)
        train_set = fitted.dataset(features, inputs, targets, weights)
        samples = len(train_set)
        batch_size = self.batch_size or default_batch_size(samples)
        known = architecture(self.module, train_set.shape, samples)
        trainer = Trainer(
            build=builder(self.module, known, trust_code=True),  # named by the caller, in this call
            method=method,
            epochs=self.epochs or default_epochs(samples, batch_size),
            batch_size=batch_size,
            learning_rate=self.learning_rate or LEARNING_RATE,
            seed=draw_seed(self.random_state),
            device=device,
            clean_set=read_trusted(self, X_trusted, y_trusted, features, targets.classes),
        )
        sparse = isinstance(inputs, SparseRows)
        scoring = choose_scoring(features.shape, sparse, samples) if self.scoring == "auto" else self.scoring
        observer = progress(label=self.method) if self.verbose else None
        stays, apart = held_out(train_set, self.calibration, trainer.seed)
        found = fitted.train(trainer, stays, features, targets.classes, scoring, observer)
        self._remember(found if apart is None else rejoined(found, train_set, stays, apart, device), known)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, shape (N, num_classes); columns as in ``classes_``.

        Raises:
            ValueError: X has other columns or another shape than in training.
        """
        check_is_fitted(self)
        inputs = self._fitted.features.read(self, X, "X")
        return self._fitted.probabilities(inputs).numpy()

    def predict(self, X: Any, coverage: float | None = None) -> np.ndarray:
        """The likeliest label of each sample, shape (N,).

        Args:
            coverage: predict about this share of samples like those of training, the surest ones; the others become -1,
                or None where labels are no numbers (or -1 is one of them). Needs ``calibration``. None predicts all.

        Raises:
            ValueError: X has other columns or another shape than in training; the coverage is not above 0 and at most
                1, or nothing was held out to set its threshold by.
        """
        if coverage is not None:
            check_is_fitted(self)
            return predict_or_abstain(self._fitted, self._fitted.features.read(self, X, "X"), coverage)
        likeliest = self.predict_proba(X).argmax(1)
        return self.classes_[likeliest]

    @property
    def label_issues_(self) -> "pd.DataFrame":
        """The training samples, the most suspicious label first.

        Columns: ``index`` (the row of X), ``given_label``, ``suggested_label``, ``label_quality`` (0 is worst, 1 best),
        ``weight``, ``family`` (of the class; 0 holds the rarest) and ``is_label_issue``.
        """
        from reweigh.label_issues import label_issues

        check_is_fitted(self)
        if self._issues is None:
            it = self._fitted
            learned = None if it.family is None else it.weights  # those of self-paced learning, say, mean other things
            self._issues = label_issues(it.given, it.predictions, learned, it.family, it.classes.tolist(), it.judgment)
        return self._issues

    def plot_weighting(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the learned weight against the loss, one curve for each family of classes.

        Args:
            ax: where to draw; otherwise in a new figure.

        Raises:
            RecipeError: the method learns no such function.
        """
        check_is_fitted(self)
        if self.weighting_ is None:
            raise RecipeError(f"method {self.method!r} learns no weighting function; 'cmw-net' does")
        highest = max(float(np.nanquantile(self._fitted.losses, 0.99)), math.log(len(self.classes_)))
        return self.weighting_.plot(highest, self.classes_.tolist(), ax)

    def save(self, path: str | Path) -> None:
        """Write the trained classifier to one file, without pickle; ``RobustClassifier.load`` reads it.

        Raises:
            DataError: labels or parameters are no plain numbers or texts.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        seen = {"n_features_in_": self.n_features_in_, "feature_names_in_": None if names is None else names.tolist()}
        saving.save(path, self.get_params(deep=False), seen, self._known, self._fitted)

    @classmethod
    def load(cls, path: str | Path, module: Any = None, trust_code: bool = False) -> Self:
        """The classifier that ``save`` wrote.

        Args:
            module: the network again (or what builds it) if it was the user's own.
            trust_code: Whether a network from outside the package, which the file names, may be built: this runs its
                code.

        Raises:
            DataError: there is no such file, or it holds something else.
            ModelError: the network is needed, or does not fit.
        """
        params, seen, known, found = saving.load(path, module, trust_code)
        classifier = cls(**params)
        for name, value in seen.items():
            if value is not None:
                setattr(classifier, name, np.array(value, dtype=object) if isinstance(value, list) else value)
        classifier._remember(found, known)
        return classifier

    def _remember(self, found: Fitted, known: Architecture | None) -> None:
        import pandas as pd

        self._fitted = found
        self._known = known
        self._issues = None
        self.classes_ = found.classes
        self.module_ = found.module
        self.history_ = pd.DataFrame(found.history)
        weights = torch.ones(len(found.given)) if found.weights is None else found.weights.nan_to_num(1.0)
        self.sample_weight_ = weights.numpy()
        self.pseudo_labels_ = found.classes[found.suggested.numpy()]
        self.weighting_ = found.weighting
        self.scoring_ = found.scoring

    def _repr_html_inner(self) -> str:
        shown = super()._repr_html_inner()  # pyright: ignore[reportAttributeAccessIssue] (scikit-learn's diagram)
        if not hasattr(self, "_fitted"):
            return shown
        return shown + trained_html(self.method, len(self._fitted.history), self.label_issues_, self.scoring_)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        shown = super()._repr_mimebundle_(**kwargs)  # pyright: ignore[reportAttributeAccessIssue]
        return {**shown, "text/html": self._repr_html_inner()} if "text/html" in shown else shown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
