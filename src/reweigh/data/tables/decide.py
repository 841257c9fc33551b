"""Decide how to read each column of a table, from all its cells: the share that fits counts, not the first rows."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from reweigh.data.dataset import listed, plural
from reweigh.data.tables.cells import (
    COMPACT,
    UNSPACED,
    Cells,
    Order,
    as_days,
    as_numbers,
    as_text,
    cells_of,
    check_plain,
    order_of,
    read_dates,
    spelling,
)
from reweigh.data.tables.columns import are_boolean, category_cells
from reweigh.data.tables.numbers import (
    MAX_NAMED,
    PLAIN,
    USUAL,
    Notation,
    Parts,
    far_cells,
    far_words,
    gap_option,
    parts,
    usual_unit,
    votes,
)
from reweigh.errors import DataError
from reweigh.names import suggestion

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["number", "date", "category", "text", "drop"]
ColumnAs = dict[Literal["kind", "gap"], Any]
"""What a column is, and the number or numbers in it that mean that there is no value."""
KINDS = ("number", "date", "category", "text", "drop")
MIN_SHARE_FITTING = 0.9  # of the cells with a value
MIN_SHARE_BESIDE_WORDS = 2 / 3  # of them, if the others are few distinct words
MAX_OTHER_WORDS = 5
MAX_CATEGORIES = 50  # distinct strings of several words, at most; more are text
MIN_ROWS = 20  # rows; in shorter tables a column of distinct values may be anything
MIN_SHARE_DISTINCT = 0.95  # of a column
MAX_WORD_CHARS = 60
MAX_NAME_IDEOGRAPHS = 4  # in a name, in a script without spaces
MAX_EXAMPLES = 3
MAX_EXAMPLE_CHARS = 24
MIN_EXPECTED_REPEATS = 5.0  # expected by chance; if there are none, numbers are not measured but given out
ID_NAME = re.compile(
    r"(?:^|[_\W])(?:id|ids|uid|uuid|guid|index|idx|key|row|rowid|nr|no|number|pk)$|Id$|ID$", re.IGNORECASE
)
NAMES_ROWS = "only names the rows: another word in each"
COUNTS_ROWS = "counts the rows"
GIVEN_OUT = "an id: whole numbers that never repeat"
IDS = (NAMES_ROWS, COUNTS_ROWS, GIVEN_OUT)
ZERO_CODE = re.compile(r"0\d+")
WHOLE_NUMBER = re.compile(r"[-+]?\d+")


@dataclass(frozen=True)
class ReadAs:
    """How a column is read, and what was noticed.

    Attributes:
        kind: What its cells are; "drop" for a column that is left out.
        gaps: Number of cells without a value, those included that do not fit.
        odd: What is unusual, or why the column is left out, in words; empty if nothing is.
        far: Numbers that are far from all others, each with the number of its cells.
    """

    name: str
    kind: Kind
    examples: tuple[str, ...] = ()
    gaps: int = 0
    odd: str = ""
    notation: Notation = USUAL
    order: Order = "day"
    far: tuple[tuple[float, int], ...] = ()

    @property
    def notes(self) -> str:
        """What to look at, in words: what is odd, and numbers that may mean a gap."""
        gaps = gap_option(self.name, [value for value, _ in self.far]) if len(self.far) <= MAX_NAMED else ""
        far = [far_words(self.far), f"read as gaps? {gaps}" if gaps else ""] if self.far else []
        return "; ".join(filter(None, (self.odd, *far)))

    @property
    def is_id(self) -> bool:
        """Whether the column only says which row it is."""
        return self.kind == "drop" and self.odd in IDS


def decide(
    frame: "pd.DataFrame",
    kinds: Mapping[str, Kind] | None = None,
    what: str = "table",
    gaps: Mapping[str, Sequence[float]] | None = None,
) -> tuple[ReadAs, ...]:
    """How to read each column."""
    kinds, gaps = kinds or {}, gaps or {}
    _check_kinds(frame, {**dict.fromkeys(gaps, "number"), **kinds}, what)
    columns = {str(name): values for name, values in frame.items()}
    for name in gaps:
        columns[name] = columns[name].mask(np.isin(as_numbers(columns[name], USUAL), gaps[name]))
    strings = [name for name, values in columns.items() if kinds.get(name) != "drop" and not _typed(values)]
    quick = {name: read for name in strings if (read := _plain_numbers(columns[name], kinds.get(name)))}
    cells: dict[str, Cells] = {}
    written: dict[str, list[Parts | None]] = {}
    for_column: dict[str, Counter[str]] = {}

    def take_apart(names: Iterable[str]) -> None:
        for name in names:
            check_plain(columns[name])
            cells[name] = cells_of(columns[name])
            written[name] = [parts(text) for text in cells[name].distinct]
            for_column[name] = votes([part.body for part in written[name] if part])

    take_apart(name for name in strings if name not in quick)
    if any(count[","] for count in for_column.values()):  # then 1.234 may be a thousand
        take_apart(quick)
        quick = {}
    overall = sum(count[","] for count in for_column.values()) > sum(count["."] for count in for_column.values())
    found = []
    for name, values in columns.items():
        given = kinds.get(name)
        if given == "drop":
            found.append(ReadAs(name, "drop", odd="as requested"))
        elif name in quick:
            found.append(quick[name])
        elif name not in cells:
            found.append(_of_type(values, given))
        else:
            own = for_column[name]
            comma = own[","] > own["."] or (overall and own[","] == own["."])
            notation = Notation("," if comma else ".", usual_unit(written[name], cells[name].counts.tolist()))
            found.append(_of_strings(values, cells[name], notation, given))
    for place, read in enumerate(found):
        if given := gaps.get(read.name):
            if read.kind != "number":
                raise DataError(
                    f"{what}: column {read.name!r} is read as {read.kind}, but has a number for a gap "
                    f"({', '.join(f'{value:g}' for value in given)}); leave the gap out, or make it a number"
                )
            found[place] = replace(read, notation=replace(read.notation, gaps=tuple(given)))
    return _compared(columns, found, kinds)


def _check_kinds(frame: "pd.DataFrame", kinds: Mapping[str, Kind], what: str) -> None:
    names = [str(name) for name in frame.columns]
    if unknown := [name for name in kinds if name not in names]:
        raise DataError(
            f"{what}: no column {listed(map(repr, unknown))}; the table has: {listed(names)}."
            f"{suggestion(unknown[0], names)}",
            "columns",
        )
    if wrong := [name for name, kind in kinds.items() if kind not in KINDS]:
        raise DataError(f"{what}: column {wrong[0]!r}: no kind {kinds[wrong[0]]!r}; there are: {', '.join(KINDS)}")


def _typed(values: "pd.Series") -> bool:
    """Whether pandas has read the column already, as numbers or dates; booleans are categories, as in a text file."""
    from pandas.api import types

    kinds = (types.is_numeric_dtype, types.is_datetime64_any_dtype, types.is_timedelta64_dtype)
    return any(is_kind(values) for is_kind in kinds) and not types.is_bool_dtype(values)


def _of_type(values: "pd.Series", given: Kind | None) -> ReadAs:
    from pandas.api import types

    name, there = str(values.name), values.dropna()
    examples = tuple(_example(value) for value in there.drop_duplicates()[:MAX_EXAMPLES])
    gaps = len(values) - len(there)
    if given:
        return ReadAs(name, given, examples, gaps)
    if len(there) == 0:
        return ReadAs(name, "drop", gaps=gaps, odd="no value in any row")
    if gaps == 0 and len(there) > 1 and there.nunique() == 1:
        return ReadAs(name, "drop", examples, odd=f"always {examples[0]}")
    if types.is_datetime64_any_dtype(values):
        return ReadAs(name, "date", examples, gaps)
    if types.is_timedelta64_dtype(values):
        return ReadAs(name, "number", examples, gaps)
    whole = types.is_integer_dtype(values) or gaps > 0  # pandas makes floats of whole numbers with gaps
    if whole and (why := counts_rows(there.to_numpy(dtype=np.float64), name)):
        return ReadAs(name, "drop", examples, gaps, why)
    return ReadAs(name, "number", examples, gaps)


def _plain_numbers(values: "pd.Series", given: Kind | None) -> ReadAs | None:
    """A column of strings that are all plain numbers for pandas, read as ``_of_strings`` would, but quickly.

    None if some cell is something else, or may be: a gap, a date such as 20240131, or a code such as 007.
    """
    import pandas as pd

    if given not in (None, "number") or not len(values) or pd.api.types.infer_dtype(values, skipna=False) != "string":
        return None
    numbers = np.asarray(pd.to_numeric(values, errors="coerce"), dtype=np.float64)
    if not np.isfinite(numbers).all():
        return None
    name, texts = str(values.name), values.unique()
    few = dict.fromkeys(" ".join(text.split()) for text in texts[: 9 * MAX_EXAMPLES])
    examples = tuple(map(_example, few))
    read = ReadAs(name, "number", examples[:MAX_EXAMPLES])
    whole = numbers == np.floor(numbers)
    if given == "number":
        return read
    if len(few) == 1 < len(values) or len(few) < MAX_EXAMPLES < len(texts):  # spaces around the same few numbers
        return None
    if whole.any() and any(ZERO_CODE.fullmatch(text.strip()) for text in pd.unique(values[whole])):
        return None
    if not whole.all() or not all(WHOLE_NUMBER.fullmatch(text.strip()) for text in texts):
        return read
    if COMPACT.fullmatch(examples[0]):
        return None
    why = counts_rows(numbers, name)
    return ReadAs(name, "drop", examples[:MAX_EXAMPLES], 0, why) if why else read


def _of_strings(values: "pd.Series", cells: Cells, notation: Notation, given: Kind | None) -> ReadAs:
    name = str(values.name)
    examples = tuple(_example(text) for text in cells.distinct[:MAX_EXAMPLES])
    if given in ("text", "category"):
        return ReadAs(name, given, examples, cells.gaps)
    if given == "number" or given == "date":
        return (_as_number if given == "number" else _as_date)(name, cells, notation, examples)[0]
    if cells.filled == 0:
        return ReadAs(name, "drop", gaps=cells.gaps, odd="no value in any row")
    if len(cells.distinct) == 1 and cells.gaps == 0 and cells.filled > 1:
        return ReadAs(name, "drop", examples, odd=f"always {examples[0]!r}")
    as_category = category_cells(values)
    distinct = len({*map(spelling, as_category.distinct)})
    repeated = distinct <= 0.5 * as_category.filled or distinct <= 2
    number, fits = _as_number(name, cells, notation, examples)
    share = cells.share(fits)
    if share == 1 and not any(ZERO_CODE.fullmatch(text) for text in cells.distinct):
        if all(COMPACT.fullmatch(text) for text in cells.distinct) and len(cells.distinct) > 1:
            return _as_date(name, cells, notation, examples)[0]
        if all(WHOLE_NUMBER.fullmatch(text) for text in cells.distinct):
            why = counts_rows(as_numbers(values, notation)[cells.codes >= 0], name)
            return ReadAs(name, "drop", examples, cells.gaps, why) if why else number
        return number
    if share < 1:
        others = {spelling(text) for text, fit in zip(cells.distinct, fits, strict=True) if not fit}
        enough = MIN_SHARE_BESIDE_WORDS if len(others) <= MAX_OTHER_WORDS else MIN_SHARE_FITTING
        if share >= enough and not (distinct <= MIN_ROWS and repeated):
            return number
        date, days = _as_date(name, cells, notation, examples)
        if cells.share(days) >= MIN_SHARE_FITTING:
            return date
    mostly = (
        f"{number.odd}; data.columns.{name}=number reads these as gaps" if MIN_SHARE_BESIDE_WORDS <= share < 1 else ""
    )
    if are_boolean(as_category.distinct):
        return ReadAs(name, "category", examples, as_category.gaps, "yes and no")
    if distinct <= MAX_CATEGORIES and repeated:
        return ReadAs(name, "category", examples, as_category.gaps, _joined(as_category.distinct))
    short = np.array([" " not in text and len(text) <= MAX_WORD_CHARS for text in cells.distinct])
    short &= np.array([len(UNSPACED.findall(text)) <= MAX_NAME_IDEOGRAPHS for text in cells.distinct])
    words = cells.share(short)
    if cells.filled >= MIN_ROWS and words >= MIN_SHARE_DISTINCT:
        if len(cells.distinct) >= MIN_SHARE_DISTINCT * cells.filled:
            return ReadAs(name, "drop", examples, cells.gaps, NAMES_ROWS)
        odd = "; ".join(filter(None, [mostly, "many rare values", _joined(cells.distinct)]))
        return ReadAs(name, "category", examples, as_category.gaps, odd)
    return ReadAs(name, "text", examples, cells.gaps, mostly)


def _as_number(name: str, cells: Cells, notation: Notation, examples: tuple[str, ...]) -> tuple[ReadAs, np.ndarray]:
    """The column as numbers, and which of the distinct cells fit."""
    plain = notation == USUAL and all(PLAIN.fullmatch(text) for text in cells.distinct)
    fits = np.ones(len(cells.distinct), bool) if plain else ~np.isnan(notation.read(cells.distinct))
    odd = ["decimal comma"] * (notation.decimal == "," and any("," in text for text in cells.distinct))
    units = {part.unit for text in cells.distinct if not plain and (part := parts(text))} - {""}
    if units:
        named, others = " and ".join(sorted(units)[:MAX_EXAMPLES]), " and others" * (len(units) > MAX_EXAMPLES)
        odd.append(f"in {named}{others}")
    odd += _misfits(cells, fits, "a number", "numbers")
    gaps = cells.gaps + int(cells.counts[~fits].sum())
    return ReadAs(name, "number", examples, gaps, "; ".join(odd), notation), fits


def _as_date(name: str, cells: Cells, notation: Notation, examples: tuple[str, ...]) -> tuple[ReadAs, np.ndarray]:
    """The column as dates, and which of the distinct cells fit."""
    order, certain = order_of(cells.distinct, cells.counts.tolist())
    fits = ~np.isnan(read_dates(cells.distinct, order))
    odd = ["month first"] * (order == "month") + ["taken as day first, which no cell confirms"] * (not certain)
    odd += _misfits(cells, fits, "a date", "dates")
    gaps = cells.gaps + int(cells.counts[~fits].sum())
    return ReadAs(name, "date", examples, gaps, "; ".join(odd), order=order), fits


def _misfits(cells: Cells, fits: np.ndarray, one: str, many: str) -> list[str]:
    count = int(cells.counts[~fits].sum())
    if not count:
        return []
    first = _example(cells.distinct[int(np.flatnonzero(~fits)[0])])
    if MIN_SHARE_BESIDE_WORDS <= cells.share(fits) < MIN_SHARE_FITTING:
        return [f"mostly {many}: {plural(count, 'cell is', 'cells are')} not, such as {first!r}"]
    return [f"{plural(count, f'cell is not {one}', f'cells are not {many}')}, such as {first!r}"]


def _joined(texts: list[str]) -> str:
    """Which spellings count as one category, in words."""
    first: dict[str, str] = {}
    pairs = [(first[key], text) for text in texts if first.setdefault(key := spelling(text), text) != text]
    if not pairs:
        return ""
    return f"{plural(len(pairs), 'spelling')} joined, such as {_example(pairs[0][0])!r} and {_example(pairs[0][1])!r}"


def counts_rows(numbers: np.ndarray, name: str) -> str:
    """Why a column of numbers says nothing but which row it is; empty if it may say something.

    Whole numbers that never repeat are ids if they fill their range (they count), if they rise or fall from row to row,
    if the name says so, or if numbers that were measured would have repeated by chance.
    """
    count = len(numbers)
    if count < MIN_ROWS or (numbers != np.floor(numbers)).any() or len(np.unique(numbers)) < count:
        return ""
    span = float(numbers.max() - numbers.min()) + 1
    steps = np.diff(numbers)
    if span <= 1.5 * count or (steps > 0).all() or (steps < 0).all():
        return COUNTS_ROWS
    if ID_NAME.search(name) or count * (count - 1) / 2 / span >= MIN_EXPECTED_REPEATS:
        return GIVEN_OUT
    return ""


def _compared(columns: "Mapping[str, pd.Series]", found: list[ReadAs], kinds: Mapping[str, Kind]) -> tuple[ReadAs, ...]:
    """The same, with columns dropped that say the same as an earlier one of their kind, and far cells named."""
    seen: dict[tuple[str, bytes], str] = {}
    result = []
    for read in found:
        if read.kind != "drop" and len(columns[read.name]) >= MIN_ROWS:
            content = _content(columns[read.name], read)
            key = (read.kind, blake2b(_scaled(content).tobytes(), digest_size=16).digest())
            first = seen.setdefault(key, read.name)
            if first != read.name and read.name not in kinds:
                read = ReadAs(read.name, "drop", read.examples, read.gaps, f"a copy of {first!r}")
            elif read.kind == "number":
                read = replace(read, far=tuple(far_cells(content)))
        result.append(read)
    return tuple(result)


def _scaled(content: np.ndarray) -> np.ndarray:
    """Numbers between 0 and 1, such that a column in another unit is the same."""
    if content.dtype != np.float64 or np.isnan(content).all():
        return content
    low, high = np.nanmin(content), np.nanmax(content)
    with np.errstate(over="ignore", invalid="ignore"):  # near the largest float, which fitting refuses
        return ((content - low) / (high - low if high > low else 1.0)).astype(np.float32)


def _content(values: "pd.Series", read: ReadAs) -> np.ndarray:
    """What the column says, such that a copy says the same: numbers, or which cells are alike."""
    import pandas as pd

    if read.kind == "number":
        return as_numbers(values, read.notation)
    if read.kind == "date":
        return as_days(values, read.order)
    if read.kind == "text":
        return np.array([hash(text) for text in as_text(values)])
    cells = category_cells(values)
    keys = [spelling(text) for text in cells.distinct]
    return pd.factorize(cells.spread(pd.factorize(np.array(keys, dtype=object))[0], -1))[0]


def _example(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
    return text if len(text) <= MAX_EXAMPLE_CHARS else text[: MAX_EXAMPLE_CHARS - 1] + "…"
