"""Which curve of the weighting function each sample gets, and when weights begin to differ."""

from copy import deepcopy
from math import log
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from reweigh.core.method import Stateful
from reweigh.core.objective import Average
from reweigh.core.rerun import last_layer
from reweigh.errors import DataError
from reweigh.families import Families, by_size, sizes_differ
from reweigh.weighting import made, num_curves

PAPER_FAMILIES = 3  # paper: K
LARGE_LOSS = 5.0  # a loss that a new weighting function still gives about as much weight as a small one


class Curves:
    """The weighting function and the families of classes that share its curves.

    Attributes:
        weight_net: The weighting function.

    Args:
        sizes: Shape (num_classes,), samples of each class.
        loss_unit: What a new weighting function divides losses by.
        families, spare_curves, weight_net, hidden, weighting: See ``Reweighter``.
    """

    def __init__(
        self,
        sizes: Tensor,
        device: torch.device,
        *,
        families: int | Families | None,
        spare_curves: bool,
        weight_net: str | nn.Module,
        hidden: int,
        loss_unit: float,
        weighting: nn.Module | None,
    ):
        self._num_classes, self._device = len(sizes), device
        if families is None:
            families = PAPER_FAMILIES if sizes_differ(sizes) else 1
        wanted = families.num_families if isinstance(families, Families) else families
        if isinstance(weight_net, nn.Module):
            wanted = min(wanted, num_curves(weight_net, wanted))
        found = families if isinstance(families, Families) else by_size(sizes, wanted)
        net = deepcopy(weighting).requires_grad_(False) if weighting is not None else weight_net
        if isinstance(net, str):
            many = wanted if spare_curves else found.num_families
            net = made(net, many, hidden, loss_unit)
            wanted = num_curves(net, wanted)
        self.weight_net: nn.Module = net.to(device)
        self._wanted = wanted
        self.families = found

    @property
    def families(self) -> Families:
        """Which classes share a curve; family 0 holds the rarest."""
        return self._families

    @families.setter
    def families(self, families: Families) -> None:
        if len(families.of_class) != self._num_classes:
            raise DataError(
                f"families: of_class has {len(families.of_class)} entries for {self._num_classes} classes; it should "
                "have one per class (pass num_classes=... if some classes have no sample)"
            )
        self._families = families
        curves = families.curves(num_curves(self.weight_net, families.num_families))
        self._curve_of_class = curves[families.of_class].to(self._device)

    def refresh(self, sizes: Tensor) -> None:
        """Recompute the families for other class sizes."""
        self.families = by_size(sizes, self._wanted)

    def __call__(self, labels: Tensor, what: str = "labels") -> Tensor:
        """The curve of each label's class, shape (n,); labels may be rows, shape (n, num_classes).

        Raises:
            DataError: A label is not a class. Not on a device that would have to be waited for.
        """
        try:
            return self._curve_of_class.index_select(0, labels.argmax(1) if labels.dim() == 2 else labels)
        except IndexError:
            raise DataError(
                f"{what}: from {int(labels.min())} to {int(labels.max())}, but the labels of the training set have "
                f"{self._num_classes} classes (0 to {self._num_classes - 1}); pass num_classes=... if there are more"
            ) from None


def unit_of_losses(model: nn.Module) -> float:
    """A fifth of the ``scale`` of a last layer that multiplies its logits by it, as cosine heads do; otherwise 1.

    Losses of such logits go up to about the scale, and a new weighting function is made for losses up to about 5.
    """
    named: dict[str, Tensor] = dict(model.named_parameters())
    scale: Any = getattr(model.get_submodule(last_layer(model, named)) if named else model, "scale", 1.0)
    if isinstance(scale, nn.Parameter) or (isinstance(scale, Tensor) and scale.numel() != 1):
        return 1.0
    return max(1.0, float(scale) / LARGE_LOSS) if isinstance(scale, int | float | Tensor) else 1.0


LEFT_CHANCE = 0.75  # of log C; on digits a function transferred at 0.9 ruins training, one at 0.75 or 0.5 helps
MAX_EPOCHS = 5.0  # noisy labels may keep losses above that for long
LOSS_MEMORY = 0.9  # of the running mean, per batch


class WarmUp(Stateful):
    """The beginning of training, in which every weight is one.

    Examples:
        >>> import torch
        >>> warm_up = WarmUp(epochs=2, samples=100, num_classes=10)
        >>> for _ in range(5):
        ...     warm_up.see(torch.rand(40))
        >>> warm_up.is_on
        False

    Args:
        epochs: Passes over the training set, counted by samples; None: until the running mean of losses is below three
            quarters of log C, that of a model that knows nothing, and at most five epochs.
        samples: Size of the training set.
        num_classes: Paper: C.
    """

    state = ("_left", "_mean")

    def __init__(self, epochs: float | None, samples: float, num_classes: int):
        self._left = (MAX_EPOCHS if epochs is None else epochs) * samples
        self._limit = LEFT_CHANCE * log(max(num_classes, 2)) if epochs is None else None
        self._mean: float | None = None

    @property
    def is_on(self) -> bool:
        return self._left > 0

    @property
    def is_automatic(self) -> bool:
        """Whether the losses say when it is over."""
        return self._limit is not None

    def see(self, losses: Tensor, average: Average = lambda mean: mean) -> None:
        """Note the losses of a batch, shape (n,); ``average`` averages a number over processes."""
        self._left -= len(losses)
        if self._limit is not None:
            now = float(average(losses.detach().double().mean()))
            self._mean = now if self._mean is None else LOSS_MEMORY * self._mean + (1 - LOSS_MEMORY) * now
            if self._mean < self._limit:
                self.end()

    def end(self) -> None:
        self._left = 0.0


class Pace:
    """Counts the steps of an optimizer since the weights were last learned apart from it, by ``Reweighter.learn``.

    Gradients may be accumulated over many batches before one step, and a gradient scaler may leave a step out.

    Attributes:
        since: Steps since then; None if that never happened.
    """

    def __init__(self, optimizer: Optimizer):
        self.since: int | None = None
        if hasattr(optimizer, "register_step_post_hook"):
            optimizer.register_step_post_hook(self._count)

    def _count(self, *_: Any) -> None:
        self.since = None if self.since is None else self.since + 1
