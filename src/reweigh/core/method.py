"""What the training loop asks of a method, be it plain training, CMW-Net or a rival, and how its state is saved."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from torch import Tensor, nn

from reweigh.core.objective import Batch

if TYPE_CHECKING:
    from reweigh.families import Families


class Method(Protocol):
    """One way to train a classifier. The loop owns epochs, batches and schedules; a method owns the step.

    Every method subclasses this class. It defines ``__init__``, ``model``, ``step``, ``state_dict`` and
    ``load_state_dict``; everything else has a default.

    Attributes:
        unlabeled: whether it learns from samples without a label (-1) too; otherwise these are left out.
        candidates: whether it distinguishes the candidate labels of a sample; otherwise all count the same.
        abstains: whether its model is meant to leave doubtful samples undecided, so that its errors at several
            coverages are reported too.
        own_loss: the name of the loss that it brings along, so that a recipe cannot ask for another; None if it trains
            with the loss of the setup.
        learns_weights: whether its weights come from ``setup.reweighter``; the options of ``Reweighter`` are then
            options of the method as well.
        train_defaults: options of [train] that suit it better than the usual defaults, where a recipe leaves them open.
        fixed: options of ``Reweighter`` that the method fixes, and that are therefore not options of it.
        contains: class shares that its logits contain: those of the "given" labels, those of the labels "weighted" by
            its sample weights, or "uniform" ones; prior correction and losses that balance classes make them uniform.
        one_process: whether it looks at layers inside its model, of which each of several processes has its rows only.
    """

    unlabeled: ClassVar[bool] = False
    candidates: ClassVar[bool] = False
    abstains: ClassVar[bool] = False
    own_loss: ClassVar[str | None] = None
    learns_weights: ClassVar[bool] = False
    train_defaults: ClassVar[Mapping[str, Any]] = {}
    fixed: ClassVar[Mapping[str, Any]] = {}
    contains: ClassVar[Literal["given", "weighted", "uniform"]] = "given"
    one_process: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, setup: Any, **options: Any) -> None:
        """Called with a setup (``reweigh.methods.setup``); options are keyword-only arguments."""
        ...

    @staticmethod
    def wraps(model: nn.Module) -> nn.Module:
        """A fresh model in the form in which the method trains and saves it; by default the model itself."""
        return model

    @property
    @abstractmethod
    def model(self) -> nn.Module:
        """The classifier to evaluate and to save; called with a batch of inputs it returns logits."""
        ...

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        """Called before the first step of an epoch: choose the meta set, refresh the families.

        Args:
            epoch: counted from 0.
            warm_up: whether the epoch is trained plainly, without reweighting.
        """
        self.model.train()

    @abstractmethod
    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        """Train on a batch and return numbers to log; always ``loss``, and ``weight`` (the mean) if it weighs.

        Scalars may stay on the device: the loop reads them when somebody looks, not in every step.
        """
        ...

    def end_epoch(self) -> None:
        """Called after the last step of an epoch, before the model is evaluated and saved."""
        return

    def sample_weights(self) -> Tensor | None:
        """The latest weight of each training sample, shape (N,), NaN if it was never weighed; None without weights."""
        return None

    def weight_net(self) -> nn.Module | None:
        """The weight net, learned so far or given: (losses, family) -> weights; None without one."""
        return None

    def families(self) -> "Families | None":
        """The families of classes that the weights were really computed with; None without a weight net."""
        return None

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs: tensors, numbers, strings, None, and dicts and lists of these."""
        ...

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue as if never interrupted."""
        ...


class Stateful:
    """Saves and restores the attributes that a class lists in ``state``, and those that its base classes list.

    An attribute is a plain value (a tensor, number, string or None, or a dict or list of these), or an object with a
    state of its own, or a list of such objects. Restored tensors are copies, on the device of those that they replace.
    """

    state: ClassVar[tuple[str, ...]] = ()

    def _listed(self) -> list[str]:
        return [name for cls in reversed(type(self).__mro__) for name in vars(cls).get("state", ())]

    def state_dict(self) -> dict[str, Any]:
        return {name.lstrip("_"): _saved(getattr(self, name)) for name in self._listed()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in self._listed():
            setattr(self, name, _restored(getattr(self, name), state[name.lstrip("_")]))


def _saved(value: Any) -> Any:
    if isinstance(value, list):
        return [_saved(each) for each in value]
    return value.state_dict() if hasattr(value, "state_dict") else value


def _restored(now: Any, saved: Any) -> Any:
    """What an attribute with the value ``now`` becomes, given what ``_saved`` returned for it."""
    if hasattr(now, "load_state_dict"):
        now.load_state_dict(saved)
        return now
    if isinstance(now, list) and any(hasattr(each, "load_state_dict") for each in now):
        return [_restored(*pair) for pair in zip(now, saved, strict=True)]
    if isinstance(saved, Tensor):
        return saved.to(now.device if isinstance(now, Tensor) else saved.device, copy=True)
    return saved
