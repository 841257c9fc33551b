"""Learn, while training, how much to trust each sample: class-aware meta-weighting for any PyTorch classifier."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reweigh.data import read
    from reweigh.errors import DataError, DivergedError, ModelError, RecipeError, ReweighError
    from reweigh.estimator import RobustClassifier, weights_for
    from reweigh.issues.find import find_label_issues
    from reweigh.issues.votes import Votes
    from reweigh.meta_sets import LowestLoss
    from reweigh.reweighter import Reweighter
    from reweigh.runs.correction import correct
    from reweigh.weighting import load_weighting, save_weighting

__version__ = "0.1.0"

# Public name -> its module. Loaded at first use (PEP 562): ``import reweigh`` stays quick and does not load torch.
_HOMES = {
    "DataError": "reweigh.errors",
    "DivergedError": "reweigh.errors",
    "LowestLoss": "reweigh.meta_sets",
    "ModelError": "reweigh.errors",
    "RecipeError": "reweigh.errors",
    "ReweighError": "reweigh.errors",
    "Reweighter": "reweigh.reweighter",
    "RobustClassifier": "reweigh.estimator",
    "Votes": "reweigh.issues.votes",
    "correct": "reweigh.runs.correction",
    "find_label_issues": "reweigh.issues.find",
    "load_weighting": "reweigh.weighting",
    "read": "reweigh.data",
    "save_weighting": "reweigh.weighting",
    "weights_for": "reweigh.estimator",
}

__all__ = [
    "DataError",
    "DivergedError",
    "LowestLoss",
    "ModelError",
    "RecipeError",
    "ReweighError",
    "Reweighter",
    "RobustClassifier",
    "Votes",
    "__version__",
    "correct",
    "find_label_issues",
    "load_weighting",
    "read",
    "save_weighting",
    "weights_for",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'reweigh' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
