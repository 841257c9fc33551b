"""Files that hold a table, as pandas DataFrames; the cells of text files stay strings, for ``decide`` to read."""

import codecs
import csv
import glob
import json
import logging
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reweigh.data.dataset import listed
from reweigh.data.parts import ARROW_SUFFIXES, arrow_files, of_split
from reweigh.data.tables.numbers import PLAIN
from reweigh.errors import DataError
from reweigh.files.limits import COMPRESSED, check_expanded, check_table, opened
from reweigh.names import plural

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
    """The file at a path, or the files that match it as a pattern, in the order of their names."""
    if path.is_dir():
        return of_split(path, split) if split else arrow_files(path)
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
    frame.columns = [str(name).strip() for name in frame.columns]
    if twice := sorted({name for name, again in zip(frame.columns, frame.columns.duplicated(), strict=True) if again}):
        raise DataError(f"{path}: several columns are called {listed(map(repr, twice))}; rename all but one")
    for name in frame.columns[[str(kind) == "category" for kind in frame.dtypes]]:
        letters = frame[name].map(lambda value: len(value) if isinstance(value, str) else 8)
        check_expanded(path, int(np.nansum(np.asarray(letters, dtype=np.float64))))
        frame[name] = frame[name].astype(object)
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
    if len(found.header) > 1 and all(PLAIN.fullmatch(name.strip()) for name in found.header):
        log.warning("%s: the first row holds only numbers, but is taken as the header; add one with names", path)
    one_column = len(found.header) == 1  # so that a blank line is an empty cell
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.ParserWarning)  # about an empty value after the last separator
        frame = pd.read_csv(
            path,
            sep=found.separator,
            encoding=found.encoding,
            quotechar=found.quote,
            skiprows=found.blank,
            skip_blank_lines=not one_column,
            index_col=False,
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
    readers = {".parquet": pd.read_parquet, ".feather": pd.read_feather, ".xlsx": _read_excel, ".arrow": _read_arrow}
    return readers[path.suffix]


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
    import pandas as pd

    with pd.ExcelFile(path) as book:
        if len(book.sheet_names) > 1:
            log.info("%s: the sheet %r is read, of %d", path, book.sheet_names[0], len(book.sheet_names))
        return pd.read_excel(book, sheet_name=0, dtype=object, keep_default_na=False, na_values=[""])


def _read_arrow(path: Path) -> "pd.DataFrame":
    with _stream(path) as stream:  # ``check_table`` has looked at its buffers
        return stream.read_all().to_pandas()


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


SEPARATORS = (",", ";", "\t", "|")
NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "space": " ", "pipe": "|"}
BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
WESTERN = "cp1252"  # what Windows writes; Latin-1 but for some signs
SAMPLE_BYTES = 1 << 20  # bytes that the separator is found from
SAMPLE_LINES = 200
MIN_REGULAR_SHARE = (
    0.9  # share of the rows of a table that have the same number of cells; lines of text with commas do not
)
NOTHING = "\x1f"  # separator of a table of one column; no text has it
BINARY = {*range(32)} - {*b"\t\n\r\f\x1a"}  # bytes that no text has; Excel's old tables end in 1A


class Dialect(NamedTuple):
    """How a text table is written; ``blank`` lines before the header are left out."""

    separator: str
    encoding: str
    quote: str = '"'
    blank: int = 0
    header: tuple[str, ...] = ()


def dialect_of(path: Path, separator: str | None = None, encoding: str | None = None) -> Dialect:
    """Find out how a text table, plain or compressed, is written."""
    separator = NAMES.get(separator or "", separator)
    if separator is not None and len(separator) != 1:
        raise DataError(f"sep: {separator!r}; give one character, or {', '.join(NAMES)}")
    found = _encoding(path, encoding)
    with opened(path) as file:
        text = codecs.getincrementaldecoder(found)().decode(file.read(SAMPLE_BYTES))
    lines = text.splitlines(keepends=True)[:SAMPLE_LINES]
    hint = re.match(r"sep=(.)[\r\n]", "".join(lines[:1]), re.IGNORECASE)  # the first line, as Excel writes it
    if hint:
        separator, lines = separator or hint[1], lines[1:]
    single = '"' not in text and lines and re.fullmatch(r"'.*'", lines[0].strip())
    quote = "'" if single else '"'
    rows = {sep: _rows(lines, sep, quote) for sep in ([separator] if separator else SEPARATORS)}
    chosen = separator or max(rows, key=lambda sep: _score(rows[sep], sep, path))
    header, *others = [row for row in rows[chosen] if row] or [[]]
    ((usual, count),) = Counter(map(len, others)).most_common(1) or [(len(header), 0)]
    if len(header) == 1 and separator is not None:
        pass  # a wrong one, which is noticed when a column is looked for
    elif len(header) == 1 and (usual == 1 or count < MIN_REGULAR_SHARE * len(others)):
        chosen, others = NOTHING, []
    elif usual > len(header) and any(cell.strip() for row in others for cell in row[len(header) :]):
        raise DataError(
            f"{path}: cannot be read as a table: the header has {plural(len(header), 'cell')}, but rows have {usual}; "
            "name all columns in the header, also that of row names, and delete a title above it"
        )
    blank = next((number for number, line in enumerate(lines) if line.strip()), 0)
    return Dialect(chosen, found, quote, blank + bool(hint), tuple(header))


def _encoding(path: Path, given: str | None) -> str:
    """The encoding of a file: given, by its first bytes, UTF-8 if all of it is, or else that of Windows."""
    with opened(path) as file:
        start = file.read(4096)
    if given is not None:
        try:
            codecs.lookup(given)
        except LookupError:
            raise DataError(f"encoding: no encoding {given!r}; try utf-8, utf-16, cp1252 or latin-1") from None
        found = given
    else:
        found = next((name for bom, name in BOMS.items() if start.startswith(bom)), None) or "utf-8"
    is_text = given is not None or found != "utf-8" or not BINARY & {*start}
    if is_text and _decodes(path, found):
        return found
    if given is None and found == "utf-8" and is_text and _decodes(path, WESTERN):
        return WESTERN
    raise DataError(
        f"{path}: cannot be read as a table, not in {found}"
        + ("; give its encoding, such as latin-1" if given is None else "; try another encoding, or none")
    )


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with opened(path) as file:
            while chunk := file.read(SAMPLE_BYTES):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True


def _rows(lines: list[str], separator: str, quote: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=separator, quotechar=quote) if row]
    except csv.Error:  # a cell beyond csv's own limit, or a NUL
        return []


def _score(rows: list[list[str]], separator: str, path: Path) -> tuple[bool, float, bool, int]:
    """How well a separator fits: rows are as long as the header, nearly all of them, and long."""
    if not rows or len(rows[0]) < 2:
        return (False, 0.0, False, 0)
    (usual, count), *_ = Counter(map(len, rows[1:] or rows)).most_common(1)
    usual_one = "\t" if ".tsv" in path.suffixes or ".tab" in path.suffixes else ","
    return (usual - len(rows[0]) in (0, 1), round(count / max(len(rows) - 1, 1), 1), separator == usual_one, usual)
