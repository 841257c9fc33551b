"""SSR: relabel what the model is sure of, learn from samples whose neighbors agree with their label."""

from dataclasses import replace
from typing import Annotated

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt, Le
from torch import Tensor

from reweigh.core.batch import Batch
from reweigh.losses.labels import as_rows
from reweigh.methods.erm import ERM
from reweigh.methods.parts.guesses import warn_of_vanished
from reweigh.methods.setup import Setup
from reweigh.models.last_layer import Needs, linear_head, with_features
from reweigh.pseudo_labels.mixup import checked_draw

AT_ONCE = 4_000_000  # numbers
NEEDS: Needs = {"who": "method 'ssr'", "instead": "features are what a linear classifier reads"}


class SSR(ERM):
    """Sample selection and relabeling (Feng et al., BMVC 2022): learn from samples whose neighbors agree with them.

    Before each epoch, samples are relabeled and selected. A sample whose likeliest class has a probability above
    ``relabel`` gets that class as its label; the others keep the given label. Then the nearest neighbors of each
    sample, by the cosine of their features, vote for its class with their labels. Votes are divided by the class
    shares, so that frequent classes do not win by number. Only samples whose label wins are learned, with mixup and the
    same number of draws for each class. During the warm-up, if there is one, training is plain.

    Feng, Tzimiropoulos, Patras: SSR: An Efficient and Robust Framework for Learning with Unknown Label Noise. Views
    come from the transforms of the recipe, one per step. Left out: the consistency term of SSR+.

    Attributes:
        labels: Shape (N,), the current labels.

    Args:
        relabel: Probability above which the likeliest class becomes the label. Paper: theta_r, 0.9; 0.8 for CIFAR-100
            with much noise.
        neighbors: Number of neighbors that vote. Paper: k.
        anchors: Largest number of samples among which neighbors are searched; if there are more, they are drawn at
            random.
        mixup: Strength of mixing samples in pairs; 0 mixes none.
    """

    one_process = True
    state = ("labels", "_kept")

    def __init__(
        self,
        setup: Setup,
        *,
        relabel: Annotated[float, Gt(0), Le(1)] = 0.9,
        neighbors: Annotated[int, Ge(1)] = 200,
        anchors: Annotated[int, Ge(1)] = 10_000,
        mixup: Annotated[float, Ge(0)] = 4.0,
    ):
        super().__init__(setup)
        self._relabel, self._neighbors, self._anchors, self._mixup = relabel, neighbors, anchors, mixup
        self._layer, _ = linear_head(setup.model, **NEEDS)
        self.labels = setup.train_set.labels.clone()
        self._kept: Tensor | None = None

    def start_epoch(self, epoch: int, warm_up: bool) -> None:
        super().start_epoch(epoch, warm_up)
        if warm_up:
            return
        features, probabilities = self._looked()
        given = self._setup.train_set.labels
        labels = probabilities.argmax(1).where(probabilities.max(1).values > self._relabel, given)
        warn_of_vanished(self.labels, labels, self._setup.train_set.class_names)
        self.labels = labels
        rows = F.one_hot(self.labels, probabilities.shape[1]).to(features)
        among = torch.randperm(len(features), generator=self._setup.generator)[: self._anchors]
        votes = neighbor_votes(features, features[among], rows[among], self._neighbors, same=among)
        self._kept = votes.argmax(1) == self.labels
        if not bool(self._kept.any()):  # an untrained model of few features; all are as good as any
            self._kept = torch.ones_like(self._kept)

    @torch.no_grad()
    def _looked(self) -> tuple[Tensor, Tensor]:
        """Normalized features and probabilities of all training samples, in eval mode, on the CPU."""
        model, found = self._model.eval(), []
        for some in torch.arange(len(self._setup.train_set)).split(500):
            inputs = self._setup.train_set.batch(some, device=self._setup.device).inputs
            features, logits = with_features(model, self._layer, inputs, **NEEDS)
            found.append((F.normalize(features.float()).cpu(), logits.float().softmax(1).cpu()))
        model.train()
        features, probabilities = zip(*found, strict=True)
        return torch.cat(features), torch.cat(probabilities)

    def _loss(self, batch: Batch) -> Tensor:
        if self._kept is not None:
            sizes = torch.bincount(self.labels[self._kept], minlength=self._setup.train_set.num_classes)
            shares = self._kept / sizes[self.labels].clamp_min(1)
            index = torch.multinomial(shares, len(batch), replacement=True, generator=self._setup.generator)
            batch = self._setup.new_batch(index)
            batch = replace(batch, labels=self.labels[index].to(batch.inputs.device))
        mix = checked_draw(batch.inputs, self._mixup if self._kept is not None else 0.0, self._setup.generator)
        logits = self._model(mix.inputs(batch.inputs))
        return batch.weighted(self._setup.loss(logits, mix.inputs(as_rows(batch.labels, logits)))).mean()

    def sample_weights(self) -> Tensor | None:
        return None if self._kept is None else self._kept.float()


def neighbor_votes(
    features: Tensor, anchors: Tensor, rows: Tensor, neighbors: int, same: Tensor | None = None
) -> Tensor:
    """How likely each class is by the labels of the nearest neighbors, shape (n, num_classes), rows sum to one.

        vote_i(k) ~ sum over neighbors j of cos(i, j) rows_j(k), divided by the share of class k

    Args:
        features: Shape (n, d), features of length one.
        anchors: Shape (m, d), features of length one, among which neighbors are searched.
        rows: Shape (m, num_classes), labels of the anchors as rows that sum to one.
        neighbors: Number of neighbors that vote.
        same: Shape (m,), index of the sample that each anchor is; it does not vote for itself.
    """
    shares = rows.mean(0).clamp_min(1e-12)
    votes = torch.empty(len(features), rows.shape[1])
    for some in torch.arange(len(features)).split(max(1, AT_ONCE // (neighbors * rows.shape[1]))):
        cosines = features[some] @ anchors.T
        if same is not None:
            cosines[some[:, None] == same] = -1.0
        nearest, where = cosines.topk(min(neighbors, len(anchors)), dim=1)
        weighted = (nearest.clamp_min(0)[:, :, None] * rows[where]).sum(1) / shares
        votes[some] = weighted / weighted.sum(1, keepdim=True).clamp_min(1e-12)
    return votes
