"""Samples that methods draw beside the batch of the loop: labeled ones, trusted ones, and further views."""

import torch
from torch import Tensor

from reweigh.core.method import Stateful
from reweigh.core.objective import Batch, Forward
from reweigh.data import Inputs
from reweigh.errors import DataError
from reweigh.methods.setup import Setup
from reweigh.pseudo_labels import AveragedModel, draw
from reweigh.transforms import Compose, Transform, strong


class LabeledBatches(Stateful):
    """Endless batches, augmented as training batches are; each sample comes once before any comes again.

    Args:
        size: Number of samples in a batch. If fewer samples are labeled, a batch has them several times, in several
            views.

    Raises:
        DataError: No sample has a label.
    """

    state = ("_order",)

    def __init__(self, setup: Setup, size: int):
        self._setup, self._size = setup, size
        self._order = EndlessOrder(setup.train_set.labeled.nonzero().squeeze(1), setup.generator)
        if len(self._order.pool) == 0:
            raise DataError("no sample has a label, all are -1; label a few of each class")

    def next(self) -> Batch:
        return self._setup.new_batch(self._order.next(self._size))


def together(forward: Forward, labeled: Batch, inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Logits of the labeled batch and of other inputs, in one pass: BatchNorm sees them as one batch."""
    logits = forward(torch.cat([labeled.inputs, inputs]))
    return logits[: len(labeled)], logits[len(labeled) :]


class EndlessOrder(Stateful):
    """Indices in random order, over and over: each comes once before any comes again.

    Attributes:
        pool: Shape (n,), the indices.

    Args:
        generator: Source of randomness for the order.
    """

    state = ("pool", "_left")

    def __init__(self, pool: Tensor, generator: torch.Generator):
        self._generator = generator
        self.restart(pool)

    def restart(self, pool: Tensor) -> None:
        """Go on with other indices, and begin a new order."""
        self.pool = pool
        self._left = pool[:0]

    def next(self, size: int) -> Tensor:
        """The next ``size`` indices; more than there are come several times."""
        while len(self._left) < size:
            again = self.pool[torch.randperm(len(self.pool), generator=self._generator)]
            self._left = torch.cat([self._left, again])
        now, self._left = self._left[:size], self._left[size:]
        return now


class Trusted(Stateful):
    """Batches of the samples that the setup's meta set chooses in each epoch, by the losses it asks for.

    Samples of the training set whose label a person has checked are trusted as well.

    Args:
        average: EMA of the model, if the method has one; by default ``Trusted`` keeps its own if the meta set asks for
            the losses of the EMA.
    """

    state = ("_order", "_own", "_losses", "_seen")

    def __init__(self, setup: Setup, average: AveragedModel | None = None):
        self._setup = setup
        self._source = setup.clean_set or setup.train_set
        self._order = EndlessOrder(torch.empty(0, dtype=torch.int64), setup.generator)
        needed = average is None and setup.meta_set.judge == "average"
        self._own = AveragedModel(setup.model) if needed else None
        self._average = average or self._own
        self._losses: Tensor | None = None
        self._seen = setup.never_weighed()  # losses that training saw since the last choice, NaN for the others

    @property
    def chosen(self) -> Tensor:
        """Indices of the trusted samples of this epoch, into the training set or the clean set."""
        return self._order.pool

    def refresh(self) -> None:
        meta_set = self._setup.meta_set
        if meta_set.judge:
            latest = self._judged()
            self._losses = latest if self._losses is None else latest.lerp(self._losses, meta_set.memory)
        chosen = meta_set.choose(self._source.labels, self._losses, self._setup.generator)
        if self._source.trusted is not None:
            chosen = torch.cat([chosen, self._source.trusted.nonzero().flatten()]).unique()
        self._order.restart(chosen)

    def _judged(self) -> Tensor:
        """The losses of the training samples, shape (N,), that the meta set asks for."""
        seen, self._seen = self._seen.cpu(), self._setup.never_weighed()
        if self._losses is not None and not seen.isnan().all():
            return torch.where(seen.isnan(), self._losses, seen)
        if not seen.isnan().any():
            return seen
        average = self._average if self._setup.meta_set.judge == "average" else None
        return self._setup.losses(average.model if average else self._setup.model)

    def observe(self, index: Tensor, losses: Tensor) -> None:
        """Report the losses, shape (n,), that training saw for samples with their given labels.

        A meta set may choose by these. If none were reported since the last choice, the model is run on all samples.
        """
        if self._setup.meta_set.judge == "training":
            self._seen[index] = losses.float()

    def next(self, size: int) -> tuple[Tensor, Tensor]:
        """Inputs and labels of the next trusted batch, augmented as training batches are.

        Args:
            size: Size of the training batch; the trusted batch has the same, unless the meta set sets another.
        """
        setup = self._setup
        size = min(setup.meta_set.batch_size or size, len(self.chosen))
        batch = self._source.batch(self._order.next(size), setup.augment, setup.generator, setup.device)
        if not setup.meta_set.mixup:
            return batch.inputs, batch.labels
        mix = draw(size, 1.0, setup.generator, batch.inputs.device)
        return mix.inputs(batch.inputs), mix.labels(batch.labels, setup.train_set.num_classes)

    def follow(self) -> None:
        """Update the average, if it is kept here; call it after every step."""
        if self._own:
            self._own.update(self._setup.model)


def another_view(setup: Setup, batch: Batch) -> Tensor:
    """The samples of a batch, augmented again; the same inputs if the setup has no transforms."""
    return batch.inputs if setup.augment is None else setup.new_batch(batch.index).inputs


class StrongView:
    """The transforms of the recipe, then strong distortions.

    Args:
        method: Name of the method, for messages.
        magnitude: Strength of the distortions, between 0 and 30.
        instead: What to do with samples that are not images, for messages.

    Raises:
        DataError: The samples are not images.
        RecipeError: Kornia is not installed.
    """

    def __init__(
        self,
        setup: Setup,
        method: str,
        magnitude: int,
        instead: str = "use method 'pseudo-label' or 'mean-teacher', which distort nothing",
    ):
        self._setup, shape = setup, setup.train_set.shape
        if not setup.train_set.is_images:
            raise DataError(
                f"method {method!r} distorts images of shape (channels, height, width), but one sample has shape "
                f"{shape}; {instead}"
            )
        own = [setup.augment] if setup.augment else []
        self._transform = Compose([*own, in_range(strong(shape, magnitude), setup.train_set.inputs)])

    def __call__(self, index: Tensor) -> Tensor:
        """New views of the training samples at ``index``, shape (n, ...), ready for the model."""
        setup = self._setup
        return setup.train_set.batch(index.cpu(), self._transform, setup.generator, setup.device).inputs


def in_range(distortions: Transform, inputs: Inputs) -> Transform:
    """Distortions of images in [0, 1], for images in the range of ``inputs``: bytes come scaled, floats as they are."""
    if not isinstance(inputs, Tensor) or not inputs.is_floating_point():
        return distortions
    low, high = float(inputs.min()), float(inputs.max())
    if low >= 0 and high <= 1:
        return distortions
    span = max(high - low, 1e-12)
    return lambda batch, generator: distortions((batch - low) / span, generator) * span + low
