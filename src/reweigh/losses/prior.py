"""Prior correction: a network learns what tells classes apart, not how frequent they are."""

from typing import Annotated

from annotated_types import Ge
from torch import Tensor

from reweigh.core.objective import Loss
from reweigh.losses.class_sizes import checked
from reweigh.losses.labels import as_rows

TINY = 1e-6


def log_shares(counts: Tensor) -> Tensor:
    """The logarithm of the class shares, shape (C,); finite for empty classes too.

    Args:
        counts: Samples of each class, or their shares, shape (C,).
    """
    return (counts / counts.sum() + TINY).log()


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


def logit_adjustment(
    logits: Tensor, labels: Tensor, class_sizes: Tensor | None = None, *, strength: Annotated[float, Ge(0)] = 1.0
) -> Tensor:
    """Logit adjustment, or balanced softmax (Menon et al., ICLR 2021): add the log of the class shares to the logits.

    Cross-entropy of z + strength log share, where share is the share of each class in the training labels. The logits z
    alone then predict as if all classes were equally frequent. ``train.prior`` does the same for any loss, with
    strength 1.

    Menon, Jayasumana, Rawat, Jain, Veit, Kumar: Long-tail Learning via Logit Adjustment. Ren, Yu, Sheng, Ma, Zhao, Yi,
    Li: Balanced Meta-Softmax for Long-Tailed Visual Recognition (strength 1).

    Args:
        strength: Factor of the log shares. Paper: tau; 0 is cross-entropy.
    """
    sizes = checked(class_sizes, logits)
    adjusted = logits + strength * (sizes / sizes.sum()).log().to(logits)
    return -(as_rows(labels, logits) * adjusted.log_softmax(1)).sum(1)
