"""Train any method: the loop, its optimizers and schedules, and runs that survive being killed."""

from reweigh.training import processes
from reweigh.training.loop import Interrupted, train
from reweigh.training.predictions import Recall, labels_of, predict
from reweigh.training.progress import Observer, Silent, progress
from reweigh.training.randomness import seed_all
from reweigh.training.result import Result
from reweigh.training.run import Run
from reweigh.training.schedules import adam, adamw, constant, cosine, cosine_7_16, cosine_restarts, sgd, step

OPTIMIZERS = {"adam": adam, "adamw": adamw, "sgd": sgd}

SCHEDULES = {
    "constant": constant,
    "cosine": cosine,
    "cosine-7-16": cosine_7_16,
    "cosine-restarts": cosine_restarts,
    "step": step,
}

__all__ = [
    "OPTIMIZERS",
    "SCHEDULES",
    "Interrupted",
    "Observer",
    "Recall",
    "Result",
    "Run",
    "Silent",
    "labels_of",
    "predict",
    "processes",
    "progress",
    "seed_all",
    "train",
]
