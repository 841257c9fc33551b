"""Suspicious labels of a run as files for the tools that a team labels with; ``fit.returned`` reads what comes back."""

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from reweigh.data.viewer import Viewer
from reweigh.errors import DataError
from reweigh.fit.returned import LEAVE_OUT
from reweigh.runs.read import read_account, with_verdicts

LOCAL_FILES = "/data/local-files/?d="  # under which Label Studio serves files below its document root
MAX_TEXT_LETTERS = 20_000  # characters of a sample that is not an image


class Record(NamedTuple):
    """A sample and what is thought of its label.

    Attributes:
        image: Path or address of its image; empty if it is not an image.
        text: Its values; empty if it is an image.
    """

    row: int
    name: str
    given_label: str
    suggested_label: str
    label_quality: float
    weight: float | None
    image: str
    text: str
    issue: bool

    @property
    def doubt(self) -> float:
        return round(1 - self.label_quality, 6)

    @property
    def known(self) -> dict[str, Any]:
        return {"row": self.row, "name": self.name, "given_label": self.given_label}

    @property
    def shown(self) -> dict[str, str]:
        return {"image": self.image} if self.image else {"text": self.text}


class Files(NamedTuple):
    """The content of the file, of further files by their ending, and what to do with them."""

    content: str
    further: dict[str, str]
    usage: str


def label_studio(records: Sequence[Record], class_names: Sequence[str], out: Path) -> Files:
    """Tasks for Label Studio, with predictions, and a labeling interface (.xml)."""
    choice, tasks = {"from_name": "label", "to_name": "sample", "type": "choices"}, []
    for record in records:
        result = {"id": f"row{record.row}", **choice, "value": {"choices": [record.suggested_label]}}
        prediction = {"model_version": "reweigh", "score": record.doubt, "result": [result]}
        tasks.append({"data": {**record.shown, **record.known}, "predictions": [prediction]})
    kind = "Image" if records and records[0].image else "Text"
    choices = "".join(f"\n    <Choice value={quoteattr(name)}/>" for name in [*class_names, LEAVE_OUT])
    view = (
        f'<View>\n  <{kind} name="sample" value="${kind.lower()}"/>\n'
        f'  <Header value="Given label: $given_label"/>\n'
        f'  <Choices name="label" toName="sample" choice="single">{choices}\n  </Choices>\n</View>\n'
    )
    usage = f"paste {out.with_suffix('.xml')} as the labeling interface, import {out}, and later export as JSON"
    if kind == "Image" and records[0].image.startswith(LOCAL_FILES):
        usage += (
            ". To see the images, start Label Studio with LOCAL_FILES_SERVING_ENABLED=true and "
            "LOCAL_FILES_DOCUMENT_ROOT set to the folder of your data, and add that folder as local storage of the "
            "project; or give --url-prefix"
        )
    return Files(_json(tasks), {".xml": view}, usage)


def argilla(records: Sequence[Record], class_names: Sequence[str], out: Path) -> Files:
    """Records for Argilla, with suggestions; the question is called ``label``."""
    found = []
    for record in records:
        suggestion = {"value": record.suggested_label, "score": record.doubt, "agent": "reweigh"}
        about = {**record.known, "label_quality": record.label_quality}
        parts = {"id": str(record.row), "fields": record.shown, "metadata": about}
        found.append({**parts, "suggestions": {"label": suggestion}, "responses": {}, "vectors": {}})
    field = "Image" if records and records[0].image else "Text"
    usage = (
        f"a dataset with Settings(fields=[{field}Field('{field.lower()}')], questions=[LabelQuestion('label', "
        f"labels={[*class_names, LEAVE_OUT]})], allow_extra_metadata=True), then dataset.records.from_json"
        f"({str(out)!r}), and later dataset.records.to_json(FILE)"
    )
    return Files(_json(found), {}, usage)


def fiftyone(records: Sequence[Record], class_names: Sequence[str], out: Path) -> Files:
    """Given labels of a FiftyOneImageClassificationDataset, and where its images are (.data.json)."""
    if records and not records[0].image:
        raise DataError("fiftyone shows images, and these samples are not; use label-studio, argilla, hf or csv")
    labels = {}
    for record in records:
        about = {**record.known, "suggested_label": record.suggested_label}
        known = {"label": record.given_label, "confidence": record.label_quality, "attributes": about}
        labels[str(record.row)] = known
    images = {str(record.row): record.image for record in records}
    usage = (
        "fiftyone.Dataset.from_dir(dataset_type=fiftyone.types.FiftyOneImageClassificationDataset, "
        f"labels_path={str(out)!r}, data_path={str(out.with_suffix('.data.json'))!r}); "
        "later dataset.export(..., same type, include_attributes=True), which keeps the fields that name the samples"
    )
    return Files(_json({"classes": None, "labels": labels}), {".data.json": _json(images)}, usage)


def hf(records: Sequence[Record], class_names: Sequence[str], out: Path) -> Files:
    """All samples as JSON Lines for Hugging Face datasets: weight, suggested_label and label_quality of each."""
    lines = []
    for record in records:
        suggested = {"suggested_label": record.suggested_label, "label_quality": record.label_quality}
        found = {**suggested, "is_label_issue": record.issue, "weight": record.weight}
        lines.append(json.dumps({**record.known, **record.shown, "label": record.given_label, **found}))
    usage = f'datasets.load_dataset("json", data_files={str(out)!r}); correct the column label, then to_json(FILE)'
    return Files("".join(f"{line}\n" for line in lines), {}, usage)


# Each: records, names of the classes, and the file to be written -> what to write.
TOOLS: dict[str, Callable[[Sequence[Record], Sequence[str], Path], Files]] = {
    "label-studio": label_studio,
    "argilla": argilla,
    "fiftyone": fiftyone,
    "hf": hf,
}


def exchange(run: Path, tool: str, out: Path, url_prefix: str | None = None) -> Files:
    """The labels of a run that look wrong as files for another tool; for ``hf``, all labels.

    Args:
        tool: One of ``TOOLS``.
        url_prefix: What to put before the name of an image, which is escaped as in addresses; by default its path on
            this computer, and for Label Studio the address under which it serves files of a folder.
    """
    if tool not in TOOLS:
        raise DataError(f"--to {tool}: unknown; there are: {', '.join([*TOOLS, 'csv'])}")
    samples, _ = with_verdicts(run)
    account, _ = read_account(run, run.name).with_held_out()
    if account.dataset is None:
        raise DataError(f"the samples cannot be shown: {account.no_data}")
    suggested, quality, issue, weight = samples.suggested, samples.quality, samples.issue, samples.weight
    assert suggested is not None
    assert quality is not None
    assert issue is not None
    viewer, names = Viewer(account.dataset), account.classes.names
    if viewer.is_images and viewer.file(0) is None and url_prefix is None:
        raise DataError(f"{tool}: the images are not single files; give --url-prefix, or use --to csv")

    prefix = LOCAL_FILES if url_prefix is None and tool == "label-studio" else url_prefix

    def record(index: int) -> Record:
        name, image, text = samples.name[index] if samples.name else "", "", ""
        if viewer.is_images:
            image = f"{prefix}{quote(os.fsencode(name))}" if prefix is not None else str(viewer.file(index) or name)
        else:
            values = viewer.values(index)
            text = values[0][1] if len(values) == 1 else "\n".join(f"{key}: {value}" for key, value in values)
        mean = math.nan if weight is None else float(weight[index])
        return Record(
            row=int(samples.row[index]),
            name=name,
            given_label=names[int(samples.given[index])],
            suggested_label=names[int(suggested[index])],
            label_quality=float(f"{quality[index]:.6g}"),
            weight=None if math.isnan(mean) else round(mean, 6),
            image=image,
            text=text[:MAX_TEXT_LETTERS],
            issue=bool(issue[index]),
        )

    chosen = samples.labeled.nonzero()[0] if tool == "hf" else samples.suspects
    return TOOLS[tool]([record(index) for index in chosen.tolist()], names, out)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1) + "\n"
