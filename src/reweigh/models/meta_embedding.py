"""Features enriched by a memory of class centers: what OLTR gives a classifier for rare classes."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reweigh.models.last_layer import Needs, linear_head, with_features

NEEDS: Needs = {"who": "method 'oltr'", "instead": "give a model with a linear classifier"}
REACH = 10.0  # factor of the reachability, as in the released code
COSINE_SCALE = 16.0  # of the cosines


class Embedded(NamedTuple):
    """The outputs for a batch.

    Attributes:
        direct: Features of the classifier, shape (n, width).
        centers: Centers in the memory, shape (num_classes, width); None until the memory is used.
    """

    logits: Tensor
    direct: Tensor
    centers: Tensor | None


class MetaEmbedding(nn.Module):
    """A classifier whose features are enriched by a memory (Liu et al., CVPR 2019).

        v = (direct + tanh(selector(direct)) * memory) REACH / reach,    memory = softmax(hallucinator(direct)) centers

    where reach is the distance to the nearest center; the logits are cosines between v and the class vectors. Until
    ``open`` is set, the classifier predicts without the memory.

    Attributes:
        open: Whether the memory is used; a bool buffer.
        centers: Shape (num_classes, width), learned class centers.
    """

    open: Tensor

    def __init__(self, classifier: nn.Module):
        super().__init__()
        self._last, layer = linear_head(classifier, **NEEDS)
        width, classes = layer.in_features, layer.out_features
        place: Any = {"device": layer.weight.device, "dtype": layer.weight.dtype}
        self.classifier = classifier
        self.centers = nn.Parameter(torch.zeros(classes, width, **place))
        self.hallucinator = nn.Linear(width, classes, **place)
        self.selector = nn.Linear(width, width, **place)
        self.cosine = nn.Linear(width, classes, bias=False, **place)
        self.register_buffer("open", torch.tensor(False, device=layer.weight.device))

    def forward(self, *inputs: Any, embedded: bool = False, **named: Any) -> Any:
        """Logits, or ``Embedded``."""
        direct, logits = with_features(self.classifier, self._last, *inputs, **NEEDS, **named)
        used = bool(self.open)
        if used:
            logits = self._enriched(direct)
        return Embedded(logits, direct, self.centers if used else None) if embedded else logits

    def _enriched(self, direct: Tensor) -> Tensor:
        memory = self.hallucinator(direct).softmax(1) @ self.centers
        reach = distances(direct, self.centers).min(1, keepdim=True).values.clamp_min(1e-6)
        vector = (direct + self.selector(direct).tanh() * memory) * (REACH / reach)
        length = vector.norm(dim=1, keepdim=True)
        return COSINE_SCALE * F.linear(vector / (1 + length), F.normalize(self.cosine.weight))


def distances(direct: Tensor, centers: Tensor) -> Tensor:
    """Euclidean distances of features, shape (n, width), to centers, shape (C, width): shape (n, C)."""
    squares = direct.square().sum(1, keepdim=True) - 2 * direct @ centers.T + centers.square().sum(1)
    return squares.clamp_min(1e-12).sqrt()
