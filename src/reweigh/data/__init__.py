"""Files, tables and arrays into one dataset type."""

from reweigh.data.arrays import from_arrays
from reweigh.data.dataset import Dataset, Splits, check, check_samples
from reweigh.data.findings import inspect
from reweigh.data.inputs import Inputs
from reweigh.data.labels.label_file import one_of_each, with_candidates
from reweigh.data.named import DATASETS
from reweigh.data.on_demand import replace_inputs
from reweigh.data.readers import read
from reweigh.data.splits import few_labels, with_label

__all__ = [
    "DATASETS",
    "Dataset",
    "Inputs",
    "Splits",
    "check",
    "check_samples",
    "few_labels",
    "from_arrays",
    "inspect",
    "one_of_each",
    "read",
    "replace_inputs",
    "with_candidates",
    "with_label",
]
