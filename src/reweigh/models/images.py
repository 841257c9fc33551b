"""What image models share: the shape of a sample that they accept, and initial weights."""

from torch import nn

from reweigh.errors import ModelError


def image_shape(model: str, input_shape: tuple[int, ...], at_least: int) -> tuple[int, int, int]:
    """Channels, height and width of an image model's input.

    Args:
        model: Name of the model in messages.
        input_shape: Shape of one sample, without the batch dimension.
        at_least: Smallest height and width that the model can pool.

    Raises:
        ModelError: The samples are not images (C, H, W), or the images are too small.
    """
    shape = tuple(input_shape)
    if len(shape) != 3 or min(shape) < 1:
        raise ModelError(
            f"model {model!r} needs images of shape (channels, height, width), but one sample has shape {shape}; "
            "give images, or use 'mlp', which takes any shape."
        )
    channels, height, width = shape
    if min(height, width) < at_least:
        raise ModelError(
            f"model {model!r} needs images of at least {at_least} x {at_least}, but got {height} x {width}; "
            "resize the images, or use 'cnn' or 'mlp'."
        )
    return channels, height, width


def he_normal(model: nn.Module) -> None:
    """Draw each convolution from N(0, 2 / fan_out), so that ReLUs preserve the scale of gradients (He et al. 2015).

    Changes the model in place, with torch's global generator. Other layers keep torch's initialization.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
