"""The data that a verb is given: what lies at a path, or a dataset by its name."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reweigh.errors import DataError, RecipeError
from reweigh.names import suggestion

if TYPE_CHECKING:
    from reweigh.data import Dataset
    from reweigh.plan.mistakes import Mistake
    from reweigh.plan.plan import Part


TYPED = {
    "Give label=...": "Give --label COLUMN",
    "(labels=...)": "(--labels FILE)",
    "such as size=": "such as data.size=",
}


class Source(NamedTuple):
    """Training data, not yet read.

    Attributes:
        data: a path that exists, or the name of a dataset.
        part: the named dataset with its options; None for a path.
        label: the column or array of labels, for a path.
        labels: a label file.
        root: the data root as the user gave it.
    """

    data: str
    part: "Part | None"
    label: str | None
    labels: Path | None
    root: Path | None

    def read(self) -> "Dataset":
        """The training samples: all of a path that holds no test part of its own."""
        from reweigh.data import read
        from reweigh.fit.source import data_root

        if self.part is None:
            with in_words_of_the_command():
                return read(self.data, label=self.label, labels=self.labels)
        return self.part.bind()(data_root(self.root)).train

    @property
    def takes_labels(self) -> bool:
        """Whether a recipe can give the data other labels from a file."""
        return self.part is None or "labels" in self.part.options

    def as_changes(self, labels: Path | None = None) -> str:
        """The data as ``key=value`` changes of a recipe, quoted for a shell.

        Args:
            labels: a label file to use instead of the one given.
        """
        if self.part is None:
            changes = ["data.name=files", f"data.path={Path(self.data).resolve()}"]
        else:
            changes = [f"data.name={self.data}"]
        if self.label:
            changes.append(f"data.label={self.label}")
        if labels or self.labels:
            changes.append(f"data.labels={Path(labels or self.labels or '').resolve()}")
        if self.root and self.part is not None:
            changes.append(f"data.root={self.root.resolve()}")
        return shlex.join(changes)


@contextmanager
def in_words_of_the_command() -> Iterator[None]:
    """Remedies that the library tells as Python arguments, told as what is typed."""
    try:
        yield
    except DataError as error:
        text = str(error)
        for argument, typed in TYPED.items():
            text = text.replace(argument, typed)
        raise DataError(text) from error


def find(data: str, label: str | None, labels: Path | None, root: Path | None) -> "tuple[Source, list[Mistake]]":
    """The data of that path or name, and what is wrong with the choice; a path wins if it exists.

    Raises:
        RecipeError: there is neither.
    """
    from reweigh.plan.check import check_slot
    from reweigh.plan.mistakes import Mistake
    from reweigh.plan.options import options_of
    from reweigh.plan.schema import SECTIONS
    from reweigh.plan.tables import members

    if Path(data).exists():
        return Source(data, None, label, labels, root), []
    fields = {name: options_of(part).model_fields.values() for name, part in members("datasets").items()}
    names = sorted(name for name in fields if not any(field.is_required() for field in fields[name]))
    if data not in names:
        raise RecipeError(
            f"DATA: {data!r} is neither a path that exists nor the name of a dataset; "
            f"there are: {', '.join(names)}.{suggestion(data, names)}"
        )
    mistakes = []
    if label is not None:
        mistakes.append(Mistake("--label", f"got {label!r}; {data} has no columns, this is for a path; leave it away"))
    options = {"name": data} if labels is None else {"name": data, "labels": str(labels.resolve())}
    parts, found = check_slot(options, data, SECTIONS["data"])
    return Source(data, parts[0] if parts else None, label, labels, root), mistakes + found
