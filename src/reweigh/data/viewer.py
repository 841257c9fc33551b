"""A training sample as a person sees it: a picture, or the values of its row, the most telling first."""

import base64
import io
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from reweigh.data.dataset import Dataset
from reweigh.data.parts import split_folder
from reweigh.data.readers.image_files import image_errors, open_image
from reweigh.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image

CARD_PIXELS = 64  # height and width of a picture on a card
CARD_COLORS = 96  # of a picture on a card: a third of the bytes, and no difference at this size
CARD_VALUES = 8  # values on a card, at most
CARD_LETTERS = 80  # characters of a value on a card, at most
LONG_FRACTION = re.compile(r"[-+]?\d*\.\d{5,}([eE][-+]?\d+)?")  # a fraction with more digits than a reader wants


class Shown(NamedTuple):
    """What a card shows of a sample.

    Attributes:
        image: PNG as data URI; empty if the sample is not an image.
        values: Name and value of some columns.
    """

    image: str = ""
    values: Sequence[tuple[str, str]] = ()
    more: int = 0


class Viewer:
    """The samples of a dataset, to look at.

    >>> from reweigh.data import from_arrays
    >>> viewer = Viewer(from_arrays([[0.5, 2.0], [1.5, 3.0]], ["cat", "dog"]))
    >>> viewer.values(1)
    [('feature 0', '1.5'), ('feature 1', '3')]

    Args:
        dataset: The samples. Those that were read from files are shown as the files have them; if the files are gone,
            by their features.
    """

    def __init__(self, dataset: Dataset, frame: "pd.DataFrame | None" = None):
        self._dataset, self._given = dataset, frame
        self.is_images = dataset.is_images

    @cached_property
    def _frame(self) -> "pd.DataFrame | None":
        """The table that the features were made from; None if there is none any more."""
        source, encoding = self._dataset.reading.source, self._dataset.reading.encoding
        if self._given is not None or source is None or encoding is None:
            return self._given
        try:
            frame = source.frame()
        except DataError:
            return None
        rows = 1 + int(self._dataset.source_rows.max()) if len(self._dataset) else 0
        return frame if len(frame) >= rows else None  # otherwise it is another table by now

    @cached_property
    def _label(self) -> str | None:
        source = self._dataset.reading.source
        return None if source is None or source.labels is not None else source.label_column()

    @cached_property
    def _folder(self) -> Path | None:
        source = self._dataset.reading.source
        if source is None or not self._dataset.reading.names or not source.path.is_dir():
            return None
        return split_folder(source.path, "train")

    def row(self, index: int) -> int:
        """The row of a sample in the data."""
        return index if self._dataset.origin is None else int(self._dataset.origin[index])

    def name(self, index: int) -> str:
        """What the data call a sample: its file, or the columns that only name the rows."""
        if self._dataset.reading.names:
            return self._dataset.reading.names[self.row(index)]
        if self._frame is None:
            return ""
        row = self._frame.iloc[self.row(index)]
        return ", ".join(f"{name} {cell(row[name])}" for name in self._naming)

    @cached_property
    def _naming(self) -> list[str]:
        """Columns with another value in each row that training did not use."""
        frame = self._frame
        assert frame is not None
        used = {*self._columns, self._label}
        return [name for name in frame if name not in used and frame[name].is_unique][:2]

    @cached_property
    def _columns(self) -> list[str]:
        encoding = self._dataset.reading.encoding
        assert self._frame is not None
        return [column.name for column in encoding.columns if column.name in self._frame]

    def values(self, index: int, given: int = -1, suggested: int = -1) -> list[tuple[str, str]]:
        """Name and value of every column, or of every feature if there is no table.

        Args:
            suggested: Another class; columns in which the sample resembles this class more than the given one come
                first.
        """
        if self._frame is None:
            features = self._dataset.inputs[torch.tensor([index])].flatten().tolist()
            encoding = self._dataset.reading.encoding
            names = [f"feature {place}" for place in range(len(features))] if encoding is None else (
                encoding.feature_names
            )  # fmt: skip
            pairs = [(name, f"{value:.4g}") for name, value in zip(names, features, strict=True)]
        else:
            row = self._frame.iloc[self.row(index)]
            pairs = [(name, cell(row[name])) for name in self._columns]
        return [pairs[place] for place in self._telling(index, given, suggested, len(pairs))]

    def _telling(self, index: int, given: int, suggested: int, count: int) -> Sequence[int]:
        """Positions of the columns; those that support the suggested class over the given one come first."""
        if min(given, suggested) < 0 or given == suggested or self._means is None:
            return range(count)
        inputs = self._dataset.inputs[torch.tensor([index])].numpy()[0]
        votes = (inputs - self._means[given]) ** 2 - (inputs - self._means[suggested]) ** 2
        if self._frame is not None:
            encoding = self._dataset.reading.encoding
            sizes = [len(column.feature_names) for column in encoding.columns if column.name in self._frame]
            votes = np.add.reduceat(votes, np.cumsum([0, *sizes[:-1]]))
        return np.argsort(-votes, kind="stable").tolist()

    @cached_property
    def _means(self) -> np.ndarray | None:
        """Mean of each feature in each class by given label, shape (num_classes, D); None for other than rows."""
        inputs, labels = self._dataset.inputs, self._dataset.labels
        encoding = self._dataset.reading.encoding
        if not isinstance(inputs, torch.Tensor) or inputs.dim() != 2 or (encoding is not None and encoding.texts):
            return None
        known = labels >= 0
        sums = torch.zeros(self._dataset.num_classes, inputs.shape[1]).index_add_(0, labels[known], inputs[known])
        return (sums / self._dataset.class_sizes.clamp_min(1)[:, None]).numpy()

    def picture(self, index: int, side: int) -> "Image":
        """A sample that is an image, at most ``side`` pixels high and wide; from its file if that is larger."""
        file = self.file(index)
        if file is not None and side > max(self._dataset.shape[1:]):
            from PIL import ImageOps

            with image_errors(file), open_image(file) as image:
                image.draft("RGB", (side, side))
                shown = ImageOps.exif_transpose(image)
                shown.thumbnail((side, side))
                return shown.convert("RGBA" if shown.has_transparency_data else "RGB")
        return as_image(self._dataset.inputs[torch.tensor([index])].numpy()[0], side)

    def png(self, index: int, side: int) -> bytes:
        """The same as a PNG file."""
        return _file(self.picture(index, side), "PNG")

    def jpeg(self, index: int, side: int) -> bytes:
        """The same in few bytes: a JPEG file, or a PNG where that would blur it or lose what is transparent."""
        image = self.picture(index, side)
        return _file(image, "PNG" if image.mode == "RGBA" or max(image.size) <= CARD_PIXELS else "JPEG")

    def card(self, index: int, given: int = -1, suggested: int = -1) -> Shown:
        """As much of a sample as fits on a small card; see ``values``."""
        if self.is_images:
            return self.side_by_side([index])
        values, most = self.values(index, given, suggested), CARD_LETTERS
        short = [(name, text if len(text) <= most else text[: most - 1] + "…") for name, text in values[:CARD_VALUES]]
        return Shown(values=short, more=max(len(values) - CARD_VALUES, 0))

    def side_by_side(self, indices: Sequence[int]) -> Shown:
        """Small pictures of some images in one."""
        from PIL import Image

        images = [self.picture(index, CARD_PIXELS) for index in indices]
        for place, image in enumerate(images):
            if (times := CARD_PIXELS // max(image.size)) > 1:  # tiny images stay sharp when the browser enlarges them
                images[place] = image.resize((image.width * times, image.height * times), Image.Resampling.NEAREST)
        whole = images[0]
        if len(images) > 1:
            whole = Image.new("RGB", (len(images) * (CARD_PIXELS + 2) - 2, CARD_PIXELS), "white")
            for place, image in enumerate(images):
                whole.paste(image, (place * (CARD_PIXELS + 2), 0))
        image = whole.quantize(CARD_COLORS) if whole.mode == "RGB" else whole
        return Shown("data:image/png;base64," + base64.b64encode(_file(image, "PNG", optimize=True)).decode())

    def file(self, index: int) -> Path | None:
        """The file of a sample, if it is in the folder of the data itself and not linked from elsewhere."""
        if self._folder is None or not self._dataset.reading.names:
            return None
        file = (self._folder / self._dataset.reading.names[self.row(index)]).resolve()
        return file if file.is_relative_to(self._folder.resolve()) and file.is_file() else None


def cell(value: object) -> str:
    """A value of a table; a fraction to six digits, also where the table was read as strings."""
    if value is None or str(value) in ("", "nan", "<NA>", "NaT"):
        return "missing"
    text = str(value)
    return f"{float(text):.6g}" if isinstance(value, float) or LONG_FRACTION.fullmatch(text) else text


def as_image(image: np.ndarray, side: int) -> "Image":
    """Raw inputs as an image of at most ``side`` pixels."""
    from PIL import Image  # comes with matplotlib

    if image.dtype != np.uint8:
        image = np.nan_to_num(image.astype(np.float64))
        low, high = image.min(), image.max()
        image = ((image - low) / (high - low or 1) * 255).round().astype(np.uint8)
    drawn = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0) if image.shape[0] == 3 else image[0]))
    drawn.thumbnail((side, side))
    return drawn


def _file(image: "Image", format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format=format, **options)
    return file.getvalue()
