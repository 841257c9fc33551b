"""CMW-Net on top of another method: the loss that the other method gives a sample, times a learned weight."""

import inspect
from functools import cache
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.core.method import Method
from reweigh.core.objective import MetaObjective, Objective
from reweigh.core.step import Step
from reweigh.errors import RecipeError
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup


class OnTop(CMWNet):
    """What every pair shares; ``on_top_of`` makes the pair.

    The weight multiplies the loss of each sample as the method beneath computes it; the other terms of that method are
    not weighted. Trusted samples are judged by the loss of the recipe, usually cross-entropy, unless the method beneath
    has an objective for them. A method beneath that only replaces the loss warms up with the loss of the recipe, as in
    the paper's released code for LDAM; any other method warms up in its own way.
    """

    beneath: ClassVar[type[ERM]] = ERM

    def __init__(
        self,
        setup: Setup,
        *,
        scope: str = "all",
        weighting: str | None = None,
        convergence: Annotated[int, Ge(0)] = 0,
        **options: Any,
    ):
        if self.beneath.deep and scope in ("last-layer", "last-block"):
            raise RecipeError(
                f"method.scope: got {scope!r}, but the weights act through the features below the heads; use 'all' or "
                "a pattern over names, such as 'classifier.layer4.*'"
            )
        setup = setup.reweighting(scope=scope)
        self._beneath = self.beneath(setup, **options)
        super().__init__(self._beneath.trained(setup), weighting=weighting, convergence=convergence)
        if self.own_loss is None:
            self._plain = self._beneath

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        self._beneath.start_epoch(epoch, warm_up)
        self._begin_epoch(warm_up or not self._beneath.weighs)

    def _objective(self, batch: Batch) -> Objective:
        return self._beneath.objective(batch)

    def _observe(self, batch: Batch, step: Step) -> None:
        super()._observe(batch, step)
        self._beneath.follow(batch, step.outputs)

    def _trusted_objective(self, inputs: Any, labels: Tensor) -> MetaObjective | None:
        return self._beneath.trusted_objective(inputs, labels)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), **self._beneath.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._beneath.load_state_dict(state)


def weighable(method: type[Method]) -> bool:
    """Whether the ``objective`` of a method says what is weighed.

    The method minimizes its objective, or has one only for this purpose. A method that replaces labels does not
    qualify: trusted samples would be chosen by the loss of another label than the one they are trusted with.
    """
    if not issubclass(method, ERM) or method.step is not ERM.step or method.replaces_labels:
        return False
    return method._loss is ERM._loss or method.objective is not ERM.objective


@cache
def on_top_of(method: type[ERM]) -> type[CMWNet]:
    """CMW-Net on top of a method that is ``weighable``.

    The pair has the options of the method, of ``cmw-net`` and of ``Reweighter``.
    """
    assert weighable(method), f"{method.__name__} does more in a step than its objective says"
    first = (inspect.getdoc(method) or "").partition("\n")[0]
    merged = {**inspect.signature(method).parameters, **inspect.signature(OnTop).parameters}
    merged.pop("options")
    attributes = {
        "__doc__": f"CMW-Net on top of another method: {first}\n\n    {inspect.getdoc(OnTop)}",
        "__module__": __name__,
        "__signature__": inspect.Signature(list(merged.values())),
        "beneath": method,
        **{name: getattr(method, name) for name in ("abstains", "own_loss", "one_process", "fixed")},
        "wraps": staticmethod(method.wraps),
    }
    return type(f"{method.__name__}CMWNet", (OnTop,), attributes)
