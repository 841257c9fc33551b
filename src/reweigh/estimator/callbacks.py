"""Functions of the user's own that are called after each epoch."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reweigh.errors import RecipeError
from reweigh.training import Observer, progress
from reweigh.training.means import Means
from reweigh.training.progress import Silent


def watched(callbacks: Any, label: str | None) -> Observer | None:
    """What watches the training: a progress bar with this label, the user's functions, both, or nothing.

    Args:
        callbacks: None, a function, or several.

    Raises:
        RecipeError: They are something else.
    """
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
    """Hands everything on to an observer, and the numbers of each epoch to some functions besides."""

    def __init__(self, observer: Observer, functions: list[Callable[[dict[str, Any]], Any]]):
        self._observer, self._functions = observer, functions
        self.start, self.count, self.stop = observer.start, observer.count, observer.stop

    def step(self, epoch: int, step: int, means: Means) -> None:
        self._observer.step(epoch, step, means)

    def epoch(self, line: Mapping[str, Any]) -> None:
        self._observer.epoch(line)
        for function in self._functions:
            function(dict(line))
