"""Parquet and Arrow files, and the class names that Hugging Face datasets store with them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".arrow", ".parquet")


def schema_of(file: Path) -> Any:
    """The columns of a file, with their types and what is stored beside them."""
    import pyarrow.parquet as pq

    if file.suffix == ".parquet":
        return pq.read_schema(file)
    with _stream(file) as opened:
        return opened.schema


def row_batches(file: Path, columns: Sequence[str], at_once: int) -> Iterator[Any]:
    """Some rows at a time, with these columns, without reading the whole file."""
    import pyarrow.parquet as pq

    if file.suffix == ".parquet":
        with pq.ParquetFile(file) as opened:
            yield from opened.iter_batches(at_once, columns=list(columns))
        return
    with _stream(file) as opened:
        for batch in opened:
            batch.validate(full=True)  # pyarrow trusts the offsets in a file
            chosen = batch.select(list(columns))
            yield from (chosen.slice(start, at_once) for start in range(0, len(chosen), at_once))


def read_arrow(file: Path) -> "pd.DataFrame":
    """The table of an Arrow file, as the package ``datasets`` writes it; ``check_table`` has looked at its buffers."""
    with _stream(file) as opened:
        return opened.read_all().to_pandas()


def _stream(file: Path) -> Any:
    from pyarrow import ipc, memory_map

    return ipc.open_stream(memory_map(str(file)))


def class_names(schema: Any) -> dict[str, tuple[str, ...]]:
    """The class names of each column of class numbers, in their order."""
    stored = (schema.metadata or {}).get(b"huggingface", b"{}")
    try:
        features = json.loads(stored)["info"]["features"]
        found = {column: feature.get("names") for column, feature in features.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return {column: tuple(map(str, names)) for column, names in found.items() if isinstance(names, list)}


def with_names(frame: "pd.DataFrame", file: Path) -> "pd.DataFrame":
    """The table of a file with names in place of class numbers; a number without a name, such as -1, is a gap."""
    for column, names in class_names(schema_of(file)).items():
        if column in frame.columns and frame[column].dtype.kind in "iuf":
            named = dict(enumerate(names))
            frame[column] = [named.get(number) for number in frame[column]]
    return frame
