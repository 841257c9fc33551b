"""Prior correction: a network learns what tells classes apart, not how frequent they are."""

from dataclasses import dataclass

from torch import Tensor

from reweigh.losses.class_sizes import EPS_SHARE, log_shares


@dataclass(frozen=True)
class Prior:
    """Logit adjustment (Menon et al., ICLR 2021), switched on or off.

    With correction, training minimizes the loss of f(x) + log share. Then f alone predicts as if all classes were
    equally frequent, which is best for balanced accuracy. Without correction, f itself contains the shares.
    """

    corrects: bool

    def log_shares(self, rows: Tensor) -> Tensor:
        """The log of the class shares, shape (C,); ``rows`` are labels as rows that sum to one, shape (n, C)."""
        return log_shares(rows.sum(0))

    def trained(self, logits: Tensor, log_shares: Tensor) -> Tensor:
        """What the loss sees: logits with the shares."""
        return logits + log_shares.to(logits) if self.corrects else logits

    def bare(self, logits: Tensor, log_shares: Tensor) -> Tensor:
        """Logits without the shares."""
        return logits if self.corrects else logits - log_shares.to(logits)


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
