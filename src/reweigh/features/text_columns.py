"""The text columns of a table through a network: each column its own features, beside those of the other columns."""

import numpy as np
import torch
from torch import Tensor

from reweigh.data import Inputs
from reweigh.data.normalize import Standardize, standardize_like
from reweigh.data.tables.text import TextRows
from reweigh.errors import DataError
from reweigh.features.extract import Count, extract
from reweigh.features.text_network import TextNetwork, Texts


def encoded(
    inputs: Inputs,
    network: TextNetwork,
    device: torch.device | str = "cpu",
    cache: bool = True,
    count: Count | None = None,
) -> Tensor:
    """Features of rows with text, shape (N, D + columns * width): of the D others first, then of each text column.

    Each distinct text passes the network once, those of a length together. A missing text has NaN.

    Raises:
        DataError: There is no text column; or features are not finite.
        StorageError: The cache does not fit on the disk.
    """
    found = TextRows.behind(inputs)
    if found is None:
        raise DataError(f"features {network.name!r}: no text column, but training had one; give the same columns")
    table, index = found
    chosen = [cells.codes[index.numpy()] for cells in table.texts]
    used = [
        {cells.distinct[code] for code in np.unique(codes) if code >= 0}
        for cells, codes in zip(table.texts, chosen, strict=True)
    ]
    texts = sorted(set().union(*used), key=lambda text: (len(text), text))
    row = {text: place for place, text in enumerate(texts)}
    rows = extract(Texts(texts), network, device, cache, count).rows
    assert isinstance(rows, Tensor)
    rows = torch.cat([rows, torch.full((1, network.width), torch.nan)])  # the last one is for what is missing
    parts = [table.rest[index]]
    for cells, codes in zip(table.texts, chosen, strict=True):
        places = np.array([*(row.get(text, -1) for text in cells.distinct), -1])
        parts.append(rows[torch.from_numpy(places[codes])])
    return torch.cat(parts, dim=1)


def scale_of(rows: Tensor, others: int) -> Standardize:
    """The normalization of features of text; the other columns are normalized already.

    Args:
        rows: Shape (N, D), NaN where text is missing.
        others: Number of features of other columns, which come first.
    """
    own = standardize_like(filled(rows, rows.nanmean(0).nan_to_num()))
    mean, std = own.mean.clone(), own.std.clone()
    mean[:others], std[:others] = 0.0, 1.0
    return Standardize(mean, std)


def filled(rows: Tensor, mean: Tensor) -> Tensor:
    """The rows with the mean of each feature for what is missing."""
    return torch.where(rows.isnan(), mean, rows)
