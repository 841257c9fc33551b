"""CSV and Parquet files as pandas DataFrames."""

import csv
import gzip
import logging
import warnings
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reweigh.data.checks import listed
from reweigh.errors import DataError
from reweigh.files.limits import check_table

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)
SUFFIXES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz")


def read_frame(path: str | Path, string_columns: Collection[str] = ()) -> "pd.DataFrame":
    """The table of a CSV or Parquet file, as pandas sees it.

    Args:
        string_columns: columns that stay strings even if all their values look like numbers in this file.

    Raises:
        DataError: the file does not exist, is empty or not a table, or needs a package that is not installed.
    """
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    path = Path(path)
    with data_errors(path):
        check_table(path, separator(path))
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        else:
            frame = pd.read_csv(path, sep=separator(path), index_col=_row_names(path), low_memory=False)
            frame = frame.reset_index(drop=True)
            numbers = [
                n for n in string_columns if n in frame and is_numeric_dtype(frame[n]) and not is_bool_dtype(frame[n])
            ]
            if numbers:
                frame[numbers] = read_strings(path)[numbers].where(frame[numbers].notna())
    frame.columns = [str(name) for name in frame.columns]
    if len(frame.columns) == 1 and ";" in frame.columns[0]:
        raise DataError(f"{path}: one column, {frame.columns[0]!r}; save the table with commas instead of semicolons")
    stray = [name for name in frame.columns if name.startswith("Unnamed:")]
    if stray:  # the row numbers that pandas and R write without a name
        log.info("%s: columns without a name are left out: %s", path, listed(stray))
    return frame.drop(columns=stray)


def read_strings(path: Path) -> "pd.DataFrame":
    """The columns of a CSV file as strings; NA and None are names like any other."""
    import pandas as pd

    with data_errors(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.ParserWarning)  # about an empty value after the last separator
        check_table(path, separator(path))
        names = _row_names(path)
        frame = pd.read_csv(path, sep=separator(path), index_col=names, dtype=str, keep_default_na=False)
    return frame.reset_index(drop=True)


def _row_names(path: Path) -> Literal[0, False]:
    """The column of row names, 0, if rows begin with a name that the header does not count, as R writes them.

    A row that is longer because it ends in a separator has no name.
    """
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file, delimiter=separator(path))
        header, first = next(rows, []), next(rows, [])
    return 0 if len(first) == len(header) + 1 and first[-1] != "" else False


def separator(path: Path) -> str:
    """The character between two values."""
    return "\t" if ".tsv" in path.suffixes else ","


@contextmanager
def data_errors(path: Path) -> Iterator[None]:
    """Turn what pandas raises for a file into a DataError."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except ImportError:
        raise DataError(f"{path}: reading Parquet needs pyarrow; install it: pip install 'reweigh[parquet]'") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        likely = "UTF-16" if error.object[:2] in (b"\xff\xfe", b"\xfe\xff") else "Latin-1 or Windows-1252"
        raise DataError(
            f"{path}: cannot be read as a table, not in UTF-8 (it has the byte {byte:#04x}); "
            f"it may be in {likely}: save it as UTF-8"
        ) from error
    except (ValueError, OSError, EOFError, zlib.error) as error:  # pandas' parsers and pyarrow raise ValueErrors
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path}: cannot be read as a table ({str(error).splitlines()[0]})") from error
