"""Starting values of convolutional networks."""

from torch import nn


def he_normal(model: nn.Module) -> None:
    """Draw each convolution from N(0, 2 / fan_out), so that ReLUs keep the size of the gradients (He et al. 2015).

    Changes the model in place, from torch's global generator. Linear layers and normalizations keep torch's own start.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
