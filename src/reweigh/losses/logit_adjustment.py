"""Logit adjustment: the prior of the classes is added to the logits in training, and so leaves the model itself."""

from typing import Annotated

from annotated_types import Ge
from torch import Tensor

from reweigh.losses.class_sizes import checked
from reweigh.losses.labels import as_rows


def logit_adjustment(
    logits: Tensor, labels: Tensor, class_sizes: Tensor | None = None, *, strength: Annotated[float, Ge(0)] = 1.0
) -> Tensor:
    """Logit adjustment, or balanced softmax (Menon et al., ICLR 2021; Ren et al., NeurIPS 2020).

    Cross-entropy of z + strength log share, where share is the share of each class in the training labels; z alone
    then predicts as if all classes were equally frequent. ``train.prior`` does the same to any loss, with strength 1.

    Menon, Jayasumana, Rawat, Jain, Veit, Kumar: Long-tail Learning via Logit Adjustment. Ren, Yu, Sheng, Ma, Zhao, Yi,
    Li: Balanced Meta-Softmax for Long-Tailed Visual Recognition (strength 1).

    Args:
        strength: factor of the log shares. Paper: tau; 0 is cross-entropy.
    """
    sizes = checked(class_sizes, logits)
    adjusted = logits + strength * (sizes / sizes.sum()).log().to(logits)
    return -(as_rows(labels, logits) * adjusted.log_softmax(1)).sum(1)
