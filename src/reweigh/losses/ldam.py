"""LDAM: the label must win by a margin, which is larger for rarer classes."""

from typing import Annotated

import torch.nn.functional as F
from annotated_types import Ge, Gt
from torch import Tensor

from reweigh.losses.class_sizes import checked
from reweigh.losses.labels import as_rows
from reweigh.losses.log_complement import log_complement


def ldam(
    logits: Tensor,
    labels: Tensor,
    class_sizes: Tensor | None = None,
    *,
    max_margin: Annotated[float, Ge(0)] = 5.0,
    scale: Annotated[float, Gt(0)] = 1.0,
) -> Tensor:
    """Label-distribution-aware margins (Cao et al., NeurIPS 2019): the rarer the label, the clearer it must win.

    Cross-entropy of scale * z, after the logit of the label is lowered by its margin C / n_label^(1/4). With soft
    labels the mean of that under them.

    Cao, Wei, Gaidon, Arechiga, Ma: Learning Imbalanced Datasets with Label-Distribution-Aware Margin Loss. There
    logits are cosines, of features and rows of the last layer that have length one, with max_margin = 0.5 and scale =
    30, which is a margin of 15 to the softmax. Set these for a model with such a layer. Ordinary logits do not train at
    that scale and need no scaling. On held-out training images (Fashion-MNIST, long tail 100, mlp), margins of 2 to 30
    on them did as well as the paper's layer; the default is moderate, because under a learned weighting a large margin
    can silence a class that is not yet learned.

    Args:
        max_margin: margin of the rarest class; sets C.
        scale: factor of the logits. Paper: s.
    """
    sizes = checked(class_sizes, logits)
    margins = (max_margin * (sizes.min() / sizes) ** 0.25).to(logits.dtype).to(logits.device)
    log_probs = (scale * logits).log_softmax(1)
    # log(1 + exp(scale * margin) (1 - p) / p) is the cross-entropy with the logit of that class lowered
    each = F.softplus(scale * margins + log_complement(log_probs) - log_probs)
    return (as_rows(labels, logits) * each).sum(1)
