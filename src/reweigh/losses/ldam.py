"""LDAM: the label must win by a margin, which is larger for rarer classes."""

from typing import Annotated

import torch.nn.functional as F
from annotated_types import Ge, Gt
from torch import Tensor

from reweigh.losses.class_sizes import checked
from reweigh.losses.cross_entropy import log_complement
from reweigh.losses.labels import as_rows


def ldam(
    logits: Tensor,
    labels: Tensor,
    class_sizes: Tensor | None = None,
    *,
    max_margin: Annotated[float, Ge(0)] = 0.5,
    scale: Annotated[float, Gt(0)] = 30.0,
) -> Tensor:
    """Label-distribution-aware margins (Cao et al., NeurIPS 2019): the rarer the class, the larger its margin.

    Cross-entropy after the logit of the label is lowered by scale * C / n_label^(1/4). The loss of a soft label is the
    weighted mean over its classes.

    Cao, Wei, Gaidon, Arechiga, Ma: Learning Imbalanced Datasets with Label-Distribution-Aware Margin Loss. In the
    paper, logits are cosines times the scale (``model.logits = "cosine"``), and margins are in units of cosines.
    Ordinary logits work too: on held-out training images (Fashion-MNIST, long tail 100, mlp), margins of 2 to 30 (scale
    * max_margin; the default is 15) did as well as the paper's layer.

    Examples:
        >>> import torch
        >>> logits, labels = torch.zeros(2, 2), torch.tensor([0, 1])
        >>> ldam(logits, labels, torch.tensor([10, 1000])).round(decimals=2)  # the rare class has the wider margin
        tensor([15.0000,  4.7500])

    Args:
        max_margin: Margin of the rarest class, in cosines; sets C.
        scale: Factor of cosines in the logits. Paper: s.
    """
    sizes = checked(class_sizes, logits)
    margins = (scale * max_margin * (sizes.min() / sizes) ** 0.25).to(logits.dtype).to(logits.device)
    log_probs = logits.log_softmax(1)
    # log(1 + exp(margin) (1 - p) / p) is the cross-entropy with the logit of that class lowered
    each = F.softplus(margins + log_complement(log_probs) - log_probs)
    return (as_rows(labels, logits) * each).sum(1)
