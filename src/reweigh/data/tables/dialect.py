"""How a text table is written: encoding, separator and quotes, found from the file itself."""

import codecs
import csv
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from reweigh.errors import DataError
from reweigh.files.limits import opened
from reweigh.names import plural

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
    """How a text table is written.

    Attributes:
        skip: Number of lines before the header.
        blank: Number of blank lines after these, before the header.
        row_names: Whether rows begin with a name that the header does not count, as R writes them.
    """

    separator: str
    encoding: str
    quote: str = '"'
    skip: int = 0
    blank: int = 0
    row_names: bool = False
    header: tuple[str, ...] = ()


def dialect_of(path: Path, separator: str | None = None, encoding: str | None = None) -> Dialect:
    """Find out how a text table, plain or compressed, is written."""
    separator = NAMES.get(separator or "", separator)
    if separator is not None and len(separator) != 1:
        raise DataError(f"sep: {separator!r}; give one character, or {', '.join(NAMES)}")
    found = _encoding(path, encoding)
    with opened(path) as file:
        text = codecs.getincrementaldecoder(found)().decode(file.read(SAMPLE_BYTES))
    lines = text.splitlines(keepends=True)[: SAMPLE_LINES + 1]
    skip = 0
    if lines and lines[0].casefold().startswith("sep=") and len(lines[0].rstrip("\r\n")) == 5:  # Excel's own hint
        separator, skip = separator or lines[0][4], 1
    lines = lines[skip : SAMPLE_LINES + skip]
    if '"' not in text and lines and lines[0].strip().startswith("'") and lines[0].strip().endswith("'"):
        quote = "'"
    else:
        quote = '"'
    rows = {sep: _rows(lines, sep, quote) for sep in ([separator] if separator else SEPARATORS)}
    chosen = separator or max(rows, key=lambda sep: _score(rows[sep], sep, path))
    header, *others = [row for row in rows[chosen] if row] or [[]]
    ((usual, count),) = Counter(map(len, others)).most_common(1) or [(len(header), 0)]
    if len(header) == 1 and separator is not None:
        pass  # a wrong one, which is noticed when a column is looked for
    elif len(header) == 1 and (usual == 1 or count < MIN_REGULAR_SHARE * len(others)):
        chosen, others = NOTHING, []
    elif usual > len(header) + 1 and any(map(str.strip, (cell for row in others for cell in row[len(header) :]))):
        raise DataError(
            f"{path}: cannot be read as a table: the header has {plural(len(header), 'cell')}, but rows have {usual}; "
            "name all columns in the header, and delete a title above it"
        )
    first = others[0] if others else []
    names = len(first) == len(header) + 1 and first[-1] != ""  # a row that ends in a separator has no name
    blank = next((number for number, line in enumerate(lines) if line.strip()), 0)
    return Dialect(chosen, found, quote, skip, blank, names, tuple(header))


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
        found = next((name for bom, name in BOMS.items() if start.startswith(bom)), None) or _without_bom(start)
    if _decodes(path, found):
        return found
    if given is None and found == "utf-8" and not BINARY & {*start} and _decodes(path, WESTERN):
        return WESTERN
    raise DataError(
        f"{path}: cannot be read as a table, not in {found}"
        + ("; give its encoding, such as latin-1" if given is None else "; try another encoding, or none")
    )


def _without_bom(start: bytes) -> str:
    """UTF-16 if every second byte is zero, otherwise UTF-8."""
    if len(start) >= 4:
        odd, even = start[1::2].count(0), start[::2].count(0)
        if max(odd, even) > 0.4 * (len(start) // 2) and min(odd, even) < 0.1 * len(start):
            return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8"


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
