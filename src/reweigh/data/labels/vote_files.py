"""Votes of several labelers in a file: a long table, or an export of Label Studio, Argilla or Prodigy."""

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from reweigh.data.dataset import Dataset
from reweigh.data.labels.class_numbers import encode
from reweigh.data.tables.frames import SUFFIXES, read_frame
from reweigh.errors import DataError
from reweigh.files import read_bytes
from reweigh.issues.labelers import first_consensus
from reweigh.issues.votes import Votes
from reweigh.names import listed, plural

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)
COLUMNS = {
    "sample": ("sample", "row", "index", "id", "item", "item_id", "task", "task_id", "name", "file", "image", "text"),
    "labeler": (
        *("labeler", "annotator", "annotator_id", "worker", "worker_id"),
        *("user", "user_id", "by", "rule", "model"),
    ),
    "label": ("label", "answer", "response", "choice", "class", "target", "value"),
    "confidence": ("confidence", "probability", "score"),
}
NAMING = ("row", "index", "id", "name", "file", "file_name", "image", "text")  # fields that say which sample it is


def read_votes(path: Path, names: Sequence[Sequence[Any]], columns: Sequence[str] = ()) -> Votes:
    """The votes of a file.

    A table has one row per vote: the columns sample, labeler, label and, if there is one, confidence, or other usual
    names for them. A ``.json`` is an export of Label Studio or Argilla; a ``.jsonl`` one of Argilla or Prodigy.

    Args:
        names: Ways in which a vote may name its sample, each with one name per sample in the order of the data.
        columns: Columns of the data, besides the usual names, that may name samples.
    """
    import pandas as pd

    if path.suffix in (".json", ".jsonl"):
        table = pd.DataFrame(_exported(path, (*columns, *NAMING)), columns=["sample", "labeler", "label", "confidence"])
        found = {name: name for name in table.columns}
    elif path.name.endswith(SUFFIXES):
        table = read_frame(path)
        found = _columns(table, path, columns)
    else:
        raise DataError(
            f"{path}: votes are a table such as .csv, a .json of Label Studio or Argilla, or a .jsonl of Argilla or "
            f"Prodigy; got {path.suffix or 'no extension'!r}"
        )
    if not len(table):
        raise DataError(f"{path}: contains no vote; export the annotations, not the tasks")
    table = table.assign(**{found["sample"]: table[found["sample"]].astype(str).str.strip()})
    wanted = set(table[found["sample"]])
    known = max(names, key=lambda each: len(wanted.intersection(map(str, each))))
    if sure := found.get("confidence"):
        table = table.assign(**{sure: table[sure].replace(r"^\s*$", None, regex=True)})
        if not np.asarray(table[sure].notna()).any():
            del found["confidence"]
    try:
        return Votes.from_long(table, [str(each) for each in known], **found)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def consensus_of(votes: Votes, class_names: Sequence[str] | None) -> tuple[Votes, list[str | None], tuple[str, ...]]:
    """The votes with classes as a dataset has them, the consensus of each sample, None without one, and the classes."""
    votes, labels = first_consensus(votes)
    numbers, names = encode(votes.classes, class_names, "votes")
    called = [str(votes.classes[label]) if label >= 0 else None for label in labels.tolist()]
    return votes.among(np.array(names), numbers), called, names


def with_votes(dataset: Dataset, path: Path, class_names: Sequence[str] | None, leave_out: bool) -> Dataset:
    """Samples that are not rows of a table, with the consensus of a file of votes as their labels."""
    rows = dataset.source_rows.tolist()
    called = [dataset.reading.names[row] for row in rows] if dataset.reading.names else []
    ways = [range(len(dataset)), called, [Path(name).name for name in called]] if called else [range(len(dataset))]
    votes, labels, names = consensus_of(read_votes(path, ways), class_names)
    numbers = torch.tensor([names.index(label) if label is not None else -1 for label in labels])
    dataset = replace(dataset, labels=numbers, class_names=names, votes=votes, true_labels=None)
    if (without := int((numbers < 0).sum())) and leave_out:
        log.warning("%s: %s without a vote left out", path, plural(without, "sample"))
        return dataset.subset(numbers >= 0)
    return dataset


def _columns(table: "pd.DataFrame", path: Path, columns: Sequence[str]) -> dict[str, str]:
    """Which column is what; the sample may be named by one of the columns of the data."""
    usual = {**COLUMNS, "sample": (*COLUMNS["sample"], *columns)}
    lower = {str(name).strip().casefold(): str(name) for name in table.columns}
    found: dict[str, str] = {}
    for what, choices in usual.items():
        name = next((lower[each.casefold()] for each in choices if each.casefold() in lower), None)
        if name is not None and name not in found.values():
            found[what] = name
    if missing := [what for what in ("sample", "labeler", "label") if what not in found]:
        raise DataError(
            f"{path}: no column for the {listed(missing)} of each vote; it has: {listed(table.columns)}. Call the "
            "columns sample (a row number from 0, or a name), labeler, label and, if there is one, confidence"
        )
    return found


def read_json(path: Path, instead: str) -> Any:
    """What another tool wrote: a .json file, or one record per line."""
    text = read_bytes(path).decode("utf-8-sig", "replace")
    try:
        if path.suffix == ".json":
            return json.loads(text)
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON ({error}); export .json, .jsonl or {instead}") from None


def _exported(path: Path, naming: Sequence[str]) -> Iterator[tuple[Any, str, Any, Any]]:
    """Sample, labeler, label and confidence of each vote in an export."""
    content = read_json(path, "a table")
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise DataError(f"{path}: not a list of tasks or records, as Label Studio, Argilla and Prodigy export them")
    for place, record in enumerate(content):
        try:
            yield from _votes_of(record, naming)
        except DataError as error:
            raise DataError(f"{path}: record {place}: {error}") from None
        except (TypeError, AttributeError, LookupError) as error:
            raise DataError(
                f"{path}: record {place} is not as Label Studio, Argilla or Prodigy write it ({error!r})"
            ) from None


def _votes_of(record: dict[str, Any], naming: Sequence[str]) -> Iterator[tuple[Any, str, Any, Any]]:
    if "annotations" in record:  # Label Studio
        sample = _named(naming, record.get("data"), record)
        predictions = [{**each, "completed_by": each.get("model_version")} for each in record.get("predictions") or []]
        for each in [*predictions, *record["annotations"]]:
            by = each.get("completed_by")
            by = by.get("email") or by.get("id") if isinstance(by, dict) else by
            results = [result for result in each.get("result") or [] if result.get("type") == "choices"]
            chosen = [choice for result in results for choice in result["value"].get("choices", [])]
            if len(chosen) == 1 and not each.get("was_cancelled"):
                yield sample, str(by), chosen[0], None
    elif "responses" in record:  # Argilla, as of version 2 and before
        sample = _named(naming, record.get("metadata"), record, record.get("fields"))
        responses = record["responses"] or {}
        if isinstance(responses, list):
            found = [
                (name, {**value, "user_id": answer.get("user_id")})
                for answer in responses
                for name, value in (answer.get("values") or {}).items()
            ]
        else:
            found = [(name, answer) for name, answers in responses.items() for answer in answers]
            suggested = (record.get("suggestions") or {}).items()
            found += [(name, {**each, "user_id": each.get("agent") or "suggestion"}) for name, each in suggested]
        questions = sorted({name for name, answer in found if isinstance(answer.get("value"), str)})
        asked = questions[0] if len(questions) == 1 else "label"
        if questions and asked not in questions:
            raise DataError(f"answers to {listed(questions)}; call the question whose answers are classes 'label'")
        for name, answer in found:
            if name == asked and isinstance(answer.get("value"), str):
                yield sample, str(answer.get("user_id")), answer["value"], answer.get("score")
    elif "annotator" in record:
        raise DataError("JSON-MIN of Label Studio, which does not say which field is the label; export JSON instead")
    else:  # Prodigy
        sample = _named(naming, record.get("meta"), record)
        by = record.get("_annotator_id") or record.get("_session_id") or "prodigy"
        chosen = record.get("accept") or ([record["label"]] if record.get("label") is not None else [])
        if record.get("answer", "accept") == "accept" and len(chosen) == 1:
            yield sample, str(by), chosen[0], None


def _named(naming: Sequence[str], *parts: dict[str, Any] | None) -> Any:
    """What names the sample of a record: the first field with one of these names, in the first part that has any."""
    known = [part[name] for part in parts if part for name in naming if part.get(name) is not None]
    if known:
        return known[0]
    raise DataError(f"no field names the sample: there is none of {listed(naming, 12)}")
