"""A recipe for the user's own data: what is in them, and what is chosen for them."""

import glob
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from reweigh.data import Dataset
from reweigh.data.labels.label_file import SEPARATOR, several_in_one
from reweigh.data.named.own_files import rows as split_rows
from reweigh.data.readers import has_columns, has_test_part, read_files, reader_of
from reweigh.data.readers.images import equal_files, headers
from reweigh.data.source import Source as Files
from reweigh.data.source import open_source
from reweigh.data.splits import joined
from reweigh.data.tables.decide import ReadAs
from reweigh.errors import RecipeError
from reweigh.fit.source import data_root, source_of
from reweigh.names import suggestion
from reweigh.plan.check import Mistake, check_slot, raise_all
from reweigh.plan.choose import TREES, Choice, Facts, choose
from reweigh.plan.edit import put
from reweigh.plan.image_size import image_size
from reweigh.plan.plan import SECTIONS, Part, members, method_named, options_of
from reweigh.recipes.read import Contents, apply, check, read

BASELINE = "erm"
MAX_SMALL_CLASS = 2  # samples of a class
# of a recipe's [data]: how files are read
KEPT_KEYS = ("size", "test_fraction", "split_seed", "columns", "sep", "encoding", "join_labels", "group")


class Source(NamedTuple):
    """Training data, not yet read.

    Attributes:
        files: A path that exists, or the name of a dataset, with the options of the command.
        part: The named dataset with its options; None for a path.
        written: How the files are written, as options of section [data].
    """

    files: Files
    part: Part | None
    root: Path | None = None
    written: Mapping[str, Any] = MappingProxyType({})

    def read(self, size: int | None = None, **more: Any) -> Dataset:
        """The training samples: all of a path that has no test part of its own."""
        if self.part is None:
            return read_files(self.files, size=size, drop_unlabeled=True, **more)
        return self.part.bind()(data_root(self.root)).train

    def section(self, candidates: bool, before: Any) -> dict[str, Any]:
        """The data as section [data] of a recipe.

        Args:
            before: Section [data] of the recipe; only how it reads files is kept, and no bias.
        """
        path, label, labels = self.files.path, self.files.label, self.files.labels
        section: dict[str, Any] = {"name": "files" if self.part is None else str(path)}
        if self.part is None:
            section |= {"root": str(Path.cwd()), "path": str(path.resolve())}  # root: for data.test
        if label is not None:
            if path.is_dir() and labels is None and not has_columns(path):
                raise RecipeError(
                    f"--label: got {label!r}, but a folder has no columns; leave it out (or use --labels FILE)"
                )
            section["label"] = label
        if labels is not None:
            section["labels"] = str(labels.resolve())
        section |= self.written
        if candidates:
            if self.part is not None:
                raise RecipeError(
                    f"--candidates: {path} has one label per sample; use data.candidates to draw candidates"
                )
            section["separator"] = SEPARATOR
        files = isinstance(before, Mapping) and before.get("name") == "files"
        return {key: before[key] for key in KEPT_KEYS if files and key in before} | section

    def as_words(self, labels: Path | None = None) -> list[str]:
        """The data as options of ``reweigh train``, with another label file if ``labels`` is given."""
        words = self.files.words(labels=labels)
        return words + ([f"data.root={self.root}"] if self.root and self.part is not None else [])


def find(
    data: str,
    label: str | None,
    labels: Path | None,
    root: Path | None = None,
    written: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Source, list[Mistake]]:
    """The data of that path or name, and what is wrong with the options; a path wins if it exists."""
    if Path(data).exists() or (glob.has_magic(data) and glob.glob(data)):
        votes = Path(written["votes"]) if "votes" in written else None
        files = open_source(data, label=label, labels=labels, **{**written, "votes": votes})
        return Source(files, None, root, written), []
    fields = {name: options_of(part).model_fields.values() for name, part in members("datasets").items()}
    names = sorted(name for name in fields if not any(field.is_required() for field in fields[name]))
    if data not in names:
        raise RecipeError(
            f"DATA: {data!r} is neither a path that exists nor the name of a dataset; "
            f"there are: {', '.join(names)}.{suggestion(data, names)}"
        )
    mistakes = [Mistake(f"--{key.replace('_', '-')}", f"{data} is not a table; leave it out") for key in written]
    if label is not None:
        mistakes.append(Mistake("--label", f"got {label!r}, but {data} has no columns; leave it out"))
    options = {"name": data} if labels is None else {"name": data, "labels": str(labels.resolve())}
    parts, found = check_slot(options, data, SECTIONS["data"])
    return Source(Files(Path(data), label, labels), parts[0] if parts else None, root), mistakes + found


def files_of(data: Part) -> list[Path]:
    """The user's own files that a section [data] names."""
    named = [data.options.get(key) for key in ("path", "test", "labels", "votes")]
    return [Path(data_root(data.added["root"]), path) for path in named if path]


class Look(NamedTuple):
    """What is in the user's data.

    Attributes:
        held_out: Number of samples that are held out for testing; None if there is a separate test set.
        size: Side in pixels that images are resized to; None keeps their size.
        frozen: Whether images pass a frozen network once, so that they need not stay in memory.
        several_in_one: A class that looks like a set of candidates although --candidates was not given, and the
            separator between them.
    """

    facts: Facts
    held_out: int | None
    sizes: int = 1
    size: int | None = None
    frozen: bool = False
    several_in_one: tuple[str, str] | None = None
    readings: Sequence[ReadAs] = ()
    small: Sequence[str] = ()


def look(given: Mapping[str, Any]) -> Look | None:
    """What the choice of a plan depends on; None if section [data] is wrong, which the check of the recipe reports."""
    parts, mistakes = check_slot(given["data"], "data", SECTIONS["data"])
    if mistakes:
        return None
    found = look_at_images(parts[0], data_root(parts[0].added["root"]), given)
    if found is not None:
        return found
    train, test = parts[0].bind()(data_root(parts[0].added["root"]))
    held_out = None if parts[0].name != "files" or train.origin is None else len(test)
    several = None if train.candidates is not None else several_in_one(train.class_names)
    readings = train.reading.encoding.readings if train.reading.encoding else ()
    sizes = zip(train.class_names, train.class_sizes.tolist(), strict=True)
    small = [name for name, size in sizes if 0 < size <= MAX_SMALL_CLASS]
    return Look(Facts.of(train), held_out, several_in_one=several, readings=readings, small=small)


def look_at_images(part: Part, root: Path, given: Mapping[str, Any]) -> Look | None:
    """Look at a folder of images by their headers; None if the data are something else."""
    path = Path(root, part.options.get("path") or "")
    if part.name != "files" or part.options["separator"] or part.options["votes"]:
        return None  # folder names are not the classes
    source = source_of(replace(part, added={**part.added, "root": root}))
    images = reader_of(path).images
    if source is None or images is None:
        return None
    by_list = images(source, "train")
    found, _, rows = headers(by_list)
    if not found:
        return None
    labels, names = by_list.numbers(rows, str(path))
    facts, size, sizes, frozen = image_size([image.header for image in found], given)
    if asked := part.options["size"]:
        facts = facts._replace(shape=(facts.shape[0], asked, asked))
    has_test = part.options["test"] or has_test_part(path)
    held_out = None
    if not has_test:
        groups = None if by_list.groups is None else by_list.groups[rows]
        together = joined(groups, equal_files([image.path for image in found]))
        train, test = split_rows(labels, part.options["test_fraction"], part.options["split_seed"], together)
        labels, held_out = labels[train], len(test)
    kept = torch.bincount(labels[labels >= 0], minlength=len(names)).tolist()
    small = [name for name, count in zip(names, kept, strict=True) if count <= MAX_SMALL_CLASS]
    facts = facts._replace(samples=sum(kept), class_sizes=tuple(kept))
    return Look(facts, held_out, sizes, None if asked else size, frozen, small=small)


class Chosen(NamedTuple):
    """A recipe for data."""

    contents: Contents
    look: Look
    choices: Sequence[Choice]


def recipe_for(
    data: str,
    label: str | None,
    labels: Path | None,
    candidates: bool,
    recipe: str | None,
    changes: Sequence[str],
    written: Mapping[str, Any],
    compare: Sequence[str] | None = None,
) -> Chosen:
    """The recipe that trains on the data.

    Args:
        recipe: Gives everything but the data; without one everything is chosen from the data.
        written: How the files are written, as options of section [data].
        compare: Methods to choose for, each in a section [compare.METHOD]; if empty, plain training and the method that
            suits the data.
    """
    values = {} if recipe is None else deepcopy(dict(read(recipe).values))
    if f"model.name={TREES}" in changes:  # stands for options of two looks
        others = [change for change in changes if change != f"model.name={TREES}"]
        changes = ["method.name=two-looks", f"method.beside={TREES}", "method.only=true", *others]
    source, mistakes = find(data, label, labels, written=written)
    raise_all(mistakes, "reweigh train --data")
    values["data"] = source.section(candidates, values.get("data"))
    given = deepcopy(values)
    apply(changes, given)
    if not isinstance(given["data"], dict):
        check(Contents(f"for {data}", values, apply(changes, values)))  # reports what is wrong with it
    method = given.get("method")
    called = str(method.get("name") if isinstance(method, Mapping) else method)
    unlabeled = called in members("methods") and method_named(called).unlabeled  # it learns from such samples too
    if given["data"].get("name") == "files" and unlabeled:
        values["data"].setdefault("unlabeled", True)
        given["data"].setdefault("unlabeled", True)
    found = look(given)
    choices = []
    if found is not None and found.size is not None:
        why = f"the images have {found.sizes} sizes" if found.sizes > 1 else f"larger than {found.size} pixels"
        words = f"{why}; all become {found.size} x {found.size}, proportions kept, the middle cropped"
        choices.append(Choice({"data.size": found.size, "data.resize": "crop"}, words))
    if found is not None and found.frozen:
        choices.append(Choice({"data.memory_gb": 0.0}, "images are read when their features are computed"))
    if recipe is None:  # also for data that are named wrongly, so that the check finds no other mistakes
        facts = Facts(2, (1,), (1, 1)) if found is None else found.facts
        choices += choose(facts, given)
    for choice in choices:
        for key, value in choice.values.items():
            put(values, key.split("."), value)
    if compare is not None and found is not None:
        names = compare or list(
            dict.fromkeys([BASELINE, given.get("method", {}).get("name") or values["method"]["name"]])
        )
        values["compare"] = {name: chosen_for(name, found.facts, given, changes) for name in names}
    contents = Contents(f"for {data}", values, apply(changes, values), tuple(changes))
    check(contents)  # mistakes first: they matter more than what was chosen
    assert found is not None
    return Chosen(contents, found, choices)


def chosen_for(method: str, facts: Facts, given: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The choices for the data and a method, without those that the user overrides."""
    own: dict[str, Any] = {}
    changed = {change.partition("=")[0] for change in changes}
    with_method = {**given, "method": {**given.get("method", {}), "name": method}}
    for choice in choose(facts, with_method):
        for key, value in choice.values.items():
            if key not in changed and key != "method.name":
                put(own, key.split("."), value)
    known = options_of(method_named(method)).model_fields if method in members("methods") else {}
    own["method"] = {key: value for key, value in own.get("method", {}).items() if key in known}
    return own


def title(data: str) -> str:
    return Path(data).resolve().name.split(".")[0] or "data"
