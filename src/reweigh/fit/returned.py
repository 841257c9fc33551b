"""Decisions in a file that comes back from another tool: Label Studio, Argilla, FiftyOne, Hugging Face, or a CSV."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reweigh.data.labels.vote_files import read_json
from reweigh.errors import DataError
from reweigh.files import read_bytes
from reweigh.names import plural

LEAVE_OUT = "(leave out)"  # the choice for a sample that belongs to no class
ACCEPT = ("accept", "accepted", "yes", "y", "ok", "1", "true")
EXCLUDE = ("exclude", "excluded", "remove", "drop", "left out")
REJECT = ("reject", "rejected", "no", "n", "keep", "0", "false")
DECISION_COLUMNS = ("decision", "verdict", "reviewed")
MAX_MISTAKES = 5  # that are listed


class Returned(NamedTuple):
    """What somebody chose for a sample.

    Attributes:
        known: What identifies the sample: row, name and given_label, as they were sent.
        label: The choice; None if there is none.
        by: Who chose it.
    """

    known: Mapping[str, Any]
    label: Any
    by: str


def read_returned(path: Path) -> list[dict[str, Any]]:
    """Decisions of a file that another tool wrote, as fields of ``Decision``.

    Raises:
        DataError: It is no such file, or its samples do not say which they are.
    """
    found, mistakes = [], []
    for place, (known, label, by) in enumerate(_parts(path), start=1):
        try:
            row, name, given = int(known["row"]), known.get("name") or "", known["given_label"]
            if not isinstance(name, str) or not isinstance(given, str) or not isinstance(label, str | None):
                raise TypeError(f"name, given_label and label must be strings, got {name!r}, {given!r} and {label!r}")
        except KeyError as error:
            mistakes.append(f"sample {place}: no {error.args[0]}")
            continue
        except (TypeError, ValueError, AttributeError) as error:
            mistakes.append(f"sample {place}: {error}")
            continue
        if label:
            left_out = label == LEAVE_OUT
            choice = {"label": None, "exclude": "no-class"} if left_out else {"label": label}
            found.append({"row": row, "given": given, "by": by, "name": name, **choice})
    if mistakes:
        raise DataError(
            f"{path}: {plural(len(mistakes), 'sample')} without a row, name or given_label (as "
            f"reweigh issues --to wrote them): {'; '.join(mistakes[:MAX_MISTAKES])}. Export them with all their fields "
            "(FiftyOne: include_attributes=True)"
        )
    if not found:
        raise DataError(f"{path}: contains no label that somebody chose; export the annotations, not the tasks")
    return found


def _parts(path: Path) -> Iterator[Returned]:
    if path.suffix == ".csv":
        text = read_bytes(path).decode("utf-8-sig", "replace")
        yield from _rows(csv.DictReader(io.StringIO(text, newline="")), path)
        return
    content = read_json(path, ".csv")
    if isinstance(content, dict) and isinstance(content.get("labels"), dict):
        for key, value in content["labels"].items():
            value = value if isinstance(value, dict) else {"label": value}
            known = value.get("attributes") or {"row": key}
            changed = value.get("label") != known.get("given_label")
            yield Returned(known, value.get("label") if changed else None, "fiftyone")
        return
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise DataError(f"{path}: not a file of Label Studio, Argilla, FiftyOne or Hugging Face datasets, or a CSV")
    if any("annotations" in each for each in content):
        yield from _label_studio(content)
    elif any("responses" in each for each in content):
        yield from _argilla(content)
    else:
        yield from _rows(content, path)


def _label_studio(tasks: list[dict[str, Any]]) -> Iterator[Returned]:
    for task in tasks:
        for annotation in task.get("annotations") or []:
            if annotation.get("was_cancelled"):
                continue
            by = annotation.get("completed_by")
            by = by.get("email") or by.get("id") if isinstance(by, dict) else by
            choices = [
                each
                for result in annotation.get("result") or []
                if result.get("type") == "choices"
                for each in result["value"].get("choices", [])
            ]
            label = choices[0] if len(choices) == 1 else None
            yield Returned(task.get("data") or {}, label, f"label-studio {by}")


def _argilla(records: list[dict[str, Any]]) -> Iterator[Returned]:
    for record in records:
        responses = record.get("responses") or {}
        for each in responses.get("label", []) if isinstance(responses, dict) else []:
            yield Returned(record.get("metadata") or {}, each.get("value"), f"argilla {each.get('user_id')}")


def _rows(rows: Any, path: Path) -> Iterator[Returned]:
    """Rows with the column ``label``; one that is still the given label was confirmed only if ``decision`` says so.

    Without ``label``, as in the list of ``reweigh issues --out``, the decision itself is accept, reject, exclude or a
    label.
    """
    for row in rows:
        column = next((name for name in DECISION_COLUMNS if name in row), None)
        decision = str((row[column] if column else "") or "").strip()
        if "label" in row:
            chosen = decision or row.get("annotator") or row["label"] != row.get("given_label")
            label = row["label"] if chosen else None
        elif column is None:
            raise DataError(
                f"{path}: no column 'label' with the right label of each row, and no column 'decision' (accept, "
                f"reject, exclude or a label); it has: {', '.join(row)}"
            )
        else:
            label = _meant(decision, row)
        yield Returned(row, label, path.stem)


def _meant(decision: str, row: Mapping[str, Any]) -> Any:
    """The label that a decision stands for; a class may be called yes."""
    word, given, suggested = decision.casefold(), row.get("given_label"), row.get("suggested_label")
    if decision in (given, suggested):
        return decision
    words = {**dict.fromkeys(ACCEPT, suggested), **dict.fromkeys(REJECT, given), **dict.fromkeys(EXCLUDE, LEAVE_OUT)}
    return words.get(word, decision)
