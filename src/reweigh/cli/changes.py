"""Which labels a corrected copy changes: those that look wrong, fewer or more of them, or what a reviewer decided."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reweigh.cli.printing import echo, show_table
from reweigh.data.checks import raise_all
from reweigh.data.tables.frames import read_frame
from reweigh.errors import DataError
from reweigh.fit.decisions import Decisions, decisions_file
from reweigh.names import listed, plural, suggestion
from reweigh.runs.tables import Samples

PAIRS = 12  # that are shown
ACCEPT = ("accept", "accepted", "yes", "y", "ok", "1", "true")
REJECT = ("reject", "rejected", "no", "n", "keep", "0", "false")
DECISIONS = ("decision", "verdict", "reviewed")


@dataclass(frozen=True)
class Changes:
    """Labels to change, by index into the samples.

    Attributes:
        index: Shape (n,), which samples.
        labels: Shape (n,), the new label of each.
    """

    index: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, labels: Mapping[int, int]) -> "Changes":
        """Changes from the new label of each sample, by index."""
        return cls(np.array(list(labels), dtype=np.int64), np.array(list(labels.values()), dtype=np.int64))


def choose(samples: Samples, min_doubt: float | None, top: int | None) -> Changes:
    """The labels that look wrong; or those that are doubted enough, or the most doubted ones, flagged or not.

    Args:
        min_doubt: How far a label must be doubted, 1 - quality.
        top: Number of labels to change.
    """
    assert samples.issue is not None
    assert samples.suggested is not None
    assert samples.quality is not None
    other = (samples.suggested != samples.given) & samples.labeled
    chosen = samples.issue if min_doubt is None and top is None else other
    if min_doubt is not None:
        chosen = chosen & (samples.quality <= 1 - min_doubt)
    index = np.flatnonzero(chosen)
    index = index[np.argsort(samples.quality[index], kind="stable")][:top]
    return Changes(index, samples.suggested[index])


def read_reviewed(path: Path, samples: Samples, class_names: Sequence[str]) -> Changes:
    """Decisions in a column that a reviewer added to the list that ``--out`` writes."""
    if path.is_dir() or path.suffix == ".jsonl":
        return decided_changes(path, samples, class_names)
    frame = read_frame(path)
    column = next((name for name in DECISIONS if name in frame.columns), None)
    key = next((name for name in ("row", "name") if name in frame.columns), None)
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
    mistakes = []
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
        elif decision.casefold() not in REJECT:
            wanted = f"accept, reject or a class ({listed(class_names)})"
            mistakes.append(f"line {line}: {decision!r}; give {wanted}.{suggestion(decision, class_names)}")
    raise_all(mistakes[:20], str(path))
    return Changes.of({index: label for index, label in sorted(found.items()) if label != samples.given[index]})


def decided_changes(path: Path, samples: Samples, class_names: Sequence[str]) -> Changes:
    """What people decided on the review page, where they agree.

    Args:
        path: The folder of the run, or its file of decisions.
    """
    file = decisions_file(path)
    agreed = Decisions(file).agreed()
    numbers = {name: number for number, name in enumerate(class_names)}
    index_of = {row: index for index, row in enumerate(samples.row.tolist())}
    found, mistakes = {}, []
    for row, decision in sorted(agreed.items()):
        index = index_of.get(row)
        if index is None or class_names[samples.given[index]] != decision.given or decision.label not in numbers:
            mistakes.append(f"row {row}: not a sample of the run with the label {decision.given!r}")
        elif decision.label != decision.given:
            found[index] = numbers[decision.label]
    raise_all(mistakes[:20], str(file))
    return Changes.of(found)


def show_changes(changes: Changes, samples: Samples, class_names: Sequence[str]) -> None:
    """Print how many labels change, by given and new class."""
    given = samples.given[changes.index]
    pairs = Counter(zip(given.tolist(), changes.labels.tolist(), strict=True))
    rows = [[class_names[old], class_names[new], f"{count:,}"] for (old, new), count in pairs.most_common(PAIRS)]
    if not rows:
        echo("No label changes.")
        return
    show_table(f"{len(given):,} of {int(samples.labeled.sum()):,} labels change", ["from", "to", "labels"], rows)
    if len(pairs) > PAIRS:
        echo(f"and {len(pairs) - PAIRS} more pairs of classes.")


def check_changes(changes: Changes, samples: Samples, class_names: Sequence[str], yes: bool, reviewed: bool) -> None:
    """Refuse, without --yes, to change labels that do not look wrong, or to remove a class."""
    assert samples.issue is not None
    reasons = []
    beyond = 0 if reviewed else int((~samples.issue[changes.index]).sum())
    if beyond:
        reasons.append(f"{plural(beyond, 'of these labels was', 'of these labels were')} not flagged as wrong")
    after = samples.given.copy()
    after[changes.index] = changes.labels
    gone = sorted({*samples.given[samples.labeled].tolist()} - {*after[samples.labeled].tolist()})
    if gone:
        names = listed(repr(class_names[number]) for number in gone)
        reasons.append(f"no sample would be left of {'class' if len(gone) == 1 else 'classes'} {names}")
    if reasons and not yes:
        raise DataError(
            f"--apply: {' and '.join(reasons)}; nothing was written. If that is what you want, add --yes; otherwise "
            "choose fewer (--min-doubt, --top), or review the list (--out issues.csv, then --apply-from)"
        )
