"""A run that trains several times, one after the other: each stage is resumed, or its result is read back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reweigh.errors import DataError
from reweigh.training import checkpoint, processes
from reweigh.training.run import Run


@dataclass(frozen=True)
class Stage:
    """Which training of a run this is.

    Attributes:
        name: Name of the stage.
        history: The lines of the epochs of earlier stages.
        last: Whether no other stage follows.
    """

    name: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)
    last: bool = True


ALONE = Stage()
"""The only training of a run."""


class Stages:
    """The results of the stages of a run, each computed once: a resumed run reads those that have ended.

    >>> stages = Stages()
    >>> stages("first look", lambda: {"epochs": 3})
    {'epochs': 3}

    Args:
        identity: Checksum of the training data.
    """

    def __init__(self, identity: str = ""):
        self._identity = identity
        self.run: Run | None = None

    def __call__(self, name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of a stage, as plain values and tensors; a DataError if the data have changed since it ended."""
        run = self.run
        if run is None:
            return compute()
        file = run.stage(name)
        if processes.first(file.exists):
            state = processes.first(lambda: checkpoint.load(file))
            if state["data"] != self._identity:
                raise DataError(
                    f"{file}: the training data have changed since it was written: other labels, files or rows; "
                    "put them back as they were, or train again with --overwrite"
                )
            return state["result"]
        result = compute()
        processes.first(lambda: checkpoint.save(file, {"data": self._identity, "result": result}))
        return result
