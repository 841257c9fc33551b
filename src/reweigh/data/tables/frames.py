"""Files that hold a table, as pandas DataFrames; the cells of text files stay strings, for ``decide`` to read."""

import glob
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reweigh.data.checks import listed
from reweigh.data.parts import archives_at, of_split
from reweigh.data.tables.dialect import dialect_of
from reweigh.errors import DataError
from reweigh.files.limits import COMPRESSED, check_expanded, check_table, opened

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)
TEXT = (".csv", ".tsv", ".tab", ".txt")
LINES = (".jsonl", ".ndjson")
SUFFIXES = (
    *(ending + packed for ending in (*TEXT, *LINES, ".json") for packed in ("", *COMPRESSED)),
    ".parquet",
    ".arrow",
    ".feather",
    ".xlsx",
)
NEEDS = {
    ".parquet": ("pyarrow", "parquet"),
    ".arrow": ("pyarrow", "parquet"),
    ".feather": ("pyarrow", "parquet"),
    ".xlsx": ("openpyxl", "excel"),
}


def is_table(path: Path) -> bool:
    """Whether a path names a table, several by a pattern such as ``parts/*.csv``, or a folder of Parquet or Arrow."""
    files = tables_at(path)
    return bool(files) and all(file.is_file() and file.name.endswith(SUFFIXES) for file in files)


def tables_at(path: Path, split: str | None = None) -> list[Path]:
    """The file at a path, or the files that match it as a pattern, in the order of their names.

    Args:
        split: "train" or "test", of a folder that has both; by default the rows of both.
    """
    if path.is_dir():
        return of_split(path, ARROW_SUFFIXES, split) if split else archives_at(path, ARROW_SUFFIXES)
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    return [Path(found) for found in sorted(glob.glob(str(path)))]


def is_text(path: Path) -> bool:
    """Whether a table is plain text with separators, compressed or not."""
    return path.name.removesuffix(path.suffix if path.suffix in COMPRESSED else "").endswith(TEXT)


def read_frame(
    path: str | Path, sep: str | None = None, encoding: str | None = None, split: str | None = None
) -> "pd.DataFrame":
    """The table of a file, or of several files with the same columns."""
    import pandas as pd

    files = tables_at(Path(path), split)
    if not files:
        raise DataError(f"{path}: no file matches this pattern")
    named = files[0].suffix == ".arrow" or Path(path).is_dir()  # from Hugging Face, where labels are numbers
    frames = [_read_one(file, sep, encoding, named) for file in files]
    first = list(frames[0].columns)
    for file, frame in zip(files, frames, strict=True):
        if differing := sorted({*first} ^ {*frame.columns}):
            raise DataError(
                f"{file}: other columns than {files[0]}, such as {listed(map(repr, differing))}; read them one by one"
            )
    return frames[0] if len(frames) == 1 else pd.concat([frame.loc[:, first] for frame in frames], ignore_index=True)


def _read_one(path: Path, sep: str | None, encoding: str | None, named: bool) -> "pd.DataFrame":
    with data_errors(path):
        if not path.stat().st_size:
            raise DataError(f"{path}: the file is empty; a table needs a header and rows")
        check_table(path)
        frame = _read_text(path, sep, encoding) if is_text(path) else _reader(path)(path)
        if named and path.suffix in ARROW_SUFFIXES:
            frame = with_names(frame, path)
    if not len(frame.columns):
        raise DataError(f"{path}: a table without columns")
    stray = [str(name) for name in frame.columns if not str(name).strip() or str(name).startswith("Unnamed:")]
    if len(stray) == len(frame.columns):
        raise DataError(f"{path}: no column has a name; the first row should be the header, so delete what is above it")
    if stray:  # the row numbers that pandas and R write without a name
        log.info("%s: columns without a name are left out: %s", path, listed(stray))
        frame = frame.drop(columns=stray)
    frame.columns = _distinct([str(name).strip() for name in frame.columns])
    return _spread(frame, path)


def _distinct(names: list[str]) -> list[str]:
    """The names, the second "a" as "a.1" and so on, as pandas does for names that are the same from the start."""
    found: dict[str, None] = {}
    for name in names:
        tried = (f"{name}.{number}" if number else name for number in range(len(names) + 1))
        found[next(each for each in tried if each not in found)] = None
    return list(found)


def _spread(frame: "pd.DataFrame", path: Path) -> "pd.DataFrame":
    """The same without columns of pandas' categories: in all rows the same strings, not copies of them."""
    import pandas as pd

    for name in frame.columns[[str(kind) == "category" for kind in frame.dtypes]]:
        codes, values = frame[name].cat.codes.to_numpy(), frame[name].cat.categories.to_numpy(dtype=object)
        letters = np.array([len(value) if isinstance(value, str) else 8 for value in values] + [0], dtype=np.int64)
        check_expanded(path, int(letters[codes].sum()))
        frame[name] = pd.Series(np.array([*values, None], dtype=object)[codes], frame.index, dtype=object)
    return frame


def _read_text(path: Path, sep: str | None, encoding: str | None) -> "pd.DataFrame":
    """The cells of a text file as strings; NA and None are strings like any other."""
    import pandas as pd

    found = dialect_of(path, sep, encoding)
    if found.encoding == "cp1252":
        log.info(
            "%s: not in UTF-8, read as Windows-1252; if letters look wrong, give the encoding (--encoding, "
            "or data.encoding in a recipe)",
            path,
        )
    if len(found.header) > 1 and all(_is_number(name) for name in found.header):
        log.warning("%s: the first row holds only numbers, but is taken as the header; add one with names", path)
    one_column = len(found.header) == 1 and not found.row_names  # so that a blank line is an empty cell
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.ParserWarning)  # about an empty value after the last separator
        frame = pd.read_csv(
            path,
            sep=found.separator,
            encoding=found.encoding,
            quotechar=found.quote,
            skiprows=found.skip + found.blank,
            skip_blank_lines=not one_column,
            index_col=0 if found.row_names else False,
            dtype=str,
            na_filter=False,
            skipinitialspace=True,
        )
    if one_column:
        filled = np.flatnonzero(frame.iloc[:, 0].str.strip() != "")
        frame = frame.head(filled.max(initial=-1) + 1)
    return frame.reset_index(drop=True)


def _reader(path: Path) -> "Callable[[Path], pd.DataFrame]":
    import pandas as pd

    plain = path.name.removesuffix(path.suffix if path.suffix in COMPRESSED else "")
    if plain.endswith(LINES):
        return partial(_read_json, lines=True)
    if plain.endswith(".json"):
        return _read_json
    if path.suffix == ".arrow":
        return read_arrow
    return {".parquet": pd.read_parquet, ".feather": pd.read_feather, ".xlsx": _read_excel}[path.suffix]


def _read_json(path: Path, lines: bool = False) -> "pd.DataFrame":
    """A list of objects, an object of columns, or one object per line."""
    import pandas as pd

    with opened(path) as file:
        content = [json.loads(line) for line in file if line.strip()] if lines else json.load(file)
    if not isinstance(content, dict) and not (
        isinstance(content, list) and all(isinstance(row, dict) for row in content)
    ):
        raise ValueError("neither a list of objects nor an object of columns")
    return pd.DataFrame(content)


def _read_excel(path: Path) -> "pd.DataFrame":
    """The first sheet of a workbook."""
    import pandas as pd

    with pd.ExcelFile(path) as book:
        if len(book.sheet_names) > 1:
            log.info("%s: the sheet %r is read, of %d", path, book.sheet_names[0], len(book.sheet_names))
        return pd.read_excel(book, sheet_name=0, dtype=object, keep_default_na=False, na_values=[""])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def data_errors(path: Path) -> Iterator[None]:
    """Turn what pandas raises for a file into a DataError."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except ImportError:
        package, extra = NEEDS.get(path.suffix, ("a package", "parquet"))
        raise DataError(
            f"{path}: reading {path.suffix} files needs {package}; install it: pip install 'reweigh[{extra}]'"
        ) from None
    except DataError:
        raise
    except MemoryError:
        raise DataError(f"{path}: reading it takes more memory than there is; give a part of it") from None
    except Exception as error:  # pandas, pyarrow and openpyxl raise nearly anything for a damaged file
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path}: cannot be read as a table ({reason})") from error


ARROW_SUFFIXES = (".arrow", ".parquet")


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
