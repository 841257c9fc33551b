"""PRODEN: find the true label among candidates; and CMW-Net on the labels that it finds."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Tensor, nn

from reweigh.core.method import Method
from reweigh.core.objective import Batch
from reweigh.families import Families
from reweigh.losses.cross_entropy import as_rows
from reweigh.methods.cmw_net import CMWNet
from reweigh.methods.erm import ERM
from reweigh.methods.setup import Setup


class PRODEN(ERM):
    """Progressive identification of the true label among candidates (Lv et al., ICML 2020).

    sum_j w_ij L_ij,    w_ij = p_ij / sum over the candidates p_ij  for a candidate j, else 0

    L_ij is the loss of sample i with label j, and p what the model predicted when the sample was last in a batch. The
    weights are uniform at first and during the warm-up. As the model becomes sure of one candidate, they approach a
    one-hot label, and the loss approaches that of the likeliest candidate. They take one number per candidate of
    memory. If every sample has one candidate, this is plain training.

    Lv, Xu, Feng, Niu, Geng, Sugiyama: Progressive Identification of True Labels for Partial-Label Learning.
    """

    candidates = True
    state = ("_belief", "_warm_up")

    def __post_init__(self) -> None:
        super().__post_init__()
        samples, device = self.setup.train_set, self.setup.device
        counts = torch.ones_like(samples.labels) if samples.candidates is None else samples.candidates.counts
        self._starts = (counts.cumsum(0) - counts).to(device)
        # of the candidates of all samples, one after the other; the last number is of none
        self._belief = torch.full((int(counts.sum()) + 1,), float("nan"), device=device)

    def _loss(self, batch: Batch) -> Tensor:
        logits = self._model(batch.inputs)
        candidates = as_rows(batch.labels, logits)  # uniform over them
        mask = candidates > 0
        kept = torch.where(mask, self._starts[batch.index][:, None] + mask.cumsum(1) - 1, len(self._belief) - 1)
        before = torch.where(mask, self._belief[kept].to(logits), 0.0)
        target = candidates if self._warm_up else torch.where(before.isnan(), candidates, before)
        self._belief[kept] = belief(logits.detach(), mask).to(self._belief)
        return batch.weighted(self.setup.loss(logits, target)).mean()


def belief(logits: Tensor, candidates: Tensor) -> Tensor:
    """How likely each candidate is: the predicted probabilities, normalized over the candidates.

    Args:
        logits: Shape (n, num_classes).
        candidates: Shape (n, num_classes) bool, one or more in each row.

    Returns:
        Shape (n, num_classes), rows sum to one.
    """
    return logits.masked_fill(~candidates, -torch.inf).softmax(1)


@dataclass(eq=False, repr=False)
class PRODENCMWNet(Method):
    """PRODEN, then CMW-Net with the likeliest candidate of each sample as its label. Paper: Sec. 7.1 and supplement.

    The second stage begins when ``identify_epochs`` and the warm-up are over, with a fresh optimizer. Some of its
    labels are wrong, mostly between classes that look alike, and CMW-Net learns how much to trust them. In the first
    epoch of this stage, the network of the first stage decides which samples to trust. The loop sets the learning rate.

    Takes all options of ``cmw-net``, and:

    Args:
        identify_epochs: Number of epochs of the first stage, which identifies the labels. Paper: 100 of 220. If
            training ends before, there is no second stage.
        network: Network of the second stage: the one that the first stage has "trained", or a "fresh" one, which starts
            as the first did. A fresh network needs a learning rate that starts again with it, as in the schedule
            ``cosine-restarts``.
        weighting: File of a weighting function learned elsewhere, used as it is.
    """

    candidates = True
    learns_weights = True

    setup: Setup
    _: KW_ONLY
    identify_epochs: Annotated[int, Ge(1)] = 10
    network: Literal["trained", "fresh"] = "trained"
    weighting: str | None = None

    def __post_init__(self) -> None:
        setup = self.setup
        self._start = deepcopy(setup.model.state_dict()) if self.network == "fresh" else None
        with torch.random.fork_rng(devices=[]):  # wrong options are reported now, not when the second stage begins
            self._identified(setup.train_set.labels, torch.Generator())
        self._first = PRODEN(setup)
        self._second: CMWNet | None = None
        self._labels = torch.empty(0, dtype=torch.int64)

    @property
    def model(self) -> nn.Module:
        return self.setup.model

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        if self._second is not None:
            self._second.start_epoch(epoch, warm_up)
        elif warm_up or epoch < self.identify_epochs:
            self._first.start_epoch(epoch, warm_up)
        else:
            self._labels = self.setup.per_sample(self.model, likeliest)
            self._second = self._identified(self._labels, self.setup.generator)
            self._second.start_epoch(epoch, warm_up)
            if self._start is not None:
                self.model.load_state_dict(self._start)
            self.setup.optimizer.state.clear()

    def _identified(self, labels: Tensor, generator: torch.Generator) -> CMWNet:
        """The second stage on these labels, shape (N,)."""
        train_set = self.setup.train_set.with_labels(labels)
        return CMWNet(replace(self.setup, train_set=train_set, generator=generator), weighting=self.weighting)

    def step(self, batch: Batch) -> Mapping[str, float | Tensor]:
        if self._second is None:
            return self._first.step(batch)
        return self._second.step(replace(batch, labels=self._labels[batch.index].to(batch.inputs.device)))

    def sample_weights(self) -> Tensor | None:
        return None if self._second is None else self._second.sample_weights()

    def weight_net(self) -> nn.Module | None:
        return None if self._second is None else self._second.weight_net()

    def families(self) -> Families | None:
        return None if self._second is None else self._second.families()

    def state_dict(self) -> dict[str, Any]:
        if self._second is None:
            return {"start": self._start, "first": self._first.state_dict()}
        return {"labels": self._labels, "second": self._second.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if "first" in state:
            self._start = state["start"]
            self._first.load_state_dict(state["first"])
            return
        self._labels = state["labels"]
        self._second = self._identified(self._labels, self.setup.generator)
        self._second.load_state_dict(state["second"])


def likeliest(logits: Tensor, candidates: Tensor) -> Tensor:
    """The likeliest candidate, shape (n,).

    Args:
        logits: Shape (n, num_classes).
        candidates: Shape (n,) labels, or (n, num_classes) rows that are above zero for candidates.
    """
    return belief(logits, as_rows(candidates, logits) > 0).argmax(1)
