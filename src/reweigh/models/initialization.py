"""Initial weights of convolutional networks."""

from torch import nn


def he_normal(model: nn.Module) -> None:
    """Draw each convolution from N(0, 2 / fan_out), so that ReLUs preserve the scale of gradients (He et al. 2015).

    Changes the model in place, with torch's global generator. Other layers keep torch's initialization.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
