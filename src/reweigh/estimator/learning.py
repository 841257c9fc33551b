"""From X and y to a fit: from scratch, or continuing from a trained classifier."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from reweigh.data import Dataset
from reweigh.data.dataset import Reading
from reweigh.data.labels.class_numbers import as_array, warn_of_spellings
from reweigh.errors import DataError, RecipeError
from reweigh.estimator.inputs import read_inputs, read_more_inputs
from reweigh.estimator.parameters import continued, is_classifier, own_builder, plan_of, takes_unlabeled
from reweigh.estimator.targets import (
    Targets,
    read_candidates,
    read_consensus,
    read_more_targets,
    read_targets,
    read_weights,
)
from reweigh.fit import Fit, fit
from reweigh.fit.front import own_front
from reweigh.fit.inputs import InputForm
from reweigh.fit.trainer import builder
from reweigh.issues.votes import Votes
from reweigh.looks import check_classifier
from reweigh.names import listed
from reweigh.plan.choose import Facts
from reweigh.training import Observer, progress
from reweigh.training.progress import Silent
from reweigh.training.result import Means


class Learned(NamedTuple):
    """A fit, and what else a classifier keeps of the data.

    Attributes:
        classes: The labels as the user writes them.
        columns: All columns of a table; empty if X was not one.
    """

    fit: Fit
    classes: np.ndarray
    columns: tuple[str, ...] = ()
    index: Any = None


def learn(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    trusted: tuple[Any, Any] = (None, None),
    earlier: Learned | None = None,
    classes: Any = None,
    groups: Any = None,
    goes_on: bool = False,
) -> Learned:
    """Train on samples with their given labels.

    Args:
        trusted: Samples whose labels the user vouches for, and their labels.
        classes: All classes, if some may be missing from y.
        groups: Which samples belong together, shape (N,).
        goes_on: Whether training is to continue from the result, as only networks can.
        earlier: Earlier result to continue from: its network, classes and form of the inputs. None starts from scratch.
    """
    params = estimator.get_params(deep=False)
    names = None if classes is None else np.unique(as_array(classes))
    if earlier is None:
        train_set, targets, columns, index = _first(estimator, X, y, names)
    else:
        if names is not None and names.tolist() != earlier.classes.tolist():
            known = listed(map(repr, earlier.classes.tolist()))
            raise DataError(f"classes: not those of the first call, which were {known}; pass None or the same")
        train_set, targets, columns, index = _more(estimator, X, y, earlier)
    weights = read_weights(sample_weight, params["class_weight"], targets)
    train_set = replace(train_set, sample_weight=weights, groups=read_groups(groups, len(train_set)))
    form = InputForm.of(train_set)
    checked = read_trusted(estimator, *trusted, form, columns, targets.classes)
    own = params["features"]
    front = None if isinstance(own, str | Mapping | None) else own_front(own, train_set.shape)
    model = params["model"]
    fitted = is_classifier(model)
    if fitted:
        check_classifier(model)
    build = None if model is None or fitted or isinstance(model, str) else own_builder(model)
    facts = Facts.of(train_set) if front is None else Facts.of(train_set).as_features(front.network.width)
    facts = facts._replace(networks_only=goes_on or build is not None or front is not None)
    plan = plan_of(params, facts, checked is not None)
    if earlier is not None:
        plan = replace(plan, model=earlier.fit.plan.model)
        if build is None:
            assert plan.model is not None
            build = builder(plan.model, trust_code=True)
        build = continued(build, earlier.fit.model)
    found = fit(
        train_set,
        plan,
        trusted=checked,
        build=build,
        front=front,
        classifier=model if fitted else None,
        observer=watched(params["callbacks"], plan.method.name if params["verbose"] else None),
        trust_code=True,  # a network outside the package was named by the caller, in this very call
    )
    return Learned(found, targets.classes, columns, index)


def read_groups(groups: Any, samples: int) -> Tensor | None:
    """The group of each sample as a number, shape (N,); None if there are none."""
    import pandas as pd

    if groups is None:
        return None
    found = as_array(groups)
    if found.shape != (samples,):
        raise DataError(f"groups: shape {found.shape} for {samples} samples; pass one per sample")
    codes, distinct = pd.factorize(found)
    if (codes < 0).any():
        missing = np.flatnonzero(codes < 0)
        raise DataError(f"groups: {len(missing)} of {samples} are missing: rows {listed(missing)}; give each a group")
    if len(distinct) == 1:
        raise DataError(f"groups: all {samples} samples are in one group, so none can be held out; leave groups out")
    return torch.from_numpy(codes.astype(np.int64))


def _first(estimator: Any, X: Any, y: Any, classes: np.ndarray | None) -> tuple[Dataset, Targets, tuple[str, ...], Any]:
    unlabeled = takes_unlabeled(str(estimator.method))
    read = read_inputs(estimator, X)
    samples = len(read.inputs)
    votes = y if isinstance(y, Votes) else None
    if votes is not None:
        targets = read_consensus(votes, samples)
    else:
        targets = read_candidates(y, samples) if estimator.candidates else read_targets(y, samples, unlabeled)
    if classes is not None and classes.tolist() != targets.classes.tolist():
        targets = read_more_targets(y, classes, samples, "y")
    dataset = Dataset(
        read.inputs,
        targets.labels,
        tuple(map(str, targets.classes)),
        normalize=read.normalize,
        soft_labels=targets.rows,
        candidates=targets.candidates,
        reading=Reading(encoding=read.encoding),
        votes=votes,
    )
    warn_of_spellings(dataset, "y", "write each class in one way (y.str.strip().str.lower(), y.replace(...))")
    return dataset, targets, read.columns, read.index


def _more(estimator: Any, X: Any, y: Any, earlier: Learned) -> tuple[Dataset, Targets, tuple[str, ...], Any]:
    if estimator.candidates:
        raise DataError("candidates=True: a classifier of candidate labels cannot continue training; fit a new one")
    if isinstance(y, Votes):
        raise DataError("votes: a classifier cannot continue training on labels by several labelers; fit a new one")
    form = earlier.fit.inputs
    if form.width is not None:
        raise DataError(
            "a classifier on pretrained features cannot continue training; fit a new one on all samples, which "
            "is quick: the features that were computed are cached"
        )
    inputs = read_more_inputs(estimator, X, form, earlier.columns, "X")
    targets = read_more_targets(y, earlier.classes, len(inputs), "y")
    dataset = replace(
        form.dataset(inputs, earlier.fit.class_names),
        labels=targets.labels,
        soft_labels=targets.rows,
        reading=Reading(encoding=form.encoding),
    )
    return dataset, targets, earlier.columns, getattr(X, "index", None)


def read_trusted(
    estimator: Any, X: Any, y: Any, form: InputForm, columns: tuple[str, ...], classes: np.ndarray
) -> Dataset | None:
    """The trusted samples in the form of the training samples; None if there are none."""
    if X is None and y is None:
        return None
    if X is None or y is None:
        there, missing = ("y_trusted", "X_trusted") if X is None else ("X_trusted", "y_trusted")
        raise DataError(f"{there}: given without {missing}; pass both or neither")
    try:
        inputs = read_more_inputs(estimator, X, form, columns, "X_trusted")
    except DataError:
        raise
    except ValueError as error:  # scikit-learn's own, which speaks of X
        raise DataError(f"X_trusted: {error}") from error
    labels, _, rows, _ = read_more_targets(y, classes, len(inputs), "y_trusted")
    if len(inputs) < 2:
        raise DataError(f"X_trusted: {len(inputs)} sample; pass two or more, best some of each class")
    return replace(form.dataset(inputs, tuple(map(str, classes))), labels=labels, soft_labels=rows)


def watched(callbacks: Any, label: str | None) -> Observer | None:
    """The observer of the training: a progress bar with this label, the user's functions, both, or neither."""
    bar = None if label is None else progress(label=label)
    if callbacks is None:
        return bar
    functions = [callbacks] if callable(callbacks) else callbacks
    if isinstance(functions, str | Mapping) or not isinstance(functions, Iterable) or not all(map(callable, functions)):
        raise RecipeError(
            f"RobustClassifier: callbacks: got {callbacks!r}; pass a function, or a list of functions, that is called "
            "after each epoch with its numbers, such as callbacks=[lambda numbers: print(numbers['train_loss'])]"
        )
    return _Calling(bar or Silent(), list(functions))


class _Calling:
    """Passes everything on to an observer, and the numbers of each epoch to some functions as well."""

    def __init__(self, observer: Observer, functions: list[Callable[[dict[str, Any]], Any]]):
        self._observer, self._functions = observer, functions
        self.start, self.count, self.stop = observer.start, observer.count, observer.stop

    def step(self, epoch: int, step: int, means: Means) -> None:
        self._observer.step(epoch, step, means)

    def epoch(self, line: Mapping[str, Any]) -> None:
        self._observer.epoch(line)
        for function in self._functions:
            function(dict(line))
