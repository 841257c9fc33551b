"""Correct labels: choose those to change, by what training suggests or what people decided, and write a copy."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reweigh.data.dataset import raise_all
from reweigh.data.parts import split_folder
from reweigh.data.source import Source
from reweigh.data.tables.frames import read_frame
from reweigh.errors import DataError
from reweigh.files import write_whole
from reweigh.files.cells import to_csv
from reweigh.fit.decisions import Decisions, decisions_file
from reweigh.fit.returned import ACCEPT, DECISION_COLUMNS, EXCLUDE, REJECT
from reweigh.fit.source import source_of
from reweigh.names import listed, plural, suggestion
from reweigh.runs.copies import (
    as_folder,
    check_copyable,
    check_room,
    corrected_copy,
    destinations,
    moves_file,
    write_folder,
)
from reweigh.runs.read import Account, read_account, with_verdicts
from reweigh.runs.tables import Samples

if TYPE_CHECKING:
    import pandas as pd

MAX_MISTAKES = 20  # that are listed


def correct(
    run: str | Path, *, top: int | None = None, min_doubt: float | None = None, decisions: str | Path | None = None
) -> "Correction":
    """Labels of a run to correct: those that look wrong, fewer or more of them, or what people decided.

    Examples:
        >>> correction = correct("runs/photos")  # doctest: +SKIP
        >>> correction.table()  # which labels change, and to what  # doctest: +SKIP
        >>> correction.write("labels.csv")  # a copy; your data are never changed  # doctest: +SKIP

    Args:
        run: Folder of a run on your own files.
        top: Number of labels to change, the most doubtful first, whether they look wrong or not.
        min_doubt: Change labels of quality 1 - min_doubt or less, whether they look wrong or not.
        decisions: Change what was decided instead: a reviewed run, its file of decisions, or a table with the columns
            row (or name) and decision (accept, reject, exclude or a label).

    Raises:
        DataError: The run has not ended, its data are not files of yours or are gone, or decisions do not fit.
    """
    if decisions is not None and (top is not None or min_doubt is not None):
        raise DataError("the decisions already say which labels to change; leave out min_doubt and top")
    if min_doubt is not None and not 0 <= min_doubt <= 1:
        raise DataError(f"min_doubt: got {min_doubt}; give a share from 0 to 1")
    path = Path(run)
    samples, _ = with_verdicts(path)
    account = read_account(path, path.name)
    check_copyable(account)
    names = account.classes.names
    if decisions is None:
        return Correction(account, samples, _chosen(samples, min_doubt, top))
    labels, excluded = read_decided(Path(decisions), samples, names)
    return Correction(account, samples, labels, True, excluded)


@dataclass(frozen=True)
class Correction:
    """Labels to change.

    Attributes:
        samples: All samples of the data that have a verdict, those that were held out last.
        labels: The new label of each sample that changes, by index into ``samples``.
        decided: Whether people decided on them.
        excluded: Indices of samples to leave out of the copy.
    """

    account: Account
    samples: Samples
    labels: Mapping[int, int]
    decided: bool = False
    excluded: Sequence[int] = ()

    def table(self) -> "pd.DataFrame":
        """One row per label that changes: row, name (if samples have one), given_label, new_label, label_quality.

        Samples to leave out come last; their new label is empty.
        """
        import pandas as pd

        samples, label, index = self.samples, self.account.classes.name, [*self.labels, *self.excluded]
        assert samples.quality is not None
        columns = {
            "row": samples.row[index],
            **({"name": [samples.name[each] for each in index]} if samples.name else {}),
            "given_label": [label(int(samples.given[each])) for each in index],
            "new_label": [*map(label, self.labels.values()), *[""] * len(self.excluded)],
            "label_quality": samples.quality[index],
        }
        return pd.DataFrame(columns)

    def pairs(self) -> list[tuple[str, str, int]]:
        """Given class, new class and the number of labels, the most frequent pair first; no new class if left out."""
        label, given = self.account.classes.name, self.samples.given
        changes = [*self.labels.items(), *((index, -1) for index in self.excluded)]
        counts = Counter((int(given[index]), new) for index, new in changes)
        return [(label(old), label(new) if new >= 0 else "", count) for (old, new), count in counts.most_common()]

    def write(
        self,
        out: str | Path,
        *,
        force: bool = False,
        overwrite: bool = False,
        spreadsheet_safe: bool = False,
        links: bool = False,
    ) -> str:
        """Write a copy of the data with these labels, and return the command that trains on it.

        For a table, it is the same table with other labels. For a folder of images by class, it is such a folder too,
        with a list of what moved (``OUT-moves.csv``), or a label file if ``out`` ends in .csv; for other images and
        arrays, a label file.

        Args:
            out: The copy; for a table, its name must end like that of the table.
            force: Change also labels that do not look wrong, or remove a class.
            overwrite: Replace an existing copy.
            spreadsheet_safe: Write cells that a spreadsheet would run as formulas as text.
            links: Link to images instead of copying them.

        Raises:
            DataError: ``out`` exists or lies in the data, or ``force`` is needed; nothing is written.
        """
        out = Path(out)
        source = source_of(self.account.recipe.source)
        for path in () if source is None else source.files:
            if path.exists() and out.resolve().is_relative_to(path.resolve()):
                raise DataError(f"{out}: would write into the data, {path}; choose a path outside")
        folder = as_folder(source, out)
        if folder:
            check_room(out, overwrite)
        elif out.exists() and not overwrite:
            raise DataError(f"{out}: already exists; choose another path, or replace it with overwrite")
        if links and not folder:
            raise DataError(f"{out}: only a folder of images by class can be copied as links; leave that out")
        changes = {int(self.samples.row[index]): label for index, label in self.labels.items()}
        excluded = self.samples.row[list(self.excluded)].tolist()
        copy = None if folder else corrected_copy(self.account, changes, out, spreadsheet_safe, excluded)
        if (reasons := self._drastic()) and not force:
            raise DataError(
                f"{' and '.join(reasons)}; nothing was written. If that is what you want, add --yes (in Python, "
                "force=True); otherwise choose fewer labels (--min-doubt, --top), or review the list (--out "
                "issues.csv, then --apply-from)"
            )
        if copy is None:
            assert source is not None
            return self._write_folder(source, out, spreadsheet_safe, links)
        write_whole(out, copy.content)
        return copy.usage

    def _write_folder(self, source: Source, out: Path, spreadsheet_safe: bool, links: bool) -> str:
        assert self.samples.name is not None
        label, names = self.account.classes.name, self.samples.name
        changes = {names[index]: label(new) for index, new in self.labels.items()}
        files = destinations(source.path, changes, {names[index] for index in self.excluded})
        write_folder(source.path, files, out, links)
        root = split_folder(source.path, "train").relative_to(source.path)
        moves = self.table()
        moves.insert(2, "moved_to", [str(files.get(root / name, "")) for name in moves["name"]])
        cells = [moves.columns.tolist(), *moves.astype(object).to_numpy().tolist()]
        write_whole(moves_file(out), to_csv(cells, moves_file(out), spreadsheet_safe))
        return shlex.join(["reweigh", "train", *source.words(out)])

    def _drastic(self) -> list[str]:
        """What somebody should confirm: changing labels that do not look wrong, and removing a class."""
        samples, reasons, index = self.samples, [], list(self.labels)
        assert samples.issue is not None
        beyond = 0 if self.decided else int((~samples.issue[index]).sum())
        if beyond:
            reasons.append(f"{plural(beyond, 'of these labels was', 'of these labels were')} not flagged as wrong")
        after = samples.given.copy()
        after[index] = list(self.labels.values())
        after[list(self.excluded)] = -1
        gone = sorted({*samples.given[samples.labeled].tolist()} - {*after.tolist()})
        if gone:
            names = listed(repr(self.account.classes.name(number)) for number in gone)
            reasons.append(f"no sample would be left of {'class' if len(gone) == 1 else 'classes'} {names}")
        return reasons


def _chosen(samples: Samples, min_doubt: float | None, top: int | None) -> dict[int, int]:
    """The labels that look wrong; or those that are doubted enough, or the most doubted ones, flagged or not."""
    assert samples.issue is not None
    assert samples.suggested is not None
    assert samples.quality is not None
    other = (samples.suggested != samples.given) & samples.labeled
    chosen = samples.issue if min_doubt is None and top is None else other
    if min_doubt is not None:
        chosen = chosen & (samples.quality <= 1 - min_doubt)
    index = np.flatnonzero(chosen)
    index = index[np.argsort(samples.quality[index], kind="stable")][:top]
    return dict(zip(index.tolist(), samples.suggested[index].tolist(), strict=True))


def read_decided(path: Path, samples: Samples, class_names: Sequence[str]) -> tuple[dict[int, int], list[int]]:
    """The new label of each sample whose label somebody decided to change, and samples to leave out."""
    if path.is_dir() or path.suffix in (".json", ".jsonl"):
        return _reviewed(path, samples, class_names)
    frame = read_frame(path)
    column = next((name for name in DECISION_COLUMNS if name in frame.columns), None)
    key = next((name for name in ("row", "name") if name in frame.columns), None)
    if column is None and {"row", "given_label", "label"} <= {*frame.columns}:
        return _reviewed(path, samples, class_names)
    if column is None or key is None:
        raise DataError(
            f"{path}: it needs the columns row (or name) and decision, with accept, reject or another label; it has: "
            f"{listed(frame.columns)}. Write the list with --out, and add the column decision"
        )
    called = samples.row.tolist() if key == "row" else list(samples.name or ())
    index_of = {str(name): index for index, name in enumerate(called)}
    numbers = {name: number for number, name in enumerate(class_names)}
    assert samples.suggested is not None
    found: dict[int, int] = {}
    excluded, mistakes = [], []
    cells = zip(frame[key].astype(str), frame[column].fillna("").astype(str).str.strip(), strict=True)
    for line, (name, decision) in enumerate(cells, start=2):
        index = index_of.get(name)
        if not decision:
            continue
        if index is None:
            mistakes.append(f"line {line}: {key} {name} is not a sample that the run judged")
        elif decision in numbers:  # a class may be called yes
            found[index] = numbers[decision]
        elif decision.casefold() in ACCEPT:
            found[index] = int(samples.suggested[index])
        elif decision.casefold() in EXCLUDE:
            excluded.append(index)
        elif decision.casefold() not in REJECT:
            wanted = f"accept, reject, exclude or a class ({listed(class_names)})"
            mistakes.append(f"line {line}: {decision!r}; give {wanted}.{suggestion(decision, class_names)}")
    raise_all(mistakes[:MAX_MISTAKES], str(path))
    return {index: label for index, label in sorted(found.items()) if label != samples.given[index]}, sorted(excluded)


def _reviewed(path: Path, samples: Samples, class_names: Sequence[str]) -> tuple[dict[int, int], list[int]]:
    file = decisions_file(path)
    numbers = {name: number for number, name in enumerate(class_names)}
    index_of = {row: index for index, row in enumerate(samples.row.tolist())}
    found, excluded, mistakes = {}, [], []
    for row, decision in sorted(Decisions(file).agreed().items()):
        index = index_of.get(row)
        fits = index is not None and class_names[samples.given[index]] == decision.given
        if index is None or not fits:
            mistakes.append(f"row {row}: not a sample of the run with the label {decision.given!r}")
        elif decision.label not in numbers and not decision.exclude:
            words = suggestion(str(decision.label), class_names)
            mistakes.append(
                f"row {row}: there is no class {decision.label!r}; there are: {listed(class_names)}.{words}"
            )
        elif decision.label is None:
            excluded.append(index)
        elif decision.label != decision.given:
            found[index] = numbers[decision.label]
    raise_all(mistakes[:MAX_MISTAKES], str(file))
    return found, excluded
