"""A classifier that also learns which samples to leave undecided: two more heads on the features of any model."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from reweigh.models.last_layer import Needs, linear_head, with_features
from reweigh.selective import log_odds

NEEDS: Needs = {"who": "SelectiveNet", "instead": "method 'softmax-response' abstains with any model"}


class Heads(NamedTuple):
    """The outputs of the three heads for n samples.

    Attributes:
        logits: shape (n, num_classes), logits of the prediction. Paper: f.
        selection: shape (n,), the log-odds that the sample is predicted at all. Paper: g is its sigmoid.
        auxiliary: shape (n, num_classes), logits that are only used in training. Paper: h.
    """

    logits: Tensor
    selection: Tensor
    auxiliary: Tensor


class SelectiveModel(nn.Module):
    """SelectiveNet's three heads (Geifman and El-Yaniv, ICML 2019) on any classifier, which is not changed.

    The classifier's last layer is the prediction head; the other two heads read the same features. The output is that
    of the classifier; with ``heads=True``, the outputs of all three heads.

    Attributes:
        ranks: whether the selection head ranks the predictions, otherwise their probability; a bool buffer.
    """

    ranks: Tensor

    def __init__(self, classifier: nn.Module):
        super().__init__()
        self._last, layer = linear_head(classifier, **NEEDS)
        width, place = layer.in_features, {"device": layer.weight.device, "dtype": layer.weight.dtype}
        self.classifier = classifier
        self.selection = nn.Sequential(
            nn.Linear(width, width, **place), nn.ReLU(), nn.BatchNorm1d(width, **place), nn.Linear(width, 1, **place)
        )
        self.auxiliary = nn.Linear(width, layer.out_features, **place)
        self.register_buffer("ranks", torch.tensor(True, device=layer.weight.device))

    def forward(self, *inputs: Any, heads: bool = False, **named: Any) -> Any:
        """Logits, or ``Heads``."""
        if not heads:
            return self.classifier(*inputs, **named)
        features, logits = with_features(self.classifier, self._last, *inputs, **NEEDS, **named)
        return Heads(logits, self.selection(features).squeeze(1), self.auxiliary(features))


def selects(model: nn.Module) -> bool:
    """Whether a selection head ranks the predictions of a model."""
    return isinstance(model, SelectiveModel) and bool(model.ranks)


class Ranked(nn.Module):
    """A model with one more column beside its logits: the log-odds of the score that ranks its predictions.

    For a ``SelectiveModel``, the score comes from its selection head, unless set otherwise; for any other model, it is
    the largest probability.
    """

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, inputs: Any) -> Tensor:
        """Shape (n, num_classes + 1)."""
        if selects(self.model):
            logits, selection, _ = self.model(inputs, heads=True)
        else:
            logits = self.model(inputs)
            selection = log_odds(logits)
        return torch.cat([logits, selection.unsqueeze(1)], 1)
