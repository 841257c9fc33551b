"""Losses that depend on the class sizes: class-balanced, LDAM with its margins, and prior correction of any loss."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import torch.nn.functional as F
from annotated_types import Ge, Gt, Lt
from torch import Tensor

from reweigh.core.objective import Loss
from reweigh.errors import DataError
from reweigh.losses.cross_entropy import as_rows, log_complement


def with_class_sizes(loss: Callable[..., Tensor], class_sizes: Tensor, **options: Any) -> Loss:
    """The loss with its options, and with the class sizes if it has an argument for them.

    Args:
        loss: A member of ``LOSSES``, possibly with some options bound.
        class_sizes: Number of training samples of each class by given label, shape (num_classes,).
    """
    if "class_sizes" in inspect.signature(loss).parameters:
        options["class_sizes"] = class_sizes
    return partial(loss, **options)


def class_balanced(
    logits: Tensor, labels: Tensor, class_sizes: Tensor | None = None, *, beta: Annotated[float, Ge(0), Lt(1)] = 0.9999
) -> Tensor:
    """Cross-entropy, each class weighted by the inverse of its effective number of samples (Cui et al., CVPR 2019).

    -w_label log p_label;    the loss of a soft label is the weighted mean over its classes.

    Cui, Jia, Lin, Song, Belongie: Class-Balanced Loss Based on Effective Number of Samples, the softmax form.

    Examples:
        >>> import torch
        >>> logits, labels = torch.zeros(2, 2), torch.tensor([0, 1])
        >>> class_balanced(logits, labels, torch.tensor([10, 90]), beta=0.99).round(decimals=2)  # rare ones count more
        tensor([1.1900, 0.1900])

    Args:
        beta: How much rare classes count: 0 is cross-entropy; close to 1, a class is weighted by the inverse of its
            size.
    """
    rows = as_rows(labels, logits) * effective_weights(class_sizes, logits, beta)
    return -(rows * logits.log_softmax(1)).sum(1)


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


def effective_weights(class_sizes: Tensor | None, logits: Tensor, beta: float) -> Tensor:
    """The weight of each class, w_j ~ (1 - beta) / (1 - beta^n_j), scaled to sum to the number of classes.

    Returns:
        Shape (num_classes,), dtype and device of ``logits``, shape (n, num_classes).
    """
    weights = 1 / (1 - beta ** checked(class_sizes, logits))
    return (weights * len(weights) / weights.sum()).to(logits.dtype).to(logits.device)


def checked(class_sizes: Tensor | None, logits: Tensor) -> Tensor:
    """The sizes in double precision, on their own device.

    Args:
        class_sizes: Number of training samples of each class by given label, shape (num_classes,).
        logits: Shape (n, num_classes).

    Raises:
        DataError: The sizes are missing, are not one per output of the model, or a class is empty.
    """
    if class_sizes is None:
        raise DataError(
            "class_sizes: missing; this loss needs the number of training samples of each class: pass "
            "class_sizes=torch.bincount(train_labels, minlength=num_classes)"
        )
    if class_sizes.shape != logits.shape[1:]:
        raise DataError(
            f"class_sizes: shape {tuple(class_sizes.shape)} for a model with {logits.shape[1]} outputs; "
            f"give one size per output, shape ({logits.shape[1]},)"
        )
    if not bool((class_sizes > 0).all()):
        empty = [number for number, size in enumerate(class_sizes) if not size > 0]  # no tolist() in torch.func of 2.7
        raise DataError(
            f"class_sizes: no samples of class {', '.join(map(str, empty))} of {len(class_sizes)}; every class needs "
            "at least one. Drop the class, or use a loss that does not depend on class sizes"
        )
    return class_sizes.double()


EPS_SHARE = 1e-6


def log_shares(counts: Tensor) -> Tensor:
    """The logarithm of the class shares, shape (C,), from counts or shares; finite for empty classes too."""
    return (counts / counts.sum() + EPS_SHARE).log()


def prior_corrected(loss: Loss, class_sizes: Tensor) -> Loss:
    """Logit adjustment of any loss (Menon et al.: Long-tail learning via logit adjustment, ICLR 2021).

        loss(f(x) + log share, y)

    The logits f alone then predict as if all classes were equally frequent, which is best for balanced accuracy. This
    helps if classes are rare, and if one class is mistaken for another but not the other way around.

    Args:
        loss: (logits, labels) -> loss of each sample.
        class_sizes: Number of training samples of each class by given label, shape (C,).
    """
    shares = log_shares(class_sizes.double())

    def corrected(logits: Tensor, labels: Tensor) -> Tensor:
        return loss(logits + shares.to(logits), labels)

    return corrected


def unlike_shares(logits: Tensor, log_shares: Tensor) -> Tensor:
    """How far the mean prediction of a batch is from the class shares, a scalar; 0 if they are the same.

        sum_k  share_k log(share_k / mean_k p)

    As a penalty, it keeps a network that learns from its own predictions from giving up classes. The papers use uniform
    shares. The shares of the given labels are the same for balanced data, and do not work against rare classes.

    Args:
        logits: Shape (n, C).
        log_shares: Logarithm of the class shares, shape (C,).
    """
    shares = log_shares.to(logits).exp()
    return (shares * (log_shares.to(logits) - logits.softmax(1).mean(0).clamp_min(EPS_SHARE).log())).sum()
