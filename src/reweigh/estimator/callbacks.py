"""Functions of the user's own that are called after each epoch."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reweigh.errors import RecipeError
from reweigh.training import Observer, progress
from reweigh.training.progress import Silent
from reweigh.training.result import Means


def watched(callbacks: Any, label: str | None) -> Observer | None:
    """The observer of the training: a progress bar with this label, the user's functions, both, or neither."""
    bar = None if label is None else progress(label=label)
    if callbacks is None:
        return bar
    functions = [callbacks] if callable(callbacks) else callbacks
    if isinstance(functions, str | Mapping) or not isinstance(functions, Iterable) or not all(map(callable, functions)):
        raise RecipeError(
            f"RobustClassifier: callbacks: got {callbacks!r}; pass a function, or a list of functions, that is called "
            "after each epoch with its numbers, such as callbacks=[lambda numbers: print(numbers['train_loss'])]"
        )
    return _Calling(bar or Silent(), list(functions))


class _Calling:
    """Passes everything on to an observer, and the numbers of each epoch to some functions as well."""

    def __init__(self, observer: Observer, functions: list[Callable[[dict[str, Any]], Any]]):
        self._observer, self._functions = observer, functions
        self.start, self.count, self.stop = observer.start, observer.count, observer.stop

    def step(self, epoch: int, step: int, means: Means) -> None:
        self._observer.step(epoch, step, means)

    def epoch(self, line: Mapping[str, Any]) -> None:
        self._observer.epoch(line)
        for function in self._functions:
            function(dict(line))
