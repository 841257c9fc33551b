"""The class sizes that a loss against imbalance needs, checked."""

from torch import Tensor

from reweigh.errors import DataError


def checked(class_sizes: Tensor | None, logits: Tensor) -> Tensor:
    """The sizes in double precision, where they are.

    Args:
        class_sizes: samples of each class by given label, shape (num_classes,).
        logits: shape (n, num_classes).

    Raises:
        DataError: there are none, not one for each output of the model, or a class is empty.
    """
    if class_sizes is None:
        raise DataError(
            "class_sizes: missing; this loss needs the number of training samples of each class: pass "
            "class_sizes=torch.bincount(train_labels, minlength=num_classes)"
        )
    if class_sizes.shape != logits.shape[1:]:
        raise DataError(
            f"class_sizes: shape {tuple(class_sizes.shape)} meets a model with {logits.shape[1]} outputs; "
            f"give one size for each, shape ({logits.shape[1]},)"
        )
    empty = [place for place, size in enumerate(class_sizes.tolist()) if not size > 0]
    if empty:
        raise DataError(
            f"class_sizes: no samples of class {', '.join(map(str, empty))} of {len(class_sizes)}; every class needs "
            "at least one. Drop the class, or use a loss that does not depend on class sizes"
        )
    return class_sizes.double()
