"""What a reader is: how to recognize a format at a path, and how to read it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reweigh.data.dataset import Dataset
from reweigh.data.inputs import Inputs, is_image
from reweigh.data.on_demand import DEFAULT_DISK_GB, DEFAULT_MEMORY_GB
from reweigh.data.readers.image_files import Resize
from reweigh.data.source import Source
from reweigh.data.tables.encoding import Encoding, TextAs
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Request:
    """What to read, of which a reader uses what applies to its format.

    Attributes:
        labels: Labels from elsewhere, one per sample, for data that have no labels of their own.
        class_names: Class names in the order of the class numbers; taken from the data by default.
        encoding: How to encode a table, as fitted to another.
        encode: Whether to encode a table at all; otherwise it is only decided how to read its columns.
        unlabeled: Whether the data themselves may have gaps in their labels.
        drop_unlabeled: Whether to leave out rows of a table without a label.
    """

    source: Source = field(default_factory=lambda: Source(Path()))
    labels: Any = None
    split: str = "train"
    size: int | tuple[int, int] | None = None
    class_names: Sequence[str] | None = None
    encoding: Encoding | None = None
    encode: bool = True
    text: TextAs = "tf-idf"
    memory_gb: float = DEFAULT_MEMORY_GB
    disk_gb: float = DEFAULT_DISK_GB
    resize: Resize = "crop"
    unlabeled: bool = False
    drop_unlabeled: bool = False


class Form(NamedTuple):
    """The form of the inputs that a model was trained on.

    Attributes:
        trained_on: Training data, which new tables are probably written like.
    """

    shape: tuple[int, ...]
    encoding: Encoding | None
    raw_bytes: bool
    sep: str | None = None
    charset: str | None = None
    resize: Resize = "crop"
    memory_gb: float = DEFAULT_MEMORY_GB
    trained_on: Source | None = None

    def mismatch(self, path: Path, got: str, remedy: str = "give data of that kind") -> DataError:
        """The error for data in another form than that of the training samples."""
        trained = "rows of a table" if self.encoding else describe(self.shape)
        return DataError(f"{path}: {got}, but the model was trained on {trained}; {remedy}")


class Unlabeled(NamedTuple):
    """Inputs without labels, and the name of each (a file name); rows of a table or an array have no names."""

    inputs: Inputs
    names: tuple[str, ...] = ()
    frame: "pd.DataFrame | None" = None


class UnlabeledReader(NamedTuple):
    """How to read inputs of a format to predict their labels."""

    about: str
    recognizes: Callable[[Path], bool]
    read: Callable[[Path, Form], Unlabeled]


@dataclass(frozen=True)
class Reader:
    """One format.

    Attributes:
        about: Phrase for messages that list all formats, such as "a table (.csv, .parquet)".
        unlabeled: Reader of inputs to predict; None if the format has labels always.
        images: (source, part, class names if known) -> the images with their labels (``images.ImageList``), not yet
            decoded; None for other formats.
    """

    about: str
    recognizes: Callable[[Path], bool]
    read: Callable[[Path, Request], Dataset]
    has_labels: Callable[[Source], bool] = lambda source: True
    has_test: Callable[[Path], bool] = lambda path: False
    unlabeled: UnlabeledReader | None = None
    images: Callable[..., Any] | None = None


def describe(shape: tuple[int, ...]) -> str:
    """Samples of a shape in words."""
    if len(shape) == 1:
        return f"rows of {shape[0]} features"
    return f"{'images' if is_image(shape) else 'samples'} of {' x '.join(map(str, shape))}"
