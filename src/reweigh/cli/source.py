"""The data that a command is given: files at a path, or a dataset by name."""

import glob
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from reweigh.data import Dataset, read
from reweigh.data.labels.candidates import SEPARATOR
from reweigh.data.readers import has_columns
from reweigh.data.source import Source as Files
from reweigh.errors import RecipeError
from reweigh.fit.source import data_root
from reweigh.names import suggestion
from reweigh.plan.check import check_slot
from reweigh.plan.mistakes import Mistake
from reweigh.plan.plan import Part
from reweigh.plan.schema import SECTIONS
from reweigh.plan.tables import members, options_of

# of a recipe's [data]: how files are read
KEPT = ("size", "test_fraction", "split_seed", "columns", "sep", "encoding", "join_labels", "group")


class Source(NamedTuple):
    """Training data, not yet read.

    Attributes:
        data: A path that exists, or the name of a dataset.
        part: The named dataset with its options; None for a path.
        label: Column or array of a path that holds the labels.
        labels: Label file.
        root: Folder of the datasets as the user gave it.
        written: How the files are written, as options of section [data].
    """

    data: str
    part: Part | None
    label: str | None
    labels: Path | None
    root: Path | None
    written: Mapping[str, Any] = MappingProxyType({})

    def read(self, size: int | None = None, **more: Any) -> Dataset:
        """The training samples: all of a path that has no test part of its own.

        Args:
            size: Height and width to resize images to.
            more: Other options of ``data.read``, for a path.
        """
        if self.part is None:
            how = {"charset" if key == "encoding" else key: value for key, value in self.written.items()}
            return read(self.data, label=self.label, labels=self.labels, size=size, drop_unlabeled=True, **how, **more)
        return self.part.bind()(data_root(self.root)).train

    @property
    def takes_labels(self) -> bool:
        """Whether a recipe can give the data other labels from a file."""
        return self.part is None or "labels" in self.part.options

    def section(self, candidates: bool, before: Any) -> dict[str, Any]:
        """The data as section [data] of a recipe.

        Args:
            candidates: Whether a label may name several candidates.
            before: Section [data] of the recipe; only how it reads files is kept, and no bias.
        """
        section: dict[str, Any] = {"name": "files" if self.part is None else self.data}
        if self.part is None:
            section |= {"root": str(Path.cwd()), "path": str(Path(self.data).resolve())}  # root: for data.test
        if self.label is not None:
            if Path(self.data).is_dir() and self.labels is None and not has_columns(Path(self.data)):
                raise RecipeError(
                    f"--label: got {self.label!r}, but a folder has no columns; leave it out (or use --labels FILE)"
                )
            section["label"] = self.label
        if self.labels is not None:
            section["labels"] = str(self.labels.resolve())
        section |= self.written
        if candidates:
            if self.part is not None:
                raise RecipeError(
                    f"--candidates: {self.data} has one label per sample; use data.candidates to draw candidates"
                )
            section["separator"] = SEPARATOR
        files = isinstance(before, Mapping) and before.get("name") == "files"
        return {key: before[key] for key in KEPT if files and key in before} | section

    def as_words(self, labels: Path | None = None) -> list[str]:
        """The data as options of ``reweigh train``.

        Args:
            labels: Label file to use instead of the one given.
        """
        written = {key: value for key, value in self.written.items() if key != "columns"}
        columns = tuple(self.written.get("columns", {}).items())
        words = Files(Path(self.data), self.label, labels or self.labels, columns=columns, **written).words()
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
        return Source(data, None, label, labels, root, written), []
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
    return Source(data, parts[0] if parts else None, label, labels, root), mistakes + found


def files_of(data: Part) -> list[Path]:
    """The user's own files that a section [data] names."""
    named = [data.options.get(key) for key in ("path", "test", "labels")]
    return [Path(data_root(data.added["root"]), path) for path in named if path]
