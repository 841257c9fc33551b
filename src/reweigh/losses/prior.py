"""Prior correction: a network learns what tells classes apart, not how frequent they are."""

from torch import Tensor

from reweigh.core.objective import Loss

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
