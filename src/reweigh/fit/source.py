"""Read the samples that a plan names, and bias the training set accordingly."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from reweigh.bias import Biased, apply
from reweigh.bias.biased import stream
from reweigh.bias.feature_dependent import out_of_fold
from reweigh.data import Dataset, check, few_labels, replace_inputs, with_candidates
from reweigh.data.arrays import load
from reweigh.data.readers import check_exists, has_test_part, read_files
from reweigh.data.source import FIELDS, Source, close_sources, open_source
from reweigh.data.tables.encoding import TextAs
from reweigh.errors import DataError, RecipeError
from reweigh.features import text_as
from reweigh.fit.decisions import with_decisions
from reweigh.meta_sets import BalancedRandom
from reweigh.plan import Part, Plan
from reweigh.plan.plan import member

logger = logging.getLogger(__name__)
CANDIDATES, LABELED, CLEAN = 1000, 1001, 1002  # streams of the seed of a run; biases have 0, 1, ...


class Samples(NamedTuple):
    """The samples of a plan.

    Attributes:
        train: The training set, biased.
        trusted: Trusted samples apart from the training set; None if the plan names none.
        further: Further sets that the model is judged on, by name.
    """

    train: Dataset
    test: Dataset
    trusted: Dataset | None = None
    further: Mapping[str, Dataset] = MappingProxyType({})


def read_source(plan: Plan) -> Samples:
    train, test, apart = _read(plan.source, plan.train["seed"], text_as(plan.features and plan.features.name))
    meta_set = plan.meta_set.bind()()
    if (plan.meta_set.name == "clean" and meta_set.source is None) != (apart is not None):
        raise RecipeError(
            "meta_set.name = 'clean' takes its samples from meta_set.path=FILE, or from data.clean=N, which sets N "
            "samples of each class apart; give exactly one of these, and use data.clean with no other meta set"
        )
    further = {
        name: read_like(train, path, plan.source, f"data.further_tests.{name}", part="test")
        for name, path in (plan.source.added["further_tests"] or {}).items()
    }
    trusted = apart
    if meta_set.source is not None:
        trusted = read_like(train, meta_set.source, plan.source, "meta_set.path", meta_set.label)
    close_sources()  # training needs the features alone
    return Samples(train, test, trusted, further)


def read_training_set(data: Part, seed: int) -> tuple[Dataset, Dataset]:
    """The training set of a section [data], biased, and the test set."""
    return _read(data, seed)[:2]


def _read(data: Part, seed: int, text: TextAs = "tf-idf") -> tuple[Dataset, Dataset, Dataset | None]:
    """The same, and samples with right labels that were set apart, if the section asks for some."""
    if data.parts["candidates"] and data.added["labeled"] is not None:
        raise RecipeError("data.labeled and data.candidates: no method learns from both; remove one of them")
    train, test = data.bind()(data_root(data.added["root"]), *([text] if data.name == "files" else []))
    if data.added["reviewed"] is not None and (train.candidates is not None or data.parts["candidates"]):
        raise RecipeError("data.reviewed: decisions are about one label per sample; these data have sets of labels")
    changed = data.parts["bias"] or data.parts["candidates"] or data.added["labeled"] is not None
    if changed and (train.candidates is not None or not train.labeled.all()):
        raise RecipeError(
            "data.bias, data.candidates and data.labeled need one label per sample; these data already have sets of "
            "labels (data.separator) or gaps (data.unlabeled)"
        )
    apart = None
    if data.added["clean"] is not None:
        smallest = int(train.class_sizes.min())
        if data.added["clean"] >= smallest:
            raise DataError(
                f"data.clean: {data.added['clean']} samples of each class would leave none of class "
                f"{train.class_names[int(train.class_sizes.argmin())]!r}, which has {smallest}; set fewer apart"
            )
        draw = BalancedRandom(per_class=data.added["clean"])
        chosen = draw.choose(train.labels, None, torch.Generator().manual_seed(stream(seed, CLEAN)))
        kept = torch.ones(len(train), dtype=torch.bool)
        kept[chosen] = False
        train, apart = train.subset(kept), train.subset(chosen)
    if data.parts["bias"]:
        train = biased(train, data, seed)
    if data.parts["candidates"]:
        train = partially_labeled(train, data.parts["candidates"][0], seed)
    if data.added["labeled"] is not None:
        train = few_labels(train, data.added["labeled"], stream(seed, LABELED))
    if data.added["reviewed"] is not None:
        parts = (train, test) if test.origin is not None else (train,)  # a test set of its own has its own rows
        train, test = (*with_decisions(parts, data.added["reviewed"], data.added["decisions"]), test)[:2]
    return check(train, "training set"), test, apart


def partially_labeled(train: Dataset, rule: Part, seed: int) -> Dataset:
    """The training set with a set of candidates in place of each label, the labels before kept as the true ones."""
    own = stream(seed, CANDIDATES) if rule.added["seed"] is None else rule.added["seed"]
    sets = rule.bind()(train.labels, train.num_classes, own)
    logger.info("candidates: %.2f per sample", sets.counts.double().mean())
    return with_candidates(train, sets)


def read_like(
    train: Dataset, path: str, data: Part, what: str, label: str | None = None, part: str = "train"
) -> Dataset:
    """Other data with the classes, and in the form, of the training samples."""
    source = data_root(data.added["root"]) / path
    like = train.reading.source or Source(source)
    written = {
        "label": label or like.label,
        "sep": like.sep,
        "encoding": like.encoding,
        "join_labels": like.join_labels,
    }
    try:
        found = read_files(
            open_source(source, **written),
            split=part if source.exists() and has_test_part(source) else "train",
            size=(train.shape[1], train.shape[2]) if train.is_images else None,
            resize=data.options.get("resize", "crop"),
            class_names=train.class_names,
            encoding=train.reading.encoding,
        )
    except DataError as error:
        raise DataError(f"{what}: {error}") from error
    if found.shape != train.shape:
        raise DataError(
            f"{what}: samples of shape {found.shape}, but the training samples have {train.shape}; give data of the "
            "same kind"
        )
    return replace(found, normalize=train.normalize)


def source_of(data: Part) -> Source | None:
    """The user's files of a section [data]; None for a named dataset."""
    if data.name != "files":
        return None
    root, options = data_root(data.added["root"]), {name: data.options[name] for name in FIELDS if name in data.options}
    files = {name: options[name] and Path(root, options[name]) for name in ("labels", "votes")}
    return open_source(**{**options, **files, "path": Path(root, options["path"])})


def data_root(given: str | Path | None) -> Path:
    """The folder of the data files: the given one, or else $REWEIGH_DATA, or else ``data``."""
    return Path(given or os.environ.get("REWEIGH_DATA") or "data")


def check_there(data: Part) -> None:
    """Raise a DataError if the files of a run's section [data] were moved away since."""
    if data.name != "files":
        return
    path = Path(data_root(data.added["root"]), data.options["path"])
    try:
        check_exists(path)
    except DataError as error:
        if path.exists():
            raise
        moved = f"{path}: the data of the run are no longer there; move them back, or put a link there"
        raise DataError(moved) from error


def biased(train: Dataset, data: Part, seed: int) -> Dataset:
    """The training set with worse labels, the labels before kept as the true ones."""
    done = draw(train, data.parts["bias"], seed, data.added["posteriors"])
    kept, before = len(done.index), len(train)
    logger.info("bias: %d of %d samples kept, %.1f %% of them wrong", kept, before, 100 * done.rate)
    train = train.subset(done.index).with_labels(done.labels)
    if done.replaced is None:
        return train
    if data.added["foreign"] is None:
        raise RecipeError("data.foreign: missing; name the dataset that the inputs of open-set noise come from")
    foreign = member("datasets", data.added["foreign"])(data_root(data.added["root"])).train.inputs
    return replace_inputs(train, done.replaced, foreign, seed)


def draw(train: Dataset, parts: Sequence[Part], seed: int, file: str | None = None) -> Biased:
    """What biases in sequence do to the labels of a training set; the set itself stays as it is.

    Args:
        file: Posteriors for feature-dependent noise, a .npy; by default those of a probe.
    """
    own = [part.added["seed"] for part in parts]
    seeds = [stream(seed, place) if given is None else given for place, given in enumerate(own)]

    def posteriors(index: Tensor, labels: Tensor) -> Tensor:
        if file is not None:
            return read_posteriors(file, train)[index]
        found = out_of_fold(train.inputs[index], labels, train.num_classes, seed)
        logger.warning(
            "feature-dependent noise is drawn from the posteriors of a linear probe, which is right for %.0f %% of the "
            "samples; the published noise comes from a well-trained network: give its posteriors, data.posteriors=FILE",
            100 * (found.argmax(1) == labels).double().mean(),
        )
        return found

    biases = [part.bind() for part in parts]
    return apply(biases, train.labels, train.num_classes, seeds, train.class_names, posteriors)


def read_posteriors(file: str, train: Dataset) -> Tensor:
    """Posteriors of a file, one row for each training sample before any bias: shape (N, num_classes)."""
    rows = load(Path(file))
    if not isinstance(rows, np.ndarray) or rows.shape != (len(train), train.num_classes):
        shape = getattr(rows, "shape", "several arrays")
        raise DataError(
            f"data.posteriors: {file} holds {shape}; should be one row for each of the {len(train)} training samples "
            f"and one column for each of the {train.num_classes} classes, in the order of the data"
        )
    return torch.from_numpy(rows)
