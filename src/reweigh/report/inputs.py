"""A training sample as a reader can look at it: a small picture, or the values of its row."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from reweigh.data import Dataset
from reweigh.data.tables.frames import SUFFIXES, read_frame
from reweigh.errors import DataError
from reweigh.fit.source import data_root
from reweigh.plan.plan import Part

SIDE = 64  # pixels of a picture, at most
COLORS = 96  # of a color picture: a third of the bytes, and no difference at this size
VALUES = 8  # values of a row, at most
LETTERS = 80  # characters of a value, at most


class Shown(NamedTuple):
    """What a card shows of a sample.

    Attributes:
        image: PNG as data URI; empty if the sample is not an image.
        values: Name and value of some columns.
        more: Number of columns that are not shown.
    """

    image: str = ""
    values: Sequence[tuple[str, str]] = ()
    more: int = 0


def show(dataset: Dataset, data: Part, indices: np.ndarray) -> list[Shown]:
    """Some samples of the training set.

    Args:
        data: The data section of the recipe, to find the table that the features were made from.
        indices: Shape (n,).
    """
    index = torch.from_numpy(indices)
    if dataset.is_images:
        return [Shown(picture(image)) for image in dataset.inputs[index].numpy()]
    origin = index if dataset.origin is None else dataset.origin[index]
    rows = table_rows(dataset, data, origin.tolist())
    if rows is None:
        rows = [feature_values(dataset, row) for row in dataset.inputs[index].flatten(1).tolist()]
    return [Shown(values=shortened(row[:VALUES]), more=max(len(row) - VALUES, 0)) for row in rows]


def picture(image: np.ndarray) -> str:
    """A small PNG as data URI.

    Args:
        image: Shape (C, H, W), bytes or floats of any range; three channels are colors, otherwise the first is shown.
    """
    from PIL import Image  # comes with matplotlib

    if image.dtype != np.uint8:
        image = np.nan_to_num(image.astype(np.float64))
        low, high = image.min(), image.max()
        image = ((image - low) / (high - low or 1) * 255).round().astype(np.uint8)
    color = image.shape[0] == 3
    drawn = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0) if color else image[0]))
    drawn.thumbnail((SIDE, SIDE))
    if (times := SIDE // max(drawn.size)) > 1:  # pixels of a tiny picture stay sharp when the browser enlarges it
        drawn = drawn.resize((drawn.width * times, drawn.height * times), Image.Resampling.NEAREST)
    if color:
        drawn = drawn.quantize(COLORS)
    file = io.BytesIO()
    drawn.save(file, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def table_rows(dataset: Dataset, data: Part, origin: Sequence[int]) -> list[list[tuple[str, str]]] | None:
    """The rows of the user's table, without label columns; None if the data are not a table."""
    path = str(data.options.get("path", ""))
    if dataset.reading.encoding is None or not path.endswith(SUFFIXES):
        return None
    try:
        frame = read_frame(Path(data_root(data.added["root"]), path))
    except DataError:
        return None
    names = [column.name for column in dataset.reading.encoding.columns if column.name in frame]
    cells = frame[names].iloc[list(origin)].astype(object)
    cells = cells.where(cells.notna(), "missing")
    return [[(name, cell(value)) for name, value in zip(names, row, strict=True)] for row in cells.to_numpy()]


def cell(value: object) -> str:
    """A value of a table; a fraction to six digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def feature_values(dataset: Dataset, row: Sequence[float]) -> list[tuple[str, str]]:
    """Features with their names, or with their numbers if they have none."""
    encoding = dataset.reading.encoding
    names = [f"feature {place}" for place in range(len(row))] if encoding is None else encoding.feature_names
    return [(name, f"{value:.4g}") for name, value in zip(names, row, strict=True)]


def shortened(row: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names and values that fit on a card."""
    return [(name, value if len(value) <= LETTERS else value[: LETTERS - 1] + "…") for name, value in row]
